#include "scale.cuh"

#include <cstdint>

#include <emulator/names.hpp>

#include "ptx.cuh"

__device__ float scaled(float x);

constexpr int kTile = 1024, kThreads = 128;

struct Smem {
  alignas(16) float tile[kTile];
  uint64_t full_bar;
};

__global__ void scale_kernel(const float* in, float* out) {
  __shared__ Smem smem;
  EMU_NAME_SHARED(smem, tile, full_bar);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&smem.full_bar, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&smem.full_bar, sizeof smem.tile);
    ptx::cp_async_bulk(smem.tile, in + blockIdx.x * kTile, sizeof smem.tile, &smem.full_bar);
  }
  __syncthreads();  // the barrier is there for all
#ifndef NO_WAIT
  while (!ptx::mbarrier_try_wait_parity(&smem.full_bar, 0)) {
  }
#endif
  for (int i = threadIdx.x; i < kTile; i += kThreads) out[blockIdx.x * kTile + i] = scaled(smem.tile[i]);
}

void scale(const float* in, float* out, int n) {
  scale_kernel<<<n / kTile, kThreads>>>(in, out);
}
