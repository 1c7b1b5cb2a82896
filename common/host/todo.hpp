// The host side of TODO_OPEN: where an open TODO leaves its message, and reading it after the kernel has
// ended.
#pragma once

#include <string>

namespace lab {

constexpr int kTodoBytes = 256;

// Remembers the device variable (a char*) through which a translation unit's kernels find the message buffer.
struct TodoRegistration {
  explicit TodoRegistration(const void* device_pointer_variable);
};

// Gives the kernels their message buffer. Call once, before the first launch; does nothing in a program
// without
// TODO_OPEN. Throws std::runtime_error if the memory cannot be had.
void arm_todos();

// The message of the TODO that ended a kernel, or "" if none did. Valid even after the kernel has trapped.
std::string open_todo();

}  // namespace lab
