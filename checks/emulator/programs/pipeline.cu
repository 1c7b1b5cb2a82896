// The toolkit's own asynchronous copies: cuda::barrier, cuda::pipeline, cuda::memcpy_async in three variants.
#include <cuda/barrier>
#include <cuda/pipeline>

#include <cooperative_groups.h>

#include "program.cuh"

namespace cg = cooperative_groups;

constexpr int kThreads = 64, kTileInts = 256, kStages = 3;

// One tile at a time, a block-wide barrier says when it is there.
__global__ void with_barrier(const int* in, int* out, int tiles) {
  __shared__ alignas(16) int tile[kTileInts];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  for (int t = 0; t < tiles; ++t) {
    cuda::memcpy_async(block, tile, in + t * kTileInts, cuda::aligned_size_t<16>(sizeof tile), bar);
    bar.arrive_and_wait();
    for (int i = threadIdx.x; i < kTileInts; i += blockDim.x)
      out[t * kTileInts + i] = tile[kTileInts - 1 - i] + t;
    block.sync();
  }
}

// Several tiles in flight, a pipeline shared by the block.
__global__ void with_pipeline(const int* in, int* out, int tiles) {
  extern __shared__ int stages[];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  cg::thread_block block = cg::this_thread_block();
  cuda::pipeline<cuda::thread_scope_block> pipeline = cuda::make_pipeline(block, &state);
  int loaded = 0;
  for (int t = 0; t < tiles; ++t) {
    // As many tiles in flight as there are stages, and none that nobody will wait for.
    for (; loaded < tiles && loaded < t + kStages; ++loaded) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, stages + loaded % kStages * kTileInts, in + loaded * kTileInts,
                         sizeof(int) * kTileInts, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    const int* tile = stages + t % kStages * kTileInts;
    for (int i = threadIdx.x; i < kTileInts; i += blockDim.x) out[t * kTileInts + i] = 2 * tile[i ^ 1] - t;
    block.sync();
    pipeline.consumer_release();
  }
}

// Each thread copies for itself and waits for its own copies.
__global__ void with_thread_pipeline(const int* in, int* out) {
  __shared__ alignas(16) int4 slots[2][kThreads];
  auto pipeline = cuda::make_pipeline();
  for (int stage = 0; stage < 2; ++stage) {
    pipeline.producer_acquire();
    cuda::memcpy_async(&slots[stage][threadIdx.x],
                       reinterpret_cast<const int4*>(in) + stage * kThreads + threadIdx.x,
                       cuda::aligned_size_t<16>(sizeof(int4)), pipeline);
    pipeline.producer_commit();
  }
  int sum = 0;
  for (int stage = 0; stage < 2; ++stage) {
    pipeline.consumer_wait();
    int4 v = slots[stage][threadIdx.x];
    sum += v.x + v.y + v.z + v.w;
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

int main() {
  const int tiles = 7, n = tiles * kTileInts;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = i * 5 % 1009;
  int* device = to_device(in);
  int *a = to_device(std::vector<int>(n)), *b = to_device(std::vector<int>(n)),
      *c = to_device(std::vector<int>(kThreads));
  with_barrier<<<1, kThreads>>>(device, a, tiles);
  OK(cudaGetLastError());
  with_pipeline<<<1, kThreads, kStages * kTileInts * sizeof(int)>>>(device, b, tiles);
  OK(cudaGetLastError());
  with_thread_pipeline<<<1, kThreads>>>(device, c);
  OK(cudaGetLastError());
  std::vector<int> got_a = to_host(a, n), got_b = to_host(b, n), got_c = to_host(c, kThreads);
  for (int t = 0; t < tiles; ++t)
    for (int i = 0; i < kTileInts; ++i) {
      expect("barrier", t * kTileInts + i, got_a[t * kTileInts + i],
             in[t * kTileInts + kTileInts - 1 - i] + t);
      expect("pipeline", t * kTileInts + i, got_b[t * kTileInts + i], 2 * in[t * kTileInts + (i ^ 1)] - t);
    }
  for (int i = 0; i < kThreads; ++i) {
    int sum = 0;
    for (int j = 0; j < 4; ++j) sum += in[i * 4 + j] + in[(kThreads + i) * 4 + j];
    expect("thread pipeline", i, got_c[i], sum);
  }
  return finish("pipeline");
}
