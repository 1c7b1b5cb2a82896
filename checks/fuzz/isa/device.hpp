// Programs on a device: a Hopper GPU or the emulator, whichever this is linked with.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "program.hpp"

namespace fuzz_isa {

// What one program left: kSlots x kThreads values, slot by slot.
using Results = std::vector<uint64_t>;

struct Task {
  uint64_t number = 0;
  std::vector<uint64_t> input;
};

// A program that failed or did not end: the device can't be used by this process any more.
struct Broken : std::runtime_error {
  Broken(uint64_t number, const std::string& what) : std::runtime_error(what), number(number) {}
  uint64_t number;
};

// Loads the programs as one module and runs them one by one; take(i, results) is called after each. optimise: 0 to 4, for the
// driver's assembler. Throws Broken, and std::runtime_error where it is no program's fault.
void run(const std::string& module, const std::vector<Task>& tasks, unsigned optimise,
         const std::function<void(size_t, const Results&)>& take);

}  // namespace fuzz_isa
