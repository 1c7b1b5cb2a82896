// Lesson 04: one thread asks the copy engine (TMA) for whole tiles; an mbarrier counts the bytes that landed.
#include "host/gemm_program.hpp"
#include "host/pack.hpp"
#include "host/tensor_map.hpp"
#include "kernel/gemm_tile.cuh"
#include "kernel/wait.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/elect.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"
#include "todo.cuh"

using lab::bf16;

constexpr int BM = 128, BN = 128, BK = 64;  // one CTA computes BM x BN of C, BK of the sum at a time
constexpr int kThreads = 256;               // two warpgroups, 64 rows of the tile each
constexpr uint32_t kTileBytesA = BM * BK * sizeof(bf16);
constexpr uint32_t kTileBytesB = BN * BK * sizeof(bf16);
static_assert(BK * sizeof(bf16) == 128, "the 128-byte swizzle allows boxes of at most 128 bytes a row");

struct Smem {
  alignas(1024) bf16 a[BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
  alignas(1024) bf16 b[BN * BK];
  uint64_t full_bar;  // its phase completes when both tiles have landed
};

// [region tensor]
// Tiles named by coordinates. The tensor maps know the matrices' sizes and strides and the swizzle; elements
// outside a matrix arrive as zeros, and count as bytes all the same.
struct TensorTiles {
  CUtensorMap tmap_a, tmap_b;

  __device__ void start_copy(Smem& smem, lab::OutputTile tile, int k0, int) const {
    // [todo 04.3] Start both 2-D copies on full_bar; coordinates are in elements, K first.
    TODO_OPEN("04.3", "Start both 2-D copies on full_bar; coordinates are in elements, K first.");
    // [end]
  }
};
// [end region]

// [region packed]
// Tiles named by address. The 1-D copy needs no tensor map, but it moves bytes as they are: the host has packed
// every tile as one run, swizzled and filled with zeros. a: [m tiles][k tiles][BM * BK], b: likewise with BN.
struct PackedTiles {
  const bf16* a;
  const bf16* b;

  __device__ void start_copy(Smem& smem, lab::OutputTile tile, int k0, int k_tiles) const {
    const size_t tile_a = static_cast<size_t>(tile.row / BM) * k_tiles + k0 / BK;
    const size_t tile_b = static_cast<size_t>(tile.col / BN) * k_tiles + k0 / BK;
    ptx::cp_async_bulk(smem.a, a + tile_a * BM * BK, kTileBytesA, &smem.full_bar);
    ptx::cp_async_bulk(smem.b, b + tile_b * BN * BK, kTileBytesB, &smem.full_bar);
  }
};
// [end region]

// C = A * B^T.  tiles: where A (m x k) and B (n x k) come from.  c: m x n, row-major bf16.  One CTA a tile.
// __grid_constant__: the tensor maps stay in parameter memory, where the copy engine may read them.
template <class Tiles>
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const __grid_constant__ Tiles tiles, bf16* c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;
  const bool producer = threadIdx.x < 32 && ptx::elect_sync();  // one thread, of warp 0
  float acc[BN / 2] = {};

  // [region init]
  if (producer) {
    // [todo 04.1] Initialise full_bar for one arrival a phase: the producer's own.
    TODO_OPEN("04.1", "Initialise full_bar for one arrival a phase: the producer's own.");
    // [end]
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();  // nobody may wait on a barrier that does not exist yet
  // [end region]

  // [region loop]
  for (int t = 0; t < k_tiles; ++t) {
    if (producer) {  // ---- copy: one thread, no data in registers
      // [todo 04.2] Arrive on full_bar and announce the bytes of both tiles, in one instruction.
      TODO_OPEN("04.2", "Arrive on full_bar and announce the bytes of both tiles, in one instruction.");
      // [end]
      tiles.start_copy(smem, tile, t * BK, k_tiles);
    }
    // [todo 04.4] Wait for phase t of full_bar; its parity is t % 2.
    TODO_OPEN("04.4", "Wait for phase t of full_bar; its parity is t % 2.");
    // [end]

    ptx::wgmma_fence();
    lab::multiply_tile<BK>(acc, smem.a + warpgroup * 64 * BK, smem.b);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    // [todo 04.5] Let the CTA wait here: the other warpgroup may still read the tile.
    TODO_OPEN("04.5", "Let the CTA wait here: the other warpgroup may still read the tile.");
    // [end]
  }
  // [end region]
  lab::store_accumulator(acc, c, m, n, tile.row + warpgroup * 64, tile.col);
}

int main(int argc, char** argv) {
  const auto tensor = [](const lab::Problem& p) -> lab::Launch {
    const TensorTiles tiles = {lab::make_tensor_map_2d(p.a, p.m, p.k, BM, BK),
                               lab::make_tensor_map_2d(p.b, p.n, p.k, BN, BK)};
    return [p, tiles] { gemm<<<p.tiles(BM, BN), kThreads, sizeof(Smem)>>>(tiles, p.c, p.m, p.n, p.k); };
  };
  const auto packed = [](const lab::Problem& p) -> lab::Launch {
    const lab::DeviceTiles a(p.a, p.m, p.k, BM, BK), b(p.b, p.n, p.k, BN, BK);
    return [p, a, b] {
      const PackedTiles tiles = {a.get(), b.get()};
      gemm<<<p.tiles(BM, BN), kThreads, sizeof(Smem)>>>(tiles, p.c, p.m, p.n, p.k);
    };
  };
  const std::vector<lab::Variant> kernels = {
      {"", "", reinterpret_cast<const void*>(gemm<TensorTiles>), sizeof(Smem), tensor},
      {"--bulk", "copy pre-packed tiles with the 1-D cp.async.bulk instead",
       reinterpret_cast<const void*>(gemm<PackedTiles>), sizeof(Smem), packed}};
  return lab::gemm_main(
      argc, argv, {"04_tma_single_stage", "one thread, tensor maps, one stage", {BM, BN, BK}, 1, kernels});
}
