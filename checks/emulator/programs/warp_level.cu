// Warp-level primitives: match, vote, ballot, shuffles with every width, reductions, divergent lanes that meet again.
#include "program.cuh"

constexpr int kResults = 14;

__global__ void primitives(const int* in, int* out) {
  int i = threadIdx.x, lane = i % 32, v = in[i];
  int* o = out + i * kResults;
  o[0] = static_cast<int>(__match_any_sync(~0u, v % 5));
  int all_same = -1;
  o[1] = static_cast<int>(__match_all_sync(~0u, v > -1000 ? 1 : 0, &all_same));
  o[2] = all_same;
  o[3] = __all_sync(~0u, v >= 0);
  o[4] = __any_sync(~0u, v == 7);
  o[5] = static_cast<int>(__ballot_sync(~0u, v & 1));
  o[6] = __shfl_sync(~0u, v, lane + 5, 8);
  o[7] = __shfl_up_sync(~0u, v, 3, 16);
  o[8] = __shfl_down_sync(~0u, v, 2, 4);
  o[9] = __shfl_xor_sync(~0u, v, 9);
  o[10] = static_cast<int>(__reduce_add_sync(~0u, v));
  o[11] = static_cast<int>(__reduce_xor_sync(~0u, static_cast<unsigned>(v)));
  // Two halves of the warp do different things, each with its own mask.
  if (lane < 10) {
    o[12] = __shfl_sync(0x3FFu, v, 9);
  } else {
    o[12] = static_cast<int>(__reduce_max_sync(~0x3FFu, v));
  }
  __syncwarp();
  long long wide = static_cast<long long>(v) << 33 | lane;
  o[13] = static_cast<int>(__shfl_sync(~0u, wide, 31 - lane) >> 33);
}

// Each lane loops its own number of times; lanes hand a value on through shared memory in lane order.
__global__ void relay(int* out) {
  __shared__ volatile int turn;
  __shared__ volatile int value;
  if (threadIdx.x == 0) {
    turn = 31;
    value = 1;
  }
  __syncthreads();
  while (turn != static_cast<int>(threadIdx.x)) {
  }
  value = value + static_cast<int>(threadIdx.x);
  out[threadIdx.x] = value;
  __threadfence_block();
  turn = static_cast<int>(threadIdx.x) - 1;
}

int main() {
  const int n = 64;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = (i * 31 + 3) % 23;
  int* device = to_device(std::vector<int>(n * kResults));
  primitives<<<1, n>>>(to_device(in), device);
  OK(cudaGetLastError());
  std::vector<int> got = to_host(device, n * kResults);
  for (int i = 0; i < n; ++i) {
    int base = i / 32 * 32, lane = i % 32, w[kResults] = {};
    const int* v = &in[base];
    w[1] = -1;
    w[2] = 1;
    w[3] = 1;
    int most = -1000;
    for (int j = 0; j < 32; ++j) {
      if (v[j] % 5 == v[lane] % 5) w[0] |= static_cast<int>(1u << j);
      if (v[j] < 0) w[3] = 0;
      if (v[j] == 7) w[4] = 1;
      if (v[j] & 1) w[5] |= static_cast<int>(1u << j);
      w[10] += v[j];
      w[11] ^= v[j];
      if (j >= 10 && v[j] > most) most = v[j];
    }
    w[6] = v[lane / 8 * 8 + (lane + 5) % 8];
    w[7] = lane % 16 >= 3 ? v[lane - 3] : v[lane];
    w[8] = lane % 4 < 2 ? v[lane + 2] : v[lane];
    w[9] = v[lane ^ 9];
    w[12] = lane < 10 ? v[9] : most;
    w[13] = v[31 - lane];
    for (int k = 0; k < kResults; ++k) expect("primitive", i * 100 + k, got[i * kResults + k], w[k]);
  }
  int* out = to_device(std::vector<int>(32));
  relay<<<1, 32>>>(out);
  OK(cudaGetLastError());
  std::vector<int> r = to_host(out, 32);
  for (int i = 31, value = 1; i >= 0; --i) expect("relay", i, r[i], value += i);
  return finish("warp_level");
}
