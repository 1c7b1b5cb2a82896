// Where an address operand of the asynchronous instructions points: which CTA's shared memory, which offset.
#pragma once

#include <cstdint>

#include "emulator/findings/report.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/program/program.hpp"

namespace emu {

struct SharedPlace {
  Cta* cta = nullptr;
  uint32_t address = 0;  // in its window
};

// space: shared (own window), shared_cluster, or generic. Faults ("out-of-bounds") when the address is in no CTA's
// shared window; the range is for the caller to check.
inline SharedPlace shared_place(const At& at, Space space, uint64_t address, const char* what) {
  const bool generic = space == Space::generic;
  if (!generic || (address & kWindowMask) == kSharedWindow) {
    const uint32_t low = static_cast<uint32_t>(address);
    if (space == Space::shared && !(low & kClusterAddressBit)) return {&at.warp.cta, low};
    SharedPlace p;
    p.cta = at.warp.machine.shared_owner(at.warp.cta, low, &p.address);
    if (p.cta) return p;
  }
  at.fault(
      Id::out_of_bounds, std::string("the ") + what + " operand " + hex(address) + " is not in shared memory",
      generic ? "it is a generic address outside the shared window" : "no CTA of the running cluster has it",
      "pass the address of a __shared__ variable (with .shared forms: its 32-bit shared address)");
}

// Address operands beyond the first, kept in Inst::extra: refs[i] is the base register, numbers[2i] the offset,
// numbers[2i + 1] the width and space.
inline void push_address(Extra& extra, const Decoder::Address& a) {
  extra.refs.push_back(a.base);
  extra.numbers.push_back(a.offset);
  extra.numbers.push_back((static_cast<int64_t>(a.space) << 1) | a.wide);
}

inline uint64_t address_operand(Warp& w, const Extra& extra, size_t i, int lane) {
  const Ref base = extra.refs[i];
  const uint64_t offset = static_cast<uint64_t>(extra.numbers[2 * i]);
  if (base == kNoRef) return offset;
  if (extra.numbers[2 * i + 1] & 1) return w.lanes<uint64_t>(base)[lane] + offset;
  return static_cast<uint32_t>(w.lanes<uint32_t>(base)[lane] + offset);
}

inline Space space_operand(const Extra& extra, size_t i) {
  return static_cast<Space>(extra.numbers[2 * i + 1] >> 1);
}

}  // namespace emu
