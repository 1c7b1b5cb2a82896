// The command line of the lesson programs.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/inputs.hpp"

namespace lab {

// A command line that cannot be obeyed; what() is a sentence that names the argument and the fix.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  int m = 0, n = 0, k = 0;  // 0: the device's default
  uint64_t seed = 1;
  int sms = 0;       // multiprocessors to use; 0: all
  int repeat = 0;    // timing samples; 0: the device's default
  std::string json;  // where to write the JSON object; "-": stdout; empty: nowhere
  Data data = Data::kBell;
  bool cublas = false;
  bool cool = false;  // time on a cool chip, with a pause before each sample, and not under sustained load
  std::string known;  // hash of a result that an earlier run compared with the reference; empty: none
  bool help = false;
  std::string impostor;  // "", "none", "zeros", "nan": what to run in the kernel's place, for the checks
  std::string variant;   // "" or one of the extra options
};

struct ExtraOption {
  // With its dashes; "--stages 2": an option with a value, one of those listed under its name.
  std::string name;
  std::string help;
};

// Throws UsageError.
Options parse_options(const std::vector<std::string>& arguments, const std::vector<ExtraOption>& extra);

// Checks m, n and k against what the kernels can do: n and k multiples of 8 (16-byte rows), each matrix below 2^31
// elements. Throws UsageError.
void check_sizes(int m, int n, int k);

std::string usage(const std::string& program, const std::string& title,
                  const std::vector<ExtraOption>& extra);

}  // namespace lab
