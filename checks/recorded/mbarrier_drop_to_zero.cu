// An mbarrier whose expected count has been dropped to zero: what later phases answer.
#include "record.cuh"

using namespace record;

__global__ void ask(uint32_t* out) {
  __shared__ uint64_t object;
  const uint32_t bar = ptx::smem_addr(&object);
  auto done = [&] { return phase_done(bar, 0) + 2 * phase_done(bar, 1); };
  ptx::mbarrier_init(&object, 1);
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
  out[0] = done();
  out[1] = done();
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 16;" ::"r"(bar) : "memory");
  out[2] = done();
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 16;" ::"r"(bar) : "memory");
  out[3] = done();
}

int main() {
  Buffer<uint32_t> out(4);
  ask<<<1, 1>>>(out.get());
  finish_kernel("ask");
  auto a = out.download();
  std::printf(
      "count 1, arrive_drop: %u %u, expect_tx 16: %u, complete_tx 16: %u (1 = parity 0 done, 2 = parity 1)\n",
      a[0], a[1], a[2], a[3]);
}
