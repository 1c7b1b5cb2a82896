// cp.async.bulk.tensor: one thread asks the copy engine (TMA) for one box of a tensor.
// The tensor map (CUtensorMap) holds base address, sizes, strides, box and swizzle; the instruction gives the
// start coordinates, in elements, innermost first. They may be outside the tensor: such elements arrive as
// zeros. The shared address is a multiple of 128 bytes (1024 for the 128-byte swizzle to start at the tile's
// first row). (PTX §9.7.9.27.1)
#pragma once

#include <cuda.h>

#include <cstdint>

#include "ptx/smem_addr.cuh"

namespace ptx {

// cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [dst], [map, {x, y}], [bar];
// global -> shared. On completion the tx-count of `bar` falls by the bytes of the whole box, whether or not
// part of it is outside the tensor. `map` must be in param, const or global memory, such as a
// __grid_constant__ parameter. (sm_90)
__device__ __forceinline__ void cp_async_bulk_tensor_2d(void* dst, const CUtensorMap* map, int x, int y,
                                                        uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];"
      :
      : "r"(smem_addr(dst)), "l"(map), "r"(x), "r"(y), "r"(smem_addr(bar))
      : "memory");
}

// cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
//     [dst], [map, {x, y}], [bar], cta_mask;
// One read of global memory for several CTAs: the box lands at the offset of `dst` in every CTA of the cluster
// whose rank is set in cta_mask, and the barrier at the offset of `bar` in each of them is told. (sm_90)
__device__ __forceinline__ void cp_async_bulk_tensor_2d_multicast(void* dst, const CUtensorMap* map, int x,
                                                                  int y, uint64_t* bar, uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;"
      :
      : "r"(smem_addr(dst)), "l"(map), "r"(x), "r"(y), "r"(smem_addr(bar)), "h"(cta_mask)
      : "memory");
}

// cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map, {x, y}], [src];
// shared -> global. Elements of the box outside the tensor are not written. Completion is counted in
// bulk groups (bulk_group.cuh) of the issuing thread. (sm_90)
__device__ __forceinline__ void cp_async_bulk_tensor_2d_store(const CUtensorMap* map, int x, int y,
                                                              const void* src) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
               :
               : "l"(map), "r"(x), "r"(y), "r"(smem_addr(src))
               : "memory");
}

}  // namespace ptx
