// Kernels timed in turns on a GPU, so that all of them meet the same clock and temperature; and the fastest rival found in
// the same turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lab {

// What the chip is like while a sample is taken. Large products draw more power than the chip may: under sustained load its
// clock falls within milliseconds, and which kernel is the fastest may change with it.
enum class Heat {
  sustained,  // no pause between samples, after most of a second of the same load
  cool,       // a pause before each sample, which is short
};

const char* name_of(Heat heat);

struct Reading {
  double ms = 0;                // of one launch
  double mhz = -1, watts = -1;  // clock of the SMs and power while the sample ran; negative: not known
};
// One member of each.
std::vector<double> column(const std::vector<Reading>& readings, double Reading::*member);

struct Racer {
  std::string name;
  std::function<void(int)> launch;  // starts launch number i; the buffers rotate with i
  std::vector<Reading> readings = {};
  double median_ms() const;
};

// Times `ours` and all `rivals` in turns for `choosing` rounds, drops the rivals that are clearly slower than the best of
// them, and times ours and those that are left in turns for `rounds` more; the readings are of these. Returns the index of
// the fastest rival in them. At least one rival. Throws std::runtime_error when a launch fails.
size_t race(Heat heat, Racer& ours, std::vector<Racer>& rivals, int rounds);

}  // namespace lab
