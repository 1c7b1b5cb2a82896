// When the last tile has been used, the memory of the ring takes the result on its way out: four worker warps write it
// there, and one thread stores it with the copy engine. A first wgmma that overwrites its accumulators, and half
// precision operands, B stored with N innermost.
#include <cuda_fp16.h>

#include "pipeline.hpp"

constexpr int kM = 64, kN = 64, kStep = 64, kSteps = 5, kStages = 2;  // C: 64 x 64, K in steps of 64

struct Ring {
  __half a[kStages][kM * kStep];  // K innermost: rows of 128 bytes
  __half b[kStages][kStep * kN];  // N innermost: rows of 128 bytes
};
static_assert(sizeof(Ring) >= kM * kN * sizeof(float));

__device__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ void wait_for(uint64_t* bar, uint32_t parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, 0x989680;\nselp.b32 %0, 1, "
        "0, p;\n}"
        : "=r"(done)
        : "r"(shared_address(bar)), "r"(parity)
        : "memory");
}
__device__ void load_box(void* to, const CUtensorMap& map, int x, int y, uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(bar))
      : "memory");
}
// Both layouts have 128-byte rows in groups of eight, 1024 bytes apart, with the 128-byte swizzle.
__device__ uint64_t matrix(const void* start) {
  return (shared_address(start) & 0x3FFFF) >> 4 | uint64_t{64} << 16 | uint64_t{64} << 32 | uint64_t{1} << 62;
}
#define IO4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define IO16(d, i) IO4(d, i), IO4(d, i + 4), IO4(d, i + 8), IO4(d, i + 12)
__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b, int keep) {
  asm volatile(
      "{\n.reg .pred keep;\nsetp.ne.b32 keep, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
      "%12, "
      "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, "
      "%33, keep, "
      "1, 1, 0, 1;\n}"  // the last 1: B has N innermost
      : IO16(d, 0), IO16(d, 16)
      : "l"(a), "l"(b), "r"(keep));
}

__global__ void __launch_bounds__(160)
    product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* c) {
  extern __shared__ char memory[];
  Ring& ring = *reinterpret_cast<Ring*>((reinterpret_cast<uintptr_t>(memory) + 1023) & ~uintptr_t{1023});
  __shared__ uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 128) {
    for (int s = 0; s < kStages; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s])) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(shared_address(&empty[s])) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {  // the producer's warp
    if (threadIdx.x > 128) return;
    for (int i = 0; i < kSteps; ++i) {
      const int s = i % kStages;
      wait_for(&empty[s], (i / kStages + 1) & 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full[s])),
                   "r"(static_cast<int>(sizeof ring.a[s] + sizeof ring.b[s]))
                   : "memory");
      load_box(ring.a[s], map_a, i * kStep, 0, &full[s]);
      load_box(ring.b[s], map_b, 0, i * kStep, &full[s]);
    }
    return;
  }
  float acc[32];
  for (int i = 0; i < kSteps; ++i) {
    const int s = i % kStages;
    wait_for(&full[s], i / kStages & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < kStep; k += 16)
      multiply(acc, matrix(ring.a[s] + k), matrix(ring.b[s] + k * kN), i + k > 0);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[s])) : "memory");
  }
  asm volatile("bar.sync 1, 128;" ::
                   : "memory");  // all four warps are through: nobody reads the ring any more
  float* staging = reinterpret_cast<float*>(&ring);
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, col = threadIdx.x % 4 * 2;
  for (int r = 0; r < 32; ++r) staging[(row + r / 2 % 2 * 8) * kN + r / 4 * 8 + col + r % 2] = acc[r];
  asm volatile("fence.proxy.async.shared::cta;\nbar.sync 1, 128;" ::: "memory");
  if (threadIdx.x == 32)
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;\n"
        "cp.async.bulk.wait_group.read 0;" ::"l"(c),
        "r"(shared_address(staging)), "r"(static_cast<int>(kM * kN * sizeof(float)))
        : "memory");
}

int main() {
  return pipeline::run("ring_epilogue", [](pipeline::Check& check) {
    constexpr int kK = kSteps * kStep;
    std::vector<__half> a(kM * kK), b(kK * kN);
    for (size_t i = 0; i < a.size(); ++i) a[i] = __float2half(static_cast<float>(i * 3 % 11) - 5);
    for (size_t i = 0; i < b.size(); ++i) b[i] = __float2half(static_cast<float>(i * 7 % 9) - 4);
    const auto da = pipeline::upload(a), db = pipeline::upload(b);
    const auto dc = pipeline::filled<float>(kM * kN);
    const auto map = [](const __half* p, int rows, int cols) {
      return pipeline::matrix_map(p, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, rows, cols, 64, 64,
                                  CU_TENSOR_MAP_SWIZZLE_128B);
    };
    product<<<1, 160, sizeof(Ring) + 1024>>>(map(da.get(), kM, kK), map(db.get(), kK, kN), dc.get());
    const auto c = pipeline::download(dc, kM * kN);
    for (int i = 0; i < kM * kN; ++i) {
      float want = 0;
      for (int k = 0; k < kK; ++k)
        want += __half2float(a[i / kN * kK + k]) * __half2float(b[k * kN + i % kN]);
      check.equal(i, c[i], want);
    }
  });
}
