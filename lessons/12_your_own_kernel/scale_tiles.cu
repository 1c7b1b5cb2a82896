// A program to start from: copy it, and change it.
// out = 2 * in, tile by tile: one thread asks the copy engine for the next tile while all work on this one.
#include <cstdio>
#include <vector>

#include "emulator/names.hpp"
#include "kernel/wait.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/fence.cuh"

constexpr int kTile = 1024, kThreads = 128;

struct Smem {
  alignas(16) float tile[2][kTile];
  uint64_t full_bar[2];
};

// [region kernel]
__global__ void scale_tiles(const float* in, float* out, int tiles) {
  __shared__ Smem smem;
  EMU_NAME_SHARED(smem, tile, full_bar);
  in += blockIdx.x * tiles * kTile;
  out += blockIdx.x * tiles * kTile;
  const auto fetch = [&](int t) {
    ptx::mbarrier_arrive_expect_tx(&smem.full_bar[t % 2], kTile * sizeof(float));
    ptx::cp_async_bulk(smem.tile[t % 2], in + t * kTile, kTile * sizeof(float), &smem.full_bar[t % 2]);
  };
  if (threadIdx.x == 0) {
    for (uint64_t& bar : smem.full_bar) ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
    fetch(0);
  }
  __syncthreads();
  for (int t = 0; t < tiles; ++t) {
    if (threadIdx.x == 0 && t + 1 < tiles) fetch(t + 1);
    lab::wait(&smem.full_bar[t % 2], t / 2 % 2);
    for (int i = threadIdx.x; i < kTile; i += kThreads) out[t * kTile + i] = 2 * smem.tile[t % 2][i];
    __syncthreads();  // all have read this buffer: the next fetch but one may fill it
  }
}
// [end region]

int main() {
  const int ctas = 2, tiles = 6, n = ctas * tiles * kTile;
  std::vector<float> in(n), got(n);
  for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i % 1000);
  float *device_in, *device_out;
  cudaMalloc(&device_in, n * sizeof(float));
  cudaMalloc(&device_out, n * sizeof(float));
  cudaMemcpy(device_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  scale_tiles<<<ctas, kThreads>>>(device_in, device_out, tiles);
  const cudaError_t error = cudaMemcpy(got.data(), device_out, n * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += got[i] != 2 * in[i];
  std::printf("scale_tiles: %s, %d of %d differ (%s)\n", wrong ? "wrong" : "right", wrong, n, cudaGetErrorString(error));
  return wrong || error != cudaSuccess;
}
