// Lesson 08: the result leaves through the copy engine too, by way of swizzled shared memory.
#include "emulator/names.hpp"
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
#include "ptx/stmatrix.cuh"
#include "ptx/wgmma.cuh"
#include "todo.cuh"

using lab::bf16;

constexpr int BM = 128, BN = 256, BK = 64;        // a CTA computes BM x BN of C, in steps of BK along K
constexpr int kStages = 4;                        // tiles of A and B in shared memory
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
  uint64_t empty_bar[kStages];  // its phase completes when every consumer warp has read them
};
static_assert(sizeof(Smem) <= 227 * 1024, "more shared memory than a CTA can have");

// [region stage]
// Writes a packed block of 16 x 64 to `block`, 128-byte swizzled. pairs: 4 per 16 columns, as stmatrix takes them.
__device__ void stage(const uint32_t (&pairs)[lab::kBlockPairs], bf16* block) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < lab::kBlockCols / 16; ++i) {
    const uint32_t* d = pairs + 4 * i;  // 16 columns: upper and lower 8 rows on the left, then on the right
    // [todo 08.2] Address the 16 bytes that this lane stands for, where the swizzle puts them.
    TODO_OPEN("08.2", "Address the 16 bytes that this lane stands for, where the swizzle puts them.");
    // [end]
  }
}
// [end region]

// C = A * B^T.  tmap_a: A, m x k in boxes of BM x BK; tmap_b: B, n x k in boxes of BN x BK.  tmap_c: C, m x n in boxes of
// 16 x 64.  One CTA per tile of C.
__global__ void __launch_bounds__(kThreads, 1)
    gemm(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b,
         const __grid_constant__ CUtensorMap tmap_c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b, c, full_bar, empty_bar);  // as the emulator's reports call them
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
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
  }

  if (warpgroup == 0) {  // ---- producer: one thread of the first warp
    if (threadIdx.x < 32 && ptx::elect_sync()) {
      lab::Slot<kStages> slot;
      for (int t = 0; t < k_tiles; ++t, ++slot) {
        uint64_t* full_bar = &smem.full_bar[slot.stage];
        lab::wait(&smem.empty_bar[slot.stage], slot.parity ^ 1);
        ptx::mbarrier_arrive_expect_tx(full_bar, kTileBytes);
        ptx::cp_async_bulk_tensor_2d(smem.a[slot.stage], &tmap_a, t * BK, tile.row, full_bar);
        ptx::cp_async_bulk_tensor_2d(smem.b[slot.stage], &tmap_b, t * BK, tile.col, full_bar);
      }
    }
  } else {  // ---- consumers
    // The rows of the tile that this warpgroup computes begin here.
    const int row = (warpgroup - 1) * 64;
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
      // [todo 08.1] Pack and stage block j, as soon as the store before last has read this place.
      TODO_OPEN("08.1", "Pack and stage block j, as soon as the store before last has read this place.");
      // [end]
      // [todo 08.3] Let the elected lane store the block, in a group of its own, once it is complete.
      TODO_OPEN("08.3", "Let the elected lane store the block, in a group of its own, once it is complete.");
      // [end]
    }
    if (elected) ptx::cp_async_bulk_wait_group_read<0>();  // shared memory ends with the CTA
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
      {"08_tma_store", "the result leaves through the copy engine", {BM, BN, BK}, kStages, {kernel}});
}
