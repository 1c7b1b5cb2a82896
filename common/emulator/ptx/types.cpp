#include "emulator/ptx/types.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace emu {

namespace {
constexpr std::pair<const char*, Type> kTypes[] = {
    {"pred", Type::pred},   {"b8", Type::b8},         {"b16", Type::b16},       {"b32", Type::b32},
    {"b64", Type::b64},     {"b128", Type::b128},     {"u8", Type::u8},         {"u16", Type::u16},
    {"u32", Type::u32},     {"u64", Type::u64},       {"s8", Type::s8},         {"s16", Type::s16},
    {"s32", Type::s32},     {"s64", Type::s64},       {"f16", Type::f16},       {"bf16", Type::bf16},
    {"f16x2", Type::f16x2}, {"bf16x2", Type::bf16x2}, {"tf32", Type::tf32},     {"e4m3", Type::e4m3},
    {"e5m2", Type::e5m2},   {"e4m3x2", Type::e4m3x2}, {"e5m2x2", Type::e5m2x2}, {"f32", Type::f32},
    {"f64", Type::f64},
};
}  // namespace

Type type_from(std::string_view name) {
  for (auto& [text, type] : kTypes)
    if (name == text) return type;
  return Type::none;
}

const char* name_of(Type t) {
  for (auto& [text, type] : kTypes)
    if (t == type) return text;
  return "none";
}

const char* name_of(Space s) {
  switch (s) {
    case Space::generic:
      return "generic";
    case Space::reg:
      return "reg";
    case Space::global:
      return "global";
    case Space::shared:
      return "shared::cta";
    case Space::shared_cluster:
      return "shared::cluster";
    case Space::local:
      return "local";
    case Space::constant:
      return "const";
    case Space::param:
      return "param";
  }
  return "?";
}

void fill_poison(void* bytes, size_t count) {
  auto* p = static_cast<unsigned char*>(bytes);
  const size_t whole = count / 4 * 4;
  for (size_t i = 0; i < whole && i < 4096; i += 4) std::memcpy(p + i, &kPoison32, 4);
  for (size_t i = 4096; i < whole; i += 4096) std::memcpy(p + i, p, std::min<size_t>(4096, whole - i));
  for (size_t i = whole; i < count; ++i) p[i] = 0x7F;
}

}  // namespace emu
