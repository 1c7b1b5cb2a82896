// Hand-over without any barrier object: warps pass a tile on through words in shared memory, with volatile flags and
// fences, with acquire and release, and with cuda::atomic_ref. Each stage of the pipeline is a warp.
#include <cuda/atomic>

#include "pipeline.hpp"

constexpr int kWarps = 4, kRounds = 6;

__device__ int load_acquire(const int* p) {
  int v;
  asm volatile("ld.acquire.cta.shared.b32 %0, [%1];"
               : "=r"(v)
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(p)))
               : "memory");
  return v;
}
__device__ void store_release(int* p, int v) {
  asm volatile(
      "st.release.cta.shared.b32 [%0], %1;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(p))), "r"(v)
      : "memory");
}

enum class Style { volatile_word, acquire_release, atomic_ref };

template <Style kStyle>
__device__ int look(int* word) {
  if constexpr (kStyle == Style::volatile_word) {
    const int v = *reinterpret_cast<volatile int*>(word);
    __threadfence_block();
    return v;
  } else if constexpr (kStyle == Style::acquire_release) {
    return load_acquire(word);
  } else {
    return cuda::atomic_ref<int, cuda::thread_scope_block>(*word).load(cuda::memory_order_acquire);
  }
}
template <Style kStyle>
__device__ void tell(int* word, int v) {
  if constexpr (kStyle == Style::volatile_word) {
    __threadfence_block();
    *reinterpret_cast<volatile int*>(word) = v;
  } else if constexpr (kStyle == Style::acquire_release) {
    store_release(word, v);
  } else {
    cuda::atomic_ref<int, cuda::thread_scope_block>(*word).store(v, cuda::memory_order_release);
  }
}

// out[round][lane] = in[round][lane] * 2^kWarps + (2^kWarps - 1): every warp doubles, adds one and passes on.
template <Style kStyle>
__global__ void relay(const int* in, int* out) {
  __shared__ int tile[kWarps][32];                  // what warp w takes
  __shared__ int given[kWarps + 1], taken[kWarps];  // rounds
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x <= kWarps) given[threadIdx.x] = 0;
  if (threadIdx.x < kWarps) taken[threadIdx.x] = 0;
  __syncthreads();
  for (int round = 0; round < kRounds; ++round) {
    int value;
    if (warp == 0) {
      value = in[round * 32 + lane];
    } else {
      if (lane == 0)
        while (look<kStyle>(&given[warp]) <= round) {
        }
      __syncwarp();
      value = tile[warp][lane];
      __syncwarp();
      if (lane == 0) tell<kStyle>(&taken[warp], round + 1);
    }
    value = 2 * value + 1;
    if (warp + 1 == kWarps) {
      out[round * 32 + lane] = value;
    } else {
      if (lane == 0)
        while (look<kStyle>(&taken[warp + 1]) < round) {
        }
      __syncwarp();
      tile[warp + 1][lane] = value;
      __syncwarp();
      if (lane == 0) tell<kStyle>(&given[warp + 1], round + 1);
    }
  }
}

int main() {
  return pipeline::run("shared_flags", [](pipeline::Check& check) {
    std::vector<int> in(kRounds * 32);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 3);
    const auto d_in = pipeline::upload(in);
    for (auto kernel :
         {relay<Style::volatile_word>, relay<Style::acquire_release>, relay<Style::atomic_ref>}) {
      const auto out = pipeline::filled<int>(in.size());
      kernel<<<1, 32 * kWarps>>>(d_in.get(), out.get());
      const auto got = pipeline::download(out, in.size());
      for (size_t i = 0; i < in.size(); ++i)
        check.equal(i, got[i], in[i] * (1 << kWarps) + (1 << kWarps) - 1);
    }
  });
}
