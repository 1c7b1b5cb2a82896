// The parts of the GEMM that are the same on every rung: which tile a CTA computes, the tensor-core product of
// two tiles in shared memory, and the way the result leaves the registers.
#pragma once

#include <cuda_bf16.h>

#include "ptx/wgmma.cuh"

namespace lab {

using bf16 = __nv_bfloat16;

// First row and column of C that this CTA computes.
struct OutputTile {
  int row, col;
};

// Numbers the BM x BN tiles of an m x n matrix down columns of kGroup tiles, then on to the right: the CTAs
// that run at the same time then cover a block of C that is about square, and find each other's rows of A
// and B in the L2 cache.
template <int BM, int BN>
__device__ __forceinline__ OutputTile output_tile(int m, int n) {
  constexpr int kGroup = 16;
  const int tiles_m = (m + BM - 1) / BM;
  const int tiles_n = (n + BN - 1) / BN;
  const int first = static_cast<int>(blockIdx.x) / (kGroup * tiles_n) * kGroup;
  const int rows = min(kGroup, tiles_m - first);
  const int index = static_cast<int>(blockIdx.x) - first * tiles_n;
  return {(first + index % rows) * BM, index / rows * BN};
}

// acc += A * B^T on the tensor core, asynchronously. A: 64 x BK, B: 128 x BK, both K-major bf16 with 128-byte
// rows (BK = 64), 128-byte swizzled, on 1024-byte boundaries. Executed by one warpgroup; the caller fences,
// commits and waits.
template <int BK>
__device__ __forceinline__ void multiply_tile(float (&acc)[64], const bf16* a, const bf16* b) {
  static_assert(BK * sizeof(bf16) == 128, "the descriptor describes rows of 128 bytes");
#pragma unroll
  for (int k = 0; k < BK; k += 16) {
    ptx::wgmma_m64n128k16_f32_bf16_bf16(acc, ptx::wgmma_descriptor_k_major_128B(a + k),
                                        ptx::wgmma_descriptor_k_major_128B(b + k), true);
  }
}

// Writes a warpgroup's 64 x 128 accumulator as bf16 to c (m x n, row-major, n a multiple of 8) at (row, col);
// what lies outside is not written. acc has the layout of wgmma's result: neighbouring columns in pairs.
__device__ __forceinline__ void store_accumulator(const float (&acc)[64], bf16* c, int m, int n, int row,
                                                  int col) {
  const int thread = threadIdx.x % 128;
  row += thread / 32 * 16 + thread % 32 / 4;
  col += thread % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = row + 8 * half;
    if (r >= m) continue;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int column = col + 8 * i;
      if (column < n) {
        const float2 pair = {acc[4 * i + 2 * half], acc[4 * i + 2 * half + 1]};
        *reinterpret_cast<__nv_bfloat162*>(c + r * n + column) = __float22bfloat162_rn(pair);
      }
    }
  }
}

}  // namespace lab
