// What launches and occupancy questions share.
#pragma once

#include <cstddef>

#include "emulator/runtime/context.hpp"

namespace emu::runtime {

// Blocks of a loaded kernel that one multiprocessor holds, by threads and shared memory. Registers are not known:
// they are assigned by ptxas, and the emulator reads PTX.
int blocks_per_multiprocessor(const Kernel& kernel, int threads, size_t dynamic_shared);

}  // namespace emu::runtime
