// CTAs in a chain, as in stream-K: each waits for a flag of the one before, fetches its partial result with the copy
// engine, adds its own and passes it on with a bulk store and a flag.
#include "pipeline.hpp"

constexpr int kCtas = 5, kFloats = 256, kThreads = 64;

__device__ uint32_t smem(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// partial[c] = the sum of in[0..c]; flags: 0.
__global__ void running_sum(const float* in, float* partial, int* flags) {
  __shared__ alignas(16) float mine[kFloats], before[kFloats];
  __shared__ uint64_t bar;
  const int c = blockIdx.x, t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem(&bar)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  for (int i = t; i < kFloats; i += kThreads) mine[i] = in[c * kFloats + i];
  __syncthreads();
  if (c > 0) {
    if (t == 0) {
      while (*reinterpret_cast<volatile int*>(flags + c - 1) == 0) {
      }
      __threadfence();
      asm volatile("fence.proxy.async.global;" ::
                       : "memory");  // what the flag says, the copy engine is to see
      asm volatile(
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%2], [%3], %1, [%0];" ::"r"(
              smem(&bar)),
          "n"(kFloats * 4), "r"(smem(before)), "l"(partial + (c - 1) * kFloats)
          : "memory");
    }
    asm volatile(
        "{\n.reg .pred p;\nU: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra U;\n}" ::"r"(
            smem(&bar))
        : "memory");
    for (int i = t; i < kFloats; i += kThreads) mine[i] += before[i];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;\n"
        "cp.async.bulk.wait_group 0;" ::"l"(partial + c * kFloats),
        "r"(smem(mine)), "n"(kFloats * 4)
        : "memory");
    __threadfence();
    atomicExch(flags + c, 1);
  }
}

// The same with ordinary stores: every thread writes, a barrier, and one thread that vouches for all with a fence.
__global__ void running_sum_by_threads(const float* in, float* partial, int* flags) {
  const int c = blockIdx.x, t = threadIdx.x;
  __shared__ float before[kFloats];
  if (c > 0) {
    if (t == 0) {
      while (atomicAdd(flags + c - 1, 0) == 0) {
      }
      __threadfence();
    }
    __syncthreads();
    for (int i = t; i < kFloats; i += kThreads) before[i] = __ldcg(partial + (c - 1) * kFloats + i);
  }
  for (int i = t; i < kFloats; i += kThreads)
    partial[c * kFloats + i] = in[c * kFloats + i] + (c > 0 ? before[i] : 0);
  __threadfence();
  __syncthreads();
  if (t == 0) atomicExch(flags + c, 1);
}

int main() {
  return pipeline::run("chain", [](pipeline::Check& check) {
    std::vector<float> in(kCtas * kFloats);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 89);
    const auto d_in = pipeline::upload(in);
    for (auto kernel : {running_sum, running_sum_by_threads}) {
      const auto partial = pipeline::filled<float>(in.size());
      const auto flags = pipeline::filled<int>(kCtas, 0);
      kernel<<<kCtas, kThreads>>>(d_in.get(), partial.get(), flags.get());
      const auto got = pipeline::download(partial, in.size());
      std::vector<float> sum(kFloats, 0.0f);
      for (size_t i = 0; i < in.size(); ++i) check.equal(i, got[i], sum[i % kFloats] += in[i]);
    }
  });
}
