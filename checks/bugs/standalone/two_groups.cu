// Two groups of four warps work side by side; each meets at a named barrier of its own.
#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"

constexpr int kGroups = 2, kThreads = 128;  // threads of a group

// barrier.cta.sync id, threads;  `threads` threads of the CTA meet at barrier `id` (0 is that of __syncthreads).
__device__ void barrier_sync(int id, int threads) {
  asm volatile("barrier.cta.sync %0, %1;" : : "r"(id), "r"(threads) : "memory");
}

// out[g * kThreads + t] = sum over the group of (g + 1) * t, by a tree in shared memory. One CTA of kGroups groups.
__global__ void sum_groups(int* out) {
  __shared__ int partial[kGroups][kThreads];
  const int group = threadIdx.x / kThreads, t = threadIdx.x % kThreads;
  const int id = 1 + group;
  partial[group][t] = (group + 1) * t;
  barrier_sync(id, kThreads);
  for (int width = kThreads / 2; width > 0; width /= 2) {
    if (t < width) partial[group][t] += partial[group][t + width];
    barrier_sync(id, kThreads);  // the next round reads what others have written in this one
  }
  out[threadIdx.x] = partial[group][0];
}

int main() {
  constexpr int kAll = kGroups * kThreads;
  const auto out = lab::device_buffer<int>(kAll);
  lab::cuda_check(cudaMemset(out.get(), 0xFF, kAll * sizeof(int)), "poison the output");
  sum_groups<<<1, kAll>>>(out.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("two_groups: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<int> got(kAll);
  lab::cuda_check(cudaMemcpy(got.data(), out.get(), kAll * sizeof(int), cudaMemcpyDeviceToHost),
                  "read the output");
  int wrong = 0;
  for (int i = 0; i < kAll; ++i) wrong += got[i] != (i / kThreads + 1) * (kThreads * (kThreads - 1) / 2);
  std::printf("two_groups: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong, kAll);
  return wrong == 0 ? 0 : 1;
}
