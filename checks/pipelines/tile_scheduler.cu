// Persistent CTAs draw tiles from a counter: one warp fetches the number, puts it into shared memory and tells copier and
// workers through an mbarrier; they give the slot back through another. Copies and results each have a ring of theirs.
#include "pipeline.hpp"

constexpr int kTiles = 11, kFloats = 128, kSlots = 2, kStages = 3;
constexpr int kWorkers = 64, kThreads = 64 + kWorkers;  // warp 0: scheduler, warp 1: copier

namespace dev {

__device__ uint32_t addr(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// A barrier and how often this thread has waited on it.
struct Gate {
  uint64_t* bar;
  uint32_t laps;
  __device__ void pass() {
    uint32_t ok;
    do {
      asm volatile(
          "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
          : "=r"(ok)
          : "r"(addr(bar)), "r"(laps & 1)
          : "memory");
    } while (!ok);
    ++laps;
  }
};
__device__ void init(uint64_t& bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(addr(&bar)), "r"(count) : "memory");
}
__device__ void arrive(uint64_t& bar) {
  asm volatile("{\n.reg .b64 unused;\nmbarrier.arrive.shared::cta.b64 unused, [%0];\n}" ::"r"(addr(&bar))
               : "memory");
}

}  // namespace dev

// out[tile] = tile's floats, each plus the tile's number. counter: 0.
__global__ void number_tiles(const float* in, float* out, int* counter) {
  __shared__ alignas(16) float stage[kStages][kFloats];
  __shared__ int slot[kSlots];
  __shared__ uint64_t drawn[kSlots], taken[kSlots], full[kStages], empty[kStages];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kSlots; ++s) dev::init(drawn[s], 1), dev::init(taken[s], 1 + kWorkers);
    for (int s = 0; s < kStages; ++s) dev::init(full[s], 1), dev::init(empty[s], kWorkers);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (warp == 0) {
    if (lane != 0) return;
    dev::Gate free_slot[kSlots] = {{&taken[0], 1}, {&taken[1], 1}};  // odd: the first pass is free
    for (int i = 0, tile = 0; tile < kTiles; ++i) {
      tile = atomicAdd(counter, 1);
      free_slot[i % kSlots].pass();
      slot[i % kSlots] = tile;  // the first number past the end tells the others to stop
      dev::arrive(drawn[i % kSlots]);
    }
    return;
  }
  if (warp == 1 && lane != 0) return;
  dev::Gate number[kSlots] = {{&drawn[0], 0}, {&drawn[1], 0}};
  dev::Gate free_stage[kStages] = {{&empty[0], 1}, {&empty[1], 1}, {&empty[2], 1}};
  dev::Gate landed[kStages] = {{&full[0], 0}, {&full[1], 0}, {&full[2], 0}};
  for (int i = 0;; ++i) {
    number[i % kSlots].pass();
    const int tile = slot[i % kSlots], s = i % kStages;
    dev::arrive(taken[i % kSlots]);
    if (tile >= kTiles) return;
    if (warp == 1) {
      free_stage[s].pass();
      asm volatile(
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%2], [%3], %1, [%0];" ::"r"(
              dev::addr(&full[s])),
          "n"(kFloats * 4), "r"(dev::addr(stage[s])), "l"(in + tile * kFloats)
          : "memory");
    } else {
      landed[s].pass();
      for (int e = threadIdx.x - 64; e < kFloats; e += kWorkers)
        out[tile * kFloats + e] = stage[s][e] + static_cast<float>(tile);
      dev::arrive(empty[s]);
    }
  }
}

int main() {
  return pipeline::run("tile_scheduler", [](pipeline::Check& check) {
    std::vector<float> in(kTiles * kFloats);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 777);
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<float>(in.size());
    const auto counter = pipeline::filled<int>(1, 0);
    number_tiles<<<3, kThreads>>>(d_in.get(), out.get(), counter.get());
    const auto got = pipeline::download(out, in.size());
    for (size_t i = 0; i < in.size(); ++i) check.equal(i, got[i], in[i] + static_cast<float>(i / kFloats));
  });
}
