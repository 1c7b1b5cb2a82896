// Functions that nvcc leaves undefined in PTX and the device provides: vprintf, __assertfail, malloc, free.
#pragma once

#include "emulator/program/program.hpp"

namespace emu {

// The executor of a call to it; null when there is no such function, or it is declared with other parameters.
Exec external_function(const Function& declared);

}  // namespace emu
