// A cluster of three: the CTA of rank 0 fetches for all with a multicast bulk copy. Each CTA announces for itself; the
// leader waits for one "free" arrival of each CTA, made by a relaxed-order cluster barrier at the start, later remotely.
#include "cuda_ptx.hpp"

#include "pipeline.hpp"

constexpr int kCtas = 3, kFloats = 160, kRounds = 6, kDepth = 2;

__device__ void remote_arrive(uint64_t* bar, uint32_t rank) {
  asm volatile(
      "{\n.reg .b32 a;\nmapa.shared::cluster.u32 a, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a];\n}" ::"r"(
          static_cast<uint32_t>(__cvta_generic_to_shared(bar))),
      "r"(rank)
      : "memory");
}

// out[cta] = (cta + 1) * the sum over the rounds of in[round], element by element
__global__ void __cluster_dims__(kCtas, 1, 1) scale(const float* in, float* out) {
  __shared__ alignas(128) float tile[kDepth][kFloats];
  __shared__ uint64_t full[kDepth], empty[kDepth];  // the leader's empty counts CTAs
  const uint32_t rank = ptx::get_sreg_cluster_ctarank();
  const int t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < kDepth; ++s) ptx::mbarrier_init(&full[s], 1), ptx::mbarrier_init(&empty[s], kCtas);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  __syncthreads();  // the barriers were made by thread 0 of this CTA
  float sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int s = round % kDepth;
    if (t == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s],
                                     static_cast<uint32_t>(sizeof tile[s]));
      if (rank == 0) {
        if (round >= kDepth)
          while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &empty[s],
                                                (round / kDepth - 1) & 1)) {
          }
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[s], in + round * kFloats,
                           static_cast<uint32_t>(sizeof tile[s]), &full[s],
                           static_cast<uint16_t>((1 << kCtas) - 1));
      }
    }
    while (!ptx::mbarrier_try_wait_parity(&full[s], round / kDepth & 1)) {
    }
    sum += tile[s][t];
    __syncthreads();
    if (t == 0) remote_arrive(&empty[s], 0);
  }
  out[rank * kFloats + t] = static_cast<float>(rank + 1) * sum;
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

int main() {
  return pipeline::run("broadcast", [](pipeline::Check& check) {
    std::vector<float> in(kRounds * kFloats), sum(kFloats, 0.0f);
    for (size_t i = 0; i < in.size(); ++i) sum[i % kFloats] += in[i] = static_cast<float>(i % 111);
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<float>(kCtas * kFloats);
    scale<<<kCtas, kFloats>>>(d_in.get(), out.get());
    const auto got = pipeline::download(out, kCtas * kFloats);
    for (int i = 0; i < kCtas * kFloats; ++i)
      check.equal(i, got[i], static_cast<float>(i / kFloats + 1) * sum[i % kFloats]);
  });
}
