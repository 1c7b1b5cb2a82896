#include "emulator/isa/tensor_box.hpp"

#include <algorithm>
#include <cstring>

#include "emulator/isa/bulk_copy.hpp"
#include "emulator/numerics/formats.hpp"

namespace emu {
namespace {

[[noreturn]] void invalid(const At& at, const std::string& title, const std::string& why,
                          const std::string& hint) {
  at.fault(Id::tensor_map_invalid, title, why, hint);
}

// "tmap_a", or the address where the map is no parameter.
std::string map_name(Warp& w, Space space, uint64_t address) {
  const bool parameter =
      space == Space::param || (space == Space::generic && (address & kWindowMask) == kParamWindow);
  return parameter ? w.program.names.parameter(address & ~kWindowMask) : hex(address);
}

// The 128 bytes at an address, or null with a reason.
const std::byte* map_bytes(const At& at, Space space, uint64_t address) {
  const uint64_t window = space == Space::generic ? address & kWindowMask : 0;
  if (window == kLocalWindow || window == kSharedWindow || space == Space::local || space == Space::shared) {
    invalid(at,
            std::string("the tensor map is in ") +
                (window == kLocalWindow || space == Space::local ? "local" : "shared") + " memory",
            "the copy engine reads tensor maps from param, const or global memory (PTX 9.7.9.27.1.2); the "
            "compiler copies a by-value parameter whose address is taken to local memory",
            "declare the kernel parameter const __grid_constant__ CUtensorMap");
  }
  if (window == kParamWindow || space == Space::param) {
    const uint64_t offset = address & ~kWindowMask;
    const auto& params = at.warp.cta.config.params;
    if (offset <= params.size() && kTensorMapBytes <= params.size() - offset)
      return reinterpret_cast<const std::byte*>(params.data()) + offset;
    invalid(at, "the tensor map lies beyond the kernel's parameters",
            "offset " + std::to_string(offset) + " of " + std::to_string(params.size()) + " bytes",
            "pass the address of a CUtensorMap parameter");
  }
  if (const std::byte* bytes = at.warp.machine.memory.at(address, kTensorMapBytes)) {
    if (!at.warp.machine.memory.last_is_constant())
      at.warp.machine.observers.tell(&Observer::on_map_use, at, address);
    return bytes;
  }
  invalid(at, "there is no tensor map at " + hex(address),
          "the address is " + at.warp.machine.memory.describe(address),
          "pass the address of an encoded CUtensorMap");
}

// Every 16 bits of the out-of-bounds NaN, whatever the element's size; tf32 maps do not round it (recorded:
// tensor_fill).
constexpr uint16_t kFillNan = 0x7FF7;

// What a load does to an element of a tf32 map: rounds to 10 fraction bits, nearest even; any NaN becomes one NaN. The
// _ftz types flush nothing (recorded: tensor_types).
uint32_t rounded_to_tf32(uint32_t bits) {
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFFE000;
  if ((bits & 0x7FFFFFFF) == 0x7F800000) return bits;
  return (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu;
}

bool is_tf32(ElementType type) {
  return type == ElementType::tf32 || type == ElementType::tf32_ftz;
}

// What a load writes for elements outside the tensor.
void fill(const TensorMap& map, std::byte* at, size_t bytes) {
  if (!map.nan_fill) {
    std::memset(at, 0, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i += sizeof kFillNan) std::memcpy(at + i, &kFillNan, sizeof kFillNan);
}

}  // namespace

TensorMap tensor_map_at(const At& at, Space space, uint64_t address) {
  const std::byte* bytes = map_bytes(at, space, address);
  if (address % 64 != 0)
    at.fault(
        Id::misaligned_address,
        "the address of the tensor map " + map_name(at.warp, space, address) + " is not a multiple of 64",
        "a CUtensorMap is aligned to 64 bytes (PTX 9.7.9.27.1.2)", "align the variable that holds it");
  TensorMap map;
  if (!decode_tensor_map(bytes, &map))
    invalid(at, "the 128 bytes at " + map_name(at.warp, space, address) + " are no tensor map",
            "they were not made by cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col, or were changed since",
            "encode the map on the host, check the return code, and pass it unchanged");
  if (map.edited)
    if (const std::string rule = broken_rule(map); !rule.empty())
      invalid(at,
              "the tensor map " + map_name(at.warp, space, address) + ", as it was changed, breaks a rule",
              rule, "replace all fields that belong together before the map is used");
  return map;
}

Reduction tensor_reduction(std::string_view op, ElementType type) {
  const bool bits = op == "and" || op == "or" || op == "xor";
  switch (type) {
    case ElementType::u32:
      return reduction(op, bits ? Type::b32 : Type::u32);
    case ElementType::s32:
      return reduction(op, bits ? Type::b32 : Type::s32);
    case ElementType::u64:
      return reduction(op, bits ? Type::b64 : Type::u64);
    case ElementType::s64:
      return bits ? nullptr : reduction(op, Type::s64);
    case ElementType::f16:
      return bits ? nullptr : reduction(op, Type::f16);
    case ElementType::bf16:
      return bits ? nullptr : reduction(op, Type::bf16);
    case ElementType::f32:
    case ElementType::tf32:  // sums are not rounded to tf32 (recorded: refusals)
      return op == "add" ? reduction(op, Type::f32) : nullptr;
    case ElementType::f32_ftz:
      return op == "add" ? reduction("add.ftz", Type::f32) : nullptr;
    case ElementType::f64:
      return op == "add" ? reduction(op, Type::f64) : nullptr;
    default:
      return nullptr;
  }
}

void TensorBox::check(const At& at, const BoxPlace& place, bool writes) const {
  if (map.rank != place.rank)
    invalid(at,
            "a " + std::to_string(place.rank) + "-dimensional copy uses a tensor map of rank " +
                std::to_string(map.rank),
            "the instruction's .dim must be the rank given to the call that encoded the map",
            "use cp.async.bulk.tensor." + std::to_string(map.rank) + "d with as many coordinates");
  if (map.im2col != place.im2col)
    invalid(at,
            place.im2col ? "a copy in im2col mode uses a tensor map of tile mode"
                         : "a copy in tile mode uses a tensor map of im2col mode",
            "the map was made by " +
                std::string(map.im2col ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled") +
                ", which says what a box is in that mode only",
            "encode the map with " +
                std::string(place.im2col ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled") +
                ", or use the other mode of the instruction");
  const int64_t element = map.unit_bytes();
  const int32_t* start = place.start;
  // Hopper stops with an illegal instruction otherwise (recorded: refusals, im2col_refusals).
  if (start[0] * element % 16 != 0)
    at.fault(Id::misaligned_box,
             "the box starts at element " + std::to_string(start[0]) + " of dimension 0, which is " +
                 std::to_string(start[0] * element) + " bytes into the row, no multiple of 16",
             "the address of a box must be a multiple of 16 bytes (PTX 5.5.3.1)",
             "make the innermost coordinate a multiple of " + std::to_string(16 / element) +
                 ", or move another dimension innermost");
  // A load may hang over every edge, a store only over the far ones (recorded: refusals).
  for (unsigned i = 0; writes && i < place.rank; ++i)
    if (start[i] < 0 && !(place.im2col && is_pixel_dimension(i)))
      at.fault(Id::store_before_tensor,
               "the box of a store starts at element " + std::to_string(start[i]) + " of dimension " +
                   std::to_string(i) + ", before the tensor",
               "a store or reduction may leave the tensor at the end of a dimension, not at its beginning",
               "start the box at 0 or later, and make it smaller where less is to be written");
  if (place.im2col) check_pixels(at, place, writes);
}

bool TensorBox::is_pixel_dimension(unsigned i) const {
  return i >= map.first_pixel_dimension() && i < map.end_of_pixel_dimensions();
}

// Hopper stops with an illegal instruction otherwise, whether or not a pixel outside would be copied (recorded: im2col_loads,
// im2col_stores).
void TensorBox::check_pixels(const At& at, const BoxPlace& place, bool writes) const {
  for (unsigned i = 0; i < map.rank; ++i) {
    if (!is_pixel_dimension(i)) continue;
    const unsigned corner = i - map.first_pixel_dimension();
    const std::string dimension = " in dimension " + std::to_string(i);
    const std::string box =
        "from " + std::to_string(map.first_pixel(i)) + " to " + std::to_string(map.last_pixel(i));
    if (writes && (map.lower[corner] < 0 || map.upper[corner] > 0))
      at.fault(
          Id::pixel_outside_box,
          "a store in im2col mode has a box of pixels " + box + dimension +
              ", which leaves the tensor: its last is " + std::to_string(map.size[i] - 1),
          "a store or reduction takes a map whose box lies in the tensor, even when it writes no pixel outside",
          "encode another map for it, with a pixelBoxLowerCorner of 0 or more and a pixelBoxUpperCorner of 0 or less");
    if (place.start[i] < map.first_pixel(i) || place.start[i] > map.last_pixel(i))
      at.fault(
          Id::pixel_outside_box,
          "a copy in im2col mode starts at pixel " + std::to_string(place.start[i]) + dimension +
              ", outside its map's box " + box,
          "the box goes from pixelBoxLowerCorner to globalDim - 1 + pixelBoxUpperCorner, and the coordinates, to which "
          "the offsets are not yet added, name a pixel in it (PTX 5.5.4.1)",
          "start at the pixel of the filter's first place, go on behind the last of a row at the lower corner of the "
          "next one, and give the place in the filter as offsets");
  }
}

void TensorBox::place(const At& at, const BoxPlace& place, bool writes) {
  check(at, place, writes);
  rows_.clear();
  if (place.im2col)
    place_pixels(at, place, writes);
  else
    place_rows(at, place, writes);
}

// Interleaved, a row is one piece.
TensorBox::Span TensorBox::span(int64_t x, bool writes) const {
  const int64_t unit = map.unit_bytes();
  int64_t units = static_cast<int64_t>(map.size[0]);
  // A store writes whole 16-byte chunks: the end of a row is not cut inside one (recorded: tensor_store).
  if (writes) units = (units * unit + 15) / 16 * 16 / unit;
  return {x, std::max<int64_t>(0, -x), std::min<int64_t>(map.interleave ? 1 : map.box[0], units - x)};
}

void TensorBox::add_row(const At& at, const Span& span, const int64_t* position, bool writes) {
  const int64_t unit = map.unit_bytes();
  bool inside = span.first < span.last;
  uint64_t address = map.address + static_cast<uint64_t>((span.x + span.first) * unit);
  for (unsigned i = 1; i < map.rank; ++i) {
    inside = inside && position[i] >= 0 && position[i] < static_cast<int64_t>(map.size[i]);
    address += static_cast<uint64_t>(position[i]) * map.stride[i];
  }
  Row row;
  if (inside) {
    row.address = address;
    row.skip = static_cast<uint32_t>(span.first * unit);
    row.count = static_cast<uint32_t>((span.last - span.first) * unit);
    row.bytes = global_bytes(at, address, row.count, writes);
  }
  rows_.push_back(row);
}

void TensorBox::place_rows(const At& at, const BoxPlace& place, bool writes) {
  const unsigned first = map.interleave ? 0 : 1;  // the dimension that rows follow each other in
  Span inside = span(place.start[0], writes);
  uint32_t k[5] = {};
  for (uint32_t n = map.rows(); n > 0; --n) {
    int64_t position[5] = {};
    for (unsigned i = first; i < map.rank; ++i)
      position[i] = place.start[i] + static_cast<int64_t>(k[i]) * map.step[i];
    if (map.interleave) inside = span(position[0], writes);
    add_row(at, inside, position, writes);
    for (unsigned i = first; i < 5; ++i) {
      if (++k[i] < map.box_count(i)) break;
      k[i] = 0;
    }
  }
}

// The coordinates name a pixel of the map's box in W, H, D, and an image. From there the box is walked to its end, row by row,
// then from its lower corner in the next image, until there are as many pixels as the map says. The offsets move what is read,
// not the walk (PTX ISA 5.5.4).
void TensorBox::place_pixels(const At& at, const BoxPlace& place, bool writes) {
  const unsigned first = map.first_pixel_dimension(), end = map.end_of_pixel_dimensions(),
                 images = map.rank - 1;
  Span inside = span(place.start[0], writes);
  int64_t walk[5] = {};
  std::copy_n(place.start, map.rank, walk);
  for (uint32_t n = map.pixels; n > 0; --n) {
    int64_t position[5];
    std::copy_n(walk, 5, position);
    for (unsigned i = first; i < end; ++i) position[i] += place.offset[i - first];
    if (map.interleave) inside = span(position[0], writes);
    add_row(at, inside, position, writes);
    unsigned i = first;
    for (; i < end; ++i) {
      walk[i] += map.step[i];
      if (walk[i] <= map.last_pixel(i)) break;
      walk[i] = map.first_pixel(i);
    }
    if (i == end) walk[images] += map.step[images];
  }
}

uint32_t TensorBox::covered_bytes() const {
  const uint32_t bytes = map.rows() * map.row_pitch(), span = swizzle_span(map.swizzle);
  return span ? (bytes + span - 1) / span * span : bytes;
}

void TensorBox::gather(std::vector<std::byte>& tile) const {
  const uint32_t row_bytes = map.row_bytes();
  tile.resize(map.tile_bytes());
  std::byte* out = tile.data();
  for (const Row& row : rows_) {
    if (row.skip) fill(map, out, row.skip);
    if (row.count) std::memcpy(out + row.skip, row.bytes, row.count);
    if (is_tf32(map.type)) {
      for (uint32_t i = row.skip; i < row.skip + row.count; i += 4) {
        uint32_t bits;
        std::memcpy(&bits, out + i, 4);
        bits = rounded_to_tf32(bits);
        std::memcpy(out + i, &bits, 4);
      }
    }
    const uint32_t end = row.skip + row.count;
    if (end < row_bytes) fill(map, out + end, row_bytes - end);
    out += row_bytes;
  }
}

void TensorBox::scatter(const std::vector<std::byte>& tile, Reduction reduce) const {
  const std::byte* from = tile.data();
  for (const Row& row : rows_) {
    if (row.count) {
      if (reduce)
        reduce(row.bytes, from + row.skip, row.count / element_bytes(map.type));
      else
        std::memcpy(row.bytes, from + row.skip, row.count);
    }
    from += map.row_bytes();
  }
}

template <class F>
void TensorBox::for_pieces(uint32_t address, F&& f) const {
  const uint32_t row_bytes = map.row_bytes(), pitch = map.row_pitch();
  if (map.swizzle == Swizzle::none && pitch == row_bytes) {
    f(0u, address, map.tile_bytes());
    return;
  }
  // Rows are whole 16-byte chunks, and a swizzle moves chunks whole.
  uint32_t offset = 0;
  for (uint32_t r = 0; r < map.rows(); ++r)
    for (uint32_t x = 0; x < row_bytes; x += 16, offset += 16)
      f(offset, swizzled(map.swizzle, address + r * pitch + x), 16u);
}

void TensorBox::to_shared(const std::vector<std::byte>& tile, std::byte* window, uint32_t address) const {
  for_pieces(address, [&](uint32_t offset, uint32_t at, uint32_t bytes) {
    std::memcpy(window + at, tile.data() + offset, bytes);
  });
}

void TensorBox::from_shared(std::vector<std::byte>& tile, const std::byte* window, uint32_t address) const {
  tile.resize(map.tile_bytes());
  for_pieces(address, [&](uint32_t offset, uint32_t at, uint32_t bytes) {
    std::memcpy(tile.data() + offset, window + at, bytes);
  });
}

void TensorBox::global_ranges(std::vector<MemoryRange>& out) const {
  for (const Row& row : rows_)
    if (row.count) out.push_back({Space::global, nullptr, row.address, row.count});
}

void TensorBox::shared_ranges(Cta* owner, uint32_t address, std::vector<MemoryRange>& out) const {
  // A tile of whole lines is permuted within itself.
  const uint32_t bytes = map.tile_bytes(), span = swizzle_span(map.swizzle);
  if (map.row_pitch() == map.row_bytes() && (span == 0 || bytes % span == 0)) {
    out.push_back({Space::shared, owner, address, bytes});
    return;
  }
  for_pieces(address, [&](uint32_t, uint32_t at, uint32_t count) {
    out.push_back({Space::shared, owner, at, count});
  });
}

}  // namespace emu
