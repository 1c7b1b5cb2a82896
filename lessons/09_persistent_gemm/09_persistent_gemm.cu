// Lesson 09: the CTAs stay. Each computes tile after tile; the result of one leaves while the next is multiplied.
#include <algorithm>

#include "host/device.hpp"
#include "host/gemm_program.hpp"
#include "host/hand_over.hpp"
#include "host/launch.hpp"
#include "host/tensor_map.hpp"
#include "kernel/cluster.cuh"
#include "kernel/epilogue.cuh"
#include "kernel/gemm_tile.cuh"
#include "kernel/pipeline.cuh"
#include "kernel/share.cuh"
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

constexpr int BK = 64;  // of the sum at a time
static_assert(BK * sizeof(bf16) == 128, "the 128-byte swizzle allows boxes of at most 128 bytes a row");

// One choice of sizes. kConsumers_: consumer warpgroups, 64 rows of the tile each; BN_: columns of the tile, 128 or
// 256. CTAs of a cluster: kBelow_ of them one below the other in C, which share the tile of B, or kBeside_ side by side,
// which share the tile of A.
template <int kConsumers_, int BN_, int kStages_, int kBelow_, int kBeside_ = 1>
struct Shape {
  static constexpr int kConsumers = kConsumers_, kStages = kStages_;
  static constexpr int kBelow = kBelow_, kBeside = kBeside_, kCluster = kBelow * kBeside;
  static constexpr int BM = 64 * kConsumers, BN = BN_;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kBoxA = BM / kBeside, kBoxB = BN / kBelow;  // rows that one CTA fetches
  static_assert(kBelow == 1 || kBeside == 1, "the CTAs of a cluster share one tile, with all of them");
  static constexpr uint32_t kTileBytes = (BM + BN) * BK * sizeof(bf16);  // what lands on one stage

  struct Smem {
    alignas(1024) bf16 a[kStages][BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
    alignas(1024) bf16 b[kStages][BN * BK];
    // Two blocks for each consumer warp, on their way out.
    alignas(1024) bf16 c[4 * kConsumers][2][lab::kBlockElements];
    uint64_t full_bar[kStages];   // completes when both tiles have landed
    uint64_t empty_bar[kStages];  // completes when every consumer warp of the cluster has read them
  };
  static_assert(sizeof(Smem) <= 227 * 1024, "more shared memory than a CTA can have");
};

// 65536 registers are 168 for each of 384 threads. A consumer needs 128 for its accumulators alone.
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;

// [region fetch]
// Brings the tile of kSharers boxes of kBox x BK elements that begins at (row, col). With several sharers each CTA of the
// cluster fetches one box, for all of them.
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
// [end region]

// C = A * B^T.  tmap_a: A, m x k in boxes of kBoxA x BK; tmap_b: B, n x k in boxes of kBoxB x BK.  tmap_c: C,
// m x n in boxes of 16 x 64.  A grid of any number of clusters, which divide the tiles as lab::Share says; all of them must
// fit on the GPU at a time if tiles are split.
template <class S>
__global__ void __cluster_dims__(S::kCluster) __launch_bounds__(S::kThreads, 1)
    gemm(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b,
         const __grid_constant__ CUtensorMap tmap_c, int m, int n, int k, int split,
         lab::HandOver hand_over) {
  constexpr int kRows = S::kBelow * S::BM;   // of C, that a cluster
  constexpr int kCols = S::kBeside * S::BN;  // computes at a time
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  typename S::Smem& smem = *reinterpret_cast<typename S::Smem*>(smem_bytes);
  const int rank = ptx::cluster_ctarank();
  const int below = S::kBelow > 1 ? rank * S::BM : 0;    // where in it this
  const int beside = S::kBeside > 1 ? rank * S::BN : 0;  // CTA's tile begins
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;
  const int tiles = ((m + kRows - 1) / kRows) * ((n + kCols - 1) / kCols);
  lab::Share share(blockIdx.x / S::kCluster, gridDim.x / S::kCluster, tiles, split, k_tiles);

  if (threadIdx.x == 0) {
    for (int s = 0; s < S::kStages; ++s) {
      ptx::mbarrier_init(&smem.full_bar[s], 1);  // one arrival: this CTA's producer's expect_tx
      ptx::mbarrier_init(&smem.empty_bar[s], S::kCluster * 4 * S::kConsumers);
    }
    ptx::fence_mbarrier_init_release_cluster();
  }
  lab::cluster_meet();
  ptx::griddepcontrol_wait();  // so far the kernel in front may still have been at work

  if (warpgroup == 0) {  // ---- producer
    // [region producer]
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x < 32 && ptx::elect_sync()) {
      lab::Slot<S::kStages> slot;  // goes on from tile to tile
      for (lab::Piece piece; share.take(piece);) {
        const lab::OutputTile tile = lab::output_tile<kRows, kCols>(piece.tile, m, n);  // of the cluster
        for (int t = piece.begin; t < piece.end; ++t, ++slot) {
          lab::wait(&smem.empty_bar[slot.stage], slot.parity ^ 1);
          uint64_t* full_bar = &smem.full_bar[slot.stage];
          ptx::mbarrier_arrive_expect_tx(full_bar, S::kTileBytes);
          fetch<S::kBoxA, S::kBeside>(smem.a[slot.stage], tmap_a, t * BK, tile.row + below, full_bar, rank);
          fetch<S::kBoxB, S::kBelow>(smem.b[slot.stage], tmap_b, t * BK, tile.col + beside, full_bar, rank);
        }
      }
      // Stay until every stage is empty: the other CTA's consumers arrive here to the last.
      for (int s = 0; s < S::kStages; ++s, ++slot) lab::wait(&smem.empty_bar[slot.stage], slot.parity ^ 1);
    }
    // [end region]
  } else {  // ---- consumers
    // [region consumer]
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    constexpr int kConsumerThreads = 128 * S::kConsumers;
    const int thread = threadIdx.x - 128;   // of the consumers
    const int warp = threadIdx.x / 32 - 4;  // likewise
    const int row = (warpgroup - 1) * 64;   // of the tile, the first of this warpgroup
    const auto release = [&](int stage) {
      const unsigned lane = threadIdx.x % 32;
      if constexpr (S::kCluster == 1) {
        if (lane == 0) ptx::mbarrier_arrive(&smem.empty_bar[stage]);
      } else {
        if (lane < S::kCluster) ptx::mbarrier_arrive_cluster(&smem.empty_bar[stage], lane);
      }
    };
    float acc[S::BN / 2] = {};
    lab::Outgoing<S::BN / 2> out;  // the result before
    lab::Slot<S::kStages> slot, previous;
    for (lab::Piece piece; share.take(piece);) {
      if (piece.begin > 0) {  // the cluster before has begun this tile
        lab::take_over<kConsumerThreads>(acc, hand_over, blockIdx.x - S::kCluster, thread);
      }
      lab::OutputTile tile = {};  // of the cluster
      // [todo 09.1] Find the tile of the piece, as the producer does.
      TODO_OPEN("09.1", "Find the tile of the piece, as the producer does.");
      // [end]
      int t = piece.begin;
      do {  // a for loop could be empty: ptxas would make the products wait for each other (C7515)
        bool accumulate = true;
        // [todo 09.2] Let the first product of a tile overwrite acc, and the others add to it.
        TODO_OPEN("09.2", "Let the first product of a tile overwrite acc, and the others add to it.");
        // [end]
        lab::wait(&smem.full_bar[slot.stage], slot.parity);
        ptx::wgmma_fence();
        lab::multiply_tile<BK>(acc, smem.a[slot.stage] + row * BK, smem.b[slot.stage], accumulate);
        ptx::wgmma_commit_group();
        out.store_some(smem.c[warp], tmap_c, t + 1 == piece.end);
        ptx::wgmma_wait_group<1>();  // all but the product just started
        if (t > piece.begin) {
          release(previous.stage);
          ++previous;
        }
        ++slot;
      } while (++t < piece.end);
      ptx::wgmma_wait_group<0>();
      // [todo 09.3] Hand back the last stage now, not when the result has left.
      TODO_OPEN("09.3", "Hand back the last stage now, not when the result has left.");
      // [end]
      if (share.empty()) ptx::griddepcontrol_launch_dependents();  // the next kernel may set itself up
      const int out_row = tile.row + below + warp * lab::kBlockRows, out_col = tile.col + beside;
      if (piece.end < k_tiles) {  // the cluster after will finish it
        lab::hand_on<kConsumerThreads>(acc, hand_over, blockIdx.x, thread);
      } else if (share.empty()) {
        lab::store_rows(acc, smem.c[warp], tmap_c, out_row, out_col);
      } else {
        out.pack(acc, out_row, out_col);
      }
    }
    // [todo 09.4] After the last tile, wait until the elected lane's stores have read their blocks.
    TODO_OPEN("09.4", "After the last tile, wait until the elected lane's stores have read their blocks.");
    // [end]
    // [end region]
  }
}

// How the tiles of a problem fall on the clusters that the GPU holds.
struct Schedule {
  int clusters;
  int split;      // tiles that are dealt out by K tiles
  double rounds;  // tiles that the busiest cluster computes
};

template <class S>
Schedule schedule(int m, int n, bool split) {
  const int tiles = ((m - 1) / (S::kBelow * S::BM) + 1) * ((n - 1) / (S::kBeside * S::BN) + 1);
  const int fit = lab::current_device().multiprocessors / S::kCluster;
  // No more tiles than make each share longer than one: what is split costs an exchange, and L2 reads it less well.
  if (split && tiles > fit && tiles % fit > 0)
    return {fit, fit + tiles % fit, static_cast<double>(tiles) / fit};
  const int rounds = (tiles - 1) / fit + 1;
  return {(tiles - 1) / rounds + 1, 0, static_cast<double>(rounds)};  // the fewest that need no more rounds
}

template <class S, bool kSplit = false>
lab::Variant variant(const char* option, const char* help) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    const CUtensorMap tmap_a = lab::make_tensor_map_2d(p.a, p.m, p.k, S::kBoxA, BK);
    const CUtensorMap tmap_b = lab::make_tensor_map_2d(p.b, p.n, p.k, S::kBoxB, BK);
    const CUtensorMap tmap_c = lab::make_tensor_map_2d(p.c, p.m, p.n, lab::kBlockRows, lab::kBlockCols);
    const Schedule tiles = schedule<S>(p.m, p.n, kSplit);
    const int ctas = S::kCluster * tiles.clusters;
    const lab::SharedHandOver hand_over(tiles.split > 0 ? ctas : 0, 128 * S::kConsumers, S::BN / 2);
    return [=] {
      lab::launch_overlapping(gemm<S>, ctas, S::kThreads, sizeof(typename S::Smem), tmap_a, tmap_b, tmap_c,
                              p.m, p.n, p.k, tiles.split, hand_over.get());
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

using Large = Shape<2, 256, 4, 2>;  // least traffic per FLOP
using Wide =
    Shape<2, 256, 4, 1, 2>;  // the same tile, the pair side by side: one of the two wastes less at the edges
using Medium = Shape<2, 128, 6, 2>;  // for problems whose large tiles
using Small = Shape<1, 128, 8, 1>;   // would leave SMs idle

// Cycles that the busiest SM takes: a tile is bound by the tensor core (4096 FLOP a cycle and SM) or by what reaches the
// SM (64 bytes a cycle), and costs about 2000 at its ends; splitting tiles costs about 20000 once.
template <class S>
double cycles(int m, int n, int k, bool split = false) {
  const double flop = 2.0 * S::BM * S::BN * k;
  const double bytes = (S::kBoxA + S::kBoxB) * sizeof(bf16) * static_cast<double>(k);
  const Schedule tiles = schedule<S>(m, n, split);
  return tiles.rounds * (std::max(flop / 4096, bytes / 64) + 2000) + (tiles.split > 0 ? 20000 : 0);
}

size_t pick(int m, int n, int k) {
  const double all[] = {cycles<Large>(m, n, k), cycles<Large>(m, n, k, true), cycles<Wide>(m, n, k),
                        cycles<Medium>(m, n, k), cycles<Small>(m, n, k)};
  return std::min_element(std::begin(all), std::end(all)) - all;
}

int main(int argc, char** argv) {
  const std::vector<lab::Variant> kernels = {
      variant<Large>("--tile 128x256", "this tile, and clusters of 2, whatever the size of the problem"),
      variant<Large, true>("--tile 128x256/split", "likewise, with some tiles shared by two clusters"),
      variant<Wide>("--tile 128x256/beside", "likewise, with the two CTAs of a cluster side by side"),
      variant<Medium>("--tile 128x128", "likewise"),
      variant<Small>("--tile 64x128", "likewise; without any of these the program picks one"),
      variant<Shape<2, 256, 4, 1>>("--tile 128x256/1", "for comparison: no cluster"),
      variant<Shape<1, 128, 8, 2>>("--tile 64x128/2", "for comparison: clusters of 2"),
      variant<Shape<2, 256, 2, 2>>("--stages 2", "for comparison: --tile 128x256 with a shorter ring"),
      variant<Shape<2, 256, 3, 2>>("--stages 3", "likewise"),
      variant<Large>("--stages 4", "--tile 128x256 as it is")};
  return lab::gemm_main(
      argc, argv, {"09_persistent_gemm", "persistent CTAs, tile after tile", {}, 0, kernels, pick, true});
}
