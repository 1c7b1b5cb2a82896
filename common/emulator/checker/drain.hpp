// A thread or CTA must not end while an operation still uses its shared memory.
#pragma once

#include <array>
#include <vector>

#include "emulator/checker/copied_boxes.hpp"
#include "emulator/checker/teller.hpp"

namespace emu::check {

class DrainRule {
 public:
  DrainRule(const CopiedBoxes& boxes, Teller& tell) : boxes_(boxes), tell_(tell) {}
  void clear() { stores_.clear(); }
  // A lane issues an operation of the bulk group `group` (from 1); its groups up to `read` have read their sources.
  void issued(const Warp& w, int lane, uint32_t group, int32_t source);
  void waited(const Warp& w, uint32_t mask, const WarpOrder& order);
  void exits(Warp& w, uint32_t mask);
  // A CTA ends with a copy into it outstanding.
  void tell_left_behind(const Operation& op, const Cta& cta);
  void forget(const Cta& cta) { stores_.forget(cta); }

 private:
  // Bulk groups whose sources may still be read, and the line of the first operation of each.
  using Groups = std::vector<std::pair<uint32_t, int32_t>>;
  const CopiedBoxes& boxes_;
  Teller& tell_;
  PerWarp<std::array<Groups, 32>> stores_;
};

}  // namespace emu::check
