// Lesson 05: a ring of stages. The copy engine runs several tiles ahead of the tensor core.
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

constexpr int BM = 128, BN = 128, BK = 64;  // a CTA computes BM x BN of C, in steps of BK along K
constexpr int kThreads = 256;               // two warpgroups, 64 rows of the tile each
constexpr uint32_t kTileBytes = (BM + BN) * BK * sizeof(bf16);  // what lands for one K tile
static_assert(BK * sizeof(bf16) == 128, "with the 128-byte swizzle a row of the box is at most 128 bytes");

template <int kStages>
struct Smem {
  alignas(1024) bf16 a[kStages][BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
  alignas(1024) bf16 b[kStages][BN * BK];
  uint64_t full_bar[kStages];  // one per stage: its phase completes when both tiles have landed
};

// C = A * B^T.  tmap_a: A, m x k in boxes of BM x BK; tmap_b: B, n x k in boxes of BN x BK.  c: m x n, row-major bf16.
// One CTA per tile of C. __grid_constant__: the maps stay in parameter memory, where the copy engine can read them.
template <int kStages>
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b, bf16* c,
         int m, int n, int k) {
  static_assert(kStages >= 2, "one stage is read while the next is filled");
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem<kStages>& smem = *reinterpret_cast<Smem<kStages>*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b, full_bar);  // as the emulator's reports call them
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;
  const bool producer = threadIdx.x < 32 && ptx::elect_sync();  // one thread, of warp 0
  float acc[BN / 2] = {};

  if (producer) {
    for (int s = 0; s < kStages; ++s) ptx::mbarrier_init(&smem.full_bar[s], 1);  // the producer's expect_tx
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();  // nobody may use a barrier that does not exist yet

  // [region prologue]
  lab::Slot<kStages> fill;  // the stage of the next copy
  // Starts the copies of K tile t into the stage of `fill`.
  const auto start_copy = [&](int t) {
    if (!producer || t >= k_tiles) return;
    // [todo 05.1] Announce and start both copies of tile t on the stage of `fill`, and move `fill` on.
    TODO_OPEN("05.1", "Announce and start both copies of tile t on the stage of `fill`, and move `fill` on.");
    // [end]
  };
  for (int t = 0; t < kStages - 1; ++t) start_copy(t);
  // [end region]

  // [region loop]
  lab::Slot<kStages> read;  // the stage of the tile that is multiplied
  for (int t = 0; t < k_tiles; ++t, ++read) {
    // [todo 05.2] Start the product of the tile in stage `read` once it has landed; do not wait for it.
    TODO_OPEN("05.2", "Start the product of the tile in stage `read` once it has landed; do not wait for it.");
    // [end]
    // [todo 05.3] Refill the stage of tile t - 1 once no warpgroup reads it; keep product t in flight.
    TODO_OPEN("05.3", "Refill the stage of tile t - 1 once no warpgroup reads it; keep product t in flight.");
    // [end]
  }
  ptx::wgmma_wait_group<0>();
  // [end region]
  lab::store_accumulator(acc, c, m, n, tile.row + warpgroup * 64, tile.col);
}

template <int kStages>
lab::Variant variant(const char* option) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    const CUtensorMap tmap_a = lab::make_tensor_map_2d(p.a, p.m, p.k, BM, BK);
    const CUtensorMap tmap_b = lab::make_tensor_map_2d(p.b, p.n, p.k, BN, BK);
    return [=] {
      gemm<kStages><<<p.tiles(BM, BN), kThreads, sizeof(Smem<kStages>)>>>(tmap_a, tmap_b, p.c, p.m, p.n, p.k);
    };
  };
  return {option,
          "that many stages in shared memory",
          reinterpret_cast<const void*>(gemm<kStages>),
          sizeof(Smem<kStages>),
          prepare,
          {},
          kStages};
}

int main(int argc, char** argv) {
  const std::vector<lab::Variant> kernels = {variant<3>(""),           variant<2>("--stages 2"),
                                             variant<3>("--stages 3"), variant<4>("--stages 4"),
                                             variant<5>("--stages 5"), variant<6>("--stages 6")};
  return lab::gemm_main(
      argc, argv,
      {"05_tma_multistage", "a ring of stages ahead of the tensor core", {BM, BN, BK}, 3, kernels});
}
