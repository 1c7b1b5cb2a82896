// The toolkit's pipeline with roles: one warp produces, two consume, and the pipeline object keeps the barriers.
#include <cooperative_groups.h>
#include <cuda/pipeline>

#include "pipeline.hpp"

namespace cg = cooperative_groups;

#pragma nv_diag_suppress static_var_with_dynamic_init

constexpr int kInts = 256, kRounds = 10, kDepth = 3, kThreads = 96;

// out[i] = in[i] + in[i's mirror image in its tile]
__global__ void mirror(const int* in, int* out) {
  __shared__ alignas(16) int ring[kDepth][kInts];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kDepth> state;
  const auto block = cg::this_thread_block();
  const auto role = block.thread_rank() < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  if (role == cuda::pipeline_role::producer) {
    const auto warp = cg::tiled_partition<32>(block);
    for (int round = 0; round < kRounds; ++round) {
      pipe.producer_acquire();
      cuda::memcpy_async(warp, ring[round % kDepth], in + round * kInts,
                         cuda::aligned_size_t<16>(sizeof ring[0]), pipe);
      pipe.producer_commit();
    }
  } else {
    for (int round = 0; round < kRounds; ++round) {
      pipe.consumer_wait();
      const int* tile = ring[round % kDepth];
      for (int i = threadIdx.x - 32; i < kInts; i += kThreads - 32)
        out[round * kInts + i] = tile[i] + tile[kInts - 1 - i];
      pipe.consumer_release();
    }
  }
}

int main() {
  return pipeline::run("roles", [](pipeline::Check& check) {
    std::vector<int> in(kRounds * kInts);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * i % 7919);
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<int>(in.size());
    mirror<<<1, kThreads>>>(d_in.get(), out.get());
    const auto got = pipeline::download(out, in.size());
    for (size_t i = 0; i < in.size(); ++i)
      check.equal(i, got[i], in[i] + in[i / kInts * kInts + kInts - 1 - i % kInts]);
  });
}
