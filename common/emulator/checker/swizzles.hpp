// The pattern that brought a tile against the pattern of whoever reads it.
#pragma once

#include "emulator/checker/accesses.hpp"

namespace emu {
struct MatrixDescriptor;
}

namespace emu::check {

class SwizzleRule {
 public:
  SwizzleRule(Past& past, AccessRule& accesses, Teller& tell)
      : past_(past), accesses_(accesses), tell_(tell) {}
  // A tensor copy is issued: notes in the operation where its box lies, and whether it starts where its pattern does.
  void copy_issued(const std::vector<MemoryRange>& box, Operation& op, const Accessor& who);
  void wgmma_issued(const AsyncOp& op, const Accessor& who);
  void warp_reads(const AccessEvent& e, const Accessor& who);

 private:
  Past& past_;
  AccessRule& accesses_;
  Teller& tell_;

  const Operation* tensor_copy_to(const Cta& cta, uint64_t address);
  void check_operand(const MatrixDescriptor& d, const char* name, const Accessor& who);
  void tell_reader(const Accessor& who, const Operation& copy, Swizzle pattern);
};

}  // namespace emu::check
