// CUB's block-wide algorithms: reduce, scan, radix sort, striped loads.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include <algorithm>

#include "program.cuh"

constexpr int kThreads = 64, kItems = 4, kTile = kThreads * kItems;

__global__ void algorithms(const int* in, int* sum, int* scan, int* sorted) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Reduce = cub::BlockReduce<int, kThreads>;
  using Scan = cub::BlockScan<int, kThreads>;
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
    typename Sort::TempStorage sort;
  } storage;
  int items[kItems], scanned[kItems];
  Load(storage.load).Load(in, items);
  __syncthreads();
  int total = Reduce(storage.reduce).Sum(items);
  if (threadIdx.x == 0) *sum = total;
  __syncthreads();
  Scan(storage.scan).ExclusiveSum(items, scanned);
  __syncthreads();
  Sort(storage.sort).Sort(items);
  for (int k = 0; k < kItems; ++k) {
    scan[threadIdx.x * kItems + k] = scanned[k];
    sorted[threadIdx.x * kItems + k] = items[k];
  }
}

int main() {
  std::vector<int> in(kTile);
  for (int i = 0; i < kTile; ++i) in[i] = (i * 7919) % 1013 - 500;
  int *sum = to_device(std::vector<int>(1)), *scan = to_device(std::vector<int>(kTile)),
      *sorted = to_device(std::vector<int>(kTile));
  algorithms<<<1, kThreads>>>(to_device(in), sum, scan, sorted);
  OK(cudaGetLastError());
  std::vector<int> got_scan = to_host(scan, kTile), got_sorted = to_host(sorted, kTile);
  int total = 0;
  for (int i = 0; i < kTile; ++i) {
    expect("scan", i, got_scan[i], total);
    total += in[i];
  }
  expect("sum", 0, to_host(sum, 1)[0], total);
  std::sort(in.begin(), in.end());
  for (int i = 0; i < kTile; ++i) expect("sorted", i, got_sorted[i], in[i]);
  return finish("block_algorithms");
}
