// A box of a rank-3 tensor comes through the copy engine, swizzled; the threads undo the swizzle and write it out.
#include <cuda_bf16.h>

#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "host/tensor_map.hpp"
#include "kernel/wait.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/smem_addr.cuh"

using bf16 = __nv_bfloat16;

constexpr int kCols = 64, kRows = 24, kBatches = 6;  // of the tensor, innermost first
constexpr int kBoxRows = 16, kBoxBatches = 2;        // of the box; it takes all columns
constexpr int kBoxElements = kCols * kBoxRows * kBoxBatches;
constexpr int kRow0 = 4, kBatch0 = 3;  // where the box starts
constexpr int kThreads = 128;

// cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [dst], [map, {x, y, z}], [bar];
__device__ void cp_async_bulk_tensor_3d(void* dst, const CUtensorMap* map, int x, int y, int z,
                                        uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];"
      :
      : "r"(ptx::smem_addr(dst)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(ptx::smem_addr(bar))
      : "memory");
}

// out: kBoxElements elements, the box in plain order. One CTA.
__global__ void copy_box(const __grid_constant__ CUtensorMap tmap, bf16* out) {
  __shared__ alignas(1024) bf16 box[kBoxElements];
  __shared__ uint64_t full_bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full_bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
    ptx::mbarrier_arrive_expect_tx(&full_bar, kBoxElements * sizeof(bf16));
    cp_async_bulk_tensor_3d(box, &tmap, 0, kRow0, kBatch0, &full_bar);
  }
  __syncthreads();
  lab::wait(&full_bar, 0);
  for (int i = threadIdx.x; i < kBoxElements / 8; i += kThreads) {  // i: a 16-byte chunk of the plain order
    const int row = i / 8, chunk = i % 8;
    const int place = chunk ^ (row % 8);
    reinterpret_cast<uint4*>(out)[i] = reinterpret_cast<const uint4*>(box)[row * 8 + place];
  }
}

int main() {
  constexpr int kAll = kCols * kRows * kBatches;
  std::vector<bf16> host(kAll);
  for (int i = 0; i < kAll; ++i) host[i] = __float2bfloat16(static_cast<float>(i % 251));
  const auto tensor = lab::device_buffer<bf16>(kAll), out = lab::device_buffer<bf16>(kBoxElements);
  lab::cuda_check(cudaMemcpy(tensor.get(), host.data(), kAll * sizeof(bf16), cudaMemcpyHostToDevice),
                  "copy the tensor");
  lab::TensorMapSpec spec;
  spec.address = tensor.get();
  spec.size = {kCols, kRows, kBatches};
  spec.stride_bytes = {kCols * sizeof(bf16), kCols * kRows * sizeof(bf16)};
  spec.box = {kCols, kBoxRows, kBoxBatches};
  spec.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  copy_box<<<1, kThreads>>>(lab::make_tensor_map(spec), out.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("batched_copy: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<bf16> got(kBoxElements);
  lab::cuda_check(cudaMemcpy(got.data(), out.get(), kBoxElements * sizeof(bf16), cudaMemcpyDeviceToHost),
                  "read the box");
  int wrong = 0;
  for (int i = 0; i < kBoxElements; ++i) {
    const int col = i % kCols, row = kRow0 + i / kCols % kBoxRows, batch = kBatch0 + i / (kCols * kBoxRows);
    const float want = __bfloat162float(host[(batch * kRows + row) * kCols + col]);
    wrong += !(__bfloat162float(got[i]) == want);
  }
  std::printf("batched_copy: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong,
              kBoxElements);
  return wrong == 0 ? 0 : 1;
}
