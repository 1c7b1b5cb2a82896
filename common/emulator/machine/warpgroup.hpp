// The wgmma of a warpgroup: how far each of its four warps has come.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace emu {

struct Inst;

// What is known of a wgmma that at least one warp of the warpgroup has reached.
struct WgmmaRecord {
  const Inst* inst = nullptr;
  uint64_t a = 0, b = 0;
};

struct Warpgroup {
  struct Quarter {
    uint64_t issued = 0, finished = 0;
    std::vector<uint64_t> commits;  // `issued` at each commit since nothing was in flight
  };
  std::array<Quarter, 4> quarters;
  uint64_t first = 0;                        // wgmma that some warp has reached
  std::array<WgmmaRecord, 64> records = {};  // of the newest ones, by ordinal

  bool idle() const {
    for (const Quarter& q : quarters)
      if (q.issued != first || q.finished != first) return false;
    return true;
  }
  // What was committed before is finished: nobody has to wait for it.
  void forget_commits() {
    for (Quarter& q : quarters) q.commits.clear();
  }
};

}  // namespace emu
