// bf16 as its 16 bits, the upper half of a float: what the host makes of them.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel/bf16.hpp"

namespace lab {

inline float bf16_to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds to nearest, ties to even; NaN becomes the canonical NaN 0x7FFF, as cvt.rn.bf16.f32 does.
inline uint16_t bf16_from_float(float value) {
  if (value != value) return 0x7FFF;
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace lab
