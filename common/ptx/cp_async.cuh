// cp.async: a copy global -> shared that bypasses the registers; the issuing thread goes on at once.
// Completion is counted in groups per *thread*: another thread's wait says nothing about your copies.
// cp.async writes through the generic proxy: wgmma may read the bytes only after fence.proxy.async.
// (PTX §9.7.9.25, all sm_80)
#pragma once

#include <cstdint>

#include "ptx/smem_addr.cuh"

namespace ptx {

// cp.async.cg.shared.global [dst], [src], 16, src_bytes;
// Copies src_bytes (0..16) and fills the rest of the 16 bytes with zeros; with src_bytes == 0 nothing is
// read, but src should still be a valid address. dst and src are multiples of 16. .cg: cached in L2 only.
__device__ __forceinline__ void cp_async_cg_16(void* dst, const void* src, uint32_t src_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(smem_addr(dst)), "l"(src), "r"(src_bytes)
               : "memory");
}

// cp.async.commit_group;
// Closes a group of all this thread's cp.async since the last commit. An empty group counts as a group.
__device__ __forceinline__ void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}

// cp.async.wait_group N;
// Waits until at most the kPending newest groups of this thread are unfinished, and makes the others visible
// to this thread only: the rest of the CTA needs a barrier after it.
template <int kPending>
__device__ __forceinline__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kPending) : "memory");
}

// cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];
// Arrives once on `bar` when all cp.async that this thread has started so far are complete; the thread goes on
// at once. .noinc: the arrival is one of those that mbarrier.init has counted; without it the pending count
// would first rise by one. (sm_80, PTX §9.7.13.15.15)
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(uint64_t* bar) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" : : "r"(smem_addr(bar)) : "memory");
}

}  // namespace ptx
