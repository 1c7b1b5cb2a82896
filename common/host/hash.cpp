#include "host/hash.hpp"

#include <cstdio>

#include "host/mix.hpp"
#include "host/parallel.hpp"

namespace lab {
std::string matrix_hash(const std::vector<uint16_t>& matrix, int rows, int cols) {
  std::vector<uint64_t> row_hash(rows);
  for_rows(rows, 64, [&](int first, int last) {
    for (int row = first; row < last; ++row) {
      uint64_t hash = kGoldenGamma;
      for (int col = 0; col < cols; ++col)
        hash = mix(hash + matrix[static_cast<size_t>(row) * cols + col] + 1);
      row_hash[row] = hash;
    }
  });
  uint64_t all = static_cast<uint64_t>(rows) << 32 | static_cast<uint32_t>(cols);
  for (const uint64_t hash : row_hash) all = mix(all + hash);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(all));
  return text;
}

}  // namespace lab
