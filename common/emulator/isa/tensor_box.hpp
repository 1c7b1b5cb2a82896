// One box of a tensor, or one column of pixels: which bytes of global memory it is made of, and where they lie in shared
// memory. A pixel, or a piece of an interleaved tensor, takes the place of a box's row.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/machine/tensor_map.hpp"
#include "emulator/numerics/reduction.hpp"

namespace emu {

// The tensor map at an address in param, const or global space. Faults: "tensor-map-invalid", "misaligned-address".
TensorMap tensor_map_at(const At& at, Space space, uint64_t address);

// Null when the operation does not exist for the type.
Reduction tensor_reduction(std::string_view op, ElementType type);

// What an instruction says of the box besides its map.
struct BoxPlace {
  unsigned rank = 1;
  bool im2col = false;      // the mode
  int32_t start[5] = {};    // coordinates, innermost first
  uint16_t offset[3] = {};  // im2col mode: of dimension i + 1
};

struct TensorBox {
  TensorMap map;

  // Finds the rows of the box. Faults: "tensor-map-invalid" when the map's rank or mode is not the instruction's,
  // "misaligned-box", "store-before-tensor" when a box that is written starts at a negative coordinate, "pixel-outside-box",
  // "out-of-bounds" when the tensor is not inside an allocation.
  void place(const At& at, const BoxPlace& place, bool writes);

  // Bytes from the tile's start that the swizzled tile may touch.
  uint32_t covered_bytes() const;

  // The tile, rows dense and not swizzled, out of global memory: fill and conversions applied.
  void gather(std::vector<std::byte>& tile) const;
  // The inverse: elements outside the tensor are not written. reduce: combined with what is there.
  void scatter(const std::vector<std::byte>& tile, Reduction reduce) const;
  // Between the dense tile and its swizzled place in a shared window.
  void to_shared(const std::vector<std::byte>& tile, std::byte* window, uint32_t address) const;
  void from_shared(std::vector<std::byte>& tile, const std::byte* window, uint32_t address) const;

  void global_ranges(std::vector<MemoryRange>& out) const;
  void shared_ranges(Cta* owner, uint32_t address, std::vector<MemoryRange>& out) const;

 private:
  struct Row {
    std::byte* bytes = nullptr;  // of the first element inside the tensor
    uint64_t address = 0;
    uint32_t skip = 0;   // bytes of the row before it, which lie outside
    uint32_t count = 0;  // bytes inside; the rest lies outside
  };
  std::vector<Row> rows_;

  void check(const At& at, const BoxPlace& place, bool writes) const;
  bool is_pixel_dimension(unsigned i) const;
  void check_pixels(const At& at, const BoxPlace& place, bool writes) const;
  void place_rows(const At& at, const BoxPlace& place, bool writes);
  void place_pixels(const At& at, const BoxPlace& place, bool writes);
  // The elements first .. last - 1 of a row at coordinate x of dimension 0 that lie inside the tensor.
  struct Span {
    int64_t x, first, last;
  };
  Span span(int64_t x, bool writes) const;
  // A row at these coordinates of the dimensions 1 and up.
  void add_row(const At& at, const Span& inside, const int64_t* position, bool writes);

  // Calls f(offset in the dense tile, swizzled shared address, bytes) piece by piece.
  template <class F>
  void for_pieces(uint32_t address, F&& f) const;
};

}  // namespace emu
