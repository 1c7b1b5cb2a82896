// ld, ldu, st (PTX ISA 9.7.9.8 to 9.7.9.12).
//   ld{.weak|.relaxed.scope|.acquire.scope|.volatile}{.space}{.cache hints}{.vec}.type d, [a];
//   st{...}{.space}{...}{.vec}.type [a], b;
#include "emulator/isa/access.hpp"

namespace emu {

namespace {

constexpr uint32_t kAcquire = 1, kRelease = 2, kStrong = 4;

// Writes the elements of each lane to the registers of a load.
template <class T, class D>
void give(Warp& w, const Inst& in, uint32_t mask, const T (*value)[8]) {
  const Ref* refs = in.count == 1 ? &in.d : in.extra->refs.data();
  for (unsigned i = 0; i < in.count; ++i) {
    if (refs[i] == kNoRef) continue;
    auto d = w.lanes<D>(refs[i]);
    for_lanes(mask, [&](int l) { d.set(l, static_cast<D>(value[l][i])); });
  }
}

// The same from one piece of memory; the registers are none of it.
template <class T, class D>
void give(Warp& w, const Inst& in, uint32_t mask, const OnePiece& from) {
  const Ref* refs = in.count == 1 ? &in.d : in.extra->refs.data();
  for (unsigned i = 0; i < in.count; ++i) {
    if (refs[i] == kNoRef) continue;
    auto d = w.lanes<D>(refs[i]);
    for_lanes(mask, [&](int l) {
      T value;
      std::memcpy(&value, from.bytes(l) + i * sizeof(T), sizeof(T));
      d.set(l, static_cast<D>(value));
    });
  }
}

// T: element in memory; D: lane of the destination register, zero- or sign-extended from T.
template <class T, class D>
EMU_WIDE Flow load(Warp& w, const Inst& in, uint32_t mask) {
  const unsigned bytes = sizeof(T) * in.count;
  OnePiece piece;
  if (resolve_together(w, in, mask, bytes, AccessKind::read, piece)) {
    observe_access(w, in, mask, piece, bytes, AccessKind::read, in.flags & kAcquire, false,
                   in.flags & kStrong);
    give<T, D>(w, in, mask, piece);
    return Flow::next;
  }
  Places at;
  // All addresses first: a destination may be the address register.
  for_lanes(mask, [&](int l) {
    at.set(l, resolve_access({w, in, l}, in.space, lane_address({w, in, l}), bytes, AccessKind::read,
                             in.flags & kStrong));
  });
  observe_access(w, in, mask, at, bytes, AccessKind::read, in.flags & kAcquire, false, in.flags & kStrong);
  T value[32][8];
  for_lanes(mask, [&](int l) { std::memcpy(value[l], at.bytes[l], bytes); });
  give<T, D>(w, in, mask, value);
  return Flow::next;
}

// Of a load that the compiler has made wider than the program asked for, only the marked bytes are read: in.extra->numbers
// are their runs, first byte and size.
template <class T, class D>
Flow load_used(Warp& w, const Inst& in, uint32_t mask) {
  T value[32][8] = {};
  const auto& runs = in.extra->numbers;
  for (size_t r = 0; r < runs.size(); r += 2) {
    const uint64_t first = static_cast<uint64_t>(runs[r]);
    const unsigned bytes = static_cast<unsigned>(runs[r + 1]);
    Places at;
    for_lanes(mask, [&](int l) {
      const uint64_t address = lane_address({w, in, l}), whole = sizeof(T) * in.count;
      if (address % whole) resolve_access({w, in, l}, in.space, address, whole, AccessKind::read);  // faults
      at.set(l, resolve_access({w, in, l}, in.space, address + first, 1, AccessKind::read));
      resolve_access({w, in, l}, in.space, address + first + bytes - 1, 1, AccessKind::read);
    });
    observe_access(w, in, mask, at, bytes, AccessKind::read, in.flags & kAcquire, false, in.flags & kStrong);
    for_lanes(mask, [&](int l) {
      std::memcpy(reinterpret_cast<std::byte*>(value[l]) + first, at.bytes[l], bytes);
    });
  }
  give<T, D>(w, in, mask, value);
  return Flow::next;
}

template <class T, class S>
EMU_WIDE Flow store(Warp& w, const Inst& in, uint32_t mask) {
  const unsigned count = in.count, bytes = sizeof(T) * count;
  const Ref* refs = count == 1 ? &in.b : in.extra->refs.data();
  OnePiece piece;
  if (resolve_together(w, in, mask, bytes, AccessKind::write, piece)) {
    observe_access(w, in, mask, piece, bytes, AccessKind::write, false, in.flags & kRelease,
                   in.flags & kStrong);
    for (unsigned i = 0; i < count; ++i) {  // in lane order: the last lane wins, in all elements
      const auto s = w.lanes<S>(refs[i]);
      for_lanes(mask, [&](int l) {
        const T value = static_cast<T>(s[l]);
        std::memcpy(piece.bytes(l) + i * sizeof(T), &value, sizeof(T));
      });
    }
    ++w.machine.effects;
    return Flow::next;
  }
  Places at;
  for_lanes(mask, [&](int l) {
    at.set(l, resolve_access({w, in, l}, in.space, lane_address({w, in, l}), bytes, AccessKind::write));
  });
  observe_access(w, in, mask, at, bytes, AccessKind::write, false, in.flags & kRelease, in.flags & kStrong);
  for_lanes(mask, [&](int l) {  // lane order: the last lane wins where lanes write the same place
    T value[8];
    for (unsigned i = 0; i < count; ++i) value[i] = static_cast<T>(w.lanes<S>(refs[i])[l]);
    std::memcpy(at.bytes[l], value, bytes);
  });
  if (in.space != Space::local) ++w.machine.effects;
  return Flow::next;
}

// ---- .b128 elements: registers of 16-byte lanes
struct B128 {
  uint64_t half[2];
};
Flow load128(Warp& w, const Inst& in, uint32_t mask) {
  Places at;
  for_lanes(mask, [&](int l) {
    at.set(l, resolve_access({w, in, l}, in.space, lane_address({w, in, l}), 16, AccessKind::read));
  });
  observe_access(w, in, mask, at, 16, AccessKind::read, in.flags & kAcquire, false, in.flags & kStrong);
  auto* d = reinterpret_cast<B128*>(w.place(in.d));
  for_lanes(mask, [&](int l) { std::memcpy(&d[l], at.bytes[l], 16); });
  return Flow::next;
}
Flow store128(Warp& w, const Inst& in, uint32_t mask) {
  Places at;
  for_lanes(mask, [&](int l) {
    at.set(l, resolve_access({w, in, l}, in.space, lane_address({w, in, l}), 16, AccessKind::write));
  });
  observe_access(w, in, mask, at, 16, AccessKind::write, false, in.flags & kRelease, in.flags & kStrong);
  auto* s = reinterpret_cast<B128*>(w.place(in.b));
  for_lanes(mask, [&](int l) { std::memcpy(at.bytes[l], &s[l], 16); });
  ++w.machine.effects;
  return Flow::next;
}

// ---- ld.param, st.param of a function's .param variables: [lane][stride] in the frame
template <class T, class D>
Flow load_frame(Warp& w, const Inst& in, uint32_t mask) {
  const Ref* refs = in.count == 1 ? &in.d : in.extra->refs.data();
  for (unsigned i = 0; i < in.count; ++i) {
    if (refs[i] == kNoRef) continue;
    auto d = w.lanes<D>(refs[i]);
    for_lanes(mask, [&](int l) {
      T v;
      std::memcpy(&v, w.frame() + in.imm + l * static_cast<int>(in.target) + i * sizeof(T), sizeof(T));
      d.set(l, static_cast<D>(v));
    });
  }
  return Flow::next;
}
template <class T, class S>
Flow store_frame(Warp& w, const Inst& in, uint32_t mask) {
  const Ref* refs = in.count == 1 ? &in.b : in.extra->refs.data();
  for (unsigned i = 0; i < in.count; ++i) {
    auto s = w.lanes<S>(refs[i]);
    for_lanes(mask, [&](int l) {
      T v = static_cast<T>(s[l]);
      std::memcpy(w.frame() + in.imm + l * static_cast<int>(in.target) + i * sizeof(T), &v, sizeof(T));
    });
  }
  return Flow::next;
}

struct Row {
  Exec load4, load8, load_used4, load_used8, store4, store8, load_frame4, load_frame8, store_frame4,
      store_frame8;
};
template <class T, class D4, class D8>
constexpr Row row() {
  return {load<T, D4>,  load<T, D8>,       load_used<T, D4>,  load_used<T, D8>,   store<T, D4>,
          store<T, D8>, load_frame<T, D4>, load_frame<T, D8>, store_frame<T, D4>, store_frame<T, D8>};
}
Row row_of(Type t) {
  switch (t) {
    case Type::s8:
      return row<int8_t, int32_t, int64_t>();
    case Type::s16:
      return row<int16_t, int32_t, int64_t>();
    case Type::s32:
      return row<int32_t, int32_t, int64_t>();
    default:
      break;
  }
  switch (size_of(t)) {
    case 1:
      return row<uint8_t, uint32_t, uint64_t>();
    case 2:
      return row<uint16_t, uint32_t, uint64_t>();
    case 4:
      return row<uint32_t, uint32_t, uint64_t>();
    default:
      return row<uint64_t, uint32_t, uint64_t>();
  }
}

Space space_of(const Match& m) {
  std::string s = m.any_of({"const", "global", "local", "param", "param::entry", "param::func", "shared",
                            "shared::cta", "shared::cluster"});
  if (s == "const") return Space::constant;
  if (s == "global") return Space::global;
  if (s == "local") return Space::local;
  if (s.rfind("param", 0) == 0) return Space::param;
  if (s == "shared" || s == "shared::cta") return Space::shared;
  if (s == "shared::cluster") return Space::shared_cluster;
  return Space::generic;
}

// Elements of the register operand: one register or a vector. Fills in.count and the refs; returns the lane width.
unsigned registers(Decoder& d, const Match& m, const Operand& o, Type t, bool destination, Inst& in,
                   Ref Inst::*single) {
  std::string v = m.any_of({"v2", "v4", "v8"});
  unsigned expected = v.empty() ? 1 : static_cast<unsigned>(v[1] - '0');
  unsigned width = 0;
  auto one = [&](const Operand& item) {
    if (destination && d.is_sink(item)) return kNoRef;
    unsigned w = 0;
    Ref r = destination ? d.destination_any(item, t, &w) : d.source_any(item, t, &w);
    if (width && w != width) d.refuse("the registers of one vector must have one width");
    width = w;
    return r;
  };
  in.count = static_cast<uint8_t>(expected);
  if (expected == 1) {
    in.*single = one(o.kind == Operand::Kind::vec && o.items.size() == 1 ? o.items[0] : o);
  } else {
    if (o.kind != Operand::Kind::vec || o.items.size() != expected)
      d.refuse("a vector of " + std::to_string(expected) + " registers was expected");
    for (const Operand& item : o.items) d.extra(in).refs.push_back(one(item));
  }
  return width ? width : (size_of(t) == 8 ? 8 : 4);
}

// Whether a load reads less than all of its bytes; fills in.extra->numbers then.
bool reads_part(Decoder& d, Inst& in) {
  const uint32_t all = static_cast<uint32_t>((uint64_t{1} << in.bytes * in.count) - 1);
  const uint32_t used = d.text().used_bytes & all;
  if (used == 0 || used == all) return false;
  for (int64_t first = 0; first < 32; ++first) {
    if (!(used >> first & 1)) continue;
    int64_t end = first;
    while (end < 32 && used >> end & 1) ++end;
    auto& numbers = d.extra(in).numbers;
    numbers.push_back(first);
    numbers.push_back(end - first);
    first = end;
  }
  return true;
}

void decode(Decoder& d, const Match& m, Inst& in, bool is_load) {
  Type t = m.type();
  in.cls = Class::memory;
  const Operand& address = d.operand(is_load ? 1 : 0);
  const Operand& value = d.operand(is_load ? 0 : 1);
  unsigned width = registers(d, m, value, t, is_load, in, is_load ? &Inst::d : &Inst::b);
  in.bytes = static_cast<uint8_t>(size_of(t));
  if (size_of(t) * in.count > 32 || (size_of(t) * in.count > 16 && size_of(t) < 16 && !m.has("global")))
    d.refuse("an access of more than 16 bytes per thread");
  Space space = space_of(m);
  FrameSlot slot;
  if (space == Space::param && address.kind == Operand::Kind::address &&
      d.find_frame_slot(address.items[0].name, &slot)) {
    if (address.offset < 0 || static_cast<uint64_t>(address.offset) + size_of(t) * in.count > slot.bytes)
      d.refuse("access past the end of .param variable " + slot.name);
    in.imm = slot.at + address.offset;
    in.target = slot.stride;
    Row r = row_of(t);
    if (size_of(t) == 16) d.refuse(".b128 in a function's .param space");
    in.exec = is_load ? (width == 8 ? r.load_frame8 : r.load_frame4)
                      : (width == 8 ? r.store_frame8 : r.store_frame4);
    return;
  }
  d.address(address, space, in);
  if (m.has("acquire")) in.flags |= kAcquire;
  if (m.has("release")) in.flags |= kRelease;
  if (!m.any_of({"volatile", "relaxed", "acquire", "release"}).empty()) in.flags |= kStrong;
  if (size_of(t) == 16) {
    if (in.count != 1) d.refuse("vectors of .b128");
    in.exec = is_load ? load128 : store128;
    return;
  }
  Row r = row_of(t);
  if (is_load && reads_part(d, in))
    in.exec = width == 8 ? r.load_used8 : r.load_used4;
  else
    in.exec = is_load ? (width == 8 ? r.load8 : r.load4) : (width == 8 ? r.store8 : r.store4);
}

void decode_ld(Decoder& d, const Match& m, Inst& in) {
  decode(d, m, in, true);
  in.action = Action::load;
}
void decode_st(Decoder& d, const Match& m, Inst& in) {
  decode(d, m, in, false);
}

}  // namespace

#define TYPES "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
#define EVICT                                                                              \
  "[L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate]." \
  "[L2::evict_normal|L2::evict_first|L2::evict_last]."

std::vector<Form> load_store_forms() {
  return {
      {"ld.[weak|volatile].[const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster]."
       "[ca|cg|cs|lu|cv]." EVICT "[L2::cache_hint].[L2::64B|L2::128B|L2::256B].[unified].[v2|v4|v8]." TYPES,
       decode_ld},
      {"ld.relaxed|acquire.cta|cluster|gpu|sys.[global|shared|shared::cta|shared::cluster]." EVICT
       "[L2::cache_hint].[L2::64B|L2::128B|L2::256B].[v2|v4|v8]." TYPES,
       decode_ld},
      {"ld.mmio.relaxed.sys.[global]." TYPES, decode_ld},
      {"ld.global.[ca|cg|cs].nc." EVICT "[L2::cache_hint].[L2::64B|L2::128B|L2::256B].[v2|v4|v8]." TYPES,
       decode_ld},
      {"ldu.[global].[v2|v4]." TYPES, decode_ld},
      {"st.[weak|volatile].[global|local|param|param::func|shared|shared::cta|shared::cluster]."
       "[wb|cg|cs|wt]." EVICT "[L2::cache_hint].[v2|v4|v8]." TYPES,
       decode_st},
      {"st.relaxed|release.cta|cluster|gpu|sys.[global|shared|shared::cta|shared::cluster]." EVICT
       "[L2::cache_hint].[v2|v4|v8]." TYPES,
       decode_st},
      {"st.mmio.relaxed.sys.[global]." TYPES, decode_st},
  };
}

}  // namespace emu
