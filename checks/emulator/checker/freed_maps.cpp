// Tensor maps that outlive the memory they were encoded for.
#include "checked.hpp"

using namespace checked;

namespace {

enum class Memory { kept, freed, given_out_again, given_to_a_parameter, encoded_anew };

std::string found(Memory what) {
  std::string all;
  for (const char* schedule : {"in-order", "late", "random:1"}) {
    CAPTURE(schedule);
    const emu_test::QuietReport report;
    emu::check::Checker checker;
    emu_test::Runner runner;
    emu::GlobalMemory& memory = runner.machine.memory;
    emu_test::Options o;
    o.threads = 64;
    o.in_words = 16;
    o.out_words = 4;  // too large for the hole that the tensor leaves, unless it is as large as the input
    const bool to_input = what == Memory::given_to_a_parameter;
    const uint64_t rows = to_input ? 128 : 4, bytes = 32 * rows;
    const auto allocate = [&](const char* name) {
      const uint64_t address = memory.allocate(bytes, name);
      std::memset(memory.at(address, bytes), 0, bytes);
      return address;
    };
    const uint64_t hole = memory.allocate(1, "hole");  // for the module's variable
    const uint64_t address = allocate("first");
    alignas(64) std::byte map[emu::kTensorMapBytes];
    const auto encode = [&] {
      std::string why;
      const rules::TensorMapArguments a = {1, 2, address, {16, rows}, {32}, {16, 4}};
      REQUIRE(emu::encode_tensor_map(map, a, &why, memory.serial_at(address)) == 0);
    };
    encode();
    const bool again = what == Memory::given_out_again || what == Memory::encoded_anew;
    if (!again) memory.release(hole);
    if (what != Memory::kept) memory.release(address);
    if (again) {
      CHECK(allocate("second") == address);
      memory.release(hole);
    }
    if (what == Memory::encoded_anew) encode();
    o.declarations = kShared + emu_test::declare_map(".const", map);
    o.schedule = schedule;
    o.observer = &checker;
    const std::string body =
        kInit + "mov.u64 %rd1, map;\ncvta.const.u64 %rd2, %rd1;\n" +
        by_thread_0(
            "A",
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128;\n"
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2, {0, 0}], [%r2];\n") +
        wait("W", 0) + kRead;
    const emu::Finding fault = runner.fault(body, std::vector<uint32_t>(64 * 16, 7), o);
    std::string said =
        fault.id == emu::Id::none ? "" : emu::text("fault ", emu::name_of(fault.id), ": ", fault.why);
    for (const emu::Finding& f : report.findings())
      said +=
          emu::text(f.severity == emu::Severity::advice ? "advice " : "", emu::name_of(f.id), ": ", f.state);
    if (all.empty()) all = said;
    CHECK(said.substr(0, 40) == all.substr(0, 40));
  }
  return all.empty() ? "nothing" : all;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("freed memory: a map of memory that is there, or of what is there now") {
  CHECK(found(Memory::kept) == "nothing");
  CHECK(found(Memory::encoded_anew) == "nothing");
}

TEST_CASE("freed memory: a map of what has been freed") {
  const std::string text = found(Memory::freed);
  CHECK(holds(text, "fault use-after-free"));
  CHECK(holds(text, "inside 'first' (128 bytes"));
  CHECK(holds(text, "which has been freed"));
}

TEST_CASE("freed memory: a map of what has been given out again") {
  CHECK(
      found(Memory::given_out_again) ==
      "advice use-after-free: the map was encoded for 'first', which has been freed; 'second' is there now");
  CHECK(found(Memory::given_to_a_parameter).substr(0, 16) == "use-after-free: ");
}
