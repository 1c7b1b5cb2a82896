// The instructions of scale.cu. The toolkit's <cuda/ptx> has them all from CUDA 12.6 on; these work with 12.4, too.
#pragma once

#include <cstdint>

namespace ptx {

__device__ inline uint32_t at(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}
__device__ inline void mbarrier_init(uint64_t* bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(bar)), "r"(count) : "memory");
}
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void mbarrier_arrive_expect_tx(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(bar)), "r"(bytes)
               : "memory");
}
__device__ inline bool mbarrier_try_wait_parity(uint64_t* bar, uint32_t parity) {
  uint32_t complete;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
      : "=r"(complete)
      : "r"(at(bar)), "r"(parity)
      : "memory");
  return complete;
}
// Global to shared memory; its bytes are counted on the mbarrier.
__device__ inline void cp_async_bulk(void* to, const void* from, uint32_t bytes, uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)),
      "l"(from), "r"(bytes), "r"(at(bar))
      : "memory");
}

}  // namespace ptx
