// Tensor maps that live in global memory: an array of them, copied there by the host, one problem each; and one that
// the kernel itself puts together from another and publishes to the tensormap proxy before it is used.
#include "pipeline.hpp"

constexpr int kProblems = 3, kSide = 32, kFloats = kSide * kSide;

__device__ uint32_t sa(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ void fetch_square(float* to, const CUtensorMap* map, uint64_t* bar) {  // by one thread
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sa(bar)), "n"(kFloats * 4)
               : "memory");
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {0, 0}], "
      "[%2];" ::"r"(sa(to)),
      "l"(map), "r"(sa(bar))
      : "memory");
}
__device__ void wait_parity(uint64_t* bar, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nQ: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra Q;\n}" ::"r"(
          sa(bar)),
      "r"(parity)
      : "memory");
}

// sums[p] = the sum of problem p's corner of kSide x kSide floats, CTA p. maps: written by the host before the launch.
__global__ void sum_corners(const CUtensorMap* maps, float* sums) {
  __shared__ alignas(128) float square[kFloats];
  __shared__ uint64_t bar;
  const CUtensorMap* map = maps + blockIdx.x;
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map)
                 : "memory");  // the host's bytes
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sa(&bar)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fetch_square(square, map, &bar);
  }
  __syncthreads();
  wait_parity(&bar, 0);
  float sum = 0;
  for (int i = threadIdx.x; i < kFloats; i += 32) sum += square[i];
  for (int width = 16; width; width /= 2) sum += __shfl_xor_sync(~0u, sum, width);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// The same for two maps in turn, each copied into `scratch` by the threads: first maps[0], then maps[1].
__global__ void sum_in_turn(const CUtensorMap* maps, CUtensorMap* scratch, float* sums) {
  __shared__ alignas(128) float square[kFloats];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sa(&bar)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  for (int turn = 0; turn < 2; ++turn) {
    __syncthreads();  // everybody is done with the square and with the map of the turn before
    reinterpret_cast<uint32_t*>(scratch)[threadIdx.x] =
        reinterpret_cast<const uint32_t*>(maps + turn)[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
      asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(scratch) : "memory");
      fetch_square(square, scratch, &bar);
    }
    wait_parity(&bar, turn);
    float sum = 0;
    for (int i = threadIdx.x; i < kFloats; i += 32) sum += square[i];
    for (int width = 16; width; width /= 2) sum += __shfl_xor_sync(~0u, sum, width);
    if (threadIdx.x == 0) sums[turn] = sum;
  }
}

int main() {
  return pipeline::run("maps_in_global", [](pipeline::Check& check) {
    std::vector<CUtensorMap> maps;
    std::vector<float> want;
    std::vector<std::shared_ptr<float>> keep;
    for (int p = 0; p < kProblems; ++p) {
      const int cols = kSide + 4 * p, rows = kSide - 3 * p;  // wider than the box, and lower
      std::vector<float> in(cols * rows);
      want.push_back(0);
      for (int i = 0; i < cols * rows; ++i) {
        in[i] = static_cast<float>((i + p) % 19);
        if (i % cols < kSide) want.back() += in[i];
      }
      keep.push_back(pipeline::upload(in));
      maps.push_back(pipeline::float_map(keep.back().get(), rows, cols, kSide, kSide));
    }
    const auto d_maps = pipeline::upload(maps);
    const auto scratch = pipeline::filled<CUtensorMap>(1);
    const auto sums = pipeline::filled<float>(kProblems), in_turn = pipeline::filled<float>(2);
    sum_corners<<<kProblems, 32>>>(d_maps.get(), sums.get());
    sum_in_turn<<<1, 32>>>(d_maps.get(), scratch.get(), in_turn.get());
    const auto got = pipeline::download(sums, kProblems), turns = pipeline::download(in_turn, 2);
    for (int p = 0; p < kProblems; ++p) check.equal(p, got[p], want[p]);
    for (int p = 0; p < 2; ++p) check.equal(p, turns[p], want[p]);
  });
}
