// Who knows time: under the schedule `timed` it decides who goes next, and when an operation takes its steps.
#pragma once

#include <cstdint>

namespace emu {

struct LaunchConfig;
struct Program;

class Timekeeper {
 public:
  virtual ~Timekeeper() = default;
  // Cycles since the launch began, of what happens now.
  virtual uint64_t now() const = 0;
  // Clusters that are resident at a time; at least 1.
  virtual uint64_t resident_clusters(const Program& program, const LaunchConfig& config) = 0;
  // Lets warps and engines act, in the order of their times, until a cluster has ended or nobody can act. True when somebody
  // did.
  virtual bool pass() = 0;
  // The next step of an operation in flight; false when there is none.
  virtual bool step() = 0;
  // Whether the clusters that are resident at first are all of the grid that is run.
  virtual bool only_first() const { return false; }
};

}  // namespace emu
