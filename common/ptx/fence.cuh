// Fences between proxies, and for mbarrier.init.
// A fence orders the accesses of the thread that executes it; it makes nobody wait. Pair it with a barrier.
// (PTX §9.7.13.4)
#pragma once

namespace ptx {

// fence.proxy.async.shared::cta;
// Proxy fence: this thread's generic accesses to shared memory (st.shared, cp.async) before it are ordered
// with accesses of the async proxy (wgmma's operand reads, TMA copies) after it. Belongs in the threads that
// have *written*. (sm_90)
__device__ __forceinline__ void fence_proxy_async_shared_cta() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

// fence.mbarrier_init.release.cluster;
// mbarrier-init fence: earlier mbarrier.init of this thread are visible to the whole cluster. (sm_90)
__device__ __forceinline__ void fence_mbarrier_init_release_cluster() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

}  // namespace ptx
