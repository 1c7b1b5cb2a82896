// A transposition spread over a cluster: every thread sends its values straight to the CTA that needs them with st.async,
// and adds to a histogram there with red.async; each CTA waits for the bytes it is to get, nobody for anybody else.
#include "cuda_ptx.hpp"

#include "pipeline.hpp"

constexpr int kCtas = 4, kThreads = 64,
              kPerCta = kCtas * kThreads;  // values of a CTA: one a thread for each CTA
constexpr int kBins = 8;

__device__ uint32_t s32(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ uint32_t at_rank(const void* p, uint32_t rank) {
  uint32_t a;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(s32(p)), "r"(rank));
  return a;
}

// out[to][from][thread] = in[from][to][thread]; bins[to][b] = how many values v with v % kBins == b came to CTA `to`.
__global__ void __cluster_dims__(kCtas, 1, 1) exchange(const uint32_t* in, uint32_t* out, uint32_t* bins) {
  __shared__ uint32_t inbox[kPerCta], histogram[kBins];
  __shared__ uint64_t came;
  const uint32_t rank = ptx::get_sreg_cluster_ctarank();
  const int t = threadIdx.x;
  if (t < kBins) histogram[t] = 0;
  if (t == 0) {
    ptx::mbarrier_init(&came, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    // 4 bytes of st.async and 4 of red.async for every value that will come
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &came, 8u * kPerCta);
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  for (uint32_t to = 0; to < kCtas; ++to) {
    const uint32_t value = in[rank * kPerCta + to * kThreads + t];
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                     at_rank(&inbox[rank * kThreads + t], to)),
                 "r"(value), "r"(at_rank(&came, to))
                 : "memory");
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::
            "r"(at_rank(&histogram[value % kBins], to)),
        "r"(1), "r"(at_rank(&came, to))
        : "memory");
  }
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &came, 0)) {
  }
  for (int i = t; i < kPerCta; i += kThreads) out[rank * kPerCta + i] = inbox[i];
  if (t < kBins) bins[rank * kBins + t] = histogram[t];
}

int main() {
  return pipeline::run("all_to_all", [](pipeline::Check& check) {
    std::vector<uint32_t> in(kCtas * kPerCta), counts(kCtas * kBins, 0);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i * 2654435761u >> 12);
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<uint32_t>(in.size()), bins = pipeline::filled<uint32_t>(counts.size());
    exchange<<<kCtas, kThreads>>>(d_in.get(), out.get(), bins.get());
    const auto got = pipeline::download(out, in.size());
    for (int to = 0; to < kCtas; ++to)
      for (int from = 0; from < kCtas; ++from)
        for (int t = 0; t < kThreads; ++t) {
          const uint32_t value = in[from * kPerCta + to * kThreads + t];
          const int i = to * kPerCta + from * kThreads + t;
          check.equal(i, got[i], value);
          ++counts[to * kBins + value % kBins];
        }
    const auto got_bins = pipeline::download(bins, counts.size());
    for (size_t i = 0; i < counts.size(); ++i) check.equal(i, got_bins[i], counts[i]);
  });
}
