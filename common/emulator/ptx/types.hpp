// The scalar types and state spaces of PTX (PTX ISA 5.1, 5.2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace emu {

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  tf32,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  f32,
  f64,
};

// Bytes of one value; 0 for pred and none.
constexpr unsigned size_of(Type t) {
  switch (t) {
    case Type::b8:
    case Type::u8:
    case Type::s8:
    case Type::e4m3:
    case Type::e5m2:
      return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16:
    case Type::e4m3x2:
    case Type::e5m2x2:
      return 2;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::tf32:
      return 4;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return 8;
    case Type::b128:
      return 16;
    case Type::none:
    case Type::pred:
      return 0;
  }
  return 0;
}

constexpr bool is_signed(Type t) {
  return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64;
}

constexpr bool is_integer(Type t) {
  return is_signed(t) || t == Type::u8 || t == Type::u16 || t == Type::u32 || t == Type::u64;
}

// "u32" -> Type::u32; Type::none when the text names no type.
Type type_from(std::string_view name);
const char* name_of(Type t);

enum class Space : uint8_t { generic, reg, global, shared, shared_cluster, local, constant, param };

const char* name_of(Space s);

// What an untouched register, shared, local or freshly allocated global byte holds: a NaN read as bf16, f16,
// f32 or f64, so that using it shows.
constexpr uint32_t kPoison32 = 0x7FFF7FFFu;
void fill_poison(void* bytes, size_t count);

}  // namespace emu
