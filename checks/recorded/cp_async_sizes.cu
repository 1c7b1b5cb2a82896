// cp.async with every src-size and with ignore-src; the arrives that follow it on an mbarrier.
#include "record.cuh"

using namespace record;

__device__ void copy(uint32_t dst, const void* src, int size, uint32_t taken) {
  if (size == 4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(dst), "l"(src), "r"(taken) : "memory");
  if (size == 8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(dst), "l"(src), "r"(taken) : "memory");
  if (size == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src), "r"(taken) : "memory");
}

// out: 17 rows of 16 bytes: src-size 0 .. size.
__global__ void sizes(const uint8_t* in, int size, uint8_t* out) {
  __shared__ alignas(16) uint8_t tile[17 * 16];
  for (int i = 0; i < 17 * 16; ++i) tile[i] = 0xA5;
  for (int taken = 0; taken <= size; ++taken) copy(ptx::smem_addr(tile + taken * 16), in, size, taken);
  asm volatile("cp.async.wait_all;" ::: "memory");
  for (int i = 0; i < 17 * 16; ++i) out[i] = tile[i];
}

__global__ void ignore_source(const uint8_t* in, uint8_t* out) {
  __shared__ alignas(16) uint8_t tile[32];
  for (int i = 0; i < 32; ++i) tile[i] = 0xA5;
  asm volatile(
      "{\n.reg .pred p;\nsetp.eq.u32 p, %2, 0;\n"
      "cp.async.cg.shared.global [%0], [%1], 16, p;\n"
      "cp.async.cg.shared.global [%0 + 16], [%1], 16, !p;\n}" ::"r"(ptx::smem_addr(tile)),
      "l"(in), "r"(0)
      : "memory");
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
  for (int i = 0; i < 32; ++i) out[i] = tile[i];
}

// 32 threads, count 1 + 32 with .noinc, count 1 without: done before the thread's own arrive, and after.
__global__ void arrives(const uint8_t* in, uint32_t* out) {
  __shared__ alignas(16) uint8_t tile[32 * 16];
  __shared__ uint64_t with_increment, without;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&with_increment, 1);
    ptx::mbarrier_init(&without, 33);
  }
  __syncthreads();
  copy(ptx::smem_addr(tile + threadIdx.x * 16), in, 16, 16);
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(ptx::smem_addr(&with_increment))
               : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(ptx::smem_addr(&without))
               : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    pause();
    out[0] = phase_done(ptx::smem_addr(&with_increment), 0);
    out[1] = phase_done(ptx::smem_addr(&without), 0);
    arrive(ptx::smem_addr(&with_increment));
    arrive(ptx::smem_addr(&without));
    out[2] = phase_done(ptx::smem_addr(&with_increment), 0);
    out[3] = phase_done(ptx::smem_addr(&without), 0);
  }
}

int main() {
  std::vector<uint8_t> values(16);
  for (int i = 0; i < 16; ++i) values[i] = static_cast<uint8_t>(i + 1);
  Buffer<uint8_t> in(values);
  for (int size : {4, 8, 16}) {
    Buffer<uint8_t> out(17 * 16);
    sizes<<<1, 1>>>(in.get(), size, out.get());
    finish_kernel("sizes");
    auto rows = out.download();
    for (int taken = 0; taken <= size; ++taken) {
      std::printf("cp-size %2d src-size %2d:", size, taken);
      for (int i = 0; i < 16; ++i) std::printf(" %02x", rows[taken * 16 + i]);
      std::printf("\n");
    }
  }
  Buffer<uint8_t> out(32);
  ignore_source<<<1, 1>>>(in.get(), out.get());
  finish_kernel("ignore_source");
  auto row = out.download();
  std::printf("ignore-src true and false:");
  for (uint8_t v : row) std::printf(" %02x", v);
  Buffer<uint32_t> answers(4);
  arrives<<<1, 32>>>(in.get(), answers.get());
  finish_kernel("arrives");
  auto a = answers.download();
  std::printf("\ncp.async.mbarrier.arrive, .noinc: before the last arrive %u %u, after %u %u\n", a[0], a[1],
              a[2], a[3]);
}
