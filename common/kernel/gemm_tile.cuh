// The parts of the GEMM that are the same on every rung: which tile a CTA computes, the tensor-core product of
// two tiles in shared memory, and the way the result leaves the registers.
#pragma once

#include "kernel/bf16.hpp"
#include "ptx/cvt.cuh"
#include "ptx/wgmma.cuh"

namespace lab {

// First row and column of C that this CTA computes.
struct OutputTile {
  int row, col;
};

// Tile number `index` of the BM x BN tiles of an m x n matrix, in grouped raster order: down a group of kGroup tiles (2048
// rows), then on to the right. The CTAs that run at the same time then cover a block of C that is about square, and find
// each other's rows of A and B in the L2 cache.
template <int BM, int BN>
__device__ __forceinline__ OutputTile output_tile(int index, int m, int n) {
  constexpr int kGroup = 2048 / BM;
  const int tiles_m = (m + BM - 1) / BM;
  const int tiles_n = (n + BN - 1) / BN;
  const int first = index / (kGroup * tiles_n) * kGroup;
  const int rows = min(kGroup, tiles_m - first);
  const int in_group = index - first * tiles_n;
  return {(first + in_group % rows) * BM, in_group / rows * BN};
}

// The tile of this CTA, where each CTA computes one.
template <int BM, int BN>
__device__ __forceinline__ OutputTile output_tile(int m, int n) {
  return output_tile<BM, BN>(static_cast<int>(blockIdx.x), m, n);
}

// d = a * b^T + (accumulate ? d : 0) for one step of 16 along K; d has 64 rows and 128 or 256 columns.
__device__ __forceinline__ void wgmma_step(float (&d)[64], uint64_t desc_a, uint64_t desc_b,
                                           bool accumulate) {
  ptx::wgmma_m64n128k16_f32_bf16_bf16(d, desc_a, desc_b, accumulate);
}
__device__ __forceinline__ void wgmma_step(float (&d)[128], uint64_t desc_a, uint64_t desc_b,
                                           bool accumulate) {
  ptx::wgmma_m64n256k16_f32_bf16_bf16(d, desc_a, desc_b, accumulate);
}

// [region multiply]
// acc = A * B^T + (accumulate ? acc : 0) on the tensor core, asynchronously. acc: 64 x BN, BN / 2 registers per
// thread, BN = 128 or 256; A: 64 x BK, B: BN x BK, both K-major bf16 with 128-byte rows (BK = 64), 128-byte
// swizzled, on 1024-byte boundaries. Executed by one warpgroup; the caller fences, commits and waits.
template <int BK, int kRegisters>
__device__ __forceinline__ void multiply_tile(float (&acc)[kRegisters], const bf16* a, const bf16* b,
                                              bool accumulate = true) {
  static_assert(BK * sizeof(bf16) == 128, "the descriptor describes rows of 128 bytes");
#pragma unroll
  for (int k = 0; k < BK; k += 16) {
    wgmma_step(acc, ptx::wgmma_descriptor_k_major_128B(a + k), ptx::wgmma_descriptor_k_major_128B(b + k),
               accumulate || k > 0);
  }
}
// [end region]

// Writes a warpgroup's 64 x BN accumulator as bf16 to c (m x n, row-major, n a multiple of 8) at (row, col);
// elements outside are not written. acc has the layout of wgmma's result: neighbouring columns in pairs.
template <int kRegisters>
__device__ __forceinline__ void store_accumulator(const float (&acc)[kRegisters], bf16* c, int m, int n,
                                                  int row, int col) {
  const int thread = threadIdx.x % 128;
  row += thread / 32 * 16 + thread % 32 / 4;
  col += thread % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = row + 8 * half;
    if (r >= m) continue;
#pragma unroll
    for (int i = 0; i < kRegisters / 4; ++i) {
      const int column = col + 8 * i;
      if (column < n) {
        const float* pair = acc + 4 * i + 2 * half;
        *reinterpret_cast<uint32_t*>(c + r * n + column) = ptx::cvt_rn_bf16x2_f32(pair[1], pair[0]);
      }
    }
  }
}

}  // namespace lab
