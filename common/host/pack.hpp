// Matrices packed tile by tile, the way a 1-D bulk copy needs them: every tile one run of bytes, already
// swizzled.
#pragma once

#include <memory>

#include "host/bf16.hpp"

namespace lab {

// A copy of a row-major bf16 matrix on the device in which tile (i, j) of tile_rows x tile_cols lies at
// element (i * ceil(cols / tile_cols) + j) * tile_rows * tile_cols, with 128-byte rows whose 16-byte chunks
// are swizzled (chunk c of row r at c ^ (r % 8)); elements outside the matrix are zeros. tile_cols must
// be 64. Copies share the memory. Throws std::runtime_error when a CUDA call fails.
class DeviceTiles {
 public:
  DeviceTiles(const bf16* matrix, int rows, int cols, int tile_rows, int tile_cols);
  const bf16* get() const { return memory_.get(); }

 private:
  std::shared_ptr<bf16> memory_;
};

}  // namespace lab
