// A bulk copy of no bytes: whether it tells its mbarrier anything.
#include "record.cuh"

using namespace record;

__global__ void ask(const uint32_t* in, uint32_t bytes, uint32_t* out) {
  __shared__ alignas(16) uint32_t tile[4];
  __shared__ uint64_t bar;
  for (int i = 0; i < 4; ++i) tile[i] = kUntouched;
  ptx::mbarrier_init(&bar, 1);
  ptx::fence_mbarrier_init_release_cluster();
  ptx::fence_proxy_async_shared_cta();
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          ptx::smem_addr(tile)),
      "l"(in), "r"(bytes), "r"(ptx::smem_addr(&bar))
      : "memory");
  pause();
  out[0] = phase_done(ptx::smem_addr(&bar), 0);
  arrive(ptx::smem_addr(&bar));
  out[1] = phase_done(ptx::smem_addr(&bar), 0);
  out[2] = tile[0];
}

int main() {
  Buffer<uint32_t> in(std::vector<uint32_t>(4, 7)), out(3);
  ask<<<1, 1>>>(in.get(), 0, out.get());
  finish_kernel("ask");
  auto a = out.download();
  std::printf("bulk copy of 0 bytes: phase done %u, after the arrival %u, first word %08x\n", a[0], a[1],
              a[2]);
}
