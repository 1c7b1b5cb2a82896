// Lesson 03: the copies of lesson 02 complete on mbarriers: one per stage says "full", one says "empty".
#include "emulator/names.hpp"
#include "host/gemm_program.hpp"
#include "kernel/gemm_tile.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
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
  uint64_t full_bar[kStages];   // completes when every thread's copies into the stage have landed
  uint64_t empty_bar[kStages];  // completes when every warp has read the stage
};

// [region wait]
// Returns when the phase of this parity is complete; the bytes that completed it are then visible.
__device__ void wait(uint64_t* bar, uint32_t parity) {
  // [todo 03.3] Ask until the answer is yes.
  while (!ptx::mbarrier_try_wait_parity(bar, parity)) {
    // try_wait sleeps for a while by itself; false only means "not yet"
  }
  // [end]
}
// [end region]

// [region slot]
// A position in the ring: a stage, and the parity of the phase that its barriers are in on this lap.
struct Slot {
  int stage = 0;
  uint32_t parity = 0;

  __device__ Slot& operator++() {
    // [todo 03.4] Go on to the next stage of the ring, and flip the parity where a new lap begins.
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
    // [end]
    return *this;
  }
};
// [end region]

// Row and column, in chunks, of chunk i of this thread. Eight neighbouring threads take the eight chunks of a row.
__device__ int chunk_row(int i) {
  return (i * kThreads + threadIdx.x) / kChunksPerRow;
}
__device__ int chunk_col(int i) {
  return (i * kThreads + threadIdx.x) % kChunksPerRow;
}

// Starts the copies of this thread's chunks, global -> shared memory, in the order that the wgmma descriptor announces.
// src: rows x k, row-major. The tile starts at (row0, k0); chunks outside src become zeros.
__device__ void copy_tile(bf16* tile, const bf16* src, int rows, int k, int row0, int k0) {
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const int row = chunk_row(i);
    const int col = chunk_col(i);
    bf16* to = tile + (row * kChunksPerRow + (col ^ (row % 8))) * 8;
    const bool inside = row0 + row < rows && k0 + col * 8 < k;
    const bf16* from = src + (inside ? (row0 + row) * k + k0 + col * 8 : 0);
    ptx::cp_async_cg_16(to, from, inside ? kChunkBytes : 0);
  }
}

// C = A * B^T.  a: m x k, b: n x k, c: m x n, row-major bf16.  One CTA per tile of C.
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const bf16* a, const bf16* b, bf16* c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b, full_bar, empty_bar);  // as the emulator's reports call them
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;
  float acc[BN / 2] = {};

  // [region init]
  if (threadIdx.x == 0) {
    // [todo 03.1] Initialise both barriers of every stage with the arrivals that complete a phase.
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&smem.full_bar[s], kThreads);        // each thread's copies
      ptx::mbarrier_init(&smem.empty_bar[s], kThreads / 32);  // each warp, when it has read
    }
    // [end]
  }
  __syncthreads();  // nobody may use a barrier that does not exist yet
  // [end region]

  // [region copy]
  Slot fill;  // the stage of the next copy
  // Starts the copies of K tile t into the stage of `fill`.
  const auto start_copy = [&](int t) {
    if (t >= k_tiles) return;
    // [todo 03.2] Copy tile t once its stage is empty; the hardware reports on full_bar that it landed.
    wait(&smem.empty_bar[fill.stage], fill.parity ^ 1);  // on the first lap the stage is empty already
    copy_tile(smem.a[fill.stage], a, m, k, tile.row, t * BK);
    copy_tile(smem.b[fill.stage], b, n, k, tile.col, t * BK);
    ptx::cp_async_mbarrier_arrive_noinc(&smem.full_bar[fill.stage]);
    // [end]
    ++fill;
  };
  for (int t = 0; t < kStages - 1; ++t) start_copy(t);
  // [end region]

  // [region loop]
  Slot read;  // the stage of the tile that is multiplied
  for (int t = 0; t < k_tiles; ++t, ++read) {
    wait(&smem.full_bar[read.stage], read.parity);
    // The proxy fence of lesson 02, in the readers now: when the copies land, it is the hardware that arrives, and none
    // of the threads that started them is there to execute a fence.
    ptx::fence_proxy_async_shared_cta();

    ptx::wgmma_fence();
    lab::multiply_tile<BK>(acc, smem.a[read.stage] + warpgroup * 64 * BK, smem.b[read.stage]);
    ptx::wgmma_commit_group();
    start_copy(t + kStages - 1);  // into the stage of tile t - 1, while the tensor core works
    ptx::wgmma_wait_group<0>();
    // This warp has read the stage.
    if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&smem.empty_bar[read.stage]);
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
