// Fix-up of a split tile: the partial sum of one CTA goes to the next one, through global memory.
#pragma once

#include <cstdint>

#include "ptx/ld_st.cuh"

namespace lab {

// The workspace of one launch at a time. partials: kThreads * kRegisters floats per CTA of the grid; flags: one per warp of
// those threads, zero between launches.
struct Fixup {
  float4* partials;
  uint32_t* flags;
};

// [region fixup]
// Leaves a warp's accumulator for the CTA that finishes the tile. thread: 0 .. kThreads - 1, among those of the CTA that take
// part; executed by whole warps. Does not wait.
template <int kThreads, int kRegisters>
__device__ __forceinline__ void store_partial(const float (&acc)[kRegisters], const Fixup& fixup, int cta,
                                              int thread) {
  float4* partial = fixup.partials + cta * kThreads * (kRegisters / 4) + thread;
#pragma unroll
  for (int i = 0; i < kRegisters / 4; ++i)
    partial[i * kThreads] = {acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]};
  __syncwarp();  // the flag speaks for all lanes
  if (thread % 32 == 0) ptx::st_release_gpu(&fixup.flags[(cta * kThreads + thread) / 32], 1);
}

// Waits for the accumulator that the same warp of CTA `cta` stores, and goes on from it. That CTA must not need anything of
// this one first.
template <int kThreads, int kRegisters>
__device__ __forceinline__ void load_partial(float (&acc)[kRegisters], const Fixup& fixup, int cta,
                                             int thread) {
  if (thread % 32 == 0) {
    uint32_t* flag = &fixup.flags[(cta * kThreads + thread) / 32];
    while (ptx::ld_acquire_gpu(flag) == 0) {
    }
    *flag = 0;  // for the next launch
  }
  __syncwarp();
  const float4* partial = fixup.partials + cta * kThreads * (kRegisters / 4) + thread;
#pragma unroll
  for (int i = 0; i < kRegisters / 4; ++i) {
    const float4 sum = partial[i * kThreads];
    acc[4 * i] = sum.x, acc[4 * i + 1] = sum.y, acc[4 * i + 2] = sum.z, acc[4 * i + 3] = sum.w;
  }
}
// [end region]

}  // namespace lab
