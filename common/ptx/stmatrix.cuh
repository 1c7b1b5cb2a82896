// stmatrix: a warp stores 8 x 8 matrices of 16-bit elements from registers to shared memory.
#pragma once

#include <cstdint>

#include "ptx/smem_addr.cuh"

namespace ptx {

// stmatrix.sync.aligned.m8n8.x4.shared.b16 [row], {r0, r1, r2, r3};
// Four matrices. Lane l gives the address of row l % 8 of matrix l / 8: 16 bytes, 16-byte aligned. Register i
// of lane l holds row l / 4 and columns 2 * (l % 4) and + 1 of matrix i, the layout in which wgmma leaves its
// result. All 32 lanes execute it together. (sm_90, PTX §9.7.14.5.16)
__device__ __forceinline__ void stmatrix_x4(void* row, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(smem_addr(row)), "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

}  // namespace ptx
