// The operations of cp.reduce.async.bulk and cp.reduce.async.bulk.tensor (PTX ISA 9.7.9.25.4.2, 9.7.9.27.1.3).
#pragma once

#include <cstddef>
#include <string_view>

#include "emulator/ptx/types.hpp"

namespace emu {

// memory[i] = memory[i] op values[i] for `count` elements. Addresses need no alignment.
using Reduction = void (*)(std::byte* memory, const std::byte* values, size_t count);

// op: add add.ftz min max inc dec and or xor. Null when the operation does not exist for the type.
// Sums round to nearest even and keep subnormals, also those of f32, whatever the manual says (recorded: bulk_reduce).
// add.ftz, of f32 alone, makes subnormal operands and sums zeros of their sign: what a tensor map of FLOAT32_FTZ does
// (recorded: refusals).
Reduction reduction(std::string_view op, Type type);

}  // namespace emu
