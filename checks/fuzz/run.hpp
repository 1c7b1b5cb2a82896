// Runs one kernel on the emulator in this process, with the checker watching, and compares what it stored.
#pragma once

#include <string>
#include <vector>

#include "emulator/findings/report.hpp"
#include "mutate.hpp"
#include "pipeline.hpp"

namespace fuzz {

struct Outcome {
  std::vector<emu::Finding> findings;  // errors and advice
  std::string named;                   // the id of the first error, "" when there is none
  bool numbers = true;                 // all output bytes as expected
  bool right() const { return named.empty() && numbers; }
};

Outcome run(const Pipeline& p, const Mutation& m, const std::string& schedule);

}  // namespace fuzz
