// Lesson 10: the CTAs stay. Each computes tile after tile; one tile's result leaves behind the next one's main loop.
#include "emulator/names.hpp"
#include "host/device.hpp"
#include "host/gemm_program.hpp"
#include "host/tensor_map.hpp"
#include "kernel/cluster.cuh"
#include "kernel/epilogue.cuh"
#include "kernel/gemm_tile.cuh"
#include "kernel/pipeline.cuh"
#include "kernel/wait.cuh"
#include "ptx/bulk_group.cuh"
#include "ptx/cluster.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/elect.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/wgmma.cuh"
#include "todo.cuh"

using lab::bf16;

constexpr int BM = 128, BN = 256, BK = 64;  // a CTA computes BM x BN of C, in steps of BK along K
constexpr int kStages = 4;                  // tiles of A and B in shared memory
constexpr int kCluster = 2;                 // CTAs, one below the other in C, that share the tile of B
constexpr int kShareB = BN / kCluster;      // rows of the tile of B that one CTA fetches for the cluster
constexpr uint16_t kAllCtas = (1 << kCluster) - 1;
constexpr int kRows = kCluster * BM;              // a cluster computes kRows x BN of C at a time
constexpr int kConsumers = BM / 64;               // consumer warpgroups, 64 rows of the tile each
constexpr int kThreads = 128 * (1 + kConsumers);  // setmaxnreg takes whole warpgroups, so the producer is one
constexpr int kLaunchRegisters = 65536 / kThreads / 8 * 8;      // per thread: those of an SM, in units of 8
constexpr uint32_t kTileBytes = (BM + BN) * BK * sizeof(bf16);  // what lands for one K tile
static_assert(BK * sizeof(bf16) == 128, "with the 128-byte swizzle a row of the box is at most 128 bytes");

struct Smem {
  alignas(1024) bf16 a[kStages][BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
  alignas(1024) bf16 b[kStages][BN * BK];
  alignas(1024) bf16 c[4 * kConsumers][2][lab::kBlockElements];  // two blocks of 16 x 64 per consumer warp
  uint64_t full_bar[kStages];   // its phase completes when both tiles have landed
  uint64_t empty_bar[kStages];  // its phase completes when every consumer warp of the cluster has read them
};
static_assert(sizeof(Smem) <= 227 * 1024, "more shared memory than a CTA can have");

// C = A * B^T.  tmap_a: A, m x k in boxes of BM x BK; tmap_b: B, n x k in boxes of kShareB x BK.  tmap_c: C, m x n in
// boxes of 16 x 64.  Any number of clusters; cluster i computes tiles i, i + clusters, ... of kRows x BN.
__global__ void __cluster_dims__(kCluster) __launch_bounds__(kThreads, 1)
    gemm(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b,
         const __grid_constant__ CUtensorMap tmap_c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b, c, full_bar, empty_bar);  // as the emulator's reports call them
  const int rank = ptx::cluster_ctarank();
  const int cluster = blockIdx.x / kCluster, clusters = gridDim.x / kCluster;
  const int tiles = ((m + kRows - 1) / kRows) * ((n + BN - 1) / BN);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;

  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&smem.full_bar[s], 1);                           // this CTA's producer's expect_tx
      ptx::mbarrier_init(&smem.empty_bar[s], kCluster * 4 * kConsumers);  // each consumer warp of the cluster
    }
    ptx::fence_mbarrier_init_release_cluster();
  }
  lab::cluster_sync_relaxed();  // both CTAs: the other one's copies and arrivals come to these barriers

  constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
  static_assert(128 * (kProducerRegisters + kConsumers * kConsumerRegisters) <= kThreads * kLaunchRegisters,
                "the consumers can only take what the producer has given back");
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
  }

  if (warpgroup == 0) {  // ---- producer: one thread of the first warp
    if (threadIdx.x < 32 && ptx::elect_sync()) {
      // [region producer]
      lab::Slot<kStages> slot;  // goes on from tile to tile
      for (int i = cluster; i < tiles; i += clusters) {
        const lab::OutputTile tile = lab::output_tile<kRows, BN>(i, m, n);
        for (int t = 0; t < k_tiles; ++t, ++slot) {
          uint64_t* full_bar = &smem.full_bar[slot.stage];
          // Empty in both CTAs: the copy of B writes to both.
          lab::wait(&smem.empty_bar[slot.stage], slot.parity ^ 1);
          ptx::mbarrier_arrive_expect_tx(full_bar, kTileBytes);
          ptx::cp_async_bulk_tensor_2d(smem.a[slot.stage], &tmap_a, t * BK, tile.row + rank * BM, full_bar);
          ptx::cp_async_bulk_tensor_2d_multicast(smem.b[slot.stage] + rank * kShareB * BK, &tmap_b, t * BK,
                                                 tile.col + rank * kShareB, full_bar, kAllCtas);
        }
      }
      // [todo 10.1] Drain the ring: stay until the consumers of both CTAs have handed back every stage.
      TODO_OPEN("10.1", "Drain the ring: stay until the consumers of both CTAs have handed back every stage.");
      // [end]
      // [end region]
    }
  } else {  // ---- consumers
    // [region consumer]
    // The rows of the tile that this warpgroup computes begin here.
    const int row = (warpgroup - 1) * 64;
    const int warp = threadIdx.x / 32 - 4;  // of the consumers
    const auto release = [&](int stage) {   // hands a stage back to both CTAs
      if (threadIdx.x % 32 < kCluster) ptx::mbarrier_arrive_cluster(&smem.empty_bar[stage], threadIdx.x % 32);
    };
    // Else ptxas sees a path without a product and serialises wgmma (C7515).
    __builtin_assume(k_tiles > 0);
    float acc[BN / 2] = {};
    lab::DeferredEpilogue<BN / 2> epilogue;  // of the tile before
    lab::Slot<kStages> slot, previous;
    for (int i = cluster; i < tiles; i += clusters) {
      const lab::OutputTile tile = lab::output_tile<kRows, BN>(i, m, n);
      for (int t = 0; t < k_tiles; ++t, ++slot) {
        lab::wait(&smem.full_bar[slot.stage], slot.parity);
        // [todo 10.2] Start the product of K tile t; the sum must not contain the tile of C before.
        TODO_OPEN("10.2", "Start the product of K tile t; the sum must not contain the tile of C before.");
        // [end]
        epilogue.store_some(smem.c[warp], tmap_c, t + 1 == k_tiles);
        ptx::wgmma_wait_group<1>();  // all but the product just started
        if (t > 0) {
          release(previous.stage);
          ++previous;
        }
      }
      const int out_row = tile.row + rank * BM + warp * lab::kBlockRows;
      // [todo 10.3] Hand back the last stage, then let the result leave: behind the next tile, or now.
      TODO_OPEN("10.3", "Hand back the last stage, then let the result leave: behind the next tile, or now.");
      // [end]
    }
    if (ptx::elect_sync()) ptx::cp_async_bulk_wait_group_read<0>();  // shared memory ends with the CTA
    // [end region]
  }
}

// As many clusters as the GPU holds, but no more than the busiest one's number of tiles requires.
unsigned clusters_for(int tiles) {
  const int fit = lab::current_device().multiprocessors / kCluster;
  const int rounds = (tiles - 1) / fit + 1;
  return (tiles - 1) / rounds + 1;
}

int main(int argc, char** argv) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    const CUtensorMap tmap_a = lab::make_tensor_map_2d(p.a, p.m, p.k, BM, BK);
    const CUtensorMap tmap_b = lab::make_tensor_map_2d(p.b, p.n, p.k, kShareB, BK);
    const CUtensorMap tmap_c = lab::make_tensor_map_2d(p.c, p.m, p.n, lab::kBlockRows, lab::kBlockCols);
    const unsigned ctas = kCluster * clusters_for(p.tiles(kRows, BN));
    return [=] { gemm<<<ctas, kThreads, sizeof(Smem)>>>(tmap_a, tmap_b, tmap_c, p.m, p.n, p.k); };
  };
  const lab::Variant kernel = {"", "", reinterpret_cast<const void*>(gemm), sizeof(Smem), prepare};
  return lab::gemm_main(
      argc, argv,
      {"10_persistent", "persistent CTAs, tile after tile", {BM, BN, BK}, kStages, {kernel}, {}, true});
}
