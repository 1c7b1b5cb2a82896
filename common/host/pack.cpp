#include "host/pack.hpp"

#include <cstring>
#include <stdexcept>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"

namespace lab {

DeviceTiles::DeviceTiles(const bf16* matrix, int rows, int cols, int tile_rows, int tile_cols) {
  constexpr int kChunk = 8;  // elements of 16 bytes
  if (tile_cols != 8 * kChunk) throw std::invalid_argument("packed tiles have rows of 64 bf16 (128 bytes)");
  if (cols % kChunk != 0) throw std::invalid_argument("packed matrices have a multiple of 8 columns");

  std::vector<uint16_t> plain(static_cast<size_t>(rows) * cols);
  cuda_check(cudaMemcpy(plain.data(), matrix, plain.size() * 2, cudaMemcpyDeviceToHost),
             "read a matrix to pack");
  const int tiles_down = (rows + tile_rows - 1) / tile_rows,
            tiles_across = (cols + tile_cols - 1) / tile_cols;
  const size_t tile_size = static_cast<size_t>(tile_rows) * tile_cols;
  std::vector<uint16_t> packed(tiles_down * tiles_across * tile_size, 0);
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; col += kChunk) {
      const int r = row % tile_rows, chunk = col % tile_cols / kChunk;
      const size_t tile = static_cast<size_t>(row / tile_rows) * tiles_across + col / tile_cols;
      std::memcpy(&packed[tile * tile_size + r * tile_cols + (chunk ^ (r % 8)) * kChunk],
                  &plain[static_cast<size_t>(row) * cols + col], kChunk * sizeof(uint16_t));
    }
  }
  memory_ = device_buffer<bf16>(packed.size());
  cuda_check(cudaMemcpy(memory_.get(), packed.data(), packed.size() * 2, cudaMemcpyHostToDevice),
             "write the packed matrix");
}

}  // namespace lab
