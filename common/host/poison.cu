#include <cuda_runtime.h>

#include "host/cuda_check.hpp"
#include "host/poison.hpp"

namespace lab {
namespace {

__global__ void fill_kernel(uint16_t* out, size_t count, uint16_t bits) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    out[i] = bits;
}

__global__ void poison_shared_kernel(int words) {
  extern __shared__ volatile uint32_t memory[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) memory[i] = 0xFFFFFFFFu;
}

}  // namespace

void fill_bf16(bf16* out, size_t count, uint16_t bits) {
  constexpr size_t kThreads = 256, kMaxBlocks = 4096;
  const size_t blocks = (count + kThreads - 1) / kThreads;
  fill_kernel<<<static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks), kThreads>>>(
      reinterpret_cast<uint16_t*>(out), count, bits);
  cuda_check(cudaGetLastError(), "launch the fill kernel");
}

void poison_shared_memory() {
  int device = 0, bytes = 0, sms = 0;
  cuda_check(cudaGetDevice(&device), "find the current device");
  cuda_check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "read the size of shared memory");
  cuda_check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "read the number of SMs");
  cuda_check(cudaFuncSetAttribute(poison_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "give the poison kernel all shared memory");
  poison_shared_kernel<<<4 * sms, 1024, bytes>>>(bytes /
                                                 4);  // one CTA fits an SM; four rounds reach every SM
  cuda_check(cudaGetLastError(), "launch the poison kernel");
}

}  // namespace lab
