// Reads of shared bytes that nobody had written. A copy that arrives on them later shows that the reader did not wait, so
// they are told only when their CTA ends.
#pragma once

#include <map>

#include "emulator/checker/teller.hpp"
#include "emulator/findings/launch_findings.hpp"

namespace emu::check {

class Unwritten {
 public:
  explicit Unwritten(Teller& tell) : tell_(tell) {}
  void clear() { reads_.clear(); }
  // The finding, where it is the first read of its kind: others may add to it.
  Finding* read(const Accessor& who, uint64_t address);
  bool met(uint32_t cluster, int32_t source) const { return reads_.count({cluster, source}) != 0; }
  // The read has another cause.
  void explained(uint32_t cluster, int32_t source) { reads_.erase({cluster, source}); }
  void tell(uint32_t cluster);

 private:
  struct Read {
    Finding finding;
    Sightings seen;
  };
  Teller& tell_;
  std::map<std::pair<uint32_t, int32_t>, Read> reads_;  // by cluster and source
};

}  // namespace emu::check
