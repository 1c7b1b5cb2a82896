// Lesson 11: stream-K. The tiles of the last round are split along K, so that every SM works to the end.
#include <algorithm>

#include "emulator/names.hpp"
#include "host/device.hpp"
#include "host/fixup_workspace.hpp"
#include "host/gemm_program.hpp"
#include "host/launch.hpp"
#include "host/tensor_map.hpp"
#include "kernel/cluster.cuh"
#include "kernel/epilogue.cuh"
#include "kernel/fixup.cuh"
#include "kernel/gemm_tile.cuh"
#include "kernel/pipeline.cuh"
#include "kernel/stream_k.cuh"
#include "kernel/wait.cuh"
#include "ptx/bulk_group.cuh"
#include "ptx/cluster.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/elect.cuh"
#include "ptx/fence.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/wgmma.cuh"
#include "todo.cuh"

using lab::bf16;

constexpr int BK = 64;  // a CTA computes BM x BN of C, in steps of BK along K
static_assert(BK * sizeof(bf16) == 128, "with the 128-byte swizzle a row of the box is at most 128 bytes");

// A tile shape and a cluster shape. Of the CTAs of a cluster either kClusterM are one below the other in C and share the tile
// of B, or kClusterN are side by side and share the tile of A.
template <int BM_, int BN_, int kStages_, int kClusterM_, int kClusterN_ = 1>
struct Shape {
  static constexpr int BM = BM_, BN = BN_, kStages = kStages_;
  static constexpr int kClusterM = kClusterM_, kClusterN = kClusterN_, kCluster = kClusterM * kClusterN;
  static constexpr int kRows = kClusterM * BM, kCols = kClusterN * BN;      // of C, per cluster
  static constexpr int kShareA = BM / kClusterN, kShareB = BN / kClusterM;  // rows that one CTA fetches
  static constexpr int kConsumers = BM / 64, kThreads = 128 * (1 + kConsumers);
  static constexpr int kLaunchRegisters = 65536 / kThreads / 8 * 8;
  static constexpr uint32_t kTileBytes = (BM + BN) * BK * sizeof(bf16);
  static_assert(kClusterM == 1 || kClusterN == 1, "all CTAs of a cluster share one of the tiles");

  struct Smem {
    alignas(1024) bf16 a[kStages][BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
    alignas(1024) bf16 b[kStages][BN * BK];
    alignas(1024) bf16 c[4 * kConsumers][2][lab::kBlockElements];  // two blocks of 16 x 64 per consumer warp
    uint64_t full_bar[kStages];   // its phase completes when both tiles have landed
    uint64_t empty_bar[kStages];  // its phase completes when every consumer warp of the cluster has read them
  };
  static_assert(sizeof(Smem) <= 227 * 1024, "more shared memory than a CTA can have");
};

// Fetches the tile at (row, col) in kSharers boxes of kBox x BK. With several sharers each CTA fetches one box for all.
template <int kBox, int kSharers>
__device__ __forceinline__ void fetch(bf16* tile, const CUtensorMap& tmap, int col, int row,
                                      uint64_t* full_bar, int rank) {
  if constexpr (kSharers == 1) {
    ptx::cp_async_bulk_tensor_2d(tile, &tmap, col, row, full_bar);
  } else {
    ptx::cp_async_bulk_tensor_2d_multicast(tile + rank * kBox * BK, &tmap, col, row + rank * kBox, full_bar,
                                           (1 << kSharers) - 1);
  }
}

// C = A * B^T.  tmap_a: A, m x k in boxes of kShareA x BK; tmap_b: B, n x k in boxes of kShareB x BK.  tmap_c: C, m x n in
// boxes of 16 x 64.  Any number of clusters, among which lab::StreamK divides the tiles of kRows x kCols, the first `split` of
// them along K; if any are split, all clusters must fit on the GPU at a time.
template <class S>
__global__ void __cluster_dims__(S::kCluster) __launch_bounds__(S::kThreads, 1)
    gemm(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b,
         const __grid_constant__ CUtensorMap tmap_c, int m, int n, int k, int split, lab::Fixup fixup) {
  constexpr int BM = S::BM, BN = S::BN, kStages = S::kStages, kCluster = S::kCluster;
  constexpr int kConsumers = S::kConsumers, kRows = S::kRows, kCols = S::kCols;
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  typename S::Smem& smem = *reinterpret_cast<typename S::Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b, c, full_bar, empty_bar);  // as the emulator's reports call them
  const int rank = ptx::cluster_ctarank();
  const int row0 = S::kClusterM > 1 ? rank * BM : 0;  // where in the cluster's tile this CTA's begins
  const int col0 = S::kClusterN > 1 ? rank * BN : 0;
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;
  const int tiles = ((m + kRows - 1) / kRows) * ((n + kCols - 1) / kCols);
  lab::StreamK scheduler(blockIdx.x / kCluster, gridDim.x / kCluster, tiles, split, k_tiles);

  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&smem.full_bar[s], 1);                           // this CTA's producer's expect_tx
      ptx::mbarrier_init(&smem.empty_bar[s], kCluster * 4 * kConsumers);  // each consumer warp of the cluster
    }
    ptx::fence_mbarrier_init_release_cluster();
  }
  lab::cluster_sync_relaxed();  // all CTAs: the other ones' copies and arrivals come to these barriers
  ptx::griddepcontrol_wait();   // so far the primary kernel may still be at work

  constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
  static_assert(
      128 * (kProducerRegisters + kConsumers * kConsumerRegisters) <= S::kThreads * S::kLaunchRegisters,
      "the consumers can only take what the producer has given back");
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
  }

  if (warpgroup == 0) {  // ---- producer: one thread of the first warp
    if (threadIdx.x < 32 && ptx::elect_sync()) {
      // [region producer]
      lab::Slot<kStages> slot;  // goes on from work unit to work unit
      for (lab::WorkUnit unit; scheduler.next(unit);) {
        const lab::OutputTile tile = lab::output_tile<kRows, kCols>(unit.tile, m, n);
        for (int t = unit.begin; t < unit.end; ++t, ++slot) {
          uint64_t* full_bar = &smem.full_bar[slot.stage];
          // Empty in all CTAs: a shared copy writes to all.
          lab::wait(&smem.empty_bar[slot.stage], slot.parity ^ 1);
          ptx::mbarrier_arrive_expect_tx(full_bar, S::kTileBytes);
          fetch<S::kShareA, S::kClusterN>(smem.a[slot.stage], tmap_a, t * BK, tile.row + row0, full_bar,
                                          rank);
          fetch<S::kShareB, S::kClusterM>(smem.b[slot.stage], tmap_b, t * BK, tile.col + col0, full_bar,
                                          rank);
        }
      }
      // [end region]
      for (int s = 0; s < kStages; ++s, ++slot) {  // drain the ring
        lab::wait(&smem.empty_bar[slot.stage], slot.parity ^ 1);
      }
    }
  } else {  // ---- consumers
    // [region consumer]
    constexpr int kConsumerThreads = 128 * kConsumers;
    const int thread = threadIdx.x - 128;  // of the consumers
    // The rows of the tile that this warpgroup computes begin here.
    const int row = (warpgroup - 1) * 64;
    const int warp = threadIdx.x / 32 - 4;  // of the consumers
    const auto release = [&](int stage) {   // hands a stage back to all CTAs
      const unsigned lane = threadIdx.x % 32;
      if constexpr (kCluster == 1) {
        if (lane == 0) ptx::mbarrier_arrive(&smem.empty_bar[stage]);
      } else {
        if (lane < kCluster) ptx::mbarrier_arrive_cluster(&smem.empty_bar[stage], lane);
      }
    };
    float acc[BN / 2] = {};
    lab::DeferredEpilogue<BN / 2> epilogue;  // of the tile before
    lab::Slot<kStages> slot, previous;
    for (lab::WorkUnit unit; scheduler.next(unit);) {
      // [todo 11.2] Fix-up, first half: where another cluster began the tile, go on from its partial sum.
      if (unit.begin > 0) {
        lab::load_partial<kConsumerThreads>(acc, fixup, blockIdx.x - kCluster, thread);
      }
      // [end]
      const lab::OutputTile tile = lab::output_tile<kRows, kCols>(unit.tile, m, n);
      // Else ptxas sees a path without a product and serialises wgmma (C7515).
      __builtin_assume(unit.begin < unit.end);
      for (int t = unit.begin; t < unit.end; ++t, ++slot) {
        lab::wait(&smem.full_bar[slot.stage], slot.parity);
        ptx::wgmma_fence();
        const bool accumulate = t > 0;
        lab::multiply_tile<BK>(acc, smem.a[slot.stage] + row * BK, smem.b[slot.stage], accumulate);
        ptx::wgmma_commit_group();
        epilogue.store_some(smem.c[warp], tmap_c, t + 1 == unit.end);
        ptx::wgmma_wait_group<1>();  // all but the product just started
        if (t > unit.begin) {
          release(previous.stage);
          ++previous;
        }
      }
      ptx::wgmma_wait_group<0>();
      release(previous.stage);
      ++previous;
      // The secondary kernel may set itself up.
      if (scheduler.done()) ptx::griddepcontrol_launch_dependents();
      const int out_row = tile.row + row0 + warp * lab::kBlockRows, out_col = tile.col + col0;
      // [todo 11.3] Let the sum leave: unfinished to the next cluster, finished behind a unit or now.
      if (unit.end < k_tiles) {
        lab::store_partial<kConsumerThreads>(acc, fixup, blockIdx.x, thread);
      } else if (scheduler.done()) {
        lab::store_rows(acc, smem.c[warp], tmap_c, out_row, out_col);
      } else {
        epilogue.pack(acc, out_row, out_col);
      }
      // [end]
    }
    if (ptx::elect_sync()) ptx::cp_async_bulk_wait_group_read<0>();  // shared memory ends with the CTA
    // [end region]
  }
}

// [region plan]
// How the tiles of a problem are divided among the clusters that the GPU holds.
struct Plan {
  int clusters;
  int split;      // tiles that are split along K
  double rounds;  // tiles that the busiest cluster computes
};

template <class S>
Plan make_plan(int m, int n, bool stream_k) {
  const int tiles = ((m - 1) / S::kRows + 1) * ((n - 1) / S::kCols + 1);
  const int fit = lab::current_device().multiprocessors / S::kCluster;
  Plan plan = {};
  // [todo 11.1] Plan whole rounds on as few clusters as they need, or split the last round's tiles.
  if (stream_k && tiles > fit && tiles % fit > 0) {
    plan = {fit, fit + tiles % fit, static_cast<double>(tiles) / fit};  // every share is longer than one tile
  } else {
    const int rounds = (tiles - 1) / fit + 1;
    plan = {(tiles - 1) / rounds + 1, 0, static_cast<double>(rounds)};
  }
  // [end]
  return plan;
}
// [end region]

template <class S, bool kStreamK = false>
lab::Variant variant(const char* option, const char* help) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    const CUtensorMap tmap_a = lab::make_tensor_map_2d(p.a, p.m, p.k, S::kShareA, BK);
    const CUtensorMap tmap_b = lab::make_tensor_map_2d(p.b, p.n, p.k, S::kShareB, BK);
    const CUtensorMap tmap_c = lab::make_tensor_map_2d(p.c, p.m, p.n, lab::kBlockRows, lab::kBlockCols);
    const Plan plan = make_plan<S>(p.m, p.n, kStreamK);
    const int ctas = S::kCluster * plan.clusters;
    const lab::FixupWorkspace workspace(plan.split > 0 ? ctas : 0, 128 * S::kConsumers, S::BN / 2);
    return [=] {
      lab::launch_programmatic_dependent(gemm<S>, ctas, S::kThreads, sizeof(typename S::Smem), tmap_a, tmap_b,
                                         tmap_c, p.m, p.n, p.k, plan.split, workspace.get());
    };
  };
  return {option,
          help,
          reinterpret_cast<const void*>(gemm<S>),
          sizeof(typename S::Smem),
          prepare,
          {S::BM, S::BN, BK},
          S::kStages};
}

using Large = Shape<128, 256, 4, 2>;    // the fewest bytes per FLOP
using Wide = Shape<128, 256, 4, 1, 2>;  // likewise, with another waste at the edges
using Medium = Shape<128, 128, 6, 2>;   // for problems with too few large tiles
using Small = Shape<64, 128, 8, 1>;     // for problems with too few of those

// [region picker]
// Cycles that the busiest SM needs. A K tile is bound by the tensor core (4096 FLOP per cycle and SM) or by what reaches the SM
// (64 bytes per cycle); the ends of a tile cost about 2000 cycles, a split about 20000, once.
template <class S>
double cycles(int m, int n, int k, bool stream_k = false) {
  const double flop = 2.0 * S::BM * S::BN * k;
  const double bytes = (S::kShareA + S::kShareB) * sizeof(bf16) * static_cast<double>(k);
  const Plan plan = make_plan<S>(m, n, stream_k);
  return plan.rounds * (std::max(flop / 4096, bytes / 64) + 2000) + (plan.split > 0 ? 20000 : 0);
}

// The index of the fastest of the first variants below.
size_t pick(int m, int n, int k) {
  const double all[] = {cycles<Large>(m, n, k), cycles<Large>(m, n, k, true), cycles<Wide>(m, n, k),
                        cycles<Medium>(m, n, k), cycles<Small>(m, n, k)};
  return std::min_element(std::begin(all), std::end(all)) - all;
}
// [end region]

int main(int argc, char** argv) {
  const std::vector<lab::Variant> kernels = {
      variant<Large>("--tile 128x256", "this tile, and clusters of 2, whatever the size of the problem"),
      variant<Large, true>("--tile 128x256/stream-k", "likewise, with the last tiles split along K"),
      variant<Wide>("--tile 128x256/beside", "likewise, with the two CTAs of a cluster side by side"),
      variant<Medium>("--tile 128x128", "likewise"),
      variant<Small>("--tile 64x128", "likewise; without any of these the program picks one"),
      variant<Shape<128, 256, 4, 1>>("--tile 128x256/1", "for comparison: no cluster"),
      variant<Shape<64, 128, 8, 2>>("--tile 64x128/2", "for comparison: clusters of 2"),
      variant<Shape<128, 256, 2, 2>>("--stages 2", "for comparison: --tile 128x256 with a shorter ring"),
      variant<Shape<128, 256, 3, 2>>("--stages 3", "likewise"),
      variant<Large>("--stages 4", "--tile 128x256 as it is")};
  return lab::gemm_main(argc, argv,
                        {"11_stream_k",
                         "split tiles, overlapped kernels, a tile for each problem",
                         {},
                         0,
                         kernels,
                         pick,
                         true});
}
