#include "host/reference.hpp"

#include <algorithm>

#include "host/bf16.hpp"
#include "host/parallel.hpp"

namespace lab {
namespace {

constexpr int kLanes = 8;      // independent partial sums, which the compiler turns into vectors
constexpr int kBlockCols = 4;  // rows of B that share one pass over a row of A

std::vector<float> to_floats(const std::vector<uint16_t>& bits) {
  std::vector<float> values(bits.size());
  std::transform(bits.begin(), bits.end(), values.begin(), bf16_to_float);
  return values;
}

// out[j] = sum over k of a[k] * b[j][k] for kBlockCols rows of b, `stride` apart. k is a multiple of kLanes.
void dot_block(const float* a, const float* b, size_t stride, int k, float* out, int cols) {
  double sum[kBlockCols][kLanes] = {};
  for (int i = 0; i < k; i += kLanes) {
    for (int j = 0; j < cols; ++j) {
      for (int lane = 0; lane < kLanes; ++lane) {
        sum[j][lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[j * stride + i + lane]);
      }
    }
  }
  for (int j = 0; j < cols; ++j) {
    double total = 0;
    for (double part : sum[j]) total += part;
    out[j] = static_cast<float>(total);
  }
}

}  // namespace

std::vector<float> reference_on_cpu(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, int m,
                                    int n, int k) {
  const std::vector<float> a_wide = to_floats(a), b_wide = to_floats(b);
  std::vector<float> c(static_cast<size_t>(m) * n);
  for_rows(m, 1, [&](int first, int last) {
    for (int j = 0; j < n; j += kBlockCols) {  // a block of B stays in the cache for all rows of A
      for (int i = first; i < last; ++i) {
        dot_block(&a_wide[static_cast<size_t>(i) * k], &b_wide[static_cast<size_t>(j) * k], k, k,
                  &c[static_cast<size_t>(i) * n + j], std::min(kBlockCols, n - j));
      }
    }
  });
  return c;
}

}  // namespace lab
