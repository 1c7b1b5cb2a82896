// Sum, minimum and maximum of an array: warp shuffles, then shared memory, then one atomic per block.
#include <climits>

#include "program.cuh"

__device__ int warp_sum(int v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(~0u, v, step);
  return v;
}

__global__ void reduce(const int* in, int n, long long* sum, int* least, int* most) {
  __shared__ int sums[32], least_of[32], most_of[32];
  int v = 0, lo = INT_MAX, hi = INT_MIN;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    v += in[i];
    lo = min(lo, in[i]);
    hi = max(hi, in[i]);
  }
  v = warp_sum(v);
  lo = __reduce_min_sync(~0u, lo);
  hi = __reduce_max_sync(~0u, hi);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) {
    sums[warp] = v;
    least_of[warp] = lo;
    most_of[warp] = hi;
  }
  __syncthreads();
  if (warp == 0) {
    bool used = lane < blockDim.x / 32;
    v = warp_sum(used ? sums[lane] : 0);
    lo = __reduce_min_sync(~0u, used ? least_of[lane] : INT_MAX);
    hi = __reduce_max_sync(~0u, used ? most_of[lane] : INT_MIN);
    if (lane == 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(sum),
                static_cast<unsigned long long>(static_cast<long long>(v)));
      atomicMin(least, lo);
      atomicMax(most, hi);
    }
  }
}

// The same sum with a butterfly, so that every lane has it; partial last warp.
__global__ void butterfly(const float* in, float* out, int n) {
  unsigned active = __ballot_sync(__activemask(), threadIdx.x < n);
  if (threadIdx.x >= n) return;
  float v = in[threadIdx.x];
  if (active == ~0u)
    for (int bit = 1; bit < 32; bit *= 2) v += __shfl_xor_sync(active, v, bit);
  out[threadIdx.x] = v;
}

int main() {
  const int n = 100003;
  std::vector<int> in(n);
  long long want = 0;
  int lo = INT_MAX, hi = INT_MIN;
  unsigned x = 12345;
  for (int& v : in) {
    x = x * 1664525u + 1013904223u;
    v = static_cast<int>(x >> 8) % 20011 - 10000;
    want += v;
    lo = v < lo ? v : lo;
    hi = v > hi ? v : hi;
  }
  int* device = to_device(in);
  long long* sum = to_device(std::vector<long long>{0});
  int* least = to_device(std::vector<int>{INT_MAX});
  int* most = to_device(std::vector<int>{INT_MIN});
  reduce<<<7, 256>>>(device, n, sum, least, most);
  OK(cudaGetLastError());
  expect("sum", 0, to_host(sum, 1)[0], want);
  expect("least", 0, to_host(least, 1)[0], lo);
  expect("most", 0, to_host(most, 1)[0], hi);

  std::vector<float> floats(64);
  float first = 0;
  for (int i = 0; i < 64; ++i) floats[i] = static_cast<float>(i * i % 17);
  for (int i = 0; i < 32; ++i) first += floats[i];
  float* out = to_device(std::vector<float>(64, -1));
  butterfly<<<1, 64>>>(to_device(floats), out, 45);
  std::vector<float> got = to_host(out, 64);
  for (int i = 0; i < 32; ++i) expect("butterfly", i, got[i], first);
  for (int i = 32; i < 45; ++i) expect("partial warp", i, got[i], floats[i]);
  for (int i = 45; i < 64; ++i) expect("untouched", i, got[i], -1.0f);
  return finish("reduction");
}
