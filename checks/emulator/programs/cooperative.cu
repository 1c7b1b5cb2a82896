// Cooperative groups: tiles of a warp, coalesced groups, labelled partitions, reductions and scans over groups, and
// synchronisation of a whole grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "program.cuh"

namespace cg = cooperative_groups;

__global__ void tiles(const int* in, int* sums, int* scans, int* ranks) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  int v = in[block.thread_rank()];
  sums[block.thread_rank()] = cg::reduce(tile, v, cg::plus<int>());
  scans[block.thread_rank()] = cg::inclusive_scan(tile, v);
  ranks[block.thread_rank()] = -1;
  if (v % 3 == 0) {
    cg::coalesced_group group = cg::coalesced_threads();
    ranks[block.thread_rank()] = static_cast<int>(group.thread_rank() * 100 + group.size());
  }
}

// Lanes with the same value get one atomic: the leader adds for all.
__global__ void aggregated(const int* in, int* counts) {
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
  cg::coalesced_group same = cg::labeled_partition(warp, in[threadIdx.x] % 4);
  if (same.thread_rank() == 0) atomicAdd(&counts[in[threadIdx.x] % 4], static_cast<int>(same.size()));
}

// Repeated smoothing of an array by many blocks: every step needs all of the step before.
__global__ void smooth(float* a, float* b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  int i = static_cast<int>(grid.thread_rank());
  for (int s = 0; s < steps; ++s) {
    float *from = s % 2 ? b : a, *to = s % 2 ? a : b;
    if (i < n) to[i] = 0.25f * from[(i + n - 1) % n] + 0.5f * from[i] + 0.25f * from[(i + 1) % n];
    grid.sync();
  }
}

int main() {
  const int threads = 96;
  std::vector<int> in(threads);
  for (int i = 0; i < threads; ++i) in[i] = (i * 37 + 11) % 50;
  int* device = to_device(in);
  int *sums = to_device(std::vector<int>(threads)), *scans = to_device(std::vector<int>(threads)),
      *ranks = to_device(std::vector<int>(threads)), *counts = to_device(std::vector<int>(4));
  tiles<<<1, threads>>>(device, sums, scans, ranks);
  OK(cudaGetLastError());
  std::vector<int> s = to_host(sums, threads), c = to_host(scans, threads), r = to_host(ranks, threads);
  for (int i = 0; i < threads; ++i) {
    int sum = 0, scan = 0, rank = 0, size = 0;
    for (int j = i / 8 * 8; j < i / 8 * 8 + 8; ++j) {
      sum += in[j];
      if (j <= i) scan += in[j];
    }
    for (int j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) {
      size += in[j] % 3 == 0;
      rank += in[j] % 3 == 0 && j < i;
    }
    expect("tile sum", i, s[i], sum);
    expect("tile scan", i, c[i], scan);
    expect("coalesced rank", i, r[i], in[i] % 3 == 0 ? rank * 100 + size : -1);
  }

  aggregated<<<1, threads>>>(device, counts);
  OK(cudaGetLastError());
  std::vector<int> got_counts = to_host(counts, 4), want_counts(4);
  for (int v : in) ++want_counts[v % 4];
  for (int i = 0; i < 4; ++i) expect("aggregated", i, got_counts[i], want_counts[i]);

  int n = 700, steps = 6;
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; ++i) a[i] = static_cast<float>(i % 64);
  float *da = to_device(a), *db = to_device(b);
  void* args[] = {&da, &db, &n, &steps};
  OK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(smooth), dim3(6), dim3(128), args, 0, nullptr));
  std::vector<float> got = to_host(da, n);
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < n; ++i) b[i] = 0.25f * a[(i + n - 1) % n] + 0.5f * a[i] + 0.25f * a[(i + 1) % n];
    a.swap(b);
  }
  for (int i = 0; i < n; ++i) expect_near("smooth", i, got[i], a[i], 1e-4);
  expect("too many blocks to be resident", 0,
         cudaLaunchCooperativeKernel(reinterpret_cast<void*>(smooth), dim3(100000), dim3(128), args, 0,
                                     nullptr) == cudaErrorCooperativeLaunchTooLarge,
         true);
  cudaGetLastError();
  return finish("cooperative");
}
