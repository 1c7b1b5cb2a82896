// One warp, one tile at a time: lane 0 draws the next piece of work with an atomic, shuffles hand the number round, lane
// 0 alone waits for the copy, and __syncwarp is what lets the other lanes read the bytes, and lane 0 refill them.
#include "pipeline.hpp"

constexpr int kItems = 13, kWords = 96, kWarps = 3;

__device__ unsigned sh(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// out[item] = the largest word of the item, and where it is. Every warp has a buffer and a barrier of its own.
__global__ void largest(const unsigned* in, uint2* out, int* next) {
  __shared__ alignas(16) unsigned tile[kWarps][kWords];
  __shared__ uint64_t landed[kWarps];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sh(&landed[warp])) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();  // no other warp uses this barrier
  for (unsigned parity = 0;; parity ^= 1) {
    int item = 0;
    if (lane == 0) item = atomicAdd(next, 1);
    item = __shfl_sync(~0u, item, 0);
    if (item >= kItems) break;
    if (lane == 0) {
      asm volatile(
          "{\n.reg .pred p;\n"
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%2], [%3], %1, [%0];\n"
          "W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %4;\n@!p bra W;\n}" ::"r"(sh(&landed[warp])),
          "r"(kWords * 4), "r"(sh(tile[warp])), "l"(in + item * kWords), "r"(parity)
          : "memory");
    }
    __syncwarp();  // the other lanes learn that it has landed
    unsigned best = 0;
    int where = 0;
    for (int i = lane; i < kWords; i += 32)
      if (tile[warp][i] >= best) best = tile[warp][i], where = i;
    for (int width = 16; width; width /= 2) {
      const unsigned other = __shfl_xor_sync(~0u, best, width);
      const int there = __shfl_xor_sync(~0u, where, width);
      if (other > best || (other == best && there > where)) best = other, where = there;
    }
    if (lane == 0) out[item] = {best, static_cast<unsigned>(where)};
    __syncwarp();  // and lane 0 that they have read it
  }
}

int main() {
  return pipeline::run("warp_handover", [](pipeline::Check& check) {
    std::vector<unsigned> in(kItems * kWords);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned>(i * 2654435761u >> 8);
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<uint2>(kItems);
    const auto next = pipeline::filled<int>(1, 0);
    largest<<<1, 32 * kWarps>>>(d_in.get(), out.get(), next.get());
    const auto got = pipeline::download(out, kItems);
    for (int item = 0; item < kItems; ++item) {
      unsigned best = 0, where = 0;
      for (unsigned i = 0; i < kWords; ++i)
        if (in[item * kWords + i] >= best) best = in[item * kWords + i], where = i;
      check.equal(2 * item, got[item].x, best);
      check.equal(2 * item + 1, got[item].y, where);
    }
  });
}
