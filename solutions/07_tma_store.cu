// Lesson 07: the result leaves through the copy engine too, by way of swizzled shared memory.
#include "host/gemm_program.hpp"
#include "host/tensor_map.hpp"
#include "kernel/epilogue.cuh"
#include "kernel/gemm_tile.cuh"
#include "kernel/pipeline.cuh"
#include "kernel/wait.cuh"
#include "ptx/bulk_group.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/elect.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/wgmma.cuh"
#include "todo.cuh"

using lab::bf16;

constexpr int BM = 128, BN = 256, BK = 64;  // one CTA computes BM x BN of C, BK of the sum at a time
constexpr int kStages = 4;                  // tiles of A and B in shared memory
constexpr int kConsumers = BM / 64;         // consumer warpgroups, 64 rows of the tile each
constexpr int kThreads = 128 * (1 + kConsumers);
constexpr uint32_t kTileBytes = (BM + BN) * BK * sizeof(bf16);  // what lands on one stage
static_assert(BK * sizeof(bf16) == 128, "the 128-byte swizzle allows boxes of at most 128 bytes a row");

// 65536 registers are 168 for each of 384 threads. A consumer needs 128 for its accumulators alone.
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
static_assert(128 * (kProducerRegisters + kConsumers * kConsumerRegisters) <= 168 * kThreads,
              "the consumers can only take what the producer has given back");

struct Smem {
  alignas(1024) bf16 a[kStages][BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
  alignas(1024) bf16 b[kStages][BN * BK];
  // Two blocks for each consumer warp, on their way out.
  alignas(1024) bf16 c[4 * kConsumers][2][lab::kBlockElements];
  uint64_t full_bar[kStages];   // completes when both tiles have landed
  uint64_t empty_bar[kStages];  // completes when every consumer warp has read them
};
static_assert(sizeof(Smem) <= 227 * 1024, "more shared memory than a CTA can have");

// C = A * B^T.  tmap_a: A, m x k in boxes of BM x BK; tmap_b: B, n x k in boxes of BN x BK.  tmap_c: C, m x n
// in boxes of 16 x 64.  One CTA a tile.
__global__ void __launch_bounds__(kThreads, 1)
    gemm(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b,
         const __grid_constant__ CUtensorMap tmap_c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;

  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&smem.full_bar[s], 1);                // one arrival: the producer's expect_tx
      ptx::mbarrier_init(&smem.empty_bar[s], 4 * kConsumers);  // each consumer warp hands the stage back
    }
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();

  if (warpgroup == 0) {  // ---- producer
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x < 32 && ptx::elect_sync()) {
      lab::Slot<kStages> slot;
      for (int t = 0; t < k_tiles; ++t, ++slot) {
        lab::wait(&smem.empty_bar[slot.stage], slot.parity ^ 1);
        uint64_t* full_bar = &smem.full_bar[slot.stage];
        ptx::mbarrier_arrive_expect_tx(full_bar, kTileBytes);
        ptx::cp_async_bulk_tensor_2d(smem.a[slot.stage], &tmap_a, t * BK, tile.row, full_bar);
        ptx::cp_async_bulk_tensor_2d(smem.b[slot.stage], &tmap_b, t * BK, tile.col, full_bar);
      }
    }
  } else {  // ---- consumers
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    const int row = (warpgroup - 1) * 64;  // of the tile, the first of this warpgroup
    float acc[BN / 2] = {};
    lab::Slot<kStages> slot, previous;
    for (int t = 0; t < k_tiles; ++t, ++slot) {
      lab::wait(&smem.full_bar[slot.stage], slot.parity);
      ptx::wgmma_fence();
      lab::multiply_tile<BK>(acc, smem.a[slot.stage] + row * BK, smem.b[slot.stage]);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();  // all but the product just started
      if (t > 0) {
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&smem.empty_bar[previous.stage]);
        ++previous;
      }
    }
    ptx::wgmma_wait_group<0>();

    // [region epilogue]
    const int warp = threadIdx.x / 32 - 4;  // of the consumers
    const bool elected = ptx::elect_sync();
#pragma unroll
    for (int j = 0; j < BN / lab::kBlockCols; ++j) {
      bf16* block = smem.c[warp][j % 2];
      // [todo 07.1] The elected lane waits until all but its newest store have read their block.
      if (elected) ptx::cp_async_bulk_wait_group_read<1>();
      // [end]
      __syncwarp();
      lab::stage_block(acc, j, block);
      // [todo 07.2] Order your stores to shared memory before the copy engine's reads.
      ptx::fence_proxy_async_shared_cta();
      // [end]
      __syncwarp();
      if (elected) {
        // [todo 07.3] Start the store of this block; its rows are 16 of the warpgroup's 64.
        ptx::cp_async_bulk_tensor_2d_store(&tmap_c, tile.col + j * lab::kBlockCols,
                                           tile.row + warp * lab::kBlockRows, block);
        // [end]
        // [todo 07.4] Close the group, one for each store.
        ptx::cp_async_bulk_commit_group();
        // [end]
      }
    }
    // [todo 07.5] Wait until every store has read its block; shared memory ends with the CTA.
    if (elected) ptx::cp_async_bulk_wait_group_read<0>();
    // [end]
    // [end region]
  }
}

int main(int argc, char** argv) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    const CUtensorMap tmap_a = lab::make_tensor_map_2d(p.a, p.m, p.k, BM, BK);
    const CUtensorMap tmap_b = lab::make_tensor_map_2d(p.b, p.n, p.k, BN, BK);
    const CUtensorMap tmap_c = lab::make_tensor_map_2d(p.c, p.m, p.n, lab::kBlockRows, lab::kBlockCols);
    return [=] { gemm<<<p.tiles(BM, BN), kThreads, sizeof(Smem)>>>(tmap_a, tmap_b, tmap_c, p.m, p.n, p.k); };
  };
  const lab::Variant kernel = {"", "", reinterpret_cast<const void*>(gemm), sizeof(Smem), prepare};
  return lab::gemm_main(
      argc, argv,
      {"07_tma_store", "the result leaves through the copy engine", {BM, BN, BK}, kStages, {kernel}});
}
