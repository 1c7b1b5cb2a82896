// The device the program runs on.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace lab {

struct Device {
  std::string name;
  bool emulator;
  size_t l2_bytes;
  int multiprocessors;
};

// There is no device that can run the kernels; what() says why and what to do.
struct NoDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The current device. Throws NoDevice unless it has compute capability 9.0.
Device current_device();

// From now on current_device() reports this many multiprocessors; 0: those that there are.
void limit_multiprocessors(int count);

}  // namespace lab
