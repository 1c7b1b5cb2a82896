// Ordinary asynchronous copies that complete on an mbarrier, with no wait_group anywhere: a warp copies 16 bytes a lane
// and lets the barrier tell the consumers. In both forms: .noinc, where the copies' arrivals are in the count, and
// without, where each thread arrives on top of them.
#include "pipeline.hpp"

constexpr int kRounds = 9, kDepth = 4, kFloats = 512;  // a stage is 2 KiB: four copies a lane

__device__ uint32_t addr(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ void barrier_wait(uint64_t* b, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred ok;\nSPIN: mbarrier.try_wait.parity.shared::cta.b64 ok, [%0], %1;\n@!ok bra SPIN;\n}" ::
          "r"(addr(b)),
      "r"(parity)
      : "memory");
}

// out = in + 1. The first warp copies, three warps consume.
template <bool kNoInc>
__global__ void add_one(const float* in, float* out) {
  __shared__ alignas(16) float ring[kDepth][kFloats];
  __shared__ uint64_t ready[kDepth], free_again[kDepth];
  const int t = threadIdx.x;
  if (t < kDepth) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(addr(&ready[t])) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 96;" ::"r"(addr(&free_again[t])) : "memory");
  }
  __syncthreads();
  for (int round = 0; round < kRounds; ++round) {
    const int s = round % kDepth, lap = round / kDepth;
    if (t < 32) {
      barrier_wait(&free_again[s], (lap & 1) ^ 1);
      for (int i = t; i < kFloats / 4; i += 32)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(addr(&ring[s][4 * i])),
                     "l"(in + round * kFloats + 4 * i)
                     : "memory");
      if constexpr (kNoInc) {
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(addr(&ready[s])) : "memory");
      } else {
        asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(addr(&ready[s])) : "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(addr(&ready[s])) : "memory");
      }
    } else {
      barrier_wait(&ready[s], lap & 1);
      for (int i = t - 32; i < kFloats; i += 96) out[round * kFloats + i] = ring[s][i] + 1;
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(addr(&free_again[s])) : "memory");
    }
  }
}

int main() {
  return pipeline::run("async_arrivals", [](pipeline::Check& check) {
    std::vector<float> in(kRounds * kFloats);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
    const auto d_in = pipeline::upload(in);
    for (auto kernel : {add_one<true>, add_one<false>}) {
      const auto out = pipeline::filled<float>(in.size());
      kernel<<<1, 128>>>(d_in.get(), out.get());
      const auto got = pipeline::download(out, in.size());
      for (size_t i = 0; i < in.size(); ++i) check.equal(i, got[i], in[i] + 1);
    }
  });
}
