// bar / barrier: what control flow needs to know of them.
#pragma once

#include "emulator/machine.hpp"

namespace emu {

// Completes barriers that only waited for lanes of this warp that have now exited (PTX ISA 9.7.12.7).
void barriers_after_exit(Cta& cta, Warp& warp);

}  // namespace emu
