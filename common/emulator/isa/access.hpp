// From an address to bytes: state spaces, generic windows, bounds and alignment (PTX ISA 5.1, 9.7.9.19).
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/isa/operands.hpp"
#include "emulator/machine/machine.hpp"

namespace emu {

struct Resolved {
  std::byte* bytes = nullptr;
  Space space = Space::global;  // global, shared, local, param or constant: never generic
  Cta* owner = nullptr;         // of shared memory
  uint64_t address = 0;         // device address, or address in the owner's window
};

// out-of-bounds, or use-after-free where an allocation has been.
inline Id id_of_outside(const GlobalMemory& memory, uint64_t address) {
  return memory.freed_at(address) ? Id::use_after_free : Id::out_of_bounds;
}
constexpr const char* kKeepAllocated =
    "free the memory when the last launch that uses it is done; a tensor map keeps an address and no memory alive";

// resolve_access without its short way.
Resolved resolve_any_access(const At& at, Space space, uint64_t address, unsigned bytes, AccessKind kind,
                            bool strong);

// Faults ("out-of-bounds", "misaligned-address", "write-to-constant") when [address, address + bytes) is not all
// there. `space` may be generic. bytes is also the required alignment. A strong access may reach over the end of an
// allocation to the end of its last word, as atomics of single bytes do. The common spaces take a short way.
inline Resolved resolve_access(const At& at, Space space, uint64_t address, unsigned bytes, AccessKind kind,
                               bool strong = false) {
  if (address % bytes == 0) {
    if (space == Space::shared && address < kClusterAddressBit) {
      if (std::byte* place = at.warp.cta.shared_at(address, bytes))
        return {place, Space::shared, &at.warp.cta, address};
    } else if (space == Space::global || (space == Space::generic && !(address & kWindowMask))) {
      std::byte* place = at.warp.machine.memory.at(address, bytes);
      if (place && kind == AccessKind::read) return {place, Space::global, nullptr, address};
      if (place && !at.warp.machine.memory.last_is_constant()) {
        about_to_write(place, bytes);
        return {place, Space::global, nullptr, address};
      }
    }
  }
  return resolve_any_access(at, space, address, bytes, kind, strong || kind == AccessKind::atomic);
}

inline std::byte* resolve(const At& at, Space space, uint64_t address, unsigned bytes, AccessKind kind) {
  return resolve_access(at, space, address, bytes, kind).bytes;
}

// The address of a lane: base register + offset, as Decoder::address() left it in inst.a and inst.imm.
inline uint64_t lane_address(const At& at) {
  uint64_t base = at.inst.flags & kAddress32 ? at.warp.lanes<uint32_t>(at.inst.a)[at.lane]
                                             : at.warp.lanes<uint64_t>(at.inst.a)[at.lane];
  return base + static_cast<uint64_t>(at.inst.imm);
}

// Where the lanes of one warp access lead.
struct Places {
  std::byte* bytes[32];
  uint64_t address[32];
  Cta* owner[32];
  Space space[32] = {};

  void set(int lane, const Resolved& r) {
    bytes[lane] = r.bytes;
    address[lane] = r.address;
    owner[lane] = r.owner;
    space[lane] = r.space;
  }
};

// Where the lanes of one access lead when it is one piece of memory: the shared memory of their CTA, an allocation, or the
// parameters of the kernel.
struct OnePiece {
  uint64_t origin = 0;  // of the bytes: those of a lane are at origin + address
  uint64_t address[32];
  Space space = Space::global;  // global, shared or param
  std::byte* bytes(int lane) const { return reinterpret_cast<std::byte*>(origin + address[lane]); }
};

// What resolve_access() does for all lanes of the mask at once, in the usual case. False when it is not that: nothing is
// known then, and the lanes are to be looked at one by one.
bool resolve_together(Warp& w, const Inst& in, uint32_t mask, unsigned bytes, AccessKind kind, OnePiece& to);

inline void observe_access(Warp& w, const Inst& in, uint32_t mask, const OnePiece& at, unsigned bytes,
                           AccessKind kind, bool acquire, bool release, bool strong) {
  if (at.space == Space::param) return;
  const AccessEvent e{kind, at.space, mask, at.address, w.cta.itself.data(), bytes, acquire, release, strong};
  w.machine.observers.tell(&Observer::on_access, w, in, e);
}

// Tells observers of the access of these lanes, space by space.
inline void observe_access(Warp& w, const Inst& in, uint32_t mask, const Places& at, unsigned bytes,
                           AccessKind kind, bool acquire, bool release, bool strong = false) {
  strong = strong || kind == AccessKind::atomic;
  for (Space space : {Space::global, Space::shared}) {
    const uint32_t lanes = lanes_where(mask, [&](int l) { return at.space[l] == space; });
    const AccessEvent e{kind, space, lanes, at.address, at.owner, bytes, acquire, release, strong};
    if (lanes) w.machine.observers.tell(&Observer::on_access, w, in, e);
  }
}

}  // namespace emu
