// An unfinished sum goes from one CTA to another of the same grid, through global memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "ptx/ld_st.cuh"

namespace lab {

// One for each launch that may run at a time. sums: kThreads * kRegisters floats for each CTA of the grid; ready: a flag for
// each of its warps that hand on, zero between launches.
struct HandOver {
  float4* sums;
  uint32_t* ready;
};

// [region hand_over]
// Leaves the accumulator of a warp for whoever takes it over. thread: 0 .. kThreads - 1, of those of the CTA that hand on;
// executed by whole warps. Does not wait.
template <int kThreads, int kRegisters>
__device__ __forceinline__ void hand_on(const float (&acc)[kRegisters], const HandOver& hand_over, int cta,
                                        int thread) {
  float4* sums = hand_over.sums + cta * kThreads * (kRegisters / 4) + thread;
#pragma unroll
  for (int i = 0; i < kRegisters / 4; ++i)
    sums[i * kThreads] = {acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]};
  __syncwarp();  // the flag speaks for all lanes
  if (thread % 32 == 0) ptx::st_release_gpu(&hand_over.ready[(cta * kThreads + thread) / 32], 1);
}

// Waits for the accumulator that the same warp of CTA `cta` has handed on, or will, and goes on with it. That CTA must not
// need anything of this one first.
template <int kThreads, int kRegisters>
__device__ __forceinline__ void take_over(float (&acc)[kRegisters], const HandOver& hand_over, int cta,
                                          int thread) {
  if (thread % 32 == 0) {
    uint32_t* ready = &hand_over.ready[(cta * kThreads + thread) / 32];
    while (ptx::ld_acquire_gpu(ready) == 0) {
    }
    *ready = 0;  // for the next launch
  }
  __syncwarp();
  const float4* sums = hand_over.sums + cta * kThreads * (kRegisters / 4) + thread;
#pragma unroll
  for (int i = 0; i < kRegisters / 4; ++i) {
    const float4 sum = sums[i * kThreads];
    acc[4 * i] = sum.x, acc[4 * i + 1] = sum.y, acc[4 * i + 2] = sum.z, acc[4 * i + 3] = sum.w;
  }
}
// [end region]

}  // namespace lab
