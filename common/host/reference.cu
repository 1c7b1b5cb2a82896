// A plain tiled matrix product with double sums. It shares nothing with the lessons' kernels.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "host/reference.hpp"

namespace lab {
namespace {

constexpr int kTile = 64;  // C elements a side a CTA
constexpr int kDepth = 16;
constexpr int kSide = 16;  // threads a side; each computes 4 x 4 elements, kSide apart
constexpr int kEach = kTile / kSide;

// a, b: the matrices, as the type that the toolkit converts.
__global__ void reference_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n,
                                 int k) {
  __shared__ double tile_a[kDepth][kTile + 1], tile_b[kDepth][kTile + 1];
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const int thread = threadIdx.y * kSide + threadIdx.x;
  double sum[kEach][kEach] = {};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += kSide * kSide) {
      const int line = i / kDepth, depth = i % kDepth;
      const bool inside = k0 + depth < k;
      const size_t at_a = static_cast<size_t>(row0 + line) * k + k0 + depth;
      const size_t at_b = static_cast<size_t>(col0 + line) * k + k0 + depth;
      tile_a[depth][line] = inside && row0 + line < m ? __bfloat162float(a[at_a]) : 0.0;
      tile_b[depth][line] = inside && col0 + line < n ? __bfloat162float(b[at_b]) : 0.0;
    }
    __syncthreads();
    for (int depth = 0; depth < kDepth; ++depth) {
      for (int i = 0; i < kEach; ++i) {
        for (int j = 0; j < kEach; ++j) {
          sum[i][j] += tile_a[depth][threadIdx.y + i * kSide] * tile_b[depth][threadIdx.x + j * kSide];
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      const int row = row0 + threadIdx.y + i * kSide, col = col0 + threadIdx.x + j * kSide;
      if (row < m && col < n) c[static_cast<size_t>(row) * n + col] = static_cast<float>(sum[i][j]);
    }
  }
}

}  // namespace

std::vector<float> reference_on_gpu(const bf16* a, const bf16* b, int m, int n, int k) {
  const size_t count = static_cast<size_t>(m) * n;
  const auto c = device_buffer<float>(count);
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  reference_kernel<<<grid, dim3(kSide, kSide)>>>(reinterpret_cast<const __nv_bfloat16*>(a),
                                                 reinterpret_cast<const __nv_bfloat16*>(b), c.get(), m, n, k);
  cuda_check(cudaGetLastError(), "launch the reference kernel");
  std::vector<float> result(count);
  cuda_check(cudaMemcpy(result.data(), c.get(), count * sizeof(float), cudaMemcpyDeviceToHost),
             "compute the reference on the GPU");
  return result;
}

}  // namespace lab
