// Load, change in place, store from where it was loaded: one ring for both directions. The thread that stores is the
// thread that loads, so a stage is refilled once wait_group_read says that its store has been read.
#include "cuda_ptx.hpp"

#include "pipeline.hpp"

constexpr int kRows = 24, kCols = 32, kDepth = 3, kRounds = 8, kAhead = 2;
constexpr int kElements = kRows * kCols;

// out = 3 * in - 1 for tiles blockIdx.x, blockIdx.x + gridDim.x, ...
__global__ void change(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                       int tiles) {
  __shared__ alignas(128) float ring[kDepth][kElements];
  __shared__ uint64_t landed[kDepth];
  const bool leader = threadIdx.x == 0;
  if (leader) {
    for (auto& bar : landed) ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  const int mine = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;
  const auto row = [&](int i) { return static_cast<int32_t>((blockIdx.x + i * gridDim.x) * kRows); };
  const auto load = [&](int i) {
    const int32_t corner[] = {0, row(i)};
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &landed[i % kDepth],
                                   static_cast<uint32_t>(sizeof ring[0]));
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, ring[i % kDepth], &in, corner,
                              &landed[i % kDepth]);
  };
  if (leader)
    for (int i = 0; i < kAhead && i < mine; ++i) load(i);
  for (int i = 0; i < mine; ++i) {
    while (!ptx::mbarrier_try_wait_parity(&landed[i % kDepth], i / kDepth & 1)) {
    }
    float* tile = ring[i % kDepth];
    for (int e = threadIdx.x; e < kElements; e += blockDim.x) tile[e] = 3 * tile[e] - 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (leader) {
      const int32_t corner[] = {0, row(i)};
      ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, corner, tile);
      ptx::cp_async_bulk_commit_group();
      if (i + kAhead < mine) {
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<kDepth - kAhead>{});  // the stage of tile i + kAhead
        load(i + kAhead);
      }
    }
  }
  if (leader) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
}

int main() {
  return pipeline::run("in_place", [](pipeline::Check& check) {
    constexpr int kTiles = 2 * kRounds - 1, kAllRows = kTiles * kRows - 5;  // the last tile is clipped
    std::vector<float> in(kAllRows * kCols);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1013);
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<float>(in.size());
    const auto map = [](const float* p) { return pipeline::float_map(p, kAllRows, kCols, kRows, kCols); };
    change<<<2, 96>>>(map(d_in.get()), map(out.get()), kTiles);
    const auto got = pipeline::download(out, in.size());
    for (size_t i = 0; i < in.size(); ++i) check.equal(i, got[i], 3 * in[i] - 1);
  });
}
