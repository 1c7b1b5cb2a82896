// A 64-bit fingerprint of a matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab {

// 16 hexadecimal digits that depend on every element of `matrix` (rows x cols) and its place. Equal matrices have equal
// ones; others differ but for an accident of 1 in 2^64.
std::string matrix_hash(const std::vector<uint16_t>& matrix, int rows, int cols);

}  // namespace lab
