// Two producer warps fill one ring: one brings a tensor tile, the other a vector with a plain bulk copy. Each announces
// its own bytes, so a stage is full after two arrivals and both sums. Written with the toolkit's <cuda/ptx>.
#include "cuda_ptx.hpp"

#include "pipeline.hpp"

constexpr int kRows = 32, kCols = 16, kRounds = 7, kDepth = 3;  // a tile of 32 x 16 floats: rows of 64 bytes

struct Stage {
  float tile[kRows * kCols];  // 64-byte swizzle, which repeats every 512 bytes
  float scale[kRows];
  float pad[96];
};
static_assert(sizeof(Stage) % 512 == 0);

__device__ void until(uint64_t* bar, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, bar, parity)) {
  }
}

// out[round] = tile * scale, row by row. 4 warps: two of producers, two of consumers with 16 rows each.
__global__ void scale_rows(const __grid_constant__ CUtensorMap tiles, const float* scales, float* out) {
  extern __shared__ uint8_t dynamic[];
  Stage* ring = reinterpret_cast<Stage*>((reinterpret_cast<uintptr_t>(dynamic) + 511) & ~uintptr_t{511});
  __shared__ uint64_t full[kDepth], empty[kDepth];
  if (threadIdx.x == 96) {
    for (int i = 0; i < kDepth; ++i) {
      ptx::mbarrier_init(&full[i], 2);   // two producers
      ptx::mbarrier_init(&empty[i], 2);  // two consumer warps
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp < 2) {
    if (lane != 7 * warp) return;  // any lane will do
    for (int round = 0; round < kRounds; ++round) {
      Stage& stage = ring[round % kDepth];
      uint64_t* bar = &full[round % kDepth];
      until(&empty[round % kDepth], round / kDepth % 2 ^ 1);
      if (warp == 0) {
        const int32_t corner[] = {0, round * kRows};
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar,
                                       sizeof stage.tile);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, stage.tile, &tiles, corner, bar);
      } else {  // this one announces afterwards
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage.scale, scales + round * kRows,
                           sizeof stage.scale, bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar,
                                       sizeof stage.scale);
      }
    }
    return;
  }
  for (int round = 0; round < kRounds; ++round) {
    const Stage& stage = ring[round % kDepth];
    until(&full[round % kDepth], round / kDepth % 2);
    for (int i = lane; i < 16 * kCols / 4; i += 32) {  // 16-byte chunks of this warp's rows
      const int row = (warp - 2) * 16 + i / 4, chunk = i % 4 ^ row / 2 % 4;
      float4 v = reinterpret_cast<const float4*>(stage.tile)[row * 4 + chunk];
      const float by = stage.scale[row];
      reinterpret_cast<float4*>(out)[(round * kRows + row) * 4 + i % 4] = {v.x * by, v.y * by, v.z * by,
                                                                           v.w * by};
    }
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(&empty[round % kDepth]);
  }
}

int main() {
  return pipeline::run("two_producers", [](pipeline::Check& check) {
    constexpr int kAll = kRounds * kRows * kCols;
    std::vector<float> in(kAll), scale(kRounds * kRows);
    for (int i = 0; i < kAll; ++i) in[i] = static_cast<float>(i % 997);
    for (int i = 0; i < kRounds * kRows; ++i) scale[i] = static_cast<float>(i % 7 + 1);
    const auto d_in = pipeline::upload(in), d_scale = pipeline::upload(scale);
    const auto out = pipeline::filled<float>(kAll);
    scale_rows<<<1, 128, kDepth * sizeof(Stage) + 512>>>(
        pipeline::float_map(d_in.get(), kRounds * kRows, kCols, kRows, kCols, CU_TENSOR_MAP_SWIZZLE_64B),
        d_scale.get(), out.get());
    const auto got = pipeline::download(out, kAll);
    for (int i = 0; i < kAll; ++i) check.equal(i, got[i], in[i] * scale[i / kCols]);
  });
}
