// The PTX reader takes any text: what is too large, too deep or broken is refused with its line, quickly.
#include <ctime>

#include "support.hpp"

using namespace emu_test;

namespace {

const std::string kHead = ".version 8.6\n.target sm_90a\n.address_size 64\n";

// The finding for a module with one kernel `k`; id none when every kernel is decoded.
emu::Finding read(const std::string& text) {
  emu::Finding none(emu::Id::none);
  const std::clock_t start = std::clock();  // of this process: others may use the machine
  try {
    const emu::Module module = emu::parse_ptx(text);
    for (const emu::Function& f : module.functions)
      if (f.is_entry && f.has_body) emu::decode(module, f, {});
  } catch (const emu::Fault& fault) {
    none = fault.finding();
    CHECK(!none.where.empty());
    CHECK(!none.hint.empty());
  }
  CHECK(std::clock() - start < 3 * CLOCKS_PER_SEC);
  return none;
}

std::string body(const std::string& text) {
  return kHead + ".visible .entry k(.param .u64 o) {\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n" + text +
         "\nret;\n}\n";
}

std::string many(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("reader: nesting has a limit") {
  for (const std::string& text :
       {body("mov.b64 %rd1, " + many("{", 20000) + ";"), body("ld.global.u32 %r1, " + many("[", 20000) + ";"),
        body("mov.u32 %r1, " + many("(", 20000) + "1" + many(")", 20000) + ";"),
        body("mov.u32 %r1, " + many("-", 20000) + "1;"), body("mov.u32 %r1, " + many("1?2:", 20000) + "1;"),
        body("call " + many("(", 20000)), body(many("{", 20000)),
        kHead + ".global .u32 x[2] = " + many("{", 100000)})
    CHECK(read(text).id == emu::Id::ptx_syntax);
  CHECK(read(body("mov.u32 %r1, " + many("(", 50) + "1" + many(")", 50) + ";")).id == emu::Id::none);
  CHECK(read(body(many("{", 100) + "mov.u32 %r1, 1;" + many("}", 100))).id == emu::Id::none);
}

TEST_CASE("reader: counts and sizes have limits") {
  using emu::Id;
  CHECK(read(body(".local .align 16 .b8 q[1000000000];\nst.local.u32 [q], %r1;")).id ==
        Id::unsupported_instruction);
  CHECK(read(body(".local .b8 a[300000];\n.local .b8 b[300000];\nst.local.u32 [a], %r1;")).id ==
        Id::unsupported_instruction);
  CHECK(read(body(".local .b8 a[300000];\nst.local.u32 [a], %r1;")).id == Id::none);
  CHECK(read(body(".shared .b8 a[1000000];\nst.shared.u32 [a], %r1;")).id == Id::unsupported_instruction);
  CHECK(read(body(".shared .b8 a[4294967295];\n.shared .b8 b[4294967295];\nst.shared.u32 [a], %r1;")).id ==
        Id::ptx_syntax);
  CHECK(read(body(".param .b8 a[1000000];\nst.param.u32 [a], %r1;")).id == Id::none);
  CHECK(read(body(".param .b8 a[100000000];\nst.param.u32 [a], %r1;")).id == Id::unsupported_instruction);
  CHECK(read(kHead + ".global .f32 x[4294967295] = {0f3f800000};").id == Id::ptx_syntax);
  CHECK(read(kHead + ".global .b8 x[4294967296][4294967296];").id == Id::ptx_syntax);
  CHECK(read(kHead + ".global .b8 x[2][1000000000] = {{1}, {2}};").id == Id::ptx_syntax);
  CHECK(read(kHead + ".global .b8 x[-1];").id == Id::ptx_syntax);
  CHECK(read(kHead + ".global .b8 x[1000];").id == Id::none);
  CHECK(read(kHead + ".visible .entry k(.param .b8 z[4000000000]) {ret;}").id == Id::ptx_syntax);
  CHECK(read(kHead + ".visible .entry k(.param .b8 z[40000]) {ret;}").id == Id::unsupported_instruction);
  CHECK(read(kHead + ".visible .entry k(.param .b8 z[32764]) {ret;}").id == Id::none);
  for (const char* align : {"0", "3", "-8", "4294967296"})
    CHECK(read(kHead + ".global .align " + align + " .b8 x;").id == Id::ptx_syntax);
}

TEST_CASE("reader: millions of declared registers cost nothing") {
  CHECK(read(body(".reg .b32 %x<1000000>;\nmov.u32 %x999999, 1;")).id == emu::Id::none);
  CHECK(read(body(".reg .pred %p<2147483648>;\n@%p2147483647 mov.u32 %r1, 1;")).id == emu::Id::none);
  CHECK(read(body(".reg .b32 %x<10>;\nmov.u32 %x10, 1;")).id == emu::Id::unsupported_instruction);
  CHECK(read(body(".reg .b32 %x<10>;\nmov.u32 %x01, 1;")).id == emu::Id::unsupported_instruction);
  CHECK(read(body(".reg .v4 .b32 %x<1000000>;")).id == emu::Id::ptx_syntax);
  for (const char* twice : {".reg .b32 %x<10>, %x3;", ".reg .b32 %x3, %x<10>;", ".reg .b32 %x<10>, %x<2>;",
                            ".reg .b32 %x<20>, %x1<2>;", ".reg .b32 %x1<2>, %x<20>;", ".reg .b32 a, a;"}) {
    CAPTURE(twice);
    CHECK(read(body(twice)).id == emu::Id::ptx_syntax);
  }
  CHECK(read(body(".reg .b32 %x<10>, %x10, %y<2>;\n{ .reg .b64 %x<3>; mov.u64 %x2, 1; }\nmov.u32 %x2, 1;"))
            .id == emu::Id::none);
}

TEST_CASE("reader: .maxntid and its kin take positive numbers, however large") {
  const auto with = [](const std::string& directive) {
    return read(kHead + ".visible .entry k() " + directive + " {ret;}").id;
  };
  CHECK(with(".maxntid 65536,65536,1") == emu::Id::none);
  CHECK(with(".maxntid 2147483647,2147483647,2147483647 .minnctapersm 2147483647") == emu::Id::none);
  CHECK(with(".maxntid 4294967295,4294967295,4294967295") == emu::Id::ptx_syntax);
  CHECK(with(".maxntid 0,1,1") == emu::Id::ptx_syntax);
  CHECK(with(".reqntid -1") == emu::Id::ptx_syntax);
}

TEST_CASE("reader: long chains of calls, inlined places and functions") {
  std::string calls = kHead, names = kHead;
  for (int i = 0; i < 20000; ++i) {
    const std::string name = "f" + std::to_string(i);
    calls = calls + ".func " + name + "() {" + (i ? "call f" + std::to_string(i - 1) + ";" : "") + "ret;}\n";
  }
  CHECK(read(calls + ".visible .entry k() {call f19999; ret;}").id == emu::Id::none);
  std::string places = ".loc 1 1 1\n";
  for (int i = 0; i < 50000; ++i)
    places += ".loc 1 " + std::to_string(i) + " 2, function_name a, inlined_at 1 " +
              std::to_string(i + 100000) + " 3\n";
  CHECK(read(body(places)).id == emu::Id::none);
}

TEST_CASE("reader: where a kernel's parameter points to stands before or behind its type") {
  for (const char* type :
       {".u64 .ptr .global .align 4", ".u64 .ptr .align 1", ".u64 .ptr", ".ptr .global .align 64 .u64",
        ".u64 .ptr .const", ".align 8 .u64 .ptr .shared .align 16"}) {
    CAPTURE(type);
    const emu::Module m =
        emu::parse_ptx(kHead + ".visible .entry k(.param .u32 a, .param " + type + " b) {ret;}");
    CHECK(m.functions[0].params[1].bytes == 8);
    CHECK(m.functions[0].params[1].align == 8);
  }
}

TEST_CASE("reader: module-scope .local and .reg are refused, as ptxas does") {
  CHECK(read(kHead + ".local .u32 x[4];").id == emu::Id::ptx_syntax);
  CHECK(read(kHead + ".reg .u32 x;").id == emu::Id::ptx_syntax);
  CHECK(read(kHead + ".global .u32 x; .global .u32 x;").id == emu::Id::ptx_syntax);
  CHECK(read(kHead + ".func f() {ret;} .func f() {ret;}").id == emu::Id::ptx_syntax);
}

TEST_CASE("reader: bytes that are no text end in a finding whose JSON is UTF-8") {
  for (const char* bytes : {"\xff\xfe", "\x80", "\xc3\x28", "\x01", "\xc3\xa9"}) {
    const emu::Finding f = read(body("mov.u32 %r1, " + std::string(bytes) + ";"));
    CHECK(f.id == emu::Id::ptx_syntax);
    CHECK(f.json().find('\xff') == std::string::npos);
    CHECK(f.json().find("\xc3\x28") == std::string::npos);
  }
  CHECK(read("").id == emu::Id::ptx_syntax);
  CHECK(read(std::string("\0.version", 9)).id == emu::Id::ptx_syntax);
  for (const char* cut :
       {"/*", "\"", ".section", ".section x {", ".file", ".loc", ".version", ".attribute",
        ".global .attribute(", ".global", ".visible .entry", ".visible .entry k(", ".visible .entry k() {",
        ".visible .entry k() { @", ".visible .entry k() { mov.u32", ".visible .entry k() { mov.u32 x,"})
    CHECK(read(kHead + cut).id == emu::Id::ptx_syntax);
}
