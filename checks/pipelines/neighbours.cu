// CTAs of a cluster hand tiles to each other: by loads and stores to the neighbour's shared memory between cluster
// barriers, and by bulk copies from shared to shared memory that complete on the neighbour's mbarrier.
#include <cooperative_groups.h>

#include "pipeline.hpp"

namespace cg = cooperative_groups;

constexpr int kCtas = 4, kFloats = 64, kSteps = 5;

__device__ uint32_t here(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ uint32_t there(const void* p, uint32_t rank) {
  uint32_t a;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(here(p)), "r"(rank));
  return a;
}

// out[cta] = the sum over all CTAs' tiles: every CTA's tile travels once round the ring of CTAs. One thread an element.
__global__ void __cluster_dims__(kCtas, 1, 1) ring_sum(const float* in, float* out) {
  __shared__ alignas(16) float tile[2][kFloats];
  __shared__ uint64_t came[2], read_by_next[2];
  const auto cluster = cg::this_cluster();
  const uint32_t rank = cluster.block_rank(), next = (rank + 1) % kCtas,
                 previous = (rank + kCtas - 1) % kCtas;
  const int t = threadIdx.x;
  if (t < 2) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(here(&came[t])) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(here(&read_by_next[t])), "n"(kFloats)
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  float mine = in[rank * kFloats + t], sum = mine;
  cluster.sync();
  for (int step = 1; step < kCtas; ++step) {
    const int b = step % 2;
    const auto wait = [](uint64_t* bar, int parity) {
      asm volatile(
          "{\n.reg .pred p;\nH: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n@!p "
          "bra H;\n}" ::"r"(here(bar)),
          "r"(parity)
          : "memory");
    };
    // a separate buffer to send from, and one to receive into
    __shared__ alignas(16) float outgoing[kFloats];
    outgoing[t] = mine;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(here(&came[b])),
                   "n"(kFloats * 4)
                   : "memory");
      if (step > 2) wait(&read_by_next[b], 0);
      asm volatile(
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
              "r"(there(tile[b], next)),
          "r"(here(outgoing)), "n"(kFloats * 4), "r"(there(&came[b], next))
          : "memory");
    }
    wait(&came[b], step / 3);
    mine = tile[b][t];
    sum += mine;
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                     there(&read_by_next[b], previous))
                 : "memory");
    cluster.sync();  // also: the neighbour has what was sent from `outgoing`
  }
  out[rank * kFloats + t] = sum;
}

// A chain of kSteps averages with both neighbours; the halo is read and written in their shared memory.
__global__ void __cluster_dims__(kCtas, 1, 1) smooth(const float* in, float* out) {
  __shared__ float row[2][kFloats + 2];
  const auto cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank()), t = threadIdx.x;
  if (t == 0) row[0][0] = row[1][0] = row[0][kFloats + 1] = row[1][kFloats + 1] = 0;
  row[0][t + 1] = in[rank * kFloats + t];
  cluster.sync();
  for (int step = 0; step < kSteps; ++step) {
    float* now = row[step % 2];
    if (t == 0 && rank > 0) now[0] = *cluster.map_shared_rank(now + kFloats, rank - 1);  // pull the left halo
    if (t == 1 && rank > 0)
      *cluster.map_shared_rank(now + kFloats + 1, rank - 1) = now[1];  // push into the left's
    cluster.sync();
    row[1 - step % 2][t + 1] = now[t] + 2 * now[t + 1] + now[t + 2];
    cluster.sync();
  }
  out[rank * kFloats + t] = row[kSteps % 2][t + 1];
}

int main() {
  return pipeline::run("neighbours", [](pipeline::Check& check) {
    constexpr int kAll = kCtas * kFloats;
    std::vector<float> in(kAll);
    for (int i = 0; i < kAll; ++i) in[i] = static_cast<float>(i * 7 % 23);
    const auto d_in = pipeline::upload(in);
    const auto sums = pipeline::filled<float>(kAll), smoothed = pipeline::filled<float>(kAll);
    ring_sum<<<kCtas, kFloats>>>(d_in.get(), sums.get());
    smooth<<<kCtas, kFloats>>>(d_in.get(), smoothed.get());
    const auto got = pipeline::download(sums, kAll), chain = pipeline::download(smoothed, kAll);
    std::vector<float> want(in);
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<float> old(want);
      for (int i = 0; i < kAll; ++i)
        want[i] = (i ? old[i - 1] : 0) + 2 * old[i] + (i + 1 < kAll ? old[i + 1] : 0);
    }
    for (int i = 0; i < kAll; ++i) {
      float sum = 0;
      for (int c = 0; c < kCtas; ++c) sum += in[c * kFloats + i % kFloats];
      check.equal(i, got[i], sum);
      check.equal(i, chain[i], want[i]);
    }
  });
}
