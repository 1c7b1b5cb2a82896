// Small kernels under the checker: what is reported for a body of PTX, under several schedules.
#pragma once

#include <string>
#include <vector>

#include "emulator/checker/checker.hpp"
#include "emulator/findings/text.hpp"
#include "emulator/machine/tensor_map.hpp"
#include "emulator/timed/timing.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace checked {

// One tile and one barrier. kInit: %r1 is the tile, %r2 the barrier, %p1 says "not thread 0"; thread 0 initialises
// the barrier for one arrival.
inline const char* const kShared = ".shared .align 1024 .b8 tile[128];\n.shared .align 8 .b64 bar;\n";
inline const std::string kInit =
    "mov.u32 %r1, tile;\nmov.u32 %r2, bar;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra INIT;\n"
    "mbarrier.init.shared::cta.b64 [%r2], 1;\nINIT: bar.sync 0;\n";
// 64 bytes onto the tile, and their announcement.
inline const std::string kCopy =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 64, [%r2];\n";
inline const std::string kExpect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;\n";
inline const std::string kRead = "ld.shared.u32 %r3, [%r1];\nst.global.u32 [%out], %r3;\n";
// 16 bytes written by the thread, and stored to its input.
inline const std::string kWrite = "st.shared.v4.u32 [%r1], {%t, %t, %t, %t};\n";
inline const std::string kFence = "fence.proxy.async.shared::cta;\n";
inline const std::string kStore =
    "cp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 16;\ncp.async.bulk.commit_group;\n";

inline std::string by_thread_0(const std::string& label, const std::string& body) {
  return "@%p1 bra " + label + ";\n" + body + label + ":\n";
}
inline std::string wait(const std::string& label, int parity) {
  return label + ": mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], " + std::to_string(parity) +
         ";\n@!%p2 bra " + label + ";\n";
}

// A tensor of 16-bit elements in global memory, all 1.0 as bf16; the module's variable `map` is its map.
struct Tensor {
  uint64_t columns, rows;
  uint32_t box_columns, box_rows;
  int swizzle;          // as CUtensorMapSwizzle
  bool im2col = false;  // rows are the pixels of one image, whose last is that of the box
  int lower = 0;        // and the box's first

  std::string declare(emu_test::Runner& runner) const {
    const std::vector<uint16_t> ones(columns * rows, 0x3F80);
    const uint64_t address = runner.machine.memory.allocate(2 * ones.size(), "tensor");
    std::memcpy(runner.machine.memory.at(address, 2 * ones.size()), ones.data(), 2 * ones.size());
    rules::TensorMapArguments map = {1, 2, address, {columns, rows}, {2 * columns}, {box_columns, box_rows}};
    map.swizzle = swizzle;
    if (im2col) {
      map.im2col = true;
      map.rank = 3;
      map.size[2] = 1;
      map.stride_bytes[1] = 2 * columns * rows;
      map.lower_corner[0] = lower;
      map.channels_per_pixel = box_columns;
      map.pixels_per_column = box_rows;
    }
    return emu_test::declare_map(".const", map);
  }
};

// What say(finding) makes of all that is reported of a body, faults before; one string when all schedules agree.
template <class Say>
std::string reported(const std::string& body, const std::vector<uint32_t>& input, emu_test::Options o,
                     Say say, const Tensor* tensor = nullptr) {
  const std::string declarations = o.declarations;
  std::string all;
  for (const char* schedule : {"in-order", "late", "timed", "random:1", "random:2", "random:3"}) {
    const emu_test::QuietReport report;
    emu::check::Checker checker;
    if (std::string(schedule) == "late") checker.least_growth = 0;  // what it drops must never be missed
    emu_test::Runner runner;
    emu::timed::Timing timing(runner.machine);
    runner.machine.timekeeper = &timing;
    const emu_test::Watch time(runner.machine, std::string(schedule) == "timed" ? &timing : nullptr);
    o.declarations = declarations + (tensor ? tensor->declare(runner) : "");
    o.schedule = schedule;
    o.observer = &checker;
    const std::string fault = emu::name_of(runner.fault(body, input, o).id);
    std::string said = fault == "none" ? "" : "fault " + fault + " ";
    for (const emu::Severity severity : {emu::Severity::error, emu::Severity::advice})
      for (const emu::Finding& f : report.findings())
        if (f.severity == severity) said += say(f);
    if (said.empty()) said = "nothing";
    if (all.empty())
      all = said;
    else if (all != said)
      return all + "but under " + schedule + " " + said;
  }
  return all;
}

// Ids of what is reported, errors and advice. Every thread has 16 words of input, all 7, and one word of output.
inline std::string reported(const std::string& body, const std::string& shared = kShared,
                            unsigned threads = 64, const Tensor* tensor = nullptr) {
  emu_test::Options o;
  o.threads = threads;
  o.in_words = 16;
  o.out_words = 1;
  o.declarations = shared;
  const auto say = [](const emu::Finding& f) {
    return emu::text(f.severity == emu::Severity::advice ? "advice " : "", emu::name_of(f.id), " ");
  };
  return reported(body, std::vector<uint32_t>(threads * 16, 7), o, say, tensor);
}

}  // namespace checked
