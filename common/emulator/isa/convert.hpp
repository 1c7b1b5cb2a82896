// The two halves of the cvt family share this.
#pragma once

#include <vector>

#include "emulator/numerics/formats.hpp"
#include "emulator/program/forms.hpp"

namespace emu {

// cvt to and from packed formats, tf32 and cvt.pack.
std::vector<Form> packed_convert_forms();

// f32 to bf16, nearest even: the upper half of the bits, after adding half of its last place.
inline uint16_t bf16_nearest(float a) {
  auto bits = bit_cast<uint32_t>(a);
  if (a != a) return BF16::kNan;
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace emu
