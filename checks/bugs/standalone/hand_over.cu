// A CTA stores a tile to global memory with the copy engine and raises a flag; another waits for it and reads the tile.
#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "ptx/bulk_group.cuh"
#include "ptx/fence.cuh"
#include "ptx/ld_st.cuh"
#include "ptx/smem_addr.cuh"

constexpr int kThreads = 128, kElements = 1024;

// cp.async.bulk.global.shared::cta.bulk_group [dst], [src], bytes;  (sm_90, PTX §9.7.9.25)
__device__ void cp_async_bulk_store(void* dst, const void* src, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(dst), "r"(ptx::smem_addr(src)), "r"(bytes)
               : "memory");
}

// cp.async.bulk.wait_group 0: the stores of this thread are complete, not only read.  (sm_90)
__device__ void cp_async_bulk_wait_group_0() {
  asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}

// tile, out: kElements floats. flag: 0. Two CTAs: the first writes tile, the second copies it to out.
__global__ void hand_over(float* tile, float* out, unsigned* flag) {
  __shared__ alignas(128) float smem[kElements];
  if (blockIdx.x == 0) {  // ---- writer
    for (int i = threadIdx.x; i < kElements; i += kThreads) smem[i] = 3.0f * i;
    ptx::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
      cp_async_bulk_store(tile, smem, sizeof(smem));
      ptx::cp_async_bulk_commit_group();
      cp_async_bulk_wait_group_0();  // not .read: the bytes must be in global memory
      ptx::st_release_gpu(flag, 1);
    }
  } else {  // ---- reader
    if (threadIdx.x == 0) {
      while (ptx::ld_acquire_gpu(flag) == 0) {
      }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kElements; i += kThreads) out[i] = tile[i];
  }
}

int main() {
  const auto tile = lab::device_buffer<float>(kElements), out = lab::device_buffer<float>(kElements);
  const auto flag = lab::device_buffer<unsigned>(1);
  lab::cuda_check(cudaMemset(tile.get(), 0xFF, kElements * sizeof(float)), "poison the tile");
  lab::cuda_check(cudaMemset(out.get(), 0xFF, kElements * sizeof(float)), "poison the output");
  lab::cuda_check(cudaMemset(flag.get(), 0, sizeof(unsigned)), "clear the flag");
  hand_over<<<2, kThreads>>>(tile.get(), out.get(), flag.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("hand_over: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<float> got(kElements);
  lab::cuda_check(cudaMemcpy(got.data(), out.get(), kElements * sizeof(float), cudaMemcpyDeviceToHost),
                  "read the output");
  int wrong = 0;
  for (int i = 0; i < kElements; ++i) wrong += !(got[i] == 3.0f * i);
  std::printf("hand_over: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong, kElements);
  return wrong == 0 ? 0 : 1;
}
