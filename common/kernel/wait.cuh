// Waiting for a phase of an mbarrier.
#pragma once

#include "ptx/mbarrier.cuh"

namespace lab {

// Returns when the phase of this parity is complete. Acquire: the bytes that completed it are then visible.
__device__ __forceinline__ void wait(uint64_t* bar, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(bar, parity)) {
  }
}

}  // namespace lab
