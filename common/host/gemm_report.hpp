// What one run of a lesson program has found out, and the two forms in which it is given: text for people, which comes part by
// part as the run goes on, and one JSON object at its end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "host/classify.hpp"
#include "host/compare.hpp"
#include "host/gemm_program.hpp"
#include "host/inputs.hpp"
#include "host/race.hpp"
#include "host/timing.hpp"

namespace lab {

struct GemmKernel {
  int registers = 0;  // per thread; 0: not known
  int ctas_per_sm = 0;
  uint64_t smem_bytes = 0;
  uint64_t local_bytes = 0;  // of local memory per thread: what spilled, mostly
};

// The result against the reference; `known`: it has been compared before, by its hash.
struct GemmAnswer {
  std::string hash;
  bool known = false;
  uint64_t elements = 0;
  Comparison comparison;
  Diagnosis diagnosis;
  std::string map;  // tile_map
  bool right() const { return known || comparison.mismatches == 0; }
};

struct GemmTimes {
  const char* clock;
  bool emulated;
  std::vector<double> ms;
};

// The fastest of cuBLASLt's algorithms, timed in turns with the kernel.
struct GemmYardstick {
  Heat heat = Heat::sustained;
  int algorithms = 0;     // that took part
  std::string algorithm;  // the fastest of them
  std::vector<Reading> ours, theirs;
  std::vector<double> ratios() const;  // theirs to ours, by rounds
};

struct GemmReport {
  std::string lesson, title, variant, device;
  int m = 0, n = 0, k = 0;
  Data data = Data::kBell;
  uint64_t seed = 0;
  Tile tile = {};
  int stages = 0;
  std::optional<GemmKernel> kernel;
  std::optional<GemmAnswer> answer;
  std::optional<GemmTimes> times;
  std::optional<GemmYardstick> cublas;
  std::string verdict;         // "right", "wrong", "todo", "error"
  std::string classification;  // the diagnosis' id, the TODO's sentence, the error

  void print_header(FILE* out) const;
  void print_kernel(FILE* out) const;
  void print_answer(FILE* out) const;
  void print_times(FILE* out) const;
  void print_verdict(FILE* out) const;  // what the parts before it have not said
  std::string json() const;

 private:
  double tflops(double ms) const { return 2.0 * m * n * k / (ms * 1e-3) / 1e12; }
};

}  // namespace lab
