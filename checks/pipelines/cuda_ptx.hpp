// The toolkit's <cuda/ptx> as `ptx`. Before CUDA 12.6 it lacks most of what is used here; its functions are then spelled out.
#pragma once

#if __has_include( \
    <cuda/__ptx/instructions/mbarrier_init.h>) && __has_include(<cuda/__ptx/instructions/get_sreg.h>)
#include <cuda/ptx>
namespace ptx = cuda::ptx;
#else
#include <cuda.h>

#include <cstdint>

namespace ptx {

constexpr struct SemAcquire {
} sem_acquire;
constexpr struct SemRelease {
} sem_release;
constexpr struct ScopeCta {
} scope_cta;
constexpr struct ScopeCluster {
} scope_cluster;
constexpr struct SpaceShared {
} space_shared;
constexpr struct SpaceCluster {
} space_cluster;
constexpr struct SpaceGlobal {
} space_global;
template <int n>
struct n32_t {};

__device__ inline uint32_t at(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}
__device__ inline uint32_t get_sreg_cluster_ctarank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline void barrier_cluster_arrive(SemRelease = {}) {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
__device__ inline void barrier_cluster_wait(SemAcquire = {}) {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
__device__ inline void fence_mbarrier_init(SemRelease, ScopeCluster) {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void fence_proxy_async(SpaceShared) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void mbarrier_init(uint64_t* bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(bar)), "r"(count) : "memory");
}
__device__ inline void mbarrier_arrive(uint64_t* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(bar)) : "memory");
}
__device__ inline void mbarrier_arrive_expect_tx(SemRelease, ScopeCta, SpaceShared, uint64_t* bar,
                                                 uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(at(bar)), "r"(bytes)
               : "memory");
}
template <class Scope>
__device__ bool mbarrier_try_wait_parity(SemAcquire, Scope, uint64_t* bar, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
      : "=r"(done)
      : "r"(at(bar)), "r"(parity)
      : "memory");
  return done;
}
__device__ inline bool mbarrier_try_wait_parity(uint64_t* bar, uint32_t parity) {
  return mbarrier_try_wait_parity(sem_acquire, scope_cta, bar, parity);
}

__device__ inline void cp_async_bulk(SpaceCluster, SpaceGlobal, void* to, const void* from, uint32_t bytes,
                                     uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)),
      "l"(from), "r"(bytes), "r"(at(bar))
      : "memory");
}
__device__ inline void cp_async_bulk(SpaceCluster, SpaceGlobal, void* to, const void* from, uint32_t bytes,
                                     uint64_t* bar, uint16_t ctas) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::
          "r"(at(to)),
      "l"(from), "r"(bytes), "r"(at(bar)), "h"(ctas)
      : "memory");
}
__device__ inline void cp_async_bulk_tensor(SpaceCluster, SpaceGlobal, void* to, const void* map,
                                            const int32_t (&corner)[2], uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(at(to)),
      "l"(map), "r"(corner[0]), "r"(corner[1]), "r"(at(bar))
      : "memory");
}
__device__ inline void cp_async_bulk_tensor(SpaceCluster, SpaceGlobal, void* to, const void* map,
                                            const int32_t (&corner)[2], uint64_t* bar, uint16_t ctas) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3}], [%4], %5;" ::"r"(at(to)),
      "l"(map), "r"(corner[0]), "r"(corner[1]), "r"(at(bar)), "h"(ctas)
      : "memory");
}
__device__ inline void cp_async_bulk_tensor(SpaceGlobal, SpaceShared, const void* map,
                                            const int32_t (&corner)[2], const void* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(corner[0]), "r"(corner[1]), "r"(at(from))
               : "memory");
}
__device__ inline void cp_async_bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int n>
__device__ void cp_async_bulk_wait_group_read(n32_t<n>) {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory");
}

}  // namespace ptx
#endif
