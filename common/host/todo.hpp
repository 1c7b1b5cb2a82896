// The host side of TODO_OPEN: where an open TODO leaves its message, and reading it after the kernel has
// ended.
#pragma once

#include <stdexcept>
#include <string>

namespace lab {

constexpr int kTodoBytes = 256;

// A TODO that the host reached; what() is its message.
struct TodoOpen : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Remembers the device variables of a translation unit with TODO_OPEN: the char* through which its kernels find the
// message buffer, and the int that selects one blank (null unless built with TODO_ONE_AT_A_TIME).
struct TodoRegistration {
  TodoRegistration(const void* message_variable, const void* only_variable);
};

// Gives the kernels their message buffer. Call once, before the first launch; does nothing in a program
// without TODO_OPEN. Throws std::runtime_error if the memory cannot be had.
void arm_todos();

// The message of the TODO that ended a kernel, or "" if none did. Valid even after the kernel has trapped.
std::string open_todo();

}  // namespace lab
