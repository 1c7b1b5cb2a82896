// Tensor maps: the 128 opaque bytes that cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col make, and what a tensor copy reads
// from them (CUDA Driver API "Tensor Map Object Management"; PTX ISA 5.5). Dimension 0 is the innermost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulator/machine/swizzle.hpp"
#include "rules/tensor_map.hpp"

namespace emu {

constexpr uint64_t kTensorMapBytes = 128;

// Values of CUtensorMapDataType.
enum class ElementType : uint8_t {
  u8 = 0,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  u4_align8,
  u4_align16,
  u6_align16,
};

unsigned element_bytes(ElementType type);
const char* name_of(ElementType type);
bool is_float(ElementType type);

struct TensorMap {
  ElementType type = ElementType::u8;
  unsigned rank = 1;
  uint64_t address = 0;     // device address of element 0
  uint64_t size[5] = {};    // elements
  uint64_t stride[5] = {};  // bytes; stride[0] is the element's size
  uint32_t box[5] =
      {};  // as given; see box_count(). In im2col mode only [0] has a meaning: channels of a pixel
  uint32_t step[5] = {};  // element strides
  bool im2col =
      false;  // for copies in im2col mode: a number of pixels, in the order of a box in W, H, D, then N
  int lower[3] =
      {};  // of that box, from first_pixel_dimension() on: its first pixel, and how far from the tensor's last its last is
  int upper[3] = {};
  uint32_t pixels = 1;
  uint8_t interleave =
      0;  // 0 none; 1 16B, 2 32B: dimension 0 counts pieces of so many bytes, the last but one slices of channels
  Swizzle swizzle = Swizzle::none;
  uint8_t l2_promotion = 0;  // performance only
  bool nan_fill = false;     // what lies outside is the out-of-bounds NaN, not zero
  bool edited = false;       // fields were replaced since it was encoded
  uint32_t allocation = 0;   // Allocation::serial of the memory that it was encoded for; 0: not known

  // What one copy moves along dimension i: elements, of an interleaved map pieces and one slice, however large the box is there
  // (recorded: interleaved). Without interleave, dimension 0 has no traversal stride.
  uint32_t box_count(unsigned i) const {
    if (interleave ? i == slice_dimension() : i == 0) return interleave ? 1 : box[0];
    return (box[i] + step[i] - 1) / step[i];
  }
  // Bytes of what dimension 0 counts: an element, or an interleaved map's piece.
  uint32_t unit_bytes() const { return interleave ? 8u << interleave : element_bytes(type); }
  unsigned slice_dimension() const { return rank - 2; }
  // What lies together in global memory: of an interleaved map a piece.
  uint32_t row_bytes() const { return interleave ? unit_bytes() : box[0] * unit_bytes(); }
  // From one row of the tile to the next in shared memory.
  uint32_t row_pitch() const;
  uint32_t rows() const {
    if (im2col) return pixels;
    return (interleave ? box_count(0) : 1) * box_count(1) * box_count(2) * box_count(3) * box_count(4);
  }
  // Images: W, H and D are the dimensions from the first to before the end; N is the last.
  unsigned first_pixel_dimension() const { return interleave ? 0 : 1; }
  unsigned end_of_pixel_dimensions() const { return first_pixel_dimension() + rank - 2; }
  // The box's first and last pixel along dimension i.
  int64_t first_pixel(unsigned i) const { return lower[i - first_pixel_dimension()]; }
  int64_t last_pixel(unsigned i) const {
    return static_cast<int64_t>(size[i]) - 1 + upper[i - first_pixel_dimension()];
  }
  rules::TensorMapArguments arguments() const;  // as the driver's call would be given them
  // Bytes of the whole tile: what a load adds to its mbarrier's completed bytes, clipped or not.
  uint32_t tile_bytes() const { return rows() * row_bytes(); }
};

// Return codes (CUresult).
constexpr int kTensorMapSuccess = 0, kTensorMapInvalidValue = 1;

// cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col. Writes the 128 bytes at `map` and returns 0; or returns the code, and in *why the rules that are
// broken (rules/tensor_map.hpp), each with the value and what to do.
int encode_tensor_map(void* map, const rules::TensorMapArguments& arguments, std::string* why,
                      uint32_t allocation = 0);
// cuTensorMapReplaceAddress.
int replace_tensor_map_address(void* map, uint64_t address, std::string* why, uint32_t allocation = 0);

// A field as tensormap.replace names it (PTX ISA 9.7.9.28).
enum class MapField : uint8_t {
  global_address,
  rank,  // zero-based: rank - 1
  box_dim,
  global_dim,
  global_stride,  // bytes; of dimension ord + 1
  element_stride,
  elemtype,  // codes of Table 33, which are not those of CUtensorMapDataType
  interleave_layout,
  swizzle_mode,
  fill_mode,
};
// Replaces one field of the 128 bytes. Only the value itself is checked: maps are changed field by field, and
// broken_rule() looks at the whole when a copy uses it.
int replace_tensor_map_field(void* map, MapField field, unsigned dimension, uint64_t value, std::string* why);
// The rules of the call that made it that the map breaks; "" when there are none.
std::string broken_rule(const TensorMap& map);

// Reads the 128 bytes. False when they are not what encode_tensor_map wrote.
bool decode_tensor_map(const std::byte* bytes, TensorMap* out);

}  // namespace emu
