// Lesson 04: one thread asks the copy engine (TMA) for whole tiles; an mbarrier counts the bytes that landed.
#include "emulator/names.hpp"
#include "host/gemm_program.hpp"
#include "host/tensor_map.hpp"
#include "kernel/gemm_tile.cuh"
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

struct Smem {
  alignas(1024) bf16 a[BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
  alignas(1024) bf16 b[BN * BK];
  uint64_t full_bar;  // its phase completes when both tiles have landed
};

// [region map]
// The tensor map of a row-major bf16 matrix, rows x cols, whose tiles are fetched in boxes of box_rows x BK elements.
CUtensorMap make_tensor_map(const bf16* matrix, uint64_t rows, uint64_t cols, uint32_t box_rows) {
  CUtensorMap map = {};
  // [todo 04.1] Describe the matrix and the box, dimension 0 innermost, and let the driver encode the map.
  const cuuint64_t global_dim[] = {cols, rows}, global_strides[] = {cols * sizeof(bf16)};  // elements; bytes
  const cuuint32_t box_dim[] = {BK, box_rows}, element_strides[] = {1, 1};
  lab::cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<bf16*>(matrix),
                              global_dim, global_strides, box_dim, element_strides,
                              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                              CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  // [end]
  return map;
}
// [end region]

// C = A * B^T.  tmap_a: A, m x k in boxes of BM x BK; tmap_b: B, n x k in boxes of BN x BK.  c: m x n, row-major bf16.
// One CTA per tile of C. __grid_constant__: the maps stay in parameter memory, where the copy engine can read them.
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b, bf16* c,
         int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b, full_bar);  // as the emulator's reports call them
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;
  const bool producer = threadIdx.x < 32 && ptx::elect_sync();  // one thread, of warp 0
  float acc[BN / 2] = {};

  // [region init]
  if (producer) {
    ptx::mbarrier_init(&smem.full_bar, 1);  // one arrival per phase: the producer's
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();  // nobody may use a barrier that does not exist yet
  // [end region]

  // [region loop]
  for (int t = 0; t < k_tiles; ++t) {
    if (producer) {  // ---- copy: one thread, no data in registers
      // [todo 04.2] Announce the bytes of both tiles on full_bar, then start both copies, K first.
      ptx::mbarrier_arrive_expect_tx(&smem.full_bar, kTileBytes);
      ptx::cp_async_bulk_tensor_2d(smem.a, &tmap_a, t * BK, tile.row, &smem.full_bar);
      ptx::cp_async_bulk_tensor_2d(smem.b, &tmap_b, t * BK, tile.col, &smem.full_bar);
      // [end]
    }

    // ---- compute: each warpgroup multiplies its half of the tile's rows
    // [todo 04.3] Multiply tile t when it has landed, and end the iteration when the next one may land.
    lab::wait(&smem.full_bar, t % 2);  // no proxy fence: the bytes came through the async proxy
    ptx::wgmma_fence();
    lab::multiply_tile<BK>(acc, smem.a + warpgroup * 64 * BK, smem.b);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    __syncthreads();  // the other warpgroup may still read the tiles
    // [end]
  }
  // [end region]
  lab::store_accumulator(acc, c, m, n, tile.row + warpgroup * 64, tile.col);
}

int main(int argc, char** argv) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    const CUtensorMap tmap_a = make_tensor_map(p.a, p.m, p.k, BM);
    const CUtensorMap tmap_b = make_tensor_map(p.b, p.n, p.k, BN);
    return [=] { gemm<<<p.tiles(BM, BN), kThreads, sizeof(Smem)>>>(tmap_a, tmap_b, p.c, p.m, p.n, p.k); };
  };
  const lab::Variant kernel = {"", "", reinterpret_cast<const void*>(gemm), sizeof(Smem), prepare};
  return lab::gemm_main(
      argc, argv, {"04_tma_single_stage", "one thread, tensor maps, one stage", {BM, BN, BK}, 1, {kernel}});
}
