// Specialised warps from before mbarriers: two loader warps fill two buffers through registers, two worker warps use
// them, and four named barriers say "full" and "empty". Each side waits with bar.sync and tells with bar.arrive.
#include "pipeline.hpp"

constexpr int kRounds = 6, kElements = 128, kEveryone = 128;

enum Named { kFull0 = 1, kFull1, kEmpty0, kEmpty1 };

__device__ void wait_at(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kEveryone) : "memory");
}
__device__ void tell(int barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kEveryone) : "memory");
}

// out[round][i] = in[round][i] + in[round][(i + 1) % kElements]
__global__ void add_neighbours(const int* in, int* out) {
  __shared__ int buffer[2][kElements];
  const int t = threadIdx.x % 64;
  if (threadIdx.x < 64) {  // loaders
    for (int round = 0; round < kRounds; ++round) {
      const int2 pair = reinterpret_cast<const int2*>(in)[round * kElements / 2 + t];
      if (round >= 2) wait_at(kEmpty0 + round % 2);
      reinterpret_cast<int2*>(buffer[round % 2])[t] = pair;
      tell(kFull0 + round % 2);
    }
  } else {  // workers
    for (int round = 0; round < kRounds; ++round) {
      wait_at(kFull0 + round % 2);
      for (int i = t; i < kElements; i += 64)
        out[round * kElements + i] = buffer[round % 2][i] + buffer[round % 2][(i + 1) % kElements];
      if (round + 2 < kRounds) tell(kEmpty0 + round % 2);
    }
  }
}

// The same hand-over through a barrier that also counts: which lanes saw a negative number?
__global__ void count_negative(const int* in, int* out) {
  const int negative = __syncthreads_count(in[threadIdx.x] < 0);
  const int any = __syncthreads_or(in[threadIdx.x] == 0), all = __syncthreads_and(in[threadIdx.x] < 1000);
  if (threadIdx.x == 0) out[0] = negative, out[1] = any != 0, out[2] = all != 0;
}

int main() {
  return pipeline::run("named_barriers", [](pipeline::Check& check) {
    std::vector<int> in(kRounds * kElements);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 17 % 257) - 100;
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<int>(in.size()), counts = pipeline::filled<int>(3);
    add_neighbours<<<1, kEveryone>>>(d_in.get(), out.get());
    count_negative<<<1, kElements>>>(d_in.get(), counts.get());
    const auto got = pipeline::download(out, in.size());
    for (int r = 0; r < kRounds; ++r)
      for (int i = 0; i < kElements; ++i)
        check.equal(r * kElements + i, got[r * kElements + i],
                    in[r * kElements + i] + in[r * kElements + (i + 1) % kElements]);
    int negative = 0, zero = 0;
    for (int i = 0; i < kElements; ++i) negative += in[i] < 0, zero |= in[i] == 0;
    const auto counted = pipeline::download(counts, 3);
    check.equal(0, counted[0], negative);
    check.equal(1, counted[1], zero);
    check.equal(2, counted[2], 1);
  });
}
