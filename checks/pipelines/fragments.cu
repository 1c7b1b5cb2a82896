// A comes out of a swizzled TMA tile into registers with ldmatrix, is changed there, and goes into wgmma as a register
// fragment; B stays in shared memory, with the 64-byte swizzle. The scaled A never exists in memory.
#include <cuda_bf16.h>

#include "pipeline.hpp"

using bf16 = __nv_bfloat16;

constexpr int kM = 64, kN = 16, kK = 128, kStep = 32, kStages = 2;  // a step is 32 along K: rows of 64 bytes

__device__ uint32_t s(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// C = (2 * A) * B^T, 64 x 16. One warpgroup; its first thread issues the copies.
__global__ void __launch_bounds__(128)
    product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* c) {
  __shared__ alignas(512) bf16 a[kStages][kM * kStep], b[kStages][kN * kStep];
  __shared__ uint64_t full[kStages];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  if (t == 0) {
    for (uint64_t& bar : full)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(s(&bar)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const auto start = [&](int step) {
    const int i = step % kStages;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(s(&full[i])),
                 "n"((kM + kN) * kStep * 2)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, 0}], "
        "[%3];" ::"r"(s(a[i])),
        "l"(&map_a), "r"(step * kStep), "r"(s(&full[i]))
        : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, 0}], "
        "[%3];" ::"r"(s(b[i])),
        "l"(&map_b), "r"(step * kStep), "r"(s(&full[i]))
        : "memory");
  };
  if (t == 0) start(0), start(1);
  float acc[8] = {};
  for (int step = 0; step < kK / kStep; ++step) {
    const int i = step % kStages;
    asm volatile(
        "{\n.reg .pred p;\nF: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra F;\n}" ::"r"(
            s(&full[i])),
        "r"(step / kStages & 1)
        : "memory");
    uint32_t fragment[2][4];
    for (int k = 0; k < 2; ++k) {
      // lane l gives the address of row l % 16 of 8 columns; 64-byte rows, chunk ^ (row / 2 % 4)
      const int row = warp * 16 + lane % 16, chunk = (2 * k + lane / 16) ^ (row / 2 % 4);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(fragment[k][0]), "=r"(fragment[k][1]), "=r"(fragment[k][2]), "=r"(fragment[k][3])
                   : "r"(s(a[i] + row * kStep + chunk * 8))
                   : "memory");
      for (uint32_t& pair : fragment[k])
        asm volatile("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(pair) : "r"(0x40004000), "r"(0));
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < 2; ++k) {
      const uint64_t desc =
          (s(b[i]) + 32 * k) >> 4 | uint64_t{1} << 16 | uint64_t{512 / 16} << 32 | uint64_t{2} << 62;
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
          "{%8, %9, %10, %11}, %12, 1, 1, 1, 0;"
          : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]), "+f"(acc[4]), "+f"(acc[5]), "+f"(acc[6]),
            "+f"(acc[7])
          : "r"(fragment[k][0]), "r"(fragment[k][1]), "r"(fragment[k][2]), "r"(fragment[k][3]), "l"(desc));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
    if (t == 0 && (step + kStages) * kStep < kK) start(step + kStages);
  }
  for (int r = 0; r < 8; ++r)
    c[(warp * 16 + lane / 4 + r / 2 % 2 * 8) * kN + r / 4 * 8 + lane % 4 * 2 + r % 2] = acc[r];
}

int main() {
  return pipeline::run("fragments", [](pipeline::Check& check) {
    std::vector<bf16> a(kM * kK), b(kN * kK);
    for (size_t i = 0; i < a.size(); ++i) a[i] = __float2bfloat16(static_cast<float>(i * 11 % 17) - 8);
    for (size_t i = 0; i < b.size(); ++i) b[i] = __float2bfloat16(static_cast<float>(i * 5 % 7) - 3);
    const auto da = pipeline::upload(a), db = pipeline::upload(b);
    const auto dc = pipeline::filled<float>(kM * kN);
    const auto map = [](const bf16* p, int rows) {
      return pipeline::matrix_map(p, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, rows, kK, rows, kStep,
                                  CU_TENSOR_MAP_SWIZZLE_64B);
    };
    product<<<1, 128>>>(map(da.get(), kM), map(db.get(), kN), dc.get());
    const auto c = pipeline::download(dc, kM * kN);
    for (int i = 0; i < kM * kN; ++i) {
      float want = 0;
      for (int k = 0; k < kK; ++k)
        want += 2 * __bfloat162float(a[i / kN * kK + k]) * __bfloat162float(b[i % kN * kK + k]);
      check.equal(i, c[i], want);
    }
  });
}
