// SIMD instructions on bytes and half words of 32-bit registers.
#pragma once

#include <vector>

#include "emulator/program/forms.hpp"

namespace emu {

// vadd2 ... vmax4, vshl, vshr.
std::vector<Form> simd_forms();

}  // namespace emu
