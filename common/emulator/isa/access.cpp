#include "emulator/isa/access.hpp"

namespace emu {

namespace {

const char* verb(AccessKind kind) {
  return kind == AccessKind::read ? "reads" : kind == AccessKind::write ? "writes" : "updates";
}

[[noreturn]] void out_of_bounds(Warp& w, const Inst& in, int lane, const Resolved& r, unsigned bytes,
                                AccessKind kind) {
  Finding f(Id::out_of_bounds);
  f.title = "a thread " + std::string(verb(kind)) + " " + std::to_string(bytes) + " bytes of " +
            name_of(r.space) + " memory outside what is allocated";
  if (r.space == Space::shared) {
    f.state = "shared address " + hex(r.address) + "; this CTA has " +
              std::to_string(w.cta.shared.size() - kSharedBase) + " bytes, from " + hex(kSharedBase) +
              " to " + hex(w.cta.shared.size());
    f.hint = "check the index, and the size of dynamic shared memory in the launch";
  } else if (r.space == Space::local) {
    f.state =
        "local address " + hex(r.address) + "; this thread has " + std::to_string(w.local_bytes()) + " bytes";
    f.hint = "check the index of the local array";
  } else if (r.space == Space::param) {
    f.state = "parameter offset " + std::to_string(r.address) + "; the kernel has " +
              std::to_string(w.program.param_bytes) + " bytes of parameters";
  } else {
    f.state = "address " + hex(r.address) + " is " + w.machine.memory.describe(r.address);
    f.hint = "check the index against the size of the allocation, and the guard for ragged edges";
  }
  w.fault(in, lane, f);
}

[[noreturn]] void misaligned(Warp& w, const Inst& in, int lane, const Resolved& r, unsigned bytes,
                             AccessKind kind) {
  Finding f(Id::misaligned_address);
  f.title = "a thread " + std::string(verb(kind)) + " " + std::to_string(bytes) + " bytes of " +
            name_of(r.space) + " memory at an address that is no multiple of " + std::to_string(bytes);
  f.state = "address " + hex(r.address) + " is " + std::to_string(r.address % bytes) + " mod " +
            std::to_string(bytes);
  f.hint = "align the pointer or use a narrower access";
  w.fault(in, lane, f);
}

}  // namespace

Resolved resolve_any_access(Warp& w, const Inst& in, int lane, Space space, uint64_t address, unsigned bytes,
                            AccessKind kind, bool strong) {
  Resolved r;
  r.space = space;
  r.address = address;
  if (space == Space::generic) {
    switch (address & kWindowMask) {
      case kSharedWindow:
        r.space = Space::shared_cluster;
        r.address = address & 0xFFFFFFFFu;
        break;
      case kLocalWindow:
        r.space = Space::local;
        r.address = address & 0xFFFFFFFFu;
        break;
      case kParamWindow:
        r.space = Space::param;
        r.address = address & 0xFFFFFFFFu;
        break;
      default:
        r.space = Space::global;
    }
  }
  switch (r.space) {
    case Space::shared:
    case Space::shared_cluster: {
      r.address &= 0xFFFFFFFFu;
      if (r.space == Space::shared_cluster || (r.address & kClusterAddressBit)) {
        uint32_t offset;
        r.owner = w.machine.shared_owner(w.cta, r.address, &offset);
        r.address = offset;
        r.space = Space::shared;
        if (!r.owner) out_of_bounds(w, in, lane, r, bytes, kind);
      } else {
        r.owner = &w.cta;
      }
      r.bytes = r.owner->shared_at(r.address, bytes);
      break;
    }
    case Space::local:
      r.address &= 0xFFFFFFFFu;
      r.bytes = w.local(lane, r.address, bytes);
      break;
    case Space::param:
      if (kind == AccessKind::read && r.address + bytes <= w.cta.config.params.size())
        r.bytes = reinterpret_cast<std::byte*>(const_cast<uint8_t*>(w.cta.config.params.data())) + r.address;
      break;
    default:
      r.bytes = w.machine.memory.at(r.address, bytes);
      if (!r.bytes && strong && bytes == 4 && r.address % 4 == 0)
        r.bytes = w.machine.memory.word_at(r.address);
      if (r.space == Space::constant) r.space = Space::global;
      if (r.bytes && kind != AccessKind::read && w.machine.memory.last_is_constant())
        w.fault(in, lane, Id::write_to_constant,
                "a thread writes to __constant__ memory ('" + w.machine.memory.find(r.address, bytes)->name +
                    "')",
                "", "write it from the host with cudaMemcpyToSymbol, or make it a __device__ variable");
  }
  if (bytes > 1 && r.address % bytes) misaligned(w, in, lane, r, bytes, kind);
  if (!r.bytes) out_of_bounds(w, in, lane, r, bytes, kind);
  return r;
}

}  // namespace emu
