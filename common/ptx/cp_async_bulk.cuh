// cp.async.bulk: one thread hands a run of bytes to the copy engine (TMA), in one dimension, without a tensor
// map. Addresses and sizes are multiples of 16 bytes. The bytes arrive as they are: no box, no swizzle, no
// zero fill. (PTX §9.7.9.25)
#pragma once

#include <cstdint>

#include "ptx/smem_addr.cuh"

namespace ptx {

// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar];
// global -> shared. On completion the tx-count of `bar` falls by `bytes`. A shared::cta address used with
// shared::cluster names the executing CTA; the shared::cta spelling needs PTX 8.6. (sm_90)
__device__ __forceinline__ void cp_async_bulk(void* dst, const void* src, uint32_t bytes, uint64_t* bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :
               : "r"(smem_addr(dst)), "l"(src), "r"(bytes), "r"(smem_addr(bar))
               : "memory");
}

// cp.async.bulk.global.shared::cta.bulk_group [dst], [src], bytes;
// shared -> global. Completion is counted in bulk groups (bulk_group.cuh) of the issuing thread. (sm_90)
__device__ __forceinline__ void cp_async_bulk_store(void* dst, const void* src, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(dst), "r"(smem_addr(src)), "r"(bytes)
               : "memory");
}

}  // namespace ptx
