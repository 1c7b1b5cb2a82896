// Waiting for the whole cluster.
#pragma once

#include "ptx/cluster.cuh"

namespace lab {

// __syncthreads for all threads of the cluster. Every thread of a warp executes it together.
__device__ __forceinline__ void cluster_sync() {
  __syncwarp();
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

// The same without release: it makes visible the mbarriers that fence.mbarrier_init.release.cluster has published, and no
// other write.
__device__ __forceinline__ void cluster_sync_relaxed() {
  __syncwarp();
  ptx::barrier_cluster_arrive_relaxed();
  ptx::barrier_cluster_wait();
}

}  // namespace lab
