// Whether the CTAs of a kernel ask for an order among themselves, or could see the one in which they run. Decided from what
// the kernel may execute, once, when it is decoded.
#pragma once

#include <string>

#include "emulator/ptx/syntax.hpp"

namespace emu {

// Of one instruction; a call, of what it does itself. What goes on inside of a cluster is no concern: its CTAs stay together.
// An instruction that nobody has thought of asks for an order.
bool asks_for_order(const Instruction& in);
// Of a special register: it tells of time, or of the place where a CTA runs.
bool shows_order(const std::string& special_register);

}  // namespace emu
