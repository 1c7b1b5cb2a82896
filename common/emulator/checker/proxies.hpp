// Ordered is not enough for the async proxy: it sees what the generic proxy wrote only behind a proxy fence (PTX ISA
// 9.7.9.25.2, 9.7.13.4).
#pragma once

#include "emulator/checker/teller.hpp"

namespace emu::check {

class ProxyRule {
 public:
  ProxyRule(Past& past, Teller& tell) : past_(past), tell_(tell) {}
  // An engine reads what was written before, and is ordered after it.
  void check(const Accessor& who, Tag writer, uint64_t address, Space space);

 private:
  Past& past_;
  Teller& tell_;

  void tell(const Accessor& who, Tag writer, bool by_reader, uint64_t address, Space space);
  void explain_fences(Tag writer, Finding& f) const;
};

}  // namespace emu::check
