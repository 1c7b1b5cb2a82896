// mbarrier: an 8-byte object in shared memory that counts arrivals and bytes.
// A phase completes when no arrival is pending AND the transaction count (tx-count, in bytes) is zero; then
// the next phase begins with the arrival count given to init. (PTX §9.7.13.15)
#pragma once

#include <cstdint>

#include "ptx/smem_addr.cuh"

namespace ptx {

// mbarrier.init.shared::cta.b64 [bar], arrivals;
// Creates the object: phase 0, `arrivals` (1 .. 2^20-1) expected in every phase, tx-count 0. Other threads of
// the CTA may use it after a barrier. (sm_80, PTX §9.7.13.15.9)
__device__ __forceinline__ void mbarrier_init(uint64_t* bar, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(smem_addr(bar)), "r"(arrivals) : "memory");
}

// mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];
// One arrival. Release: what this thread did before is visible to whoever sees the phase complete. (sm_80, PTX
// §9.7.13.15.13)
__device__ __forceinline__ void mbarrier_arrive(uint64_t* bar) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" : : "r"(smem_addr(bar)) : "memory");
}

// mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], tx_bytes;
// Adds tx_bytes (at most 2^20-1) to the tx-count, then arrives once. "memory": no access to the tile may be
// moved across it. (sm_90, PTX §9.7.13.15.13)
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t* bar, uint32_t tx_bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(smem_addr(bar)), "r"(tx_bytes)
               : "memory");
}

// mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [bar], parity;
// True when the phase of this parity is complete; may sleep for a while first, and may return false at any
// time, so call it in a loop. A fresh barrier (phase 0) answers true for parity 1. (sm_90, PTX §9.7.13.15.16)
__device__ __forceinline__ bool mbarrier_try_wait_parity(uint64_t* bar, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(smem_addr(bar)), "r"(parity)
      : "memory");
  return done != 0;
}

}  // namespace ptx
