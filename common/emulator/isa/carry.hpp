// Extended-precision integer arithmetic.
#pragma once

#include <vector>

#include "emulator/program/forms.hpp"

namespace emu {

// add.cc, addc, sub.cc, subc, mad.cc, madc.
std::vector<Form> carry_forms();

}  // namespace emu
