// The epilogue: a result tile leaves by registers -> swizzled shared memory -> copy engine -> global memory.
#pragma once

#include <cuda.h>
#include <cstdint>

#include "kernel/gemm_tile.cuh"
#include "ptx/bulk_group.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/cvt.cuh"
#include "ptx/elect.cuh"
#include "ptx/fence.cuh"
#include "ptx/stmatrix.cuh"

namespace lab {

// A warp stages its result in blocks of 16 rows x 64 columns: rows of 128 bytes, as the 128-byte swizzle wants.
constexpr int kBlockRows = 16, kBlockCols = 64;
constexpr int kBlockElements = kBlockRows * kBlockCols;

constexpr int kBlockPairs = kBlockElements / 2 / 32;  // per thread

// Block j of the accumulator as bf16: columns 64 * j to 64 * j + 63. acc: wgmma's layout, BN / 2 registers per thread.
template <int kRegisters>
__device__ __forceinline__ void pack_block(const float (&acc)[kRegisters], int j,
                                           uint32_t (&pairs)[kBlockPairs]) {
#pragma unroll
  for (int i = 0; i < kBlockPairs; ++i) {
    const float* pair = acc + 2 * (kBlockPairs * j + i);
    pairs[i] = ptx::cvt_rn_bf16x2_f32(pair[1], pair[0]);  // the first in the low half
  }
}

// Writes a packed block to `block`, 128-byte swizzled: the 16-byte chunk c of row r is stored at chunk c ^ (r % 8). block:
// kBlockElements elements on a 1024-byte boundary. Executed by whole warps.
__device__ __forceinline__ void stage_block(const uint32_t (&pairs)[kBlockPairs], bf16* block) {
  const int lane = threadIdx.x % 32;
  const int row =
      lane % 16;  // lanes 0..15 address the rows of the left two matrices, 16..31 of the right two
#pragma unroll
  for (int i = 0; i < kBlockCols / 16; ++i) {
    const int chunk = 2 * i + lane / 16;
    const uint32_t* d = pairs + 4 * i;  // 16 columns: upper and lower 8 rows, left and right 8 columns
    ptx::stmatrix_x4(block + row * kBlockCols + (chunk ^ row % 8) * 8, d[0], d[1], d[2], d[3]);
  }
}

// Stores a packed block at (row, col) of the matrix of tmap_c, whose box is kBlockRows x kBlockCols, by way of `block`, one
// of two that the warp uses in turn: `block` is written as soon as the store before last has read it. The store is still
// under way when this returns.
__device__ __forceinline__ void store_block(const uint32_t (&pairs)[kBlockPairs], bf16* block,
                                            const CUtensorMap& tmap_c, int row, int col) {
  const bool elected = ptx::elect_sync();
  if (elected) ptx::cp_async_bulk_wait_group_read<1>();
  __syncwarp();
  stage_block(pairs, block);
  ptx::fence_proxy_async_shared_cta();
  __syncwarp();
  if (elected) {
    ptx::cp_async_bulk_tensor_2d_store(&tmap_c, col, row, block);
    ptx::cp_async_bulk_commit_group();
  }
}

// Stores a warp's 16 x BN part of the accumulator to the matrix of tmap_c at (row, col); elements outside the matrix are not
// written. blocks: two of them, used in turn. Returns with up to two stores under way: the lane that elect.sync names must
// wait for its bulk groups before the CTA ends.
template <int kRegisters>
__device__ __forceinline__ void store_rows(const float (&acc)[kRegisters], bf16 (&blocks)[2][kBlockElements],
                                           const CUtensorMap& tmap_c, int row, int col) {
#pragma unroll
  for (int j = 0; j < kRegisters * 2 / kBlockCols; ++j) {
    uint32_t pairs[kBlockPairs];
    pack_block(acc, j, pairs);
    store_block(pairs, blocks[j % 2], tmap_c, row, col + j * kBlockCols);
  }
}

// [region deferred]
// The epilogue of one tile behind the main loop of the next, block by block: the accumulator is free as soon as it is packed.
template <int kRegisters>
class DeferredEpilogue {
 public:
  // Packs the accumulator, which belongs at (row, col). The tile packed before must have been stored completely.
  __device__ __forceinline__ void pack(const float (&acc)[kRegisters], int row, int col) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) pack_block(acc, j, pairs_[j]);
    row_ = row, col_ = col, left_ = kBlocks;
  }

  // Stores the next two blocks of the packed tile, or all that are left; does nothing when none are.
  __device__ __forceinline__ void store_some(bf16 (&blocks)[2][kBlockElements], const CUtensorMap& tmap_c,
                                             bool all) {
    if (left_ == 0) return;
    do {
      store_block(pairs_[0], blocks[0], tmap_c, row_, col_);
      store_block(pairs_[1], blocks[1], tmap_c, row_, col_ + kBlockCols);
#pragma unroll
      for (int j = 2; j < kBlocks; ++j) {  // the others move up: a register has no index at run time
#pragma unroll
        for (int i = 0; i < kBlockPairs; ++i) pairs_[j - 2][i] = pairs_[j][i];
      }
      col_ += 2 * kBlockCols, left_ -= 2;
    } while (all && left_ > 0);
  }

 private:
  static constexpr int kBlocks = 2 * kRegisters / kBlockCols;
  uint32_t pairs_[kBlocks][kBlockPairs];
  int row_, col_, left_ = 0;
};
// [end region]

}  // namespace lab
