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
  void forget(const Cta& cta) { walks_.forget(cta); }

 private:
  Past& past_;
  AccessRule& accesses_;
  Teller& tell_;

  // Lanes of 1 or 2 bytes walk through two or four chunks at a time, and those may look alike under two patterns. So the
  // walks of a warp at one instruction are followed: by pattern, where the next one should go on, and how many did.
  struct Walks {
    int32_t source = -1;
    uint32_t tile = 0;
    std::array<uint32_t, 4> next{}, in_a_row{};
  };
  PerWarp<Walks> walks_;
  void follow(const AccessEvent& e, const Accessor& who, const Operation& copy);

  const Operation* tensor_copy_to(const Cta& cta, uint64_t address);
  void check_operand(const MatrixDescriptor& d, const char* name, const Accessor& who);
  void tell_reader(const Accessor& who, const Operation& copy, Swizzle pattern);
};

}  // namespace emu::check
