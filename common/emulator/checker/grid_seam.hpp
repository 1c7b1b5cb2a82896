// Two grids that overlap at the seam: the second was launched to start early, and the first has let it. What the first
// wrote is there for the second, and what it reads may be overwritten, only after griddepcontrol.wait (PTX ISA 9.7.13.14).
// What the last grid has written stays known until the next one starts: the host may ask who wrote what.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "emulator/checker/teller.hpp"

namespace emu::check {

class GridSeamRule {
 public:
  explicit GridSeamRule(Teller& tell) : tell_(tell) {}
  void begin(bool early);
  void cta_started(const Cta& cta, uint32_t cluster);
  void dependents_launched() { launched_ = true; }
  // At the end of a launch, before its records go.
  void keep(GlobalShadow& global, Records& records);
  bool idle() const { return !overlaps_ || in_front_.empty(); }  // check() finds nothing
  void check(const Accessor& who, uint64_t address, uint64_t bytes, bool write);
  // "CTA (0,0,0) warp 4, at file:line": who wrote that byte last, in the last grid; "" where nobody has.
  std::string writer(uint64_t address);

 private:
  Teller& tell_;
  bool launched_ = false;                // dependents, by this grid
  bool overlaps_ = false;                // the grid in front has let this one start early
  GlobalShadow in_front_;                // what the grid in front used
  Records records_;                      // for its tags
  std::map<int32_t, SourceLine> lines_;  // by Program source: the program may be gone
  std::map<std::pair<uint32_t, uint32_t>, std::string>
      ctas_;  // of this grid, or the last: by cluster and rank
};

}  // namespace emu::check
