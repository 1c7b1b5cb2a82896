// Convolutions whose images come pixel by pixel out of im2col copies: padding, strides and dilation are the tensor map's and
// the copy's business.
#include <cuda.h>

#include "host/entry_point.hpp"
#include "program.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/smem_addr.cuh"

constexpr int kChannels = 16, kFilters = 8, kTaps = 3;  // a filter is 3 x 3
constexpr int kTile = 32;                               // output pixels per CTA

struct Convolution {
  int images, height, width, pad, stride, dilation;
  int rows() const { return (height + 2 * pad - dilation * (kTaps - 1) - 1) / stride + 1; }
  int columns() const { return (width + 2 * pad - dilation * (kTaps - 1) - 1) / stride + 1; }
  int pixels() const { return images * rows() * columns(); }
};

__device__ void load_pixels(void* to, const CUtensorMap* map, int w, int h, int n, uint16_t tap_w,
                            uint16_t tap_h, uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6], {%7, %8};" ::"r"(ptx::smem_addr(to)),
      "l"(map), "r"(0), "r"(w), "r"(h), "r"(n), "r"(ptx::smem_addr(bar)), "h"(tap_w), "h"(tap_h)
      : "memory");
}

__device__ void wait(uint64_t* bar, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(bar, parity)) {
  }
}

// out: pixels x kFilters. filters: tap by tap, kChannels x kFilters.
__global__ void convolve(const __grid_constant__ CUtensorMap map, const float* filters, float* out,
                         Convolution c, int rows, int columns, int pixels_in_all) {
  __shared__ alignas(128) float pixels[2][kTile][kChannels];
  __shared__ alignas(8) uint64_t full[2];
  const int first = blockIdx.x * kTile, pixel = threadIdx.x / kFilters, filter = threadIdx.x % kFilters;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full[0], 1);
    ptx::mbarrier_init(&full[1], 1);
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
  const auto load = [&](int tap) {
    const int w = first % columns * c.stride - c.pad, h = first / columns % rows * c.stride - c.pad;
    ptx::mbarrier_arrive_expect_tx(&full[tap % 2], sizeof pixels[0]);
    load_pixels(pixels[tap % 2], &map, w, h, first / columns / rows, tap % kTaps * c.dilation,
                tap / kTaps * c.dilation, &full[tap % 2]);
  };
  if (threadIdx.x == 0) load(0);
  float sum = 0;
  for (int tap = 0; tap < kTaps * kTaps; ++tap) {
    if (threadIdx.x == 0 && tap + 1 < kTaps * kTaps) load(tap + 1);
    wait(&full[tap % 2], tap / 2 % 2);
    for (int k = 0; k < kChannels; ++k)
      sum += pixels[tap % 2][pixel][k] * filters[(tap * kChannels + k) * kFilters + filter];
    __syncthreads();  // the next load but one writes over these pixels
  }
  if (first + pixel < pixels_in_all) out[(first + pixel) * kFilters + filter] = sum;
}

decltype(&cuTensorMapEncodeIm2col) encode_function() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  OK(lab::driver_entry_point("cuTensorMapEncodeIm2col", &function, &found));
  return reinterpret_cast<decltype(&cuTensorMapEncodeIm2col)>(function);
}

void run(Convolution c) {
  std::vector<float> image(static_cast<size_t>(c.images) * c.height * c.width * kChannels);
  std::vector<float> filters(kTaps * kTaps * kChannels * kFilters);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
  for (size_t i = 0; i < filters.size(); ++i)
    filters[i] = static_cast<float>(static_cast<int>(i * 5 % 17) - 8);
  float *in = to_device(image), *weights = to_device(filters);
  float* out = to_device(std::vector<float>(static_cast<size_t>(c.pixels()) * kFilters, -1.0f));

  const cuuint64_t size[] = {kChannels, static_cast<cuuint64_t>(c.width), static_cast<cuuint64_t>(c.height),
                             static_cast<cuuint64_t>(c.images)};
  const cuuint64_t pixel = kChannels * sizeof(float);
  const cuuint64_t strides[] = {pixel, pixel * c.width, pixel * c.width * c.height};
  const int reach = c.dilation * (kTaps - 1);
  const int lower[] = {-c.pad, -c.pad}, upper[] = {c.pad - reach, c.pad - reach};
  const cuuint32_t steps[] = {1, static_cast<cuuint32_t>(c.stride), static_cast<cuuint32_t>(c.stride), 1};
  CUtensorMap map;
  expect("cuTensorMapEncodeIm2col", 0,
         encode_function()(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, in, size, strides, lower, upper,
                           kChannels, kTile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                           CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
         CUDA_SUCCESS);
  convolve<<<(c.pixels() + kTile - 1) / kTile, kTile * kFilters>>>(map, weights, out, c, c.rows(),
                                                                   c.columns(), c.pixels());
  OK(cudaDeviceSynchronize());

  const std::vector<float> got = to_host(out, static_cast<size_t>(c.pixels()) * kFilters);
  size_t index = 0;
  for (int n = 0; n < c.images; ++n)
    for (int p = 0; p < c.rows(); ++p)
      for (int q = 0; q < c.columns(); ++q)
        for (int f = 0; f < kFilters; ++f, ++index) {
          float want = 0;
          for (int tap = 0; tap < kTaps * kTaps; ++tap) {
            const int h = p * c.stride - c.pad + tap / kTaps * c.dilation;
            const int w = q * c.stride - c.pad + tap % kTaps * c.dilation;
            if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
            for (int k = 0; k < kChannels; ++k)
              want += image[((static_cast<size_t>(n) * c.height + h) * c.width + w) * kChannels + k] *
                      filters[(tap * kChannels + k) * kFilters + f];
          }
          expect("convolution", static_cast<long long>(index), got[index], want);
        }
  OK(cudaFree(in));
  OK(cudaFree(weights));
  OK(cudaFree(out));
}

int main() {
  run({2, 9, 7, 1, 1, 1});
  run({3, 9, 10, 1, 2, 1});
  run({2, 8, 9, 0, 1, 1});
  run({2, 9, 11, 2, 1, 2});
  run({1, 10, 9, 3, 3, 2});
  return finish("im2col");
}
