// Names in reports: variables of shared memory and their elements, parameters, and which line of several is the reader's.
#include "emulator/program/names.hpp"

#include <doctest/doctest.h>

#include "emulator/findings/report.hpp"
#include "emulator/machine/memory.hpp"
#include "emulator/program/program.hpp"
#include "emulator/ptx/parser.hpp"

using namespace emu;

namespace {

// A kernel with static shared memory of its own, and the declarations that EMU_NAME_SHARED and EMU_NAME_PARAMETERS make.
constexpr char kModule[] = R"(.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem_bytes[];
.visible .entry k(.param .align 64 .b8 k_param_0[128], .param .u64 k_param_1, .param .u32 k_param_2)
{
  .shared .align 8 .b8 _ZZ1kE4bars[32];
  .shared .align 8 .u64 _ZZ1kE3one;
  .shared .align 16 .b8 _ZZ1kI1TEE5state[48];
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  { .reg .b32 emu_shared$1024$0$65536$16384$smem$a; }
  { .reg .b32 emu_shared$1024$65536$32$8$smem$full_bar; }
  { .reg .b32 emu_shared$1024$65568$8$8$smem$done_bar; }
  { .reg .b32 emu_shared$1024$66560$1024$2$smem$c; }
  { .reg .b32 emu_shared$16$0$32$16$state$sums; }
  { .reg .b32 emu_parameter$0$tmap_a; }
  { .reg .b32 emu_parameter$0$tmap_a; }
  { .reg .b32 emu_parameter$2$rows; }
  mov.u32 %r1, smem_bytes;
  mov.u32 %r2, _ZZ1kE4bars;
  mov.u32 %r3, _ZZ1kE3one;
  mov.u32 %r0, _ZZ1kI1TEE5state;
  ret;
}
)";

struct Decoded {
  Module module = parse_ptx(kModule);
  std::unique_ptr<Program> program = decode(module, module.functions.at(0), {});
  uint32_t at(const std::string& symbol) const { return program->shared_symbols.at(symbol); }
};

}  // namespace

TEST_CASE("names: members of a struct in dynamic shared memory, with the index in an array") {
  const Decoded d;
  const uint32_t base = d.at("smem_bytes");
  REQUIRE(base % 1024 == 0);
  CHECK(d.program->shared_name(base) == "a[0]");
  CHECK(d.program->shared_name(base + 2 * 16384) == "a[2]");
  CHECK(d.program->shared_name(base + 2 * 16384 + 130) == "a[2]+130");
  CHECK(d.program->shared_name(base + 65536) == "full_bar[0]");
  CHECK(d.program->shared_name(base + 65536 + 24) == "full_bar[3]");
  CHECK(d.program->barrier_name(base + 65536 + 24) == "full_bar[3]");
  CHECK(d.program->shared_name(base + 65568) == "done_bar");
  CHECK(d.program->shared_name(base + 65576) == "smem_bytes+65576");  // behind what is named
  CHECK(d.program->shared_name(base + 66560) == "c");                 // one tile of 2-byte elements
  CHECK(d.program->shared_name(base + 66560 + 130) == "c+130");
}

TEST_CASE("names: static variables; an array of mbarriers is counted in mbarriers") {
  const Decoded d;
  CHECK(d.program->barrier_name(d.at("_ZZ1kE4bars")) == "bars[0]");
  CHECK(d.program->barrier_name(d.at("_ZZ1kE4bars") + 16) == "bars[2]");
  CHECK(d.program->shared_name(d.at("_ZZ1kE4bars") + 16) == "bars+16");  // what else it may hold is not known
  CHECK(d.program->barrier_name(d.at("_ZZ1kE3one")) == "one");
  CHECK(d.program->shared_name(d.at("_ZZ1kI1TEE5state") + 16) == "sums[1]");  // a struct that is not dynamic
  CHECK(d.program->shared_name(d.at("_ZZ1kI1TEE5state") + 40) == "state+40");
  CHECK(d.program->shared_name(8) == "0x8");
}

TEST_CASE("names: without a declaration a dynamic variable is told in bytes") {
  Names names;
  names.add_shared({"smem_bytes", 1024, 0, 0});
  CHECK(names.shared(1024) == "smem_bytes");
  CHECK(names.shared(1024 + 4096, 8) == "smem_bytes+4096");
}

TEST_CASE("names: parameters") {
  const Decoded d;
  CHECK(d.program->names.parameter(0) == "tmap_a");
  CHECK(d.program->names.parameter(64) == "tmap_a+64");
  CHECK(d.program->names.parameter(128) == "parameter 1");
  CHECK(d.program->names.parameter(136) == "rows");
  CHECK(d.program->names.parameter(200) == "parameter memory 0xc8");
}

TEST_CASE("names: a variable's name is the last part of the demangled one") {
  CHECK(variable_name("_ZZ4gemmiE8full_bar") == "full_bar");
  CHECK(variable_name("_ZZ4gemmILi4EEvPfE4tile") == "tile");
  CHECK(variable_name("_ZZ4gemmiE5EMPTY") == "EMPTY");
  CHECK(variable_name("tile$3") == "tile");
  CHECK(variable_name("smem_bytes") == "smem_bytes");
}

TEST_CASE("names: a register that only resembles a name is a register") {
  const Module m = parse_ptx(
      ".version 8.4\n.target sm_90a\n.address_size 64\n.entry k()\n{ .reg .b32 emu_shared$1, emu_parameter;\n"
      "mov.u32 emu_shared$1, 3; mov.u32 emu_parameter, emu_shared$1; ret; }\n");
  CHECK(m.functions.at(0).named_members.empty());
  CHECK(m.functions.at(0).registers.size() == 2);
}

TEST_CASE(
    "source lines: the reader's line is the innermost in a file that is compiled, the helpers' are told beside it") {
  const Frame in_ptx = {"common/ptx/mbarrier.cuh", 50, "bool ptx::try_wait<1>(unsigned long*, unsigned int)"},
              in_wait = {"common/kernel/wait.cuh", 20, "lab::wait(unsigned long*, unsigned int)"},
              in_helper = {"solutions/05.cu", 31, "consume(Smem&)"},
              in_kernel = {"solutions/05.cu", 70, "gemm"};
  const SourceLine s = source_line({in_ptx, in_wait, in_helper, in_kernel});
  CHECK(s.text() == "solutions/05.cu:31");
  CHECK(s.brief() == "05.cu:31");
  REQUIRE(s.chain.size() == 2);
  CHECK(s.chain[1].line == 70);
  CHECK(
      s.called_from ==
      "calls wait (common/kernel/wait.cuh:20), and that try_wait (common/ptx/mbarrier.cuh:50); inlined at solutions/05.cu:70");
  CHECK(source_line({in_kernel}).called_from.empty());
  CHECK(source_line({in_wait, in_kernel}).text() == "solutions/05.cu:70");
  CHECK(source_line({}).text().empty());
}

TEST_CASE("source lines: folders do not matter; a kernel in a header is told in that header") {
  const Frame library = {"/usr/include/cute/copy.hpp", 9, "copy"},
              header = {"app/common/kernel.cuh", 40, "step"}, kernel = {"app/common/kernel.cuh", 90, "run"},
              other = {"app/include/main.cu", 12, "main_kernel"};
  CHECK(source_line({library, header, kernel}).text() == "app/common/kernel.cuh:40");
  CHECK(source_line({library, other}).text() == "app/include/main.cu:12");  // not by the name of a folder
  CHECK(source_line({library}).text() == "/usr/include/cute/copy.hpp:9");
}

TEST_CASE("names: global memory that a program has named as a matrix is told by row and column") {
  GlobalMemory memory;
  const uint64_t c = memory.allocate(100 * 24 * 2, "cudaMalloc #1"),
                 other = memory.allocate(64, "cudaMalloc #2");
  CHECK(memory.name_matrix(c, "C", 24, 2));
  CHECK(memory.describe(c + 2 * (3 * 24 + 17)) == "row 3, column 17 of 'C'");
  CHECK(memory.describe(c + 100 * 24 * 2).find("past the end of 'C'") != std::string::npos);
  CHECK(memory.describe(other) == "inside 'cudaMalloc #2', 64 bytes before its end");
  CHECK_FALSE(memory.name_matrix(0x10, "nothing", 4, 4));
}

TEST_CASE("names: a source file's path is the one that its reader knows") {
  const Module module = parse_ptx(
      ".version 8.4\n.target sm_90a\n.address_size 64\n"
      ".file 1 \"/home/it's a \\303\\274 $x/\\\"q\\\" \\\\ // a.cu\"\n.file 2 \"b.cu\"\n");
  CHECK(module.files.at(1) == "/home/it's a \u00fc $x/\"q\" \\ // a.cu");
  CHECK(module.files.at(2) == "b.cu");
  CHECK_THROWS_WITH_AS(parse_ptx(".version 8.4\n.file 1 \"never ends\\\"\n"),
                       doctest::Contains("this string never ends"), Fault);
}
