// The host side of TODO_OPEN: where an open TODO leaves its message, and reading it after the kernel has
// ended.
#pragma once

#include <exception>

namespace lab {

constexpr int kTodoBytes = 256;

// A TODO that the host reached; what() is its message.
class TodoOpen : public std::exception {
 public:
  explicit TodoOpen(const char* message) : message_(message) {}  // a literal
  const char* what() const noexcept override { return message_; }

 private:
  const char* message_;
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
const char* open_todo();

}  // namespace lab
