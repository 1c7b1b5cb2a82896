// Control flow: dense and sparse switches, nested divergent loops with break and continue, early returns, arrays in
// local memory with computed indices, structures passed by value, integer types of every width, clocks.
#include <cstdint>

#include "program.cuh"

struct Parameters {
  char tag;
  short step;
  int limits[3];
  double weight;
  unsigned char bytes[5];
};

__host__ __device__ int classify(int x) {
  switch (x % 11) {
    case 0:
      return x + 3;
    case 1:
      return x * 7;
    case 2:
      return x - 100;
    case 3:
      return x ^ 0x55;
    case 4:
      return -x;
    case 5:
      return x << 2;
    case 6:
      return x >> 1;
    case 7:
      return x | 64;
    case 8:
      return x & 0xF0;
    case 9:
      return ~x;
    default:
      return 1000 + x;
  }
}

__host__ __device__ int sparse(int x) {
  switch (x) {
    case 3:
      return 1;
    case 1000:
      return 2;
    case -70000:
      return 3;
    case 123456789:
      return 4;
  }
  return 0;
}

// Collatz steps, with an inner loop that ends differently for each lane.
__host__ __device__ int wander(unsigned x) {
  int steps = 0;
  for (unsigned n = x; n != 1; ++steps) {
    if (steps > 200) return -1;
    if (n % 2) {
      n = 3 * n + 1;
      if (n % 5 == 0) continue;
      for (int k = 0; k < 10; ++k)
        if ((n >> k) % 7 == 0) {
          steps += k;
          break;
        }
    } else {
      n /= 2;
    }
  }
  return steps;
}

__host__ __device__ int sort_locally(int seed) {
  int values[16];
  for (int i = 0; i < 16; ++i) values[i] = (seed * 31 + i * 17) % 101;
  for (int i = 1; i < 16; ++i)
    for (int j = i; j > 0 && values[j - 1] > values[j]; --j) {
      int t = values[j];
      values[j] = values[j - 1];
      values[j - 1] = t;
    }
  int hash = 0;
  for (int i = 0; i < 16; ++i) hash = hash * 3 + values[(i * 5 + seed) % 16];
  return hash;
}

__host__ __device__ long long widths(int i) {
  int8_t a = static_cast<int8_t>(i * 37);
  uint8_t b = static_cast<uint8_t>(i * 91);
  int16_t c = static_cast<int16_t>(i * 12345);
  uint16_t d = static_cast<uint16_t>(i * 54321);
  int64_t e = static_cast<int64_t>(i) * -123456789012ll;
  return a * b + (c >> 3) * d + e / (a | 1) + (e % 1000) + (static_cast<uint64_t>(e) >> 40);
}

__host__ __device__ double use(const Parameters& p, int i) {
  if (i > p.limits[i % 3]) return p.weight * p.tag;
  return p.weight + p.step * i + p.bytes[i % 5];
}

constexpr int kResults = 5;
__global__ void run(Parameters p, const int* in, long long* out, double* used, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long* o = out + i * kResults;
  o[0] = classify(in[i]);
  o[1] = sparse(in[i]);
  o[2] = wander(static_cast<unsigned>(i) + 1);
  o[3] = sort_locally(i);
  o[4] = widths(in[i]);
  used[i] = use(p, i);
}

__global__ void clocks(int* out) {
  long long before = clock64();
  unsigned narrow = static_cast<unsigned>(clock());
  __nanosleep(100);
  out[0] = clock64() > before;
  out[1] = static_cast<unsigned>(clock()) != narrow;
  out[2] = warpSize;
}

int main() {
  const int n = 200;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = i * 13 % 97;
  in[5] = 1000;
  in[6] = -70000;
  in[7] = 123456789;
  in[8] = 3;
  Parameters p = {'A', -7, {50, 120, 160}, 2.25, {1, 2, 3, 4, 250}};
  long long* out = to_device(std::vector<long long>(n * kResults));
  double* used = to_device(std::vector<double>(n));
  run<<<4, 64>>>(p, to_device(in), out, used, n);
  OK(cudaGetLastError());
  std::vector<long long> got = to_host(out, n * kResults);
  std::vector<double> got_used = to_host(used, n);
  for (int i = 0; i < n; ++i) {
    const long long want[kResults] = {classify(in[i]), sparse(in[i]), wander(static_cast<unsigned>(i) + 1),
                                      sort_locally(i), widths(in[i])};
    for (int k = 0; k < kResults; ++k) expect("result", i * 10 + k, got[i * kResults + k], want[k]);
    expect("structure", i, got_used[i], use(p, i));
  }
  int* flags = to_device(std::vector<int>(3));
  clocks<<<1, 1>>>(flags);
  std::vector<int> f = to_host(flags, 3);
  expect("clock64 advances", 0, f[0], 1);
  expect("clock advances", 0, f[1], 1);
  expect("warp size", 0, f[2], 32);
  return finish("control_flow");
}
