#include "host/inputs.hpp"

#include "host/bf16.hpp"
#include "host/mix.hpp"
#include "host/parallel.hpp"

namespace lab {
namespace {

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
      state = next_random(state);
      for (int col = 0; col < cols; ++col) {
        const uint64_t bits = next_random(state);
        const float value =
            data == Data::kBell ? bell(bits) : static_cast<float>(static_cast<int>(bits % 5) - 2);
        matrix[static_cast<size_t>(row) * cols + col] = bf16_from_float(value);
      }
    }
  });
  return matrix;
}

}  // namespace lab
