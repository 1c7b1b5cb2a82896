// Prefix sum over many blocks in one launch: each block publishes its sum and looks back at its predecessors.
#include "program.cuh"

constexpr int kBlock = 128;

// status: 0 nothing yet, 1 the block's own sum, 2 the sum up to and with the block. High half: the value.
__global__ void scan(const unsigned* in, unsigned* out, int n, unsigned long long* state,
                     unsigned* next_tile) {
  __shared__ unsigned tile_of_block, warp_sums[kBlock / 32], before_tile;
  if (threadIdx.x == 0) tile_of_block = atomicAdd(next_tile, 1);  // tiles in the order blocks start
  __syncthreads();
  unsigned tile = tile_of_block;
  int i = tile * kBlock + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned v = i < n ? in[i] : 0, sum = v;
  for (int step = 1; step < 32; step *= 2) {
    unsigned other = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  unsigned before_warp = 0, total = 0;
  for (int w = 0; w < kBlock / 32; ++w) {
    if (w < warp) before_warp += warp_sums[w];
    total += warp_sums[w];
  }
  if (threadIdx.x == 0) {
    volatile unsigned long long* published = state;
    published[tile] = (static_cast<unsigned long long>(total) << 32) | (tile == 0 ? 2 : 1);
    __threadfence();
    unsigned before = 0;
    for (int t = static_cast<int>(tile) - 1; t >= 0;) {
      unsigned long long s = published[t];
      if ((s & 3) == 0) continue;  // not there yet: look again
      before += static_cast<unsigned>(s >> 32);
      if ((s & 3) == 2) break;
      --t;
    }
    if (tile > 0) published[tile] = (static_cast<unsigned long long>(before + total) << 32) | 2;
    __threadfence();
    before_tile = before;
  }
  __syncthreads();
  if (i < n) out[i] = before_tile + before_warp + sum;
}

int main() {
  const int n = 5000, tiles = (n + kBlock - 1) / kBlock;
  std::vector<unsigned> in(n);
  for (int i = 0; i < n; ++i) in[i] = (i * 2654435761u) >> 20;
  unsigned* out = to_device(std::vector<unsigned>(n));
  unsigned long long* state = to_device(std::vector<unsigned long long>(tiles));
  unsigned* next_tile = to_device(std::vector<unsigned>(1));
  scan<<<tiles, kBlock>>>(to_device(in), out, n, state, next_tile);
  OK(cudaGetLastError());
  std::vector<unsigned> got = to_host(out, n);
  unsigned want = 0;
  for (int i = 0; i < n; ++i) expect("scan", i, got[i], want += in[i]);
  return finish("scan");
}
