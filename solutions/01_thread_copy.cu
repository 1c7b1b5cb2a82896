// Lesson 01: the threads that compute also carry the tiles: global memory, registers, shared memory, wgmma.
#include "emulator/names.hpp"
#include "host/gemm_program.hpp"
#include "kernel/gemm_tile.cuh"
#include "ptx/fence.cuh"
#include "ptx/wgmma.cuh"
#include "todo.cuh"

using lab::bf16;

constexpr int BM = 128, BN = 128, BK = 64;  // a CTA computes BM x BN of C, in steps of BK along K
constexpr int kThreads = 256;               // two warpgroups, 64 rows of the tile each
constexpr int kChunkBytes = 16;             // what one load or store moves: 8 bf16
constexpr int kChunksPerRow = BK * sizeof(bf16) / kChunkBytes;
constexpr int kChunksPerThread = BM * kChunksPerRow / kThreads;
static_assert(kChunksPerRow == 8, "the 128-byte swizzle permutes the eight 16-byte chunks of a 128-byte row");
static_assert(BM == BN, "one loop serves both operands");

struct Smem {
  alignas(1024) bf16 a[BM * BK];  // 1024: the 128-byte swizzle repeats every 8 rows of 128 bytes
  alignas(1024) bf16 b[BN * BK];
};

// Row and column, in chunks, of chunk i of this thread. Eight neighbouring threads take the eight chunks of a row.
__device__ int chunk_row(int i) {
  return (i * kThreads + threadIdx.x) / kChunksPerRow;
}
__device__ int chunk_col(int i) {
  return (i * kThreads + threadIdx.x) % kChunksPerRow;
}

// [region load]
// Global memory -> registers: the chunks of this thread. src: rows x k, row-major. The tile starts at (row0, k0).
// K is a multiple of 8, so a chunk is either inside src or outside.
__device__ void load_chunks(uint4 (&chunk)[kChunksPerThread], const bf16* src, int rows, int k, int row0,
                            int k0) {
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    // [todo 01.1] Read chunk i as one uint4 from its row and column of src, or take zeros where src has none.
    const int row = row0 + chunk_row(i);
    const int col = k0 + chunk_col(i) * 8;
    chunk[i] = uint4{0, 0, 0, 0};
    if (row < rows && col < k) chunk[i] = *reinterpret_cast<const uint4*>(src + row * k + col);
    // [end]
  }
}
// [end region]

// [region store]
// Registers -> shared memory, in the order that the wgmma descriptor announces.
__device__ void store_chunks(bf16* tile, const uint4 (&chunk)[kChunksPerThread]) {
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    // [todo 01.3] Store chunk i where the 128-byte swizzle puts it.
    const int row = chunk_row(i);
    const int col = chunk_col(i);
    reinterpret_cast<uint4*>(tile)[row * kChunksPerRow + (col ^ (row % 8))] = chunk[i];
    // [end]
  }
}
// [end region]

// C = A * B^T.  a: m x k, b: n x k, c: m x n, row-major bf16.  One CTA per tile of C.
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const bf16* a, const bf16* b, bf16* c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  Smem& smem = *reinterpret_cast<Smem*>(smem_bytes);
  EMU_NAME_SHARED(smem, a, b);  // as the emulator's reports call them
  const lab::OutputTile tile = lab::output_tile<BM, BN>(m, n);
  const int warpgroup = threadIdx.x / 128;
  float acc[BN / 2] = {};

  // [region loop]
  for (int k0 = 0; k0 < k; k0 += BK) {
    // ---- copy: every thread, through its registers
    uint4 chunk_a[kChunksPerThread], chunk_b[kChunksPerThread];
    load_chunks(chunk_a, a, m, k, tile.row, k0);
    load_chunks(chunk_b, b, n, k, tile.col, k0);
    // [todo 01.2] Store both tiles: nobody may still read the old ones, and wgmma must see the new ones.
    __syncthreads();  // the other warpgroup may still read the old tiles
    store_chunks(smem.a, chunk_a);
    store_chunks(smem.b, chunk_b);
    ptx::fence_proxy_async_shared_cta();  // st.shared: generic proxy; wgmma's reads: async proxy
    __syncthreads();
    // [end]

    // ---- compute: each warpgroup multiplies its half of the tile's rows
    // [todo 01.4] Multiply rows 64 * warpgroup and on of the tile of A, and wait for the tensor core.
    ptx::wgmma_fence();
    lab::multiply_tile<BK>(acc, smem.a + warpgroup * 64 * BK, smem.b);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();  // before it, neither acc nor the tiles may be touched
    // [end]
  }
  // [end region]
  lab::store_accumulator(acc, c, m, n, tile.row + warpgroup * 64, tile.col);
}

int main(int argc, char** argv) {
  const auto prepare = [](const lab::Problem& p) -> lab::Launch {
    return [p] { gemm<<<p.tiles(BM, BN), kThreads, sizeof(Smem)>>>(p.a, p.b, p.c, p.m, p.n, p.k); };
  };
  const lab::Variant kernel = {"", "", reinterpret_cast<const void*>(gemm), sizeof(Smem), prepare};
  return lab::gemm_main(
      argc, argv,
      {"01_thread_copy", "the computing threads copy, through their registers", {BM, BN, BK}, 1, {kernel}});
}
