// The right answer, in higher precision than the kernels': products of bf16 are exact, sums are doubles.
#pragma once

#include <cstdint>
#include <vector>

#include "host/bf16.hpp"

namespace lab {

// C = A * B^T on the CPU, all cores. a: m x k, b: n x k, bf16 bit patterns, row-major. Returns m x n floats.
std::vector<float> reference_on_cpu(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, int m,
                                    int n, int k);

// The same by a plain CUDA kernel with double sums, for sizes at which the CPU would take minutes. a, b: device memory.
// Throws std::runtime_error when a CUDA call fails.
std::vector<float> reference_on_gpu(const bf16* a, const bf16* b, int m, int n, int k);

}  // namespace lab
