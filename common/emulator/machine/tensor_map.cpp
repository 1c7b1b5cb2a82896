#include "emulator/machine/tensor_map.hpp"

#include <algorithm>
#include <cstring>

#include "emulator/findings/report.hpp"

namespace emu {
namespace {

// The 128 bytes. Not NVIDIA's layout, which is not public.
struct Encoded {
  uint64_t magic;
  // kClearable or 0, which means the same: CUTLASS clears this bit in the maps of tensors below 128 KiB, against an error of
  // drivers up to 13.1.
  uint64_t clearable;
  uint64_t address;
  uint64_t stride[4];
  uint32_t size_minus_1[5];
  int16_t lower[3], upper[3];
  uint16_t pixels_minus_1;
  uint8_t box_minus_1[5];
  uint8_t step[5];
  uint8_t type, rank, im2col, interleave, swizzle, l2_promotion, nan_fill, edited;
  uint32_t allocation;
  uint8_t unused[8];
  uint64_t checksum;
};
static_assert(sizeof(Encoded) == kTensorMapBytes);
constexpr uint64_t kClearable = 1 << 21;
constexpr uint64_t kMagic = 0x7061'6d72'6f73'6e74ull;  // "tnsormap"

// FNV-1a over everything from the address to the checksum.
uint64_t checksum_of(const Encoded& e) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&e);
  uint64_t hash = 0xcbf29ce484222325ull;
  for (size_t i = offsetof(Encoded, address); i < offsetof(Encoded, checksum); ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}

bool is_intact(const Encoded& e) {
  return e.magic == kMagic && (e.clearable | kClearable) == kClearable && e.checksum == checksum_of(e);
}

std::string refusals(const rules::TensorMapArguments& arguments) {
  std::string out;
  for (const rules::Broken& broken : rules::broken_rules(arguments))
    if (broken.refused) out += (out.empty() ? "" : "\n         ") + broken.text();
  return out;
}

}  // namespace

unsigned element_bytes(ElementType type) {
  return rules::tensor_map_type(static_cast<int>(type)).bytes;
}

const char* name_of(ElementType type) {
  return rules::tensor_map_type(static_cast<int>(type)).name;
}

bool is_float(ElementType type) {
  return rules::tensor_map_type(static_cast<int>(type)).floating;
}

rules::TensorMapArguments TensorMap::arguments() const {
  rules::TensorMapArguments a;
  a.type = static_cast<int>(type);
  a.rank = rank;
  a.address = address;
  std::copy_n(size, 5, a.size);
  std::copy_n(stride + 1, 4, a.stride_bytes);
  std::copy_n(box, 5, a.box);
  a.im2col = im2col;
  std::copy_n(lower, 3, a.lower_corner);
  std::copy_n(upper, 3, a.upper_corner);
  a.channels_per_pixel = box[0];
  a.pixels_per_column = pixels;
  std::copy_n(step, 5, a.element_stride);
  a.interleave = interleave;
  a.swizzle = static_cast<int>(swizzle);
  a.l2_promotion = l2_promotion;
  a.oob_fill = nan_fill;
  return a;
}

// With a swizzle, every row takes a whole span, however small the inner box is (recorded: inner_box); interleaved pieces lie one
// behind the other (recorded: interleaved).
uint32_t TensorMap::row_pitch() const {
  return swizzle == Swizzle::none || interleave ? row_bytes() : swizzle_span(swizzle);
}

int encode_tensor_map(void* map, const rules::TensorMapArguments& a, std::string* why, uint32_t allocation) {
  *why = refusals(a);
  if (!why->empty()) return kTensorMapInvalidValue;
  Encoded e;
  std::memset(&e, 0, sizeof e);
  e.magic = kMagic;
  e.clearable = kClearable;
  e.address = a.address;
  for (unsigned i = 0; i < a.rank; ++i) {
    e.size_minus_1[i] = static_cast<uint32_t>(a.size[i] - 1);
    if (!a.im2col) e.box_minus_1[i] = static_cast<uint8_t>(a.box[i] - 1);
    e.step[i] = static_cast<uint8_t>(i == 0 && !a.interleave ? 1 : a.element_stride[i]);
    if (i + 1 < a.rank) e.stride[i] = a.stride_bytes[i];
  }
  if (a.im2col) {
    e.im2col = 1;
    e.box_minus_1[0] = static_cast<uint8_t>(a.channels_per_pixel - 1);
    e.pixels_minus_1 = static_cast<uint16_t>(a.pixels_per_column - 1);
    for (unsigned i = 0; i + 2 < a.rank; ++i) {
      e.lower[i] = static_cast<int16_t>(a.lower_corner[i]);
      e.upper[i] = static_cast<int16_t>(a.upper_corner[i]);
    }
  }
  e.type = static_cast<uint8_t>(a.type);
  e.rank = static_cast<uint8_t>(a.rank);
  e.interleave = static_cast<uint8_t>(a.interleave);
  e.swizzle = static_cast<uint8_t>(a.swizzle);
  e.l2_promotion = static_cast<uint8_t>(a.l2_promotion);
  e.nan_fill = static_cast<uint8_t>(a.oob_fill);
  e.allocation = allocation;
  e.checksum = checksum_of(e);
  std::memcpy(map, &e, sizeof e);
  return kTensorMapSuccess;
}

int replace_tensor_map_address(void* map, uint64_t address, std::string* why, uint32_t allocation) {
  TensorMap changed;
  if (!map || !decode_tensor_map(static_cast<const std::byte*>(map), &changed)) {
    *why = "tensorMap: holds no encoded tensor map; encode one first";
    return kTensorMapInvalidValue;
  }
  changed.address = address;
  *why = refusals(changed.arguments());
  if (!why->empty()) return kTensorMapInvalidValue;
  Encoded e;
  std::memcpy(&e, map, sizeof e);
  e.address = address;
  e.allocation = allocation;
  e.checksum = checksum_of(e);
  std::memcpy(map, &e, sizeof e);
  return kTensorMapSuccess;
}

namespace {

// What PTX says about one value of tensormap.replace (9.7.9.28).
struct Replaced {
  uint64_t value;
  unsigned dimension;
  std::string* why;

  void refuse(const std::string& what, const std::string& rule) const {
    if (why->empty()) *why = what + " " + rule + " (PTX ISA 9.7.9.28)";
  }
  bool in_range(const char* name, uint64_t low, uint64_t high) const {
    if (value < low || value > high)
      refuse(std::string(name) + " = " + std::to_string(value),
             "must be " + std::to_string(low) + " .. " + std::to_string(high));
    return why->empty();
  }
  bool aligned(const std::string& what) const {
    if (value % rules::kTensorAlignment)
      refuse(what, "must be a multiple of " + std::to_string(rules::kTensorAlignment) + " bytes");
    return why->empty();
  }
  bool dimension_below(unsigned end) const {
    if (dimension >= end)
      refuse("ord = " + std::to_string(dimension),
             "must be below " + std::to_string(end) + ": dimensions count from 0, the innermost");
    return why->empty();
  }
};

}  // namespace

int replace_tensor_map_field(void* map, MapField field, unsigned dimension, uint64_t value,
                             std::string* why) {
  why->clear();
  const Replaced r{value, dimension, why};
  Encoded e;
  std::memcpy(&e, map, sizeof e);
  if (!is_intact(e)) r.refuse("the 128 bytes", "are no tensor map: copy an encoded map there first");
  const auto byte = static_cast<uint8_t>(value);
  switch (field) {
    case MapField::global_address:
      if (r.aligned("global_address = " + hex(value))) {
        e.address = value;
        e.allocation = 0;
      }
      break;
    case MapField::rank:
      if (r.in_range("rank", 0, 4)) e.rank = static_cast<uint8_t>(byte + 1);
      break;
    case MapField::box_dim:
      if (e.im2col) r.refuse("box_dim", "is of tile mode, and this map is of im2col mode");
      if (r.dimension_below(5) && r.in_range("box_dim", 1, rules::kMaxBoxDim))
        e.box_minus_1[dimension] = static_cast<uint8_t>(byte - 1);
      break;
    case MapField::global_dim:
      if (r.dimension_below(5) && r.in_range("global_dim", 1, rules::kMaxTensorSize - 1))
        e.size_minus_1[dimension] = static_cast<uint32_t>(value - 1);
      break;
    case MapField::global_stride:
      if (r.dimension_below(4) && r.aligned("global_stride = " + std::to_string(value)) &&
          r.in_range("global_stride", 0, rules::kMaxTensorStride - 1))
        e.stride[dimension] = value;
      break;
    case MapField::element_stride:
      if (r.dimension_below(5) && r.in_range("element_stride", 1, rules::kMaxElementStride))
        e.step[dimension] = dimension == 0 && !e.interleave ? 1 : byte;
      break;
    case MapField::elemtype:
      if (r.in_range("elemtype", 0, 12)) {
        // Only these three differ from CUtensorMapDataType.
        const bool moved = value >= 8 && value <= 10;
        const ElementType types[] = {ElementType::f32_ftz, ElementType::f64, ElementType::bf16};
        e.type = moved ? static_cast<uint8_t>(types[value - 8]) : byte;
      }
      break;
    case MapField::interleave_layout:
      if (r.in_range("interleave_layout", 0, 2)) e.interleave = byte;
      if (!e.interleave) e.step[0] = 1;
      break;
    case MapField::swizzle_mode:
      if (r.in_range("swizzle_mode", 0, 3)) e.swizzle = byte;
      break;
    case MapField::fill_mode:
      if (r.in_range("fill_mode", 0, 1)) e.nan_fill = byte;
      break;
  }
  if (!why->empty()) return kTensorMapInvalidValue;
  e.edited = 1;
  e.checksum = checksum_of(e);
  std::memcpy(map, &e, sizeof e);
  return kTensorMapSuccess;
}

std::string broken_rule(const TensorMap& map) {
  return refusals(map.arguments());
}

bool decode_tensor_map(const std::byte* bytes, TensorMap* out) {
  Encoded e;
  std::memcpy(&e, bytes, sizeof e);
  if (!is_intact(e)) return false;
  out->type = static_cast<ElementType>(e.type);
  out->rank = e.rank;
  out->address = e.address;
  for (unsigned i = 0; i < 5; ++i) {
    const bool used = i < e.rank;
    out->size[i] = used ? uint64_t{e.size_minus_1[i]} + 1 : 1;
    out->box[i] = used ? e.box_minus_1[i] + 1u : 1;
    out->step[i] = used ? e.step[i] : 1;
    out->stride[i] = i && used ? e.stride[i - 1] : 0;
  }
  out->interleave = e.interleave;
  out->stride[0] = out->unit_bytes();
  out->im2col = e.im2col;
  std::copy_n(e.lower, 3, out->lower);
  std::copy_n(e.upper, 3, out->upper);
  out->pixels = e.pixels_minus_1 + 1u;
  out->swizzle = static_cast<Swizzle>(e.swizzle);
  out->l2_promotion = e.l2_promotion;
  out->nan_fill = e.nan_fill;
  out->edited = e.edited;
  out->allocation = e.allocation;
  return true;
}

}  // namespace emu
