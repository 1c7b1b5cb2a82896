// What bulk and tensor copies share: destinations in the shared memory of one or several CTAs, each with its
// mbarrier, and the checks of their operands.
#pragma once

#include <cstddef>
#include <vector>

#include "emulator/isa/shared_place.hpp"
#include "emulator/machine/async.hpp"
#include "emulator/machine/mbarrier.hpp"

namespace emu {

struct CopyTarget {
  Cta* cta = nullptr;
  uint32_t address = 0;  // in its window
  std::byte* bytes = nullptr;
  Mbarrier* bar = nullptr;
};

// The places that a load writes and the barriers it completes on (PTX ISA 9.7.9.25.4.1). cta_mask: of a multicast,
// bit i = the CTA of rank i, same offsets in each; null without. `covered` bytes must lie in shared memory.
// Faults: "out-of-bounds", "barrier-not-initialised", "barrier-elsewhere", "multicast-mask".
void find_targets(const At& at, SharedPlace data, uint32_t covered, SharedPlace bar, const uint32_t* cta_mask,
                  std::vector<CopyTarget>& out);
// Tells each target's barrier that `bytes` have landed.
void complete_targets(const AsyncOp& op, const std::vector<CopyTarget>& targets, uint32_t bytes);
bool targets_touch(const std::vector<CopyTarget>& targets, const Cta& cta);

// Bytes of shared memory; faults ("out-of-bounds").
std::byte* shared_bytes(const At& at, SharedPlace place, uint32_t bytes, const char* verb);
// Bytes of global memory; faults ("out-of-bounds", "write-to-constant").
std::byte* global_bytes(const At& at, uint64_t address, uint64_t bytes, bool writes);
void check_multiple(const At& at, const char* what, uint64_t value, uint32_t unit, Id id, const char* rule);

}  // namespace emu
