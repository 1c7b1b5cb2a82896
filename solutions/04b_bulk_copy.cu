// Beside lesson 04: the same kernel without a tensor map. The 1-D bulk copy moves a run of bytes as it is.
#include "emulator/names.hpp"
#include "host/gemm_program.hpp"
#include "host/pack.hpp"
#include "kernel/gemm_tile.cuh"
#include "kernel/wait.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/elect.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

using lab::bf16;

constexpr int BM = 128, BN = 128, BK = 64;  // a CTA computes BM x BN of C, in steps of BK along K
constexpr int kThreads = 256;               // two warpgroups, 64 rows of the tile each
constexpr uint32_t kTileBytesA = BM * BK * sizeof(bf16);
constexpr uint32_t kTileBytesB = BN * BK * sizeof(bf16);

struct Smem {
  alignas(1024) bf16 a[BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
  alignas(1024) bf16 b[BN * BK];
  uint64_t full_bar;  // its phase completes when both tiles have landed
};

// C = A * B^T.  a: m x k, packed as [m tiles][k tiles][BM * BK], every tile swizzled and filled up with zeros; b: n x k,
// likewise with BN.  c: m x n, row-major bf16.  One CTA per tile of C.
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const bf16* a, const bf16* b, bf16* c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b, full_bar);  // as the emulator's reports call them
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  const int k_tiles = (k + BK - 1) / BK;
  const bool producer = threadIdx.x < 32 && ptx::elect_sync();  // one thread, of warp 0
  float acc[BN / 2] = {};

  if (producer) {
    ptx::mbarrier_init(&smem.full_bar, 1);  // one arrival per phase: the producer's
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();  // nobody may use a barrier that does not exist yet

  for (int t = 0; t < k_tiles; ++t) {
    // [region copy]
    if (producer) {  // ---- copy: the tile is named by its address
      const size_t tile_a = static_cast<size_t>(tile.row / BM) * k_tiles + t;
      const size_t tile_b = static_cast<size_t>(tile.col / BN) * k_tiles + t;
      ptx::mbarrier_arrive_expect_tx(&smem.full_bar, kTileBytesA + kTileBytesB);
      ptx::cp_async_bulk(smem.a, a + tile_a * BM * BK, kTileBytesA, &smem.full_bar);
      ptx::cp_async_bulk(smem.b, b + tile_b * BN * BK, kTileBytesB, &smem.full_bar);
    }
    // [end region]

    // ---- compute: each warpgroup multiplies its half of the tile's rows
    lab::wait(&smem.full_bar, t % 2);  // no proxy fence: the bytes came through the async proxy
    ptx::wgmma_fence();
    lab::multiply_tile<BK>(acc, smem.a + warpgroup * 64 * BK, smem.b);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    __syncthreads();  // the other warpgroup may still read the tiles
  }
  lab::store_accumulator(acc, c, m, n, tile.row + warpgroup * 64, tile.col);
}

int main(int argc, char** argv) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    const lab::DeviceTiles a(p.a, p.m, p.k, BM, BK), b(p.b, p.n, p.k, BN, BK);
    return [=] { gemm<<<p.tiles(BM, BN), kThreads, sizeof(Smem)>>>(a.get(), b.get(), p.c, p.m, p.n, p.k); };
  };
  const lab::Variant kernel = {"", "", reinterpret_cast<const void*>(gemm), sizeof(Smem), prepare};
  return lab::gemm_main(
      argc, argv, {"04b_bulk_copy", "one thread, 1-D bulk copies, one stage", {BM, BN, BK}, 1, {kernel}});
}
