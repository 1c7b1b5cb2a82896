// Two grids that overlap at the seam: the second was launched to start early, and the first has let it. What the first
// wrote is there for the second, and what it reads may be overwritten, only after griddepcontrol.wait (PTX ISA 9.7.13.14).
#pragma once

#include <map>

#include "emulator/checker/teller.hpp"

namespace emu::check {

class GridSeamRule {
 public:
  explicit GridSeamRule(Teller& tell) : tell_(tell) {}
  void begin(bool early);
  void dependents_launched() { launched_ = true; }
  // At the end of a launch, before its records go.
  void keep(GlobalShadow& global, Records& records);
  bool idle() const { return in_front_.empty(); }  // check() finds nothing
  void check(const Accessor& who, uint64_t address, uint64_t bytes, bool write);

 private:
  Teller& tell_;
  bool launched_ = false;                // dependents, by this grid
  GlobalShadow in_front_;                // what the grid in front used, if it let this one start early
  Records records_;                      // for its tags
  std::map<int32_t, SourceLine> lines_;  // by Program source: the program may be gone
};

}  // namespace emu::check
