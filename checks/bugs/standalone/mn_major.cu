// wgmma with operands whose M or N runs along the rows in memory ("MN-major"): A with the 128-byte swizzle, B once with
// the 32-byte swizzle, in two halves of 16 columns, and once without a swizzle, in thirds of 8 columns.
#include <cuda_bf16.h>

#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "host/tensor_map.hpp"
#include "kernel/wait.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/smem_addr.cuh"
#include "ptx/wgmma.cuh"

using bf16 = __nv_bfloat16;

constexpr int M = 64, K = 32, kWide = 32, kNarrow = 24;  // wide = A * B, narrow = A * B2
constexpr int kHalf = 16, kThird = 8;                    // columns that one box of B and of B2 holds

// Leading and stride byte offset of MN-major operands (PTX §9.7.15.5.1.2): with a swizzle the leading offset goes from
// one run of columns to the next and the stride offset from 8 rows of K to the next; without, it is the other way round.
__device__ uint64_t descriptor(const bf16* start, uint32_t leading, uint32_t stride, uint64_t mode) {
  return (ptx::smem_addr(start) & 0x3FFFF) >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 |
         mode << 62;
}

__device__ void multiply_wide(float (&d)[16], uint64_t a,
                              uint64_t b) {  // both operands transposed: the last 1, 1
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
      "%11, %12, "
      "%13, %14, %15}, %16, %17, 1, 1, 1, 1, 1;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "l"(a), "l"(b));
}
__device__ void multiply_narrow(float (&d)[12], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
      "%11}, %12, "
      "%13, 1, 1, 1, 1, 1;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
      : "l"(a), "l"(b));
}

// A: K x 64, B: K x 32, B2: K x 24, row-major, so that a row of K holds neighbouring M or N. One warpgroup.
__global__ void __launch_bounds__(128)
    products(const __grid_constant__ CUtensorMap tmap_a, const __grid_constant__ CUtensorMap tmap_b,
             const __grid_constant__ CUtensorMap tmap_b2, float* wide, float* narrow) {
  __shared__ alignas(1024) bf16 a[K * M], b[2][K * kHalf], b2[3][K * kThird];
  __shared__ uint64_t full_bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full_bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
    ptx::mbarrier_arrive_expect_tx(&full_bar, sizeof(a) + sizeof(b) + sizeof(b2));
    ptx::cp_async_bulk_tensor_2d(a, &tmap_a, 0, 0, &full_bar);
    for (int i = 0; i < 2; ++i) ptx::cp_async_bulk_tensor_2d(b[i], &tmap_b, i * kHalf, 0, &full_bar);
    for (int i = 0; i < 3; ++i) ptx::cp_async_bulk_tensor_2d(b2[i], &tmap_b2, i * kThird, 0, &full_bar);
  }
  __syncthreads();
  lab::wait(&full_bar, 0);
  float d[16] = {}, d2[12] = {};
  ptx::wgmma_fence();
  for (int k = 0; k < K; k += 16) {  // 16 rows of K further: whole rows
    const uint64_t desc_a = descriptor(a + k * M, 1, 8 * 128, 1);
    multiply_wide(d, desc_a, descriptor(b[0] + k * kHalf, sizeof(b[0]), 8 * 32, 3));
    multiply_narrow(d2, desc_a, descriptor(b2[0] + k * kThird, 8 * 16, sizeof(b2[0]), 0));
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, col = threadIdx.x % 4 * 2;
  for (int r = 0; r < 16; ++r) wide[(row + r / 2 % 2 * 8) * kWide + r / 4 * 8 + col + r % 2] = d[r];
  for (int r = 0; r < 12; ++r) narrow[(row + r / 2 % 2 * 8) * kNarrow + r / 4 * 8 + col + r % 2] = d2[r];
}

std::vector<bf16> numbers(int count, int period) {
  std::vector<bf16> values(count);
  for (int i = 0; i < count; ++i)
    values[i] = __float2bfloat16(static_cast<float>(i * 7 % period - period / 2));
  return values;
}

CUtensorMap map_of(const bf16* matrix, int columns, uint32_t box_columns, CUtensorMapSwizzle swizzle) {
  lab::TensorMapSpec spec;
  spec.address = matrix;
  spec.size = {static_cast<uint64_t>(columns), K};
  spec.stride_bytes = {columns * sizeof(bf16)};
  spec.box = {box_columns, K};
  spec.swizzle = swizzle;
  return lab::make_tensor_map(spec);
}

int main() {
  const std::vector<bf16> a = numbers(K * M, 13), b = numbers(K * kWide, 17), b2 = numbers(K * kNarrow, 11);
  const auto upload = [](const std::vector<bf16>& host) {
    auto device = lab::device_buffer<bf16>(host.size());
    lab::cuda_check(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(bf16), cudaMemcpyHostToDevice),
                    "copy an operand");
    return device;
  };
  const auto d_a = upload(a), d_b = upload(b), d_b2 = upload(b2);
  const auto wide = lab::device_buffer<float>(M * kWide), narrow = lab::device_buffer<float>(M * kNarrow);
  lab::cuda_check(cudaMemset(wide.get(), 0xFF, M * kWide * sizeof(float)), "poison a product");
  lab::cuda_check(cudaMemset(narrow.get(), 0xFF, M * kNarrow * sizeof(float)), "poison a product");
  products<<<1, 128>>>(map_of(d_a.get(), M, M, CU_TENSOR_MAP_SWIZZLE_128B),
                       map_of(d_b.get(), kWide, kHalf, CU_TENSOR_MAP_SWIZZLE_32B),
                       map_of(d_b2.get(), kNarrow, kThird, CU_TENSOR_MAP_SWIZZLE_NONE), wide.get(),
                       narrow.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("mn_major: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  int wrong = 0;
  const auto compare = [&](const std::shared_ptr<float>& device, const std::vector<bf16>& right, int n) {
    std::vector<float> got(M * n);
    lab::cuda_check(cudaMemcpy(got.data(), device.get(), got.size() * sizeof(float), cudaMemcpyDeviceToHost),
                    "read a product");
    for (int i = 0; i < M * n; ++i) {
      float want = 0;
      for (int k = 0; k < K; ++k)
        want += __bfloat162float(a[k * M + i / n]) * __bfloat162float(right[k * n + i % n]);
      wrong += !(got[i] == want);
    }
  };
  compare(wide, b, kWide);
  compare(narrow, b2, kNarrow);
  std::printf("mn_major: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong,
              M * (kWide + kNarrow));
  return wrong == 0 ? 0 : 1;
}
