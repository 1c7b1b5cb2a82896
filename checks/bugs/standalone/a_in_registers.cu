// wgmma with A in registers: threads read A from global memory, double it, and hand it to the tensor core as a fragment.
// B comes by TMA. The doubled A is never in memory.
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
#include "ptx/wgmma.cuh"

using bf16 = __nv_bfloat16;

constexpr int M = 64, N = 16, K = 256, kBox = 64;  // a box of B: N rows of kBox elements, 128 bytes

// d = a * b^T + d for 16 elements of K. a: four registers of two neighbouring elements (PTX §9.7.15.5.1.1).
__device__ void multiply(float (&d)[8], const uint32_t (&a)[4], uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
      "{%8, %9, %10, %11}, %12, 1, 1, 1, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// This thread's part of 2 * A, columns k .. k + 15: rows `row` and `row` + 8, columns from `column` and from `column` + 8.
__device__ void load_fragment(uint32_t (&a)[4], const bf16* matrix, int row, int column) {
  for (int i = 0; i < 4; ++i) {
    const bf16* pair = matrix + (row + 8 * (i & 1)) * K + column + 8 * (i >> 1);
    const __nv_bfloat162 doubled = __hadd2(*reinterpret_cast<const __nv_bfloat162*>(pair),
                                           *reinterpret_cast<const __nv_bfloat162*>(pair));
    a[i] = reinterpret_cast<const uint32_t&>(doubled);
  }
}

// c = 2 * A * B^T. A: M x K, B: N x K, c: M x N, row-major. One warpgroup.
__global__ void __launch_bounds__(128)
    product(const bf16* matrix, const __grid_constant__ CUtensorMap tmap_b, float* c) {
  __shared__ alignas(1024) bf16 b[K / kBox][N * kBox];
  __shared__ uint64_t full_bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full_bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
    ptx::mbarrier_arrive_expect_tx(&full_bar, sizeof(b));
    for (int i = 0; i < K / kBox; ++i) ptx::cp_async_bulk_tensor_2d(b[i], &tmap_b, i * kBox, 0, &full_bar);
  }
  __syncthreads();
  lab::wait(&full_bar, 0);
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  float d[8] = {};
  uint32_t a[4];
  for (int k = 0; k < K; k += 16) {
    load_fragment(a, matrix, row, k + column);
    ptx::wgmma_fence();  // the fragment has been written
    multiply(d, a, ptx::wgmma_descriptor_k_major_128B(b[k / kBox] + k % kBox));
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();  // the fragment may be written again
  }
  for (int r = 0; r < 8; ++r) c[(row + r / 2 % 2 * 8) * N + r / 4 * 8 + column + r % 2] = d[r];
}

int main() {
  const auto numbers = [](int count, int period) {
    std::vector<bf16> values(count);
    for (int i = 0; i < count; ++i)
      values[i] = __float2bfloat16(static_cast<float>(i * 7 % period - period / 2));
    return values;
  };
  const std::vector<bf16> a = numbers(M * K, 13), b = numbers(N * K, 11);
  const auto upload = [](const std::vector<bf16>& host) {
    auto device = lab::device_buffer<bf16>(host.size());
    lab::cuda_check(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(bf16), cudaMemcpyHostToDevice),
                    "copy an operand");
    return device;
  };
  const auto d_a = upload(a), d_b = upload(b);
  const auto d_c = lab::device_buffer<float>(M * N);
  lab::cuda_check(cudaMemset(d_c.get(), 0xFF, M * N * sizeof(float)), "poison the product");
  lab::TensorMapSpec spec;
  spec.address = d_b.get();
  spec.size = {K, N};
  spec.stride_bytes = {K * sizeof(bf16)};
  spec.box = {kBox, N};
  spec.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  product<<<1, 128>>>(d_a.get(), lab::make_tensor_map(spec), d_c.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("a_in_registers: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<float> got(M * N);
  lab::cuda_check(cudaMemcpy(got.data(), d_c.get(), got.size() * sizeof(float), cudaMemcpyDeviceToHost),
                  "read the product");
  int wrong = 0;
  for (int i = 0; i < M * N; ++i) {
    float want = 0;
    for (int k = 0; k < K; ++k)
      want += 2 * __bfloat162float(a[i / N * K + k]) * __bfloat162float(b[i % N * K + k]);
    wrong += !(got[i] == want);
  }
  std::printf("a_in_registers: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong, M * N);
  return wrong == 0 ? 0 : 1;
}
