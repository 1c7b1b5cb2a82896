// Packed tiles: every element where the 1-D copy needs it, zeros outside the matrix.
#include "host/pack.hpp"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <vector>

#include "host/device_buffer.hpp"

namespace {

constexpr int kTileRows = 128, kTileCols = 64;

std::vector<uint16_t> pack(int rows, int cols) {
  std::vector<uint16_t> matrix(static_cast<size_t>(rows) * cols);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<uint16_t>(i + 1);
  const auto memory = lab::device_buffer<lab::bf16>(matrix.size());
  REQUIRE(cudaMemcpy(memory.get(), matrix.data(), matrix.size() * 2, cudaMemcpyHostToDevice) == cudaSuccess);
  const lab::DeviceTiles tiles(memory.get(), rows, cols, kTileRows, kTileCols);
  const int down = (rows + kTileRows - 1) / kTileRows, across = (cols + kTileCols - 1) / kTileCols;
  std::vector<uint16_t> packed(static_cast<size_t>(down) * across * kTileRows * kTileCols);
  REQUIRE(cudaMemcpy(packed.data(), tiles.get(), packed.size() * 2, cudaMemcpyDeviceToHost) == cudaSuccess);
  return packed;
}

}  // namespace

TEST_CASE("packed tiles hold element (row, col) at its tile's swizzled place, and zeros elsewhere") {
  constexpr int kRows = 150, kCols = 104;  // 2 x 2 tiles, ragged both ways
  const std::vector<uint16_t> packed = pack(kRows, kCols);
  REQUIRE(packed.size() == 4 * kTileRows * kTileCols);
  for (int row = 0; row < 2 * kTileRows; ++row) {
    for (int col = 0; col < 2 * kTileCols; ++col) {
      const int tile = row / kTileRows * 2 + col / kTileCols, r = row % kTileRows, c = col % kTileCols;
      const int at = tile * kTileRows * kTileCols + r * kTileCols + ((c / 8) ^ (r % 8)) * 8 + c % 8;
      const bool inside = row < kRows && col < kCols;
      REQUIRE(packed[at] == (inside ? static_cast<uint16_t>(row * kCols + col + 1) : 0));
    }
  }
}

TEST_CASE("packing refuses what the copy could not move") {
  CHECK_THROWS_WITH(lab::DeviceTiles(nullptr, 8, 64, 128, 32), doctest::Contains("rows of 64 bf16"));
  CHECK_THROWS_WITH(lab::DeviceTiles(nullptr, 8, 60, 128, 64), doctest::Contains("multiple of 8 columns"));
}
