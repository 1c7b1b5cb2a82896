#include "host/inputs.hpp"

#include "host/bf16.hpp"
#include "host/parallel.hpp"

namespace lab {
namespace {

// splitmix64: each call returns 64 well-mixed bits and advances the state.
uint64_t next(uint64_t& state) {
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// The mean of four uniform numbers in [-1, 1]: standard deviation 0.29.
float bell(uint64_t bits) {
  const int sum =
      static_cast<int>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF) + (bits >> 48));
  return static_cast<float>(sum - 2 * 0xFFFF) / (2 * 0xFFFF);
}

}  // namespace

std::vector<uint16_t> random_matrix(int rows, int cols, uint64_t seed, Data data) {
  std::vector<uint16_t> matrix(static_cast<size_t>(rows) * cols);
  for_rows(rows, 64, [&](int first, int last) {
    for (int row = first; row < last; ++row) {
      uint64_t state = seed * 0x100000001B3u + row;  // a stream a row: independent of the number of threads
      state = next(state);
      for (int col = 0; col < cols; ++col) {
        const uint64_t bits = next(state);
        const float value =
            data == Data::kBell ? bell(bits) : static_cast<float>(static_cast<int>(bits % 5) - 2);
        matrix[static_cast<size_t>(row) * cols + col] = bf16_from_float(value);
      }
    }
  });
  return matrix;
}

}  // namespace lab
