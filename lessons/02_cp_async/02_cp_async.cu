// Lesson 02: cp.async carries the tiles past the registers, several stages ahead of the tensor core.
#include "emulator/names.hpp"
#include "host/gemm_program.hpp"
#include "kernel/gemm_tile.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/fence.cuh"
#include "ptx/wgmma.cuh"
#include "todo.cuh"

using lab::bf16;

constexpr int BM = 128, BN = 128, BK = 64;  // a CTA computes BM x BN of C, in steps of BK along K
constexpr int kStages = 3;                  // tiles of A and B in shared memory
constexpr int kThreads = 256;               // two warpgroups, 64 rows of the tile each
constexpr int kChunkBytes = 16;             // what one cp.async moves: 8 bf16
constexpr int kChunksPerRow = BK * sizeof(bf16) / kChunkBytes;
constexpr int kChunksPerThread = BM * kChunksPerRow / kThreads;
static_assert(kChunksPerRow == 8, "the 128-byte swizzle permutes the eight 16-byte chunks of a 128-byte row");
static_assert(BM == BN, "one loop serves both operands");
static_assert(kStages >= 2, "one stage is read while the next is filled");

struct Smem {
  alignas(1024) bf16 a[kStages][BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
  alignas(1024) bf16 b[kStages][BN * BK];
};

// Row and column, in chunks, of chunk i of this thread. Eight neighbouring threads take the eight chunks of a row.
__device__ int chunk_row(int i) {
  return (i * kThreads + threadIdx.x) / kChunksPerRow;
}
__device__ int chunk_col(int i) {
  return (i * kThreads + threadIdx.x) % kChunksPerRow;
}

// [region copy]
// Starts the copies of this thread's chunks, global -> shared memory, in the order that the wgmma descriptor announces.
// src: rows x k, row-major. The tile starts at (row0, k0); chunks outside src become zeros.
__device__ void copy_tile(bf16* tile, const bf16* src, int rows, int k, int row0, int k0) {
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const int row = chunk_row(i);
    const int col = chunk_col(i);
    bf16* to = tile + (row * kChunksPerRow + (col ^ (row % 8))) * 8;
    // [todo 02.2] Start the copy of one chunk; where src has none, read 0 bytes of a valid address.
    TODO_OPEN("02.2", "Start the copy of one chunk; where src has none, read 0 bytes of a valid address.");
    // [end]
  }
}
// [end region]

// C = A * B^T.  a: m x k, b: n x k, c: m x n, row-major bf16.  One CTA per tile of C.
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const bf16* a, const bf16* b, bf16* c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b);  // as the emulator's reports call them
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;
  float acc[BN / 2] = {};

  // [region prologue]
  // Starts the copies of K tile t into its stage.
  const auto start_copy = [&](int t) {
    // [todo 02.1] Make one group of the copies of tile t, and an empty one where t is past the last tile.
    TODO_OPEN("02.1", "Make one group of the copies of tile t, and an empty one where t is past the last tile.");
    // [end]
  };
  for (int t = 0; t < kStages - 1; ++t) start_copy(t);
  // [end region]

  // [region loop]
  for (int t = 0; t < k_tiles; ++t) {
    // [todo 02.3] Make sure that all threads' copies of tile t have landed, and that wgmma sees them.
    TODO_OPEN("02.3", "Make sure that all threads' copies of tile t have landed, and that wgmma sees them.");
    // [end]

    ptx::wgmma_fence();
    lab::multiply_tile<BK>(acc, smem.a[t % kStages] + warpgroup * 64 * BK, smem.b[t % kStages]);
    ptx::wgmma_commit_group();
    start_copy(t + kStages - 1);  // into the stage of tile t - 1, while the tensor core works
    ptx::wgmma_wait_group<0>();
  }
  // [end region]
  lab::store_accumulator(acc, c, m, n, tile.row + warpgroup * 64, tile.col);
}

int main(int argc, char** argv) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    return [p] { gemm<<<p.tiles(BM, BN), kThreads, sizeof(Smem)>>>(p.a, p.b, p.c, p.m, p.n, p.k); };
  };
  const lab::Variant kernel = {"", "", reinterpret_cast<const void*>(gemm), sizeof(Smem), prepare};
  return lab::gemm_main(
      argc, argv,
      {"02_cp_async", "cp.async past the registers, several stages", {BM, BN, BK}, kStages, {kernel}});
}
