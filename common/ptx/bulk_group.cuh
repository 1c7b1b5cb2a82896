// Bulk groups: how a thread learns that its bulk copies out of shared memory are done. A group belongs to the
// thread that started the copies; another thread's wait says nothing about them. (PTX §9.7.9.27.2, all sm_90)
#pragma once

namespace ptx {

// cp.async.bulk.commit_group;
// Closes a group of all this thread's bulk stores since the last commit. An empty group counts as a group.
__device__ __forceinline__ void cp_async_bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

// cp.async.bulk.wait_group.read N;
// Waits until all but this thread's kPending newest groups have *read* their source: it may be overwritten. The
// destination need not have been written yet; without .read the wait is for that too.
template <int kPending>
__device__ __forceinline__ void cp_async_bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(kPending) : "memory");
}

}  // namespace ptx
