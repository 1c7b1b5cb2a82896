// Histograms with shared and global atomics, a lock built from compare-and-swap, and 64-bit and double atomics.
#include "program.cuh"

constexpr int kBins = 64;

__global__ void histogram(const unsigned char* in, int n, unsigned* bins) {
  __shared__ unsigned mine[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) mine[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[in[i] % kBins], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], mine[b]);
}

struct Totals {
  int lock;
  unsigned long long product;  // by compare-and-swap
  unsigned long long most;
  double sum;
  int guarded;  // only ever changed by the holder of the lock
  unsigned bits_and, bits_or, bits_xor, wrapped, last;
};

__global__ void atomics(Totals* t) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long seen = t->product, assumed;
  do {
    assumed = seen;
    seen = atomicCAS(&t->product, assumed, assumed * 3);
  } while (seen != assumed);
  atomicMax(&t->most, 0x100000000ull + i * 7 % 101);
  atomicAdd(&t->sum, 0.5 * i);
  atomicAnd(&t->bits_and, ~(1u << (i % 5)));
  atomicOr(&t->bits_or, 1u << (i % 9));
  atomicXor(&t->bits_xor, 1u << (i % 3));
  atomicInc(&t->wrapped, 9);
  atomicExch(&t->last, i + 1000);
  // A spin lock taken by every lane of a warp: needs progress of the holder while others spin.
  bool done = false;
  while (!done) {
    if (atomicCAS(&t->lock, 0, 1) == 0) {
      __threadfence();
      *(volatile int*)&t->guarded = *(volatile int*)&t->guarded + 1;
      __threadfence();
      atomicExch(&t->lock, 0);
      done = true;
    }
  }
}

int main() {
  const int n = 40000;
  std::vector<unsigned char> in(n);
  std::vector<unsigned> want(kBins);
  for (int i = 0; i < n; ++i) {
    in[i] = static_cast<unsigned char>(i * i >> 3);
    ++want[in[i] % kBins];
  }
  unsigned* bins = to_device(std::vector<unsigned>(kBins));
  histogram<<<5, 96>>>(to_device(in), n, bins);
  OK(cudaGetLastError());
  std::vector<unsigned> got = to_host(bins, kBins);
  for (int b = 0; b < kBins; ++b) expect("bin", b, got[b], want[b]);

  const int threads = 2 * 48;
  Totals start = {};
  start.product = 1;
  start.bits_and = 0xFFFFu;
  Totals* device = to_device(std::vector<Totals>{start});
  atomics<<<2, 48>>>(device);
  OK(cudaGetLastError());
  Totals t = to_host(device, 1)[0];
  unsigned long long product = 1;
  double sum = 0;
  unsigned xors = 0;
  for (int i = 0; i < threads; ++i) {
    product *= 3;
    sum += 0.5 * i;
    xors ^= 1u << (i % 3);
  }
  expect("product", 0, t.product, product);
  expect("most", 0, t.most, 0x100000000ull + 100);
  expect("sum", 0, t.sum, sum);
  expect("and", 0, t.bits_and, 0xFFE0u);
  expect("or", 0, t.bits_or, 0x1FFu);
  expect("xor", 0, t.bits_xor, xors);
  expect("inc", 0, t.wrapped, threads % 10);
  expect("exch", 0, t.last >= 1000 && t.last < 1000 + threads, true);
  expect("lock", 0, t.guarded, threads);
  return finish("histogram");
}
