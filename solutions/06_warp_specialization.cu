// Lesson 06: a warp that only copies, two warpgroups that only multiply; they meet at full and empty barriers.
#include "emulator/names.hpp"
#include "host/gemm_program.hpp"
#include "host/tensor_map.hpp"
#include "kernel/gemm_tile.cuh"
#include "kernel/pipeline.cuh"
#include "kernel/wait.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/elect.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"
#include "todo.cuh"

using lab::bf16;

constexpr int BM = 128, BN = 128, BK = 64;       // a CTA computes BM x BN of C, in steps of BK along K
constexpr int kStages = 3;                       // tiles of A and B in shared memory
constexpr int kConsumers = BM / 64;              // consumer warpgroups, 64 rows of the tile each
constexpr int kThreads = 128 * kConsumers + 32;  // and the producer warp
constexpr uint32_t kTileBytes = (BM + BN) * BK * sizeof(bf16);  // what lands for one K tile
static_assert(BK * sizeof(bf16) == 128, "with the 128-byte swizzle a row of the box is at most 128 bytes");

struct Smem {
  alignas(1024) bf16 a[kStages][BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
  alignas(1024) bf16 b[kStages][BN * BK];
  uint64_t full_bar[kStages];   // its phase completes when both tiles have landed
  uint64_t empty_bar[kStages];  // its phase completes when every consumer warp has read them
};

// C = A * B^T.  tmap_a: A, m x k in boxes of BM x BK; tmap_b: B, n x k in boxes of BN x BK.  c: m x n, row-major bf16.
// One CTA per tile of C.
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b, bf16* c,
         int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b, full_bar, empty_bar);  // as the emulator's reports call them
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;

  // [region init]
  if (threadIdx.x == 0) {
    // [todo 06.1] Initialise both barriers of every stage with the arrivals that complete a phase.
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&smem.full_bar[s], 1);                // the producer's expect_tx
      ptx::mbarrier_init(&smem.empty_bar[s], 4 * kConsumers);  // one thread of each consumer warp
    }
    // [end]
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
  // [end region]

  if (warpgroup == kConsumers) {  // ---- producer: one thread of the last warp
    // [region producer]
    if (ptx::elect_sync()) {
      lab::Slot<kStages> slot;
      for (int t = 0; t < k_tiles; ++t, ++slot) {
        uint64_t* full_bar = &smem.full_bar[slot.stage];
        // [todo 06.2] Fill the stage of `slot` with tile t once it is empty; on the first lap it is.
        lab::wait(&smem.empty_bar[slot.stage], slot.parity ^ 1);
        ptx::mbarrier_arrive_expect_tx(full_bar, kTileBytes);
        ptx::cp_async_bulk_tensor_2d(smem.a[slot.stage], &tmap_a, t * BK, tile.row, full_bar);
        ptx::cp_async_bulk_tensor_2d(smem.b[slot.stage], &tmap_b, t * BK, tile.col, full_bar);
        // [end]
      }
    }
    // [end region]
  } else {  // ---- consumers
    // [region consumer]
    // The rows of the tile that this warpgroup computes begin here.
    const int row = warpgroup * 64;
    float acc[BN / 2] = {};
    lab::Slot<kStages> slot, previous;
    for (int t = 0; t < k_tiles; ++t, ++slot) {
      lab::wait(&smem.full_bar[slot.stage], slot.parity);
      ptx::wgmma_fence();
      lab::multiply_tile<BK>(acc, smem.a[slot.stage] + row * BK, smem.b[slot.stage]);
      ptx::wgmma_commit_group();
      // [todo 06.3] Hand back a stage that this warp has read; the newest product stays in flight.
      ptx::wgmma_wait_group<1>();
      if (t > 0) {
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&smem.empty_bar[previous.stage]);
        ++previous;
      }
      // [end]
    }
    ptx::wgmma_wait_group<0>();
    lab::store_accumulator(acc, c, m, n, tile.row + row, tile.col);
    // [end region]
  }
}

int main(int argc, char** argv) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    const CUtensorMap tmap_a = lab::make_tensor_map_2d(p.a, p.m, p.k, BM, BK);
    const CUtensorMap tmap_b = lab::make_tensor_map_2d(p.b, p.n, p.k, BN, BK);
    return [=] { gemm<<<p.tiles(BM, BN), kThreads, sizeof(Smem)>>>(tmap_a, tmap_b, p.c, p.m, p.n, p.k); };
  };
  const lab::Variant kernel = {"", "", reinterpret_cast<const void*>(gemm), sizeof(Smem), prepare};
  return lab::gemm_main(argc, argv,
                        {"06_warp_specialization",
                         "a warp that copies, two warpgroups that multiply",
                         {BM, BN, BK},
                         kStages,
                         {kernel}});
}
