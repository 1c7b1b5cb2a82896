#include "emulator/isa/access.hpp"

namespace emu {

namespace {

const char* verb(AccessKind kind) {
  return kind == AccessKind::read ? "reads" : kind == AccessKind::write ? "writes" : "updates";
}

[[noreturn]] void out_of_bounds(const At& at, const Resolved& r, unsigned bytes, AccessKind kind) {
  Finding f(Id::out_of_bounds);
  f.title = "a thread " + std::string(verb(kind)) + " " + std::to_string(bytes) + " bytes of " +
            name_of(r.space) + " memory outside what is allocated";
  if (r.space == Space::shared) {
    f.state = "shared address " + hex(r.address) + "; this CTA has " +
              std::to_string(at.warp.cta.shared.size() - kSharedBase) + " bytes, from " + hex(kSharedBase) +
              " to " + hex(at.warp.cta.shared.size());
    f.hint = "check the index, and the size of dynamic shared memory in the launch";
  } else if (r.space == Space::local) {
    f.state = "local address " + hex(r.address) + "; this thread has " +
              std::to_string(at.warp.local_bytes()) + " bytes";
    f.hint = "check the index of the local array";
  } else if (r.space == Space::param) {
    f.state = "parameter offset " + std::to_string(r.address) + "; the kernel has " +
              std::to_string(at.warp.program.param_bytes) + " bytes of parameters";
  } else {
    f.state = "address " + hex(r.address) + " is " + at.warp.machine.memory.describe(r.address);
    f.hint = "check the index against the size of the allocation, and the guard for ragged edges";
    f.id = id_of_outside(at.warp.machine.memory, r.address);
    if (f.id == Id::use_after_free) {
      f.title = "a thread " + std::string(verb(kind)) + " " + std::to_string(bytes) +
                " bytes of memory that has been freed";
      f.hint = kKeepAllocated;
    }
  }
  at.fault(f);
}

[[noreturn]] void misaligned(const At& at, const Resolved& r, unsigned bytes, AccessKind kind) {
  Finding f(Id::misaligned_address);
  f.title = "a thread " + std::string(verb(kind)) + " " + std::to_string(bytes) + " bytes of " +
            name_of(r.space) + " memory at an address that is no multiple of " + std::to_string(bytes);
  f.state = "address " + hex(r.address) + " is " + std::to_string(r.address % bytes) + " mod " +
            std::to_string(bytes);
  f.hint = "align the pointer or use a narrower access";
  if (bytes >= 8 && r.address % 2 == 0)
    f.hint += "; mind the units: " + std::to_string(bytes) + " bytes are " + std::to_string(bytes / 2) +
              " elements of 2 bytes, so an index in pieces of " + std::to_string(bytes) + " bytes is " +
              std::to_string(bytes / 2) + " times as large in elements";
  at.fault(f);
}

// The addresses of the lanes, and whether all of them are multiples of `bytes` from `begin` on, with `bytes` bytes in front of
// `end`. Without comparisons, which 64-bit lanes have no instruction for on every processor: what lies outside gives a
// negative difference.
template <class T>
bool all_inside(const T* base, T offset, uint64_t begin, uint64_t end, unsigned bytes, uint64_t* address) {
  if (end - begin < bytes) return false;
  const T first = static_cast<T>(begin), last = static_cast<T>(end - begin - bytes);
  T outside = 0, low = 0;
  for (int l = 0; l < 32; ++l) {
    const T at = base[l] + offset, from_first = at - first;
    address[l] = at;
    outside |= from_first | (last - from_first);
    low |= at;
  }
  return !(outside >> (8 * sizeof(T) - 1)) && low % bytes == 0;
}

}  // namespace

EMU_WIDE bool resolve_together(Warp& w, const Inst& in, uint32_t mask, unsigned bytes, AccessKind kind,
                               OnePiece& to) {
  if (mask == 0) return false;
  const bool narrow = in.flags & kAddress32;
  const int first = __builtin_ctz(mask);
  const uint64_t offset = static_cast<uint64_t>(in.imm);
  uint64_t begin = 0, end = 0;
  const std::byte* bytes_at_begin = nullptr;
  switch (in.space) {
    case Space::shared:
      to.space = Space::shared;
      begin = w.cta.shared_begin;
      end = w.cta.shared.size();
      bytes_at_begin = w.cta.shared.data() + begin;
      break;
    case Space::param:
      if (kind != AccessKind::read) return false;
      to.space = Space::param;
      end = w.cta.config.params.size();
      bytes_at_begin = reinterpret_cast<const std::byte*>(w.cta.config.params.data());
      break;
    case Space::global:
    case Space::constant:
    case Space::generic: {
      const uint64_t address = narrow ? 0 : w.lanes<uint64_t>(in.a)[first] + offset;
      const GlobalMemory::Piece* piece =
          narrow || address & kWindowMask ? nullptr : w.machine.memory.piece(address);
      if (!piece || (kind != AccessKind::read && piece->constant)) return false;
      to.space = Space::global;
      begin = piece->begin;
      end = begin + piece->bytes;
      bytes_at_begin = piece->host;
      break;
    }
    default:
      return false;
  }
  if (end > INT64_MAX || (narrow && end > INT32_MAX)) return false;
  to.origin = reinterpret_cast<uint64_t>(bytes_at_begin) - begin;
  const auto inside = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* base = w.lanes<T>(in.a).slots;
    T filled[32];
    if (mask != ~0u) {  // the other lanes go along with the first
      for (int l = 0; l < 32; ++l) filled[l] = base[mask >> l & 1 ? l : first];
      base = filled;
    }
    return all_inside(base, static_cast<T>(offset), begin, end, bytes, to.address);
  };
  if (!(narrow ? inside(Tag<uint32_t>()) : inside(Tag<uint64_t>()))) return false;
  if (to.space == Space::global && kind != AccessKind::read && Undo::mine)
    for_lanes(mask, [&](int l) { about_to_write(to.bytes(l), bytes); });
  return true;
}

Resolved resolve_any_access(const At& at, Space space, uint64_t address, unsigned bytes, AccessKind kind,
                            bool strong) {
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
        r.owner = at.warp.machine.shared_owner(at.warp.cta, r.address, &offset);
        r.address = offset;
        r.space = Space::shared;
        if (!r.owner) out_of_bounds(at, r, bytes, kind);
      } else {
        r.owner = &at.warp.cta;
      }
      r.bytes = r.owner->shared_at(r.address, bytes);
      break;
    }
    case Space::local:
      r.address &= 0xFFFFFFFFu;
      r.bytes = at.warp.local(at.lane, r.address, bytes);
      break;
    case Space::param:
      if (kind == AccessKind::read && r.address + bytes <= at.warp.cta.config.params.size())
        r.bytes =
            reinterpret_cast<std::byte*>(const_cast<uint8_t*>(at.warp.cta.config.params.data())) + r.address;
      break;
    default:
      r.bytes = at.warp.machine.memory.at(r.address, bytes);
      if (!r.bytes && strong && bytes == 4 && r.address % 4 == 0)
        r.bytes = at.warp.machine.memory.word_at(r.address);
      if (r.space == Space::constant) r.space = Space::global;
      if (r.bytes && kind != AccessKind::read && at.warp.machine.memory.last_is_constant())
        at.fault(Id::write_to_constant,
                 "a thread writes to __constant__ memory ('" +
                     at.warp.machine.memory.find(r.address, bytes)->name + "')",
                 "", "write it from the host with cudaMemcpyToSymbol, or make it a __device__ variable");
  }
  if (bytes > 1 && r.address % bytes) misaligned(at, r, bytes, kind);
  if (!r.bytes) out_of_bounds(at, r, bytes, kind);
  if (r.space == Space::global && kind != AccessKind::read) about_to_write(r.bytes, bytes);
  return r;
}

}  // namespace emu
