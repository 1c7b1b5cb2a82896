// Input matrices: reproducible, not symmetric, and never special values that make a kernel look fast or right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab {

enum class Data {
  kBell,  // bell-shaped in [-1, 1]: what is measured (zeros and small integers draw less power, so run faster)
  kIntegers,  // -2 .. 2: every sum is exact, so the result must be exact too
};

// rows x cols bf16 bit patterns, row-major. The same seed gives the same matrix on every machine.
std::vector<uint16_t> random_matrix(int rows, int cols, uint64_t seed, Data data);

}  // namespace lab
