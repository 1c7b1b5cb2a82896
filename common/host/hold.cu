#include <cuda_runtime.h>

#include "host/cuda_check.hpp"
#include "host/hold.hpp"

namespace lab {
namespace {

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold_kernel(unsigned long long ns) {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < ns) {
  }
}

}  // namespace

void hold_stream(double us) {
  hold_kernel<<<1, 1>>>(static_cast<unsigned long long>(us * 1000));
  cuda_check(cudaGetLastError(), "launch the kernel that holds the stream");
}

}  // namespace lab
