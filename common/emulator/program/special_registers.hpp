// Special registers (PTX ISA chapter 10) as sources of any instruction: what the decoder asks isa/special_registers.cpp for.
#pragma once

#include <string>

#include "emulator/program/program.hpp"

namespace emu {

// The executor that reads a special register into inst.d (lanes of `width` bytes); null when the name is unknown.
Exec special_register_reader(const std::string& name, unsigned width);
// Address of a .local variable: the lane's local base + inst.imm.
Exec local_address_reader(unsigned width);
// Register inst.a of `bytes` (1, 2, 4 or 8) + inst.imm, wrapped to its size.
Exec sum_reader(unsigned bytes);

}  // namespace emu
