// Functions that nvcc leaves undefined in PTX and the device provides: vprintf, __assertfail, malloc, free.
#pragma once

#include <string>

#include "emulator/program/program.hpp"

namespace emu {

// The executor of a call to it; null when there is no such function. inst.extra->numbers[1...] are the frame offsets
// of its parameters, then of its result.
Exec external_function(const std::string& name);

}  // namespace emu
