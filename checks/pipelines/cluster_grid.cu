// A cluster of 2 x 2 CTAs. The two of a row share tiles of X, the two of a column tiles of Y: each CTA fetches half of
// either tile and multicasts it. A stage is free again when the three CTAs that a copy reaches have released it.
#include "cuda_ptx.hpp"

#include "pipeline.hpp"

constexpr int kSide = 16, kWide = 32, kRounds = 5,
              kDepth = 2;  // a tile is 16 x 32 floats; a row is 128 bytes
constexpr int kHalf = kSide / 2 * kWide;
constexpr uint32_t kBytes = 2 * kSide * kWide * sizeof(float);

__device__ void spin(uint64_t* bar, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, bar, parity)) {
  }
}

// out[cta] = sum over the rounds of X[row of the CTA] * Y[column of the CTA], element by element.
__global__ void __cluster_dims__(4, 1, 1) products(const __grid_constant__ CUtensorMap map_x,
                                                   const __grid_constant__ CUtensorMap map_y, float* out) {
  __shared__ alignas(128) float x[kDepth][kSide * kWide], y[kDepth][kSide * kWide];
  __shared__ uint64_t full[kDepth], empty[kDepth];
  const uint32_t rank = ptx::get_sreg_cluster_ctarank(), row = rank / 2, col = rank % 2;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kDepth; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s],
                         3 * 4);  // four consumer warps in: this CTA, its row's other, its column's other
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  ptx::barrier_cluster_arrive(ptx::sem_release);
  ptx::barrier_cluster_wait(ptx::sem_acquire);

  if (threadIdx.x == 128) {
    for (int i = 0; i < kRounds; ++i) {
      const int s = i % kDepth;
      if (i >= kDepth) spin(&empty[s], (i / kDepth - 1) & 1);
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s],
                                     uint32_t{kBytes});
      const int32_t from_x[] = {0, static_cast<int32_t>((i * 2 + row) * kSide + col * kSide / 2)};
      const int32_t from_y[] = {0, static_cast<int32_t>((i * 2 + col) * kSide + row * kSide / 2)};
      ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, x[s] + col * kHalf, &map_x, from_x,
                                &full[s], static_cast<uint16_t>(0b11 << 2 * row));
      ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, y[s] + row * kHalf, &map_y, from_y,
                                &full[s], static_cast<uint16_t>(0b101 << col));
    }
  } else if (threadIdx.x < 128) {
    float sum[kSide * kWide / 128] = {};
    for (int i = 0; i < kRounds; ++i) {
      const int s = i % kDepth, lane = threadIdx.x % 32;
      spin(&full[s], i / kDepth & 1);
      for (int e = 0; e < kSide * kWide / 128; ++e)
        sum[e] += x[s][threadIdx.x + 128 * e] * y[s][threadIdx.x + 128 * e];
      __syncwarp();
      const uint32_t to[] = {rank, rank ^ 1, rank ^ 2};  // who fills this CTA's stage
      if (lane < 3) {
        const uint32_t mine = static_cast<uint32_t>(__cvta_generic_to_shared(&empty[s]));
        asm volatile(
            "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(mine),
            "r"(to[lane])
            : "memory");
      }
    }
    for (int e = 0; e < kSide * kWide / 128; ++e) out[rank * kSide * kWide + threadIdx.x + 128 * e] = sum[e];
  }
  ptx::barrier_cluster_arrive(ptx::sem_release);
  ptx::barrier_cluster_wait(ptx::sem_acquire);
}

int main() {
  return pipeline::run("cluster_grid", [](pipeline::Check& check) {
    constexpr int kTile = kSide * kWide, kAll = kRounds * 2 * kTile;
    std::vector<float> x(kAll), y(kAll);
    for (int i = 0; i < kAll; ++i) x[i] = static_cast<float>(i % 41), y[i] = static_cast<float>(i % 29 - 14);
    const auto dx = pipeline::upload(x), dy = pipeline::upload(y);
    const auto out = pipeline::filled<float>(4 * kTile);
    const auto map = [](const float* p) {
      return pipeline::float_map(p, kRounds * 2 * kSide, kWide, kSide / 2, kWide);
    };
    products<<<4, 160>>>(map(dx.get()), map(dy.get()), out.get());
    const auto got = pipeline::download(out, 4 * kTile);
    for (int i = 0; i < 4 * kTile; ++i) {
      float want = 0;
      const int row = i / kTile / 2, col = i / kTile % 2;
      for (int r = 0; r < kRounds; ++r)
        want += x[(r * 2 + row) * kTile + i % kTile] * y[(r * 2 + col) * kTile + i % kTile];
      check.equal(i, got[i], want);
    }
  });
}
