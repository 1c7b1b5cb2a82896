// The host side of the programs in this folder: buffers, comparison, verdict. What runs on the device is each
// program's own. main returns 0 when every value is right, 1 when one is wrong or a call failed.
#pragma once

#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "host/tensor_map.hpp"

namespace pipeline {

template <class T>
std::shared_ptr<T> upload(const std::vector<T>& values) {
  auto buffer = lab::device_buffer<T>(values.size());
  lab::cuda_check(cudaMemcpy(buffer.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
                  "copy the input to the device");
  return buffer;
}

// `count` elements whose bytes are all `byte`; 0xFF is NaN, and no result.
template <class T>
std::shared_ptr<T> filled(size_t count, int byte = 0xFF) {
  auto buffer = lab::device_buffer<T>(count);
  lab::cuda_check(cudaMemset(buffer.get(), byte, count * sizeof(T)), "fill a buffer");
  return buffer;
}

// Waits for the kernels before it.
template <class T>
std::vector<T> download(const std::shared_ptr<T>& buffer, size_t count) {
  lab::cuda_check(cudaDeviceSynchronize(), "run the kernel");
  std::vector<T> values(count);
  lab::cuda_check(cudaMemcpy(values.data(), buffer.get(), count * sizeof(T), cudaMemcpyDeviceToHost),
                  "copy the result from the device");
  return values;
}

// The map of a row-major matrix of rows x cols elements, read in boxes of box_rows x box_cols.
inline CUtensorMap matrix_map(const void* matrix, CUtensorMapDataType type, size_t element_bytes,
                              uint64_t rows, uint64_t cols, uint32_t box_rows, uint32_t box_cols,
                              CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE) {
  lab::TensorMapSpec spec;
  spec.type = type;
  spec.address = matrix;
  spec.size = {cols, rows};
  spec.stride_bytes = {cols * element_bytes};
  spec.box = {box_cols, box_rows};
  spec.swizzle = swizzle;
  return lab::make_tensor_map(spec);
}
inline CUtensorMap float_map(const float* matrix, uint64_t rows, uint64_t cols, uint32_t box_rows,
                             uint32_t box_cols, CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE) {
  return matrix_map(matrix, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, rows, cols, box_rows, box_cols, swizzle);
}

// Counts values that are not exactly what they should be (NaN never is).
class Check {
 public:
  void equal(long long index, double got, double want) {
    ++looked_at_;
    if (got == want) return;
    if (++wrong_ <= 5) std::printf("  [%lld] is %g, not %g\n", index, got, want);
  }
  int looked_at() const { return looked_at_; }
  int wrong() const { return wrong_; }

 private:
  int looked_at_ = 0, wrong_ = 0;
};

// body(check): launches, downloads and compares.
template <class Body>
int run(const char* name, Body body) {
  Check check;
  try {
    body(check);
  } catch (const std::exception& problem) {
    std::printf("%s: error: %s\n", name, problem.what());
    return 1;
  }
  const bool right = check.wrong() == 0 && check.looked_at() > 0;
  std::printf("%s: %s, %d of %d values wrong\n", name, right ? "right" : "wrong", check.wrong(),
              check.looked_at());
  return right ? 0 : 1;
}

}  // namespace pipeline
