// Walking round a ring of stages.
#pragma once

#include <cstdint>

namespace lab {

// A position in a ring of kStages stages: which stage, and the parity of the phase that its barriers are in on
// this lap. ++ goes to the next stage; where the ring closes, the parity flips. Producer and consumer hold one
// each and meet only through the barriers.
template <int kStages>
struct Slot {
  int stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ Slot& operator++() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
    return *this;
  }
};

}  // namespace lab
