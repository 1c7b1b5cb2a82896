// Clusters: CTAs that run at the same time on neighbouring SMs and reach each other's shared memory.
#pragma once

#include <cstdint>

#include "ptx/smem_addr.cuh"

namespace ptx {

// mov.u32 r, %cluster_ctarank;
// Rank of the executing CTA in its cluster, from 0. (sm_90, PTX §10.27)
__device__ __forceinline__ uint32_t cluster_ctarank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// barrier.cluster.arrive.release.aligned;  barrier.cluster.wait.acquire.aligned;
// Waits for all threads of the cluster that have not exited. What they wrote before is visible after. All
// threads of a warp execute it together. (sm_90, PTX §9.7.13.5)
__device__ __forceinline__ void barrier_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
}
__device__ __forceinline__ void barrier_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
}

// barrier.cluster.arrive.relaxed.aligned;
// The same without the release: it only counts who has come. With fence.mbarrier_init.release.cluster before it, fresh
// mbarriers are visible to the cluster all the same, and no MEMBAR is waited for.
__device__ __forceinline__ void barrier_cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
}

// mapa.shared::cluster.u32 r, bar, rank;  mbarrier.arrive.shared::cluster.b64 _, [r];
// mapa turns a shared address of this CTA into the address of the same place in the CTA of that rank; then one
// arrival there. That CTA must still be running. (sm_90, PTX §9.7.9.22 and §9.7.13.15.13)
// The default semantics, .release.cta: enough to hand back a stage that only wgmma has read, because those reads are
// over when wgmma.wait_group returns. It does not hand ordinary writes to the other CTA. With .release.cluster ptxas
// puts a MEMBAR.ALL.GPU before every arrive: lesson 09 then falls from 0.97 to 0.65 of cuBLASLt (H200, 4096).
__device__ __forceinline__ void mbarrier_arrive_cluster(uint64_t* bar, uint32_t rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}"
      :
      : "r"(smem_addr(bar)), "r"(rank)
      : "memory");
}

}  // namespace ptx
