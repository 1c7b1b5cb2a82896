// Beside lesson 07: a tile for which an equal share of the registers does not suffice. Each consumer keeps 192 sums.
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
#include "ptx/setmaxnreg.cuh"
#include "ptx/wgmma.cuh"

using lab::bf16;

constexpr int BM = 384, BN = 128, BK = 64;        // a CTA computes BM x BN of C, in steps of BK along K
constexpr int kStages = 3;                        // tiles of A and B in shared memory
constexpr int kConsumers = 2;                     // consumer warpgroups
constexpr int kBlocks = BM / 64 / kConsumers;     // of 64 rows, per consumer warpgroup
constexpr int kThreads = 128 * (1 + kConsumers);  // setmaxnreg takes whole warpgroups, so the producer is one
constexpr int kLaunchRegisters = 65536 / kThreads / 8 * 8;      // per thread: those of an SM, in units of 8
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
template <bool kMove>  // whether registers move
__global__ void __launch_bounds__(kThreads, 1)
    gemm(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b, bf16* c,
         int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b, full_bar, empty_bar);  // as the emulator's reports call them
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;

  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&smem.full_bar[s], 1);                // the producer's expect_tx
      ptx::mbarrier_init(&smem.empty_bar[s], 4 * kConsumers);  // one thread of each consumer warp
    }
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();

  constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
  static_assert(128 * (kProducerRegisters + kConsumers * kConsumerRegisters) <= kThreads * kLaunchRegisters,
                "the consumers can only take what the producer has given back");
  if constexpr (kMove) {
    if (warpgroup == 0) {
      ptx::setmaxnreg_dec<kProducerRegisters>();
    } else {
      ptx::setmaxnreg_inc<kConsumerRegisters>();
    }
  }

  if (warpgroup == 0) {  // ---- producer: one thread of the first warp
    if (threadIdx.x < 32 && ptx::elect_sync()) {
      lab::Slot<kStages> slot;
      for (int t = 0; t < k_tiles; ++t, ++slot) {
        uint64_t* full_bar = &smem.full_bar[slot.stage];
        lab::wait(&smem.empty_bar[slot.stage], slot.parity ^ 1);
        ptx::mbarrier_arrive_expect_tx(full_bar, kTileBytes);
        for (int half = 0; half < kConsumers; ++half) {  // no side of a box may be longer than 256
          const int row = half * kBlocks * 64;
          ptx::cp_async_bulk_tensor_2d(smem.a[slot.stage] + row * BK, &tmap_a, t * BK, tile.row + row,
                                       full_bar);
        }
        ptx::cp_async_bulk_tensor_2d(smem.b[slot.stage], &tmap_b, t * BK, tile.col, full_bar);
      }
    }
  } else {  // ---- consumers
    // The rows of the tile that this warpgroup computes begin here.
    const int row = (warpgroup - 1) * kBlocks * 64;
    float acc[kBlocks][BN / 2] = {};
    lab::Slot<kStages> slot, previous;
    for (int t = 0; t < k_tiles; ++t, ++slot) {
      lab::wait(&smem.full_bar[slot.stage], slot.parity);
      ptx::wgmma_fence();
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
        lab::multiply_tile<BK>(acc[i], smem.a[slot.stage] + (row + 64 * i) * BK, smem.b[slot.stage]);
      }
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();  // all but the product just started
      if (t > 0) {
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&smem.empty_bar[previous.stage]);
        ++previous;
      }
    }
    ptx::wgmma_wait_group<0>();
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      lab::store_accumulator(acc[i], c, m, n, tile.row + row + 64 * i, tile.col);
    }
  }
}

template <bool kMove>
lab::Variant variant(const char* option, const char* help) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    const CUtensorMap tmap_a = lab::make_tensor_map_2d(p.a, p.m, p.k, BM / kConsumers, BK);
    const CUtensorMap tmap_b = lab::make_tensor_map_2d(p.b, p.n, p.k, BN, BK);
    return
        [=] { gemm<kMove><<<p.tiles(BM, BN), kThreads, sizeof(Smem)>>>(tmap_a, tmap_b, p.c, p.m, p.n, p.k); };
  };
  return {option, help, reinterpret_cast<const void*>(gemm<kMove>), sizeof(Smem), prepare};
}

int main(int argc, char** argv) {
  const std::vector<lab::Variant> kernels = {
      variant<true>("", ""),
      variant<false>("--registers equal", "every thread keeps what it was launched with")};
  return lab::gemm_main(
      argc, argv,
      {"07b_spills", "192 sums per thread, with and without setmaxnreg", {BM, BN, BK}, kStages, kernels});
}
