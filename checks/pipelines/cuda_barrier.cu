// The toolkit's barrier objects driving the copy engine: cuda::device::memcpy_async_tx and barrier_arrive_tx on
// cuda::barrier, with tokens; and cuda::memcpy_async, which chooses a bulk copy by itself where it can.
#include <cooperative_groups.h>
#include <cuda/barrier>

#include "pipeline.hpp"

using barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kFloats = 512, kRounds = 6, kThreads = 96;

#pragma nv_diag_suppress static_var_with_dynamic_init

// out = in * in, two buffers
__global__ void squares(const float* in, float* out) {
  __shared__ alignas(128) float tile[2][kFloats];
  __shared__ barrier landed[2];
  if (threadIdx.x == 0) {
    init(&landed[0], blockDim.x);
    init(&landed[1], blockDim.x);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  barrier::arrival_token token[2];
  const auto start = [&](int round) {
    barrier& bar = landed[round % 2];
    if (threadIdx.x == 0) {
      cuda::device::memcpy_async_tx(tile[round % 2], in + round * kFloats,
                                    cuda::aligned_size_t<16>(sizeof tile[0]), bar);
      token[round % 2] = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile[0]);
    } else {
      token[round % 2] = bar.arrive();
    }
  };
  start(0);
  for (int round = 0; round < kRounds; ++round) {
    if (round + 1 < kRounds) start(round + 1);
    landed[round % 2].wait(std::move(token[round % 2]));
    for (int i = threadIdx.x; i < kFloats; i += blockDim.x)
      out[round * kFloats + i] = tile[round % 2][i] * tile[round % 2][i];
    __syncthreads();
  }
}

// out = -in, one group-wide copy a round
__global__ void negate(const float* in, float* out) {
  namespace cg = cooperative_groups;
  __shared__ alignas(128) float tile[kFloats];
  __shared__ barrier landed;
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&landed, block.size());
  block.sync();
  for (int round = 0; round < kRounds; ++round) {
    cuda::memcpy_async(block, tile, in + round * kFloats, cuda::aligned_size_t<16>(sizeof tile), landed);
    landed.arrive_and_wait();
    for (int i = threadIdx.x; i < kFloats; i += blockDim.x) out[round * kFloats + i] = -tile[i];
    block.sync();
  }
}

int main() {
  return pipeline::run("cuda_barrier", [](pipeline::Check& check) {
    std::vector<float> in(kRounds * kFloats);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1009) - 500;
    const auto d_in = pipeline::upload(in);
    const auto a = pipeline::filled<float>(in.size()), b = pipeline::filled<float>(in.size());
    squares<<<1, kThreads>>>(d_in.get(), a.get());
    negate<<<1, kThreads>>>(d_in.get(), b.get());
    const auto got_a = pipeline::download(a, in.size()), got_b = pipeline::download(b, in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      check.equal(i, got_a[i], in[i] * in[i]);
      check.equal(i, got_b[i], -in[i]);
    }
  });
}
