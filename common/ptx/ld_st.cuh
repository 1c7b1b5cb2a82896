// Loads and stores of global memory that order others: a flag between CTAs of one grid. (PTX §9.7.9, §8)
#pragma once

#include <cstdint>

namespace ptx {

// ld.acquire.gpu.global.u32 d, [a];
// What the thread that stored this value with release did before is visible to what follows. (sm_70, PTX §9.7.9.8)
__device__ __forceinline__ uint32_t ld_acquire_gpu(const uint32_t* address) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// st.release.gpu.global.u32 [a], b;
// What this thread did before, and what it knows that others did, is visible to whoever reads the value with
// acquire. (sm_70, PTX §9.7.9.12)
__device__ __forceinline__ void st_release_gpu(uint32_t* address, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
}

}  // namespace ptx
