// The way of a result tile out: registers -> swizzled shared memory -> copy engine -> global memory.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

#include "kernel/gemm_tile.cuh"
#include "ptx/bulk_group.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/elect.cuh"
#include "ptx/fence.cuh"
#include "ptx/stmatrix.cuh"

namespace lab {

// A warp stages its result in blocks of 16 rows x 64 columns: rows of 128 bytes, as the 128-byte swizzle wants.
constexpr int kBlockRows = 16, kBlockCols = 64;
constexpr int kBlockElements = kBlockRows * kBlockCols;

// Two floats as two bf16, the first in the low half.
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// Writes columns 64 * j to 64 * j + 63 of a warp's 16 rows of the accumulator to `block` as bf16, 128-byte
// swizzled: the 16-byte chunk c of row r lies at chunk c ^ (r % 8). acc: wgmma's layout, BN / 2 registers a
// thread. block: kBlockElements elements on a 1024-byte boundary. Executed by whole warps.
template <int kRegisters>
__device__ __forceinline__ void stage_block(const float (&acc)[kRegisters], int j, bf16* block) {
  const int lane = threadIdx.x % 32;
  const int row =
      lane % 16;  // lanes 0..15 address the rows of the left two matrices, 16..31 of the right two
#pragma unroll
  for (int i = 0; i < kBlockCols / 16; ++i) {
    const int chunk = 2 * i + lane / 16;
    const float* d = acc + 32 * j + 8 * i;  // 16 columns: upper and lower 8 rows, left and right 8 columns
    ptx::stmatrix_x4(block + row * kBlockCols + (chunk ^ row % 8) * 8, pack_bf16(d[0], d[1]),
                     pack_bf16(d[2], d[3]), pack_bf16(d[4], d[5]), pack_bf16(d[6], d[7]));
  }
}

// Stores a warp's 16 x BN part of the accumulator to the matrix of tmap_c, whose box is kBlockRows x kBlockCols, at
// (row, col); what lies outside the matrix is not written. blocks: two of them, used in turns; a block is
// written again when the store before last has read it. Returns with up to two stores under way: the lane that
// elect.sync names must wait for its bulk groups before the CTA ends.
template <int kRegisters>
__device__ __forceinline__ void store_rows(const float (&acc)[kRegisters], bf16 (&blocks)[2][kBlockElements],
                                           const CUtensorMap& tmap_c, int row, int col) {
  const bool elected = ptx::elect_sync();
#pragma unroll
  for (int j = 0; j < kRegisters * 2 / kBlockCols; ++j) {
    bf16* block = blocks[j % 2];
    if (elected) ptx::cp_async_bulk_wait_group_read<1>();
    __syncwarp();
    stage_block(acc, j, block);
    ptx::fence_proxy_async_shared_cta();
    __syncwarp();
    if (elected) {
      ptx::cp_async_bulk_tensor_2d_store(&tmap_c, col + j * kBlockCols, row, block);
      ptx::cp_async_bulk_commit_group();
    }
  }
}

}  // namespace lab
