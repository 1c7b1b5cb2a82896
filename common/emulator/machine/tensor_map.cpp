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
  uint8_t box_minus_1[5];
  uint8_t step[5];
  uint8_t type, rank, interleave, swizzle, l2_promotion, nan_fill, edited;
  uint8_t unused[27];
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

// Collects the first broken rule.
struct Rules {
  std::string* why;
  int code = kTensorMapSuccess;
  void check(bool holds, const std::string& what, const std::string& rule, const std::string& fix,
             int result = kTensorMapInvalidValue) {
    if (holds || code != kTensorMapSuccess) return;
    code = result;
    if (why) *why = what + ": " + rule + "; " + fix;
  }
};

std::string named(const char* parameter, uint64_t value) {
  return std::string(parameter) + " = " + std::to_string(value);
}
std::string named(const char* parameter, unsigned i, uint64_t value) {
  return std::string(parameter) + "[" + std::to_string(i) + "] = " + std::to_string(value);
}

void check_address(Rules& rules, uint64_t address) {
  rules.check(address % 16 == 0, "globalAddress = " + hex(address), "must be a multiple of 16 bytes",
              "start the tensor on a 16-byte boundary");
}

}  // namespace

unsigned element_bytes(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return 1;
    case ElementType::u16:
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    case ElementType::u64:
    case ElementType::s64:
    case ElementType::f64:
      return 8;
    default:
      return 4;
  }
}

const char* name_of(ElementType type) {
  static const char* const kNames[] = {"UINT8",        "UINT16",       "UINT32",        "INT32",
                                       "UINT64",       "INT64",        "FLOAT16",       "FLOAT32",
                                       "FLOAT64",      "BFLOAT16",     "FLOAT32_FTZ",   "TFLOAT32",
                                       "TFLOAT32_FTZ", "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B"};
  return kNames[static_cast<unsigned>(type)];
}

bool is_float(ElementType type) {
  switch (type) {
    case ElementType::f16:
    case ElementType::f32:
    case ElementType::f64:
    case ElementType::bf16:
    case ElementType::f32_ftz:
    case ElementType::tf32:
    case ElementType::tf32_ftz:
      return true;
    default:
      return false;
  }
}

// With a swizzle, every row takes a whole span, however small the inner box is (recorded: inner_box).
uint32_t TensorMap::row_pitch() const {
  return swizzle == Swizzle::none ? row_bytes() : swizzle_span(swizzle);
}

int encode_tensor_map(void* map, int type, uint32_t rank, uint64_t address, const uint64_t* sizes,
                      const uint64_t* stride_bytes, const uint32_t* box, const uint32_t* element_strides,
                      int interleave, int swizzle, int l2_promotion, int oob_fill, std::string* why) {
  Rules rules{why};
  rules.check(map != nullptr, "tensorMap = NULL", "must point to a CUtensorMap", "pass the address of one");
  rules.check(type >= 0 && type <= 15, named("tensorDataType", static_cast<uint64_t>(type)),
              "is no CUtensorMapDataType", "use one of the enumeration's values");
  rules.check(type <= 12, named("tensorDataType", static_cast<uint64_t>(type)),
              "the packed 4- and 6-bit types need compute capability 10.0",
              "use an element type of whole bytes");
  rules.check(rank >= 1 && rank <= 5, named("tensorRank", rank), "must be 1 .. 5", "give 1 to 5 dimensions");
  rules.check(interleave >= 0 && interleave <= 2, named("interleave", static_cast<uint64_t>(interleave)),
              "is no CUtensorMapInterleave", "use CU_TENSOR_MAP_INTERLEAVE_NONE");
  rules.check(interleave == 0 || rank >= 3, named("tensorRank", rank), "must be 3 .. 5 with interleave",
              "use CU_TENSOR_MAP_INTERLEAVE_NONE");
  rules.check(swizzle >= 0 && swizzle <= 6, named("swizzle", static_cast<uint64_t>(swizzle)),
              "is no CUtensorMapSwizzle", "use one of the enumeration's values");
  rules.check(swizzle <= 3, named("swizzle", static_cast<uint64_t>(swizzle)),
              "the 128-byte patterns with 32- and 64-byte atoms need compute capability 10.0",
              "use CU_TENSOR_MAP_SWIZZLE_128B");
  rules.check(l2_promotion >= 0 && l2_promotion <= 3,
              named("l2Promotion", static_cast<uint64_t>(l2_promotion)), "is no CUtensorMapL2promotion",
              "use one of the enumeration's values");
  rules.check(oob_fill >= 0 && oob_fill <= 1, named("oobFill", static_cast<uint64_t>(oob_fill)),
              "is no CUtensorMapFloatOOBfill", "use one of the enumeration's values");
  rules.check(sizes != nullptr, "globalDim = NULL", "must point to tensorRank sizes", "pass the array");
  rules.check(rank == 1 || stride_bytes != nullptr, "globalStrides = NULL",
              "must point to tensorRank - 1 strides", "pass the array");
  rules.check(box != nullptr, "boxDim = NULL", "must point to tensorRank sizes", "pass the array");
  rules.check(element_strides != nullptr, "elementStrides = NULL", "must point to tensorRank strides",
              "pass an array of ones");
  if (rules.code) return rules.code;

  const auto element = static_cast<ElementType>(type);
  const uint64_t element_size = element_bytes(element);
  rules.check(oob_fill == 0 || is_float(element), named("oobFill", static_cast<uint64_t>(oob_fill)),
              std::string("NaN fill needs a floating-point type, not ") + name_of(element),
              "use CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE");
  check_address(rules, address);
  rules.check(interleave != 2 || address % 32 == 0, "globalAddress = " + hex(address),
              "must be a multiple of 32 bytes with INTERLEAVE_32B", "start the tensor on a 32-byte boundary");
  for (unsigned i = 0; i < rank; ++i) {
    rules.check(sizes[i] >= 1 && sizes[i] <= 1ull << 32, named("globalDim", i, sizes[i]), "must be 1 .. 2^32",
                "give the size in elements");
    rules.check(box[i] >= 1 && box[i] <= 256, named("boxDim", i, box[i]), "must be 1 .. 256",
                "use a smaller box and more copies");
    rules.check(element_strides[i] >= 1 && element_strides[i] <= 8,
                named("elementStrides", i, element_strides[i]), "must be 1 .. 8",
                "use 1 unless elements are to be skipped");
  }
  for (unsigned i = 0; i + 1 < rank; ++i) {
    const uint64_t unit = interleave == 2 ? 32 : 16;
    rules.check(stride_bytes[i] % unit == 0, named("globalStrides", i, stride_bytes[i]) + " bytes",
                "must be a multiple of " + std::to_string(unit), "pad the rows of the tensor");
    rules.check(stride_bytes[i] < 1ull << 40, named("globalStrides", i, stride_bytes[i]) + " bytes",
                "must be below 2^40", "give the stride in bytes");
  }
  const uint64_t inner = box[0] * element_size;
  rules.check(
      interleave != 0 || inner % 16 == 0,
      "boxDim[0] = " + std::to_string(box[0]) + " elements of " + std::to_string(element_size) + " bytes",
      "the inner box must be a multiple of 16 bytes",
      "make boxDim[0] a multiple of " + std::to_string(16 / element_size));
  if (swizzle >= 1 && swizzle <= 3) {
    const uint64_t span = swizzle_span(static_cast<Swizzle>(swizzle));
    rules.check(interleave != 0 || inner <= span,
                "boxDim[0] = " + std::to_string(box[0]) + " elements, " + std::to_string(inner) + " bytes",
                "the inner box must fit the " + std::to_string(span) + "-byte swizzle",
                "make boxDim[0] at most " + std::to_string(span / element_size));
  }
  uint64_t tile_bytes = inner;
  for (unsigned i = 1; i < rank; ++i)
    tile_bytes *= (uint64_t{box[i]} + element_strides[i] - 1) / std::max(1u, element_strides[i]);
  rules.check(tile_bytes <= kMaxBoxBytes, "a box of " + std::to_string(tile_bytes) + " bytes",
              "must fit in the " + std::to_string(kMaxBoxBytes) + " bytes of shared memory of an SM",
              "use a smaller box and more copies");
  if (rules.code) return rules.code;

  Encoded e;
  std::memset(&e, 0, sizeof e);
  e.magic = kMagic;
  e.clearable = kClearable;
  e.address = address;
  for (unsigned i = 0; i < rank; ++i) {
    e.size_minus_1[i] = static_cast<uint32_t>(sizes[i] - 1);
    e.box_minus_1[i] = static_cast<uint8_t>(box[i] - 1);
    e.step[i] = static_cast<uint8_t>(i == 0 ? 1 : element_strides[i]);
    if (i + 1 < rank) e.stride[i] = stride_bytes[i];
  }
  e.type = static_cast<uint8_t>(type);
  e.rank = static_cast<uint8_t>(rank);
  e.interleave = static_cast<uint8_t>(interleave);
  e.swizzle = static_cast<uint8_t>(swizzle);
  e.l2_promotion = static_cast<uint8_t>(l2_promotion);
  e.nan_fill = static_cast<uint8_t>(oob_fill);
  e.checksum = checksum_of(e);
  std::memcpy(map, &e, sizeof e);
  return kTensorMapSuccess;
}

int replace_tensor_map_address(void* map, uint64_t address, std::string* why) {
  Rules rules{why};
  TensorMap old;
  rules.check(map && decode_tensor_map(static_cast<const std::byte*>(map), &old), "tensorMap",
              "holds no encoded tensor map", "encode it with cuTensorMapEncodeTiled first");
  check_address(rules, address);
  if (rules.code) return rules.code;
  Encoded e;
  std::memcpy(&e, map, sizeof e);
  e.address = address;
  e.checksum = checksum_of(e);
  std::memcpy(map, &e, sizeof e);
  return kTensorMapSuccess;
}

int replace_tensor_map_field(void* map, MapField field, unsigned dimension, uint64_t value,
                             std::string* why) {
  Rules rules{why};
  Encoded e;
  std::memcpy(&e, map, sizeof e);
  rules.check(is_intact(e), "the 128 bytes", "are no tensor map", "copy an encoded map there first");
  const auto in_range = [&](const char* name, uint64_t low, uint64_t high) {
    rules.check(value >= low && value <= high, named(name, value),
                "must be " + std::to_string(low) + " .. " + std::to_string(high), "see PTX ISA 9.7.9.28");
  };
  const auto dimensions = [&](unsigned end) {
    rules.check(dimension < end, named("ord", dimension), "must be below " + std::to_string(end),
                "dimensions count from 0, the innermost");
  };
  const auto byte = static_cast<uint8_t>(value);
  switch (field) {
    case MapField::global_address:
      check_address(rules, value);
      e.address = value;
      break;
    case MapField::rank:
      in_range("rank", 0, 4);
      e.rank = static_cast<uint8_t>(byte + 1);
      break;
    case MapField::box_dim:
      dimensions(5);
      in_range("box_dim", 1, 256);
      if (!rules.code) e.box_minus_1[dimension] = static_cast<uint8_t>(byte - 1);
      break;
    case MapField::global_dim:
      dimensions(5);
      in_range("global_dim", 1, 0xFFFFFFFF);
      if (!rules.code) e.size_minus_1[dimension] = static_cast<uint32_t>(value - 1);
      break;
    case MapField::global_stride:
      dimensions(4);
      rules.check(value % 16 == 0, named("global_stride", value), "must be a multiple of 16 bytes",
                  "pad the rows of the tensor");
      in_range("global_stride", 0, (1ull << 40) - 1);
      if (!rules.code) e.stride[dimension] = value;
      break;
    case MapField::element_stride:
      dimensions(5);
      in_range("element_stride", 1, 8);
      if (!rules.code) e.step[dimension] = dimension == 0 ? 1 : byte;
      break;
    case MapField::elemtype: {
      in_range("elemtype", 0, 12);
      // Only these three differ from CUtensorMapDataType.
      const bool moved = value >= 8 && value <= 10;
      const ElementType types[] = {ElementType::f32_ftz, ElementType::f64, ElementType::bf16};
      e.type = moved ? static_cast<uint8_t>(types[value - 8]) : byte;
      break;
    }
    case MapField::interleave_layout:
      in_range("interleave_layout", 0, 2);
      e.interleave = byte;
      break;
    case MapField::swizzle_mode:
      in_range("swizzle_mode", 0, 3);
      e.swizzle = byte;
      break;
    case MapField::fill_mode:
      in_range("fill_mode", 0, 1);
      e.nan_fill = byte;
      break;
  }
  if (rules.code) return rules.code;
  e.edited = 1;
  e.checksum = checksum_of(e);
  std::memcpy(map, &e, sizeof e);
  return kTensorMapSuccess;
}

std::string broken_rule(const TensorMap& map) {
  std::byte unused[kTensorMapBytes];
  std::string why;
  encode_tensor_map(unused, static_cast<int>(map.type), map.rank, map.address, map.size, map.stride + 1,
                    map.box, map.step, map.interleave, static_cast<int>(map.swizzle), map.l2_promotion,
                    map.nan_fill, &why);
  return why;
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
    out->stride[i] = i == 0 ? element_bytes(out->type) : used ? e.stride[i - 1] : 0;
  }
  out->interleave = e.interleave;
  out->swizzle = static_cast<Swizzle>(e.swizzle);
  out->l2_promotion = e.l2_promotion;
  out->nan_fill = e.nan_fill;
  out->edited = e.edited;
  return true;
}

}  // namespace emu
