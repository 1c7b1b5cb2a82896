// What is said when nobody can go on: who waits for what, and whose wait is the root of it.
#pragma once

#include "emulator/findings/report.hpp"

namespace emu {

class Machine;
struct Group;
struct Program;

// The lanes run, or sleep between two looks at the same memory.
bool polls(const Group& g);

// All warps of the resident CTAs are stuck ("deadlock"), or the one that leads is in a loop ("endless-loop").
Finding describe_deadlock(const Machine& machine, const Program& program);

}  // namespace emu
