// Arrivals that count for several threads, workers that leave early and drop out of a barrier's count, and waits by the
// state that an arrive returned. A team of warps sums blocks; warp w has work for w + 2 rounds only.
#include "pipeline.hpp"

constexpr int kWarps = 4, kRounds = kWarps + 1, kThreads = 32 * kWarps;

struct Barrier {
  unsigned long long word;
  __device__ unsigned address() const { return static_cast<unsigned>(__cvta_generic_to_shared(&word)); }
  __device__ void init(unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count) : "memory");
  }
  __device__ unsigned long long arrive(unsigned count) {
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "r"(address()), "r"(count)
                 : "memory");
    return state;
  }
  __device__ void arrive_and_leave(unsigned count) {
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(count) : "memory");
  }
  __device__ void wait(unsigned long long state) {
    asm volatile(
        "{\n.reg .pred p;\nL: mbarrier.try_wait.shared::cta.b64 p, [%0], %1;\n@!p bra L;\n}" ::"r"(address()),
        "l"(state)
        : "memory");
  }
};

// out[round] = sum of in[round][thread] over the threads of the warps that take part in it; one CTA.
__global__ void sum_rounds(const int* in, int* out) {
  __shared__ Barrier written, taken;
  __shared__ int values[kThreads];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) written.init(kThreads), taken.init(kThreads);
  __syncthreads();
  const int mine = warp == 0 ? kRounds : warp + 2;  // rounds; warp 0 stays to the end and adds up
  for (int round = 0; round < mine; ++round) {
    const bool last = round + 1 == mine;
    values[threadIdx.x] = in[round * kThreads + threadIdx.x];
    __syncwarp();
    unsigned long long state = 0;
    // one lane arrives for its warp; in its last round it takes the warp out of both barriers
    if (lane == 0) {
      if (last && warp != 0)
        written.arrive_and_leave(32);
      else
        state = written.arrive(32);
    }
    if (warp == 0) {
      if (lane == 0) written.wait(state);
      __syncwarp();
      int sum = 0;
      for (int w = 0; w < kWarps; ++w)
        if (w == 0 || round < w + 2) sum += values[w * 32 + lane];
      sum = __reduce_add_sync(0xFFFFFFFFu, sum);
      if (lane == 0) out[round] = sum;
      __syncwarp();
    }
    if (last && warp != 0) {
      if (lane == 0) taken.arrive_and_leave(32);
      return;
    }
    if (lane == 0) taken.wait(taken.arrive(32));
    __syncwarp();
  }
}

int main() {
  return pipeline::run("counted_arrivals", [](pipeline::Check& check) {
    std::vector<int> in(kRounds * kThreads);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 31 % 101);
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<int>(kRounds);
    sum_rounds<<<1, kThreads>>>(d_in.get(), out.get());
    const auto got = pipeline::download(out, kRounds);
    for (int r = 0; r < kRounds; ++r) {
      int want = 0;
      for (int t = 0; t < kThreads; ++t)
        if (t < 32 || r < t / 32 + 2) want += in[r * kThreads + t];
      check.equal(r, got[r], want);
    }
  });
}
