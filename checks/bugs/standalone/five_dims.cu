// A box of a rank-5 tensor whose dimensions lie in memory in another order than in the map, and of which every second
// row is wanted: the keys of some heads of one batch, out of an array of queries, keys and values.
#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "host/tensor_map.hpp"
#include "kernel/wait.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/smem_addr.cuh"

// In memory: [batch][row][q, k or v][head][element]. In the map, innermost first: element, row, head, q/k/v, batch.
constexpr int kElements = 16, kHeads = 4, kParts = 3, kRows = 21, kBatches = 2;
constexpr int kStep = 2, kBoxRows = 8, kTaken = kBoxRows / kStep,
              kBoxHeads = 2;  // the box spans 8 rows, 4 are taken
constexpr int kBox = kElements * kTaken * kBoxHeads;
constexpr int kRow0 = 15, kHead0 = 1, kPart = 1, kBatch = 1;  // the last of the four rows lies outside
constexpr int kThreads = 64;

// cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [dst], [map, {...}], [bar];
__device__ void cp_async_bulk_tensor_5d(void* dst, const CUtensorMap* map, int element, int row, int head,
                                        int part, int batch, uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
      :
      : "r"(ptx::smem_addr(dst)), "l"(map), "r"(element), "r"(row), "r"(head), "r"(part), "r"(batch),
        "r"(ptx::smem_addr(bar))
      : "memory");
}

// out: kBox floats, [head][taken row][element]. One CTA.
__global__ void copy_box(const __grid_constant__ CUtensorMap tmap, float* out) {
  __shared__ alignas(128) float box[kBox];
  __shared__ uint64_t full_bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full_bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
    ptx::mbarrier_arrive_expect_tx(&full_bar,
                                   kBox * sizeof(float));  // with the rows that are taken, and only those
    cp_async_bulk_tensor_5d(box, &tmap, 0, kRow0, kHead0, kPart, kBatch, &full_bar);
  }
  __syncthreads();
  lab::wait(&full_bar, 0);
  for (int i = threadIdx.x; i < kBox; i += kThreads) out[i] = box[i];
}

int main() {
  constexpr int kAll = kElements * kHeads * kParts * kRows * kBatches;
  std::vector<float> host(kAll);
  for (int i = 0; i < kAll; ++i) host[i] = static_cast<float>(i + 1);
  const auto tensor = lab::device_buffer<float>(kAll), out = lab::device_buffer<float>(kBox);
  lab::cuda_check(cudaMemcpy(tensor.get(), host.data(), kAll * sizeof(float), cudaMemcpyHostToDevice),
                  "copy the tensor");
  lab::cuda_check(cudaMemset(out.get(), 0xFF, kBox * sizeof(float)), "poison the output");
  constexpr uint64_t kHeadBytes = kElements * sizeof(float), kPartBytes = kHeads * kHeadBytes,
                     kRowBytes = kParts * kPartBytes, kBatchBytes = kRows * kRowBytes;
  lab::TensorMapSpec spec;
  spec.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  spec.address = tensor.get();
  spec.size = {kElements, kRows, kHeads, kParts, kBatches};
  spec.stride_bytes = {kRowBytes, kHeadBytes, kPartBytes, kBatchBytes};
  spec.box = {kElements, kBoxRows, kBoxHeads, 1, 1};
  spec.element_stride = {1, kStep, 1, 1, 1};
  copy_box<<<1, kThreads>>>(lab::make_tensor_map(spec), out.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("five_dims: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<float> got(kBox);
  lab::cuda_check(cudaMemcpy(got.data(), out.get(), kBox * sizeof(float), cudaMemcpyDeviceToHost),
                  "read the box");
  int wrong = 0;
  for (int i = 0; i < kBox; ++i) {
    const int element = i % kElements, row = kRow0 + i / kElements % kTaken * kStep,
              head = kHead0 + i / (kElements * kTaken);
    const size_t at = (((kBatch * kRows + row) * kParts + kPart) * kHeads + head) * kElements + element;
    wrong += !(got[i] == (row < kRows ? host[at] : 0));
  }
  std::printf("five_dims: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong, kBox);
  return wrong == 0 ? 0 : 1;
}
