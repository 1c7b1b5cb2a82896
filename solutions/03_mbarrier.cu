// Lesson 03: the copies of lesson 02 complete on mbarriers: one says "full", one says "empty".
#include "host/gemm_program.hpp"
#include "kernel/gemm_tile.cuh"
#include "kernel/pipeline.cuh"
#include "kernel/wait.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"
#include "todo.cuh"

using lab::bf16;

constexpr int BM = 128, BN = 128, BK = 64;  // one CTA computes BM x BN of C, BK of the sum at a time
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
  uint64_t full_bar[kStages];   // completes when every thread's copies into the stage have landed
  uint64_t empty_bar[kStages];  // completes when every warp has read the stage
};

// Where chunk i of this thread lies in a tile. Eight neighbouring threads take the eight chunks of one row.
__device__ int chunk_row(int i) {
  return (i * kThreads + threadIdx.x) / kChunksPerRow;
}
__device__ int chunk_col(int i) {
  return (i * kThreads + threadIdx.x) % kChunksPerRow;
}

// Global -> shared, asynchronously, in the order that the wgmma descriptor promises. src: rows x k, row-major.
// The tile starts at (row0, k0); chunks outside src become zeros.
__device__ void copy_tile(bf16* tile, const bf16* src, int rows, int k, int row0, int k0) {
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const int row = chunk_row(i);
    const int col = chunk_col(i);
    const bool inside = row0 + row < rows && k0 + col * 8 < k;
    const bf16* from = src + (inside ? (row0 + row) * k + k0 + col * 8 : 0);
    bf16* to = tile + (row * kChunksPerRow + (col ^ (row % 8))) * 8;
    ptx::cp_async_cg_16(to, from, inside ? kChunkBytes : 0);
  }
}

// C = A * B^T.  a: m x k, b: n x k, c: m x n, row-major bf16.  One CTA a tile of C.
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const bf16* a, const bf16* b, bf16* c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;
  float acc[BN / 2] = {};

  // [region init]
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      // [todo 03.1] Let full_bar expect an arrival of every thread, empty_bar one of every warp.
      ptx::mbarrier_init(&smem.full_bar[s], kThreads);
      ptx::mbarrier_init(&smem.empty_bar[s], kThreads / 32);
      // [end]
    }
  }
  __syncthreads();  // nobody may use a barrier that does not exist yet
  // [end region]

  // [region copy]
  lab::Slot<kStages> fill;  // the stage of the next copy
  const auto start_copy = [&](int t) {
    if (t >= k_tiles) return;
    // [todo 03.2] Wait until the stage is empty: on its first lap it is, and parity ^ 1 says so.
    lab::wait(&smem.empty_bar[fill.stage], fill.parity ^ 1);
    // [end]
    copy_tile(smem.a[fill.stage], a, m, k, tile.row, t * BK);
    copy_tile(smem.b[fill.stage], b, n, k, tile.col, t * BK);
    // [todo 03.3] Let the hardware arrive on full_bar for you when your copies have landed.
    ptx::cp_async_mbarrier_arrive_noinc(&smem.full_bar[fill.stage]);
    // [end]
    ++fill;
  };
  for (int t = 0; t < kStages - 1; ++t) start_copy(t);
  // [end region]

  // [region loop]
  lab::Slot<kStages> read;  // the stage of the tile that is multiplied
  for (int t = 0; t < k_tiles; ++t, ++read) {
    // [todo 03.4] Wait until the stage is full, with the parity of this lap.
    lab::wait(&smem.full_bar[read.stage], read.parity);
    // [end]
    // cp.async is the generic proxy, wgmma reads through the async one. The fence stands with the readers: the
    // arrival is the hardware's, so no thread that has written is there to execute one.
    ptx::fence_proxy_async_shared_cta();

    ptx::wgmma_fence();
    lab::multiply_tile<BK>(acc, smem.a[read.stage] + warpgroup * 64 * BK, smem.b[read.stage]);
    ptx::wgmma_commit_group();
    start_copy(t + kStages - 1);  // into the stage of tile t - 1; the tensor core works meanwhile
    ptx::wgmma_wait_group<0>();
    // [todo 03.5] Hand the stage back: one thread of each warp arrives on its empty_bar.
    if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&smem.empty_bar[read.stage]);
    // [end]
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
      {"03_mbarrier", "full and empty barriers around cp.async", {BM, BN, BK}, kStages, {kernel}});
}
