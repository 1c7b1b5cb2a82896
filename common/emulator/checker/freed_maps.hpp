// Copies with a tensor map that was encoded for memory which has been freed since, and given out again: the map keeps the
// address alone. Where nothing is there now, the copy itself ends the launch (isa/bulk_copy.cpp).
#pragma once

#include "emulator/checker/teller.hpp"

namespace emu::check {

class FreedMapRule {
 public:
  explicit FreedMapRule(Teller& tell) : tell_(tell) {}
  void begin() { good_ = 0; }
  void copy_issued(const AsyncOp& op, const Accessor& who);  // with op.map

 private:
  Teller& tell_;
  uint32_t good_ = 0;  // the serial number of the allocation of the latest map that was right

  std::string other_name(const Cta& cta, const Allocation& now) const;
};

}  // namespace emu::check
