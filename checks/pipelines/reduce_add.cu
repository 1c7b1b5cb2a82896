// Each CTA adds its part to the same output with the copy engine's reductions: a vector with cp.reduce.async.bulk, and
// a ragged matrix with cp.reduce.async.bulk.tensor, which clips. The CTA that finishes last reads the sums.
#include "pipeline.hpp"

constexpr int kCtas = 4, kRows = 13, kCols = 20, kBoxRows = 8,
              kBoxCols = 32;  // the boxes hang over the matrix
constexpr int kVector = 256;

__device__ uint32_t at(const void* shared) {
  uint32_t a;
  asm("{\n.reg .u64 x;\ncvta.to.shared.u64 x, %1;\ncvt.u32.u64 %0, x;\n}" : "=r"(a) : "l"(shared));
  return a;
}

// vector[i] and matrix[i] grow by the contributions of kCtas CTAs; *total becomes their sum.
__global__ void add_up(const __grid_constant__ CUtensorMap map, float* vector, const float* matrix,
                       unsigned* finished, float* total) {
  __shared__ alignas(128) float box[2][kBoxRows * kBoxCols];
  __shared__ alignas(16) float part[kVector];
  __shared__ bool last;
  const int t = threadIdx.x, cta = blockIdx.x;
  for (int i = t; i < 2 * kBoxRows * kBoxCols; i += blockDim.x) box[0][i] = static_cast<float>(i % 5 + cta);
  for (int i = t; i < kVector; i += blockDim.x) part[i] = static_cast<float>(i + cta);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(vector),
                 "r"(at(part)), "r"(static_cast<int>(sizeof part))
                 : "memory");
    for (int b = 0; b < 2; ++b)
      asm volatile(
          "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
              &map),
          "r"(0), "r"(b * kBoxRows), "r"(at(box[b]))
          : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::
                     : "memory");  // not .read: others look
    __threadfence();
    last = atomicAdd(finished, 1u) == kCtas - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last || t >= 32) return;
  float sum = 0;
  for (int i = t; i < kVector; i += 32) sum += vector[i];
  for (int i = t; i < kRows * kCols; i += 32) sum += matrix[i];
  for (int width = 16; width > 0; width /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, width);
  if (t == 0) *total = sum;
}

int main() {
  return pipeline::run("reduce_add", [](pipeline::Check& check) {
    std::vector<float> zeros(kRows * kCols, 0.0f);
    const auto matrix = pipeline::upload(zeros);
    const auto vector = pipeline::filled<float>(kVector, 0);
    const auto finished = pipeline::filled<unsigned>(1, 0);
    const auto total = pipeline::filled<float>(1);
    add_up<<<kCtas, 128>>>(pipeline::float_map(matrix.get(), kRows, kCols, kBoxRows, kBoxCols), vector.get(),
                           matrix.get(), finished.get(), total.get());
    const auto got_vector = pipeline::download(vector, kVector);
    const auto got_matrix = pipeline::download(matrix, kRows * kCols);
    float sum = 0;
    for (int i = 0; i < kVector; ++i) {
      const float want = static_cast<float>(kCtas * i + kCtas * (kCtas - 1) / 2);
      check.equal(i, got_vector[i], want);
      sum += want;
    }
    for (int i = 0; i < kRows * kCols; ++i) {
      const int in_box = (i / kCols) * kBoxCols + i % kCols;
      const float want = static_cast<float>(kCtas * (in_box % 5) + kCtas * (kCtas - 1) / 2);
      check.equal(i, got_matrix[i], want);
      sum += want;
    }
    check.equal(-1, pipeline::download(total, 1)[0], sum);
  });
}
