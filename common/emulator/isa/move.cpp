// Data movement (PTX ISA 9.7.9): mov, cvta, isspacep, mapa, getctarank, cache hints. ld and st are in load_store.cpp.
#include "emulator/isa/access.hpp"
#include "emulator/isa/operands.hpp"

namespace emu {

std::vector<Form> load_store_forms();

namespace {

template <class T>
EMU_WIDE Flow mov(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<T>(in.d), a = w.lanes<T>(in.a);
  for_lanes(mask, [&](int l) { d.slots[l] = a.slots[l]; });
  return Flow::next;
}

struct B128 {
  uint64_t half[2];
};
Flow mov128(Warp& w, const Inst& in, uint32_t mask) {
  auto* d = reinterpret_cast<B128*>(w.place(in.d));
  auto* a = reinterpret_cast<B128*>(w.place(in.a));
  for_lanes(mask, [&](int l) { d[l] = a[l]; });
  return Flow::next;
}

Flow mov_pred(Warp& w, const Inst& in, uint32_t mask) {
  w.set_predicate(in.d, w.predicate(in.a), mask);
  return Flow::next;
}

// A value of in.bytes made of the parts in extra->refs, low part first, or taken apart into them.
uint64_t part_get(Warp& w, Ref r, unsigned bytes, int l) {
  if (bytes == 8) return w.lanes<uint64_t>(r)[l];
  uint32_t v = w.lanes<uint32_t>(r)[l];
  return bytes == 4 ? v : bytes == 2 ? v & 0xFFFF : v & 0xFF;
}
void part_set(Warp& w, Ref r, unsigned bytes, int l, uint64_t v) {
  if (r == kNoRef) return;
  if (bytes == 8)
    w.lanes<uint64_t>(r).set(l, v);
  else
    w.lanes<uint32_t>(r).set(l, static_cast<uint32_t>(bytes == 4 ? v : bytes == 2 ? v & 0xFFFF : v & 0xFF));
}

Flow pack(Warp& w, const Inst& in, uint32_t mask) {
  const auto& parts = in.extra->refs;
  unsigned part = in.bytes / static_cast<unsigned>(parts.size());
  for_lanes(mask, [&](int l) {
    uint64_t v = 0;
    for (size_t i = 0; i < parts.size(); ++i) v |= part_get(w, parts[i], part, l) << (8 * part * i);
    part_set(w, in.d, in.bytes, l, v);
  });
  return Flow::next;
}

Flow unpack(Warp& w, const Inst& in, uint32_t mask) {
  const auto& parts = in.extra->refs;
  unsigned part = in.bytes / static_cast<unsigned>(parts.size());
  for_lanes(mask, [&](int l) {
    uint64_t v = part_get(w, in.a, in.bytes, l);
    for (size_t i = 0; i < parts.size(); ++i) part_set(w, parts[i], part, l, v >> (8 * part * i));
  });
  return Flow::next;
}

Flow pack128(Warp& w, const Inst& in, uint32_t mask) {
  auto* d = reinterpret_cast<B128*>(w.place(in.d));
  const auto& parts = in.extra->refs;
  for_lanes(mask, [&](int l) { d[l] = {{w.lanes<uint64_t>(parts[0])[l], w.lanes<uint64_t>(parts[1])[l]}}; });
  return Flow::next;
}
Flow unpack128(Warp& w, const Inst& in, uint32_t mask) {
  auto* a = reinterpret_cast<B128*>(w.place(in.a));
  const auto& parts = in.extra->refs;
  for_lanes(mask, [&](int l) {
    for (int i = 0; i < 2; ++i)
      if (parts[i] != kNoRef) w.lanes<uint64_t>(parts[i]).set(l, a[l].half[i]);
  });
  return Flow::next;
}

// mov.vec.type {d,e,..}, {a,b,..}: element by element, as if at once
Flow mov_vector(Warp& w, const Inst& in, uint32_t mask) {
  const auto& refs = in.extra->refs;
  for_lanes(mask, [&](int l) {
    uint64_t values[4];
    for (unsigned i = 0; i < in.count; ++i) values[i] = part_get(w, refs[in.count + i], in.bytes, l);
    for (unsigned i = 0; i < in.count; ++i) part_set(w, refs[i], in.bytes, l, values[i]);
  });
  return Flow::next;
}
void decode_mov_vector(Decoder& d, const Match& m, Inst& in) {
  const Type t = m.type();
  const Operand &to = d.operand(0), &from = d.operand(1);
  expect_operands(d, 2);
  in.action = Action::move;
  in.exec = mov_vector;
  in.count = m.has("v2") ? 2 : 4;
  in.bytes = static_cast<uint8_t>(size_of(t));
  for (const Operand* o : {&to, &from})
    if (o->kind != Operand::Kind::vec || o->items.size() != in.count)
      d.refuse(
          d.text().full_name() + " moves " + std::to_string(in.count) + " elements to as many",
          "write both operands as { } of " + std::to_string(in.count) + " elements, or as vector registers");
  auto& refs = d.extra(in).refs;
  for (const Operand& o : to.items) refs.push_back(d.is_sink(o) ? kNoRef : d.destination(o, t));
  for (const Operand& o : from.items) refs.push_back(d.source(o, t));
}

// mov.type d, a;  mov.btype d, {a,b,..};  mov.btype {d,e,..}, a
void decode_mov(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  in.cls = Class::other;
  in.action = Action::move;
  expect_operands(d, 2);
  const Operand &to = d.operand(0), &from = d.operand(1);
  unsigned bytes = size_of(t);
  in.bytes = static_cast<uint8_t>(bytes);
  if (t == Type::pred) {
    in.exec = mov_pred;
    in.d = d.predicate_destination(to);
    in.a = d.predicate(from);
    return;
  }
  bool from_vector = from.kind == Operand::Kind::vec, to_vector = to.kind == Operand::Kind::vec;
  if (from_vector || to_vector) {
    const auto& items = (from_vector ? from : to).items;
    unsigned part = items.empty() ? 0 : bytes / static_cast<unsigned>(items.size());
    if (part == 0 || part * items.size() != bytes || (from_vector && to_vector))
      d.refuse("mov cannot pack or unpack this vector");
    Type part_type = part == 1 ? Type::b8 : part == 2 ? Type::b16 : part == 4 ? Type::b32 : Type::b64;
    for (const Operand& o : items) {
      Ref r = from_vector ? d.source(o, part_type) : d.is_sink(o) ? kNoRef : d.destination(o, part_type);
      d.extra(in).refs.push_back(r);
    }
    if (from_vector)
      in.d = d.destination(to, t);
    else
      in.a = d.source(from, t);
    if (bytes == 16 && items.size() != 2) d.refuse("mov.b128 takes two 64-bit parts");
    in.exec = bytes == 16 ? (from_vector ? pack128 : unpack128) : (from_vector ? pack : unpack);
    return;
  }
  in.d = d.destination(to, t);
  in.a = d.source(from, t);
  in.exec = bytes == 16 ? mov128 : bytes == 8 ? mov<uint64_t> : mov<uint32_t>;
}

// ---- cvta{.to}.space: to and from generic addresses

uint64_t window_of(Space s) {
  return s == Space::shared  ? kSharedWindow
         : s == Space::local ? kLocalWindow
         : s == Space::param ? kParamWindow
                             : 0;
}
Space space_named(const std::string& s) {
  if (s == "shared" || s == "shared::cta" || s == "shared::cluster") return Space::shared;
  if (s == "local") return Space::local;
  if (s == "param" || s == "param::entry") return Space::param;
  return Space::global;
}

Flow cvta(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint64_t>(in.d), a = w.lanes<uint64_t>(in.a);
  uint64_t window = window_of(in.space);
  for_lanes(mask, [&](int l) { d.set(l, window ? window | (a[l] & 0xFFFFFFFFu) : a[l]); });
  return Flow::next;
}
// An address of another window becomes one that no access can use.
Flow cvta_to(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint64_t>(in.d), a = w.lanes<uint64_t>(in.a);
  uint64_t window = window_of(in.space);
  for_lanes(mask, [&](int l) {
    if (!window)
      d.set(l, a[l]);
    else
      d.set(l, (a[l] & kWindowMask) == window ? a[l] & 0xFFFFFFFFu : 0x7FFFFFFFu);
  });
  return Flow::next;
}
void decode_cvta(Decoder& d, const Match& m, Inst& in) {
  in.exec = m.has("to") ? cvta_to : cvta;
  in.cls = Class::address;
  in.space = space_named(m.slots[m.slots.size() - 2]);
  in.d = d.destination(d.operand(0), Type::u64);
  in.a = d.source(d.operand(1), Type::u64);
}

// isspacep.space p, a
constexpr uint32_t kOwnCta = 1, kConstant = 2;  // Inst::flags
Flow isspacep(Warp& w, const Inst& in, uint32_t mask) {
  auto address = w.lanes<uint64_t>(in.a);
  uint32_t result = 0;
  uint64_t window = window_of(in.space);
  for_lanes(mask, [&](int l) {
    uint64_t top = address[l] & kWindowMask;
    bool is =
        window ? top == window : top != kSharedWindow && top != kLocalWindow;  // parameters lie in global
    if (in.flags & kConstant) {  // constants lie in global memory, too
      const Allocation* a = w.machine.memory.find(address[l], 1);
      is = a && a->constant;
    }
    if (in.flags & kOwnCta && is) {  // shared::cta: the executing CTA's own window
      uint32_t offset;
      is = w.machine.shared_owner(w.cta, address[l] & 0xFFFFFFFFu, &offset) == &w.cta;
    }
    result |= is ? 1u << l : 0;
  });
  w.set_predicate(in.d, result, mask);
  return Flow::next;
}
void decode_isspacep(Decoder& d, const Match& m, Inst& in) {
  in.exec = isspacep;
  in.cls = Class::address;
  in.space = space_named(m.slots[0]);
  in.flags = m.slots[0] == "const"                                   ? kConstant
             : m.slots[0] == "shared" || m.slots[0] == "shared::cta" ? kOwnCta
                                                                     : 0;
  in.d = d.predicate_destination(d.operand(0));
  in.a = d.source(d.operand(1), Type::u64);
}

// mapa{.shared::cluster}.type d, a, b: the address of the same place in CTA b of the cluster
template <class T>
Flow mapa(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<T>(in.d), a = w.lanes<T>(in.a);
  auto rank = w.lanes<uint32_t>(in.b);
  for_lanes(mask, [&](int l) {
    if (rank[l] >= w.cta.cluster->ctas.size())
      w.fault(in, l, Id::cluster_rank,
              "mapa names CTA " + std::to_string(rank[l]) + " of a cluster of " +
                  std::to_string(w.cta.cluster->ctas.size()),
              "", "use a rank below %cluster_nctarank, and launch with the cluster size the kernel expects");
    uint64_t offset = a[l] & ((1u << kSharedRankShift) - 1);
    uint64_t address = kClusterAddressBit | (static_cast<uint64_t>(rank[l]) << kSharedRankShift) | offset;
    d.set(l, static_cast<T>(in.flags ? kSharedWindow | address : address));
  });
  return Flow::next;
}
void decode_mapa(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  in.cls = Class::address;
  in.flags = !m.has("shared::cluster");
  in.d = d.destination(d.operand(0), t);
  in.a = d.source(d.operand(1), t);
  in.b = d.source(d.operand(2), Type::u32);
  if (in.flags && t == Type::u32) d.refuse("mapa of a generic address needs .u64");
  in.exec = t == Type::u64 ? mapa<uint64_t> : mapa<uint32_t>;
}

// getctarank{.shared::cluster}.type d, a
template <class T>
Flow getctarank(Warp& w, const Inst& in, uint32_t mask) {
  auto a = w.lanes<T>(in.a);
  auto d = w.lanes<uint32_t>(in.d);
  for_lanes(mask, [&](int l) {
    uint32_t offset;
    Cta* owner = w.machine.shared_owner(w.cta, a[l] & 0xFFFFFFFFu, &offset);
    d.set(l, owner ? owner->cluster_rank : 0);
  });
  return Flow::next;
}
void decode_getctarank(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  in.cls = Class::address;
  in.d = d.destination(d.operand(0), Type::u32);
  in.a = d.source(d.operand(1), t);
  in.exec = t == Type::u64 ? getctarank<uint64_t> : getctarank<uint32_t>;
}

// ---- performance hints: no effect on results
Flow hint(Warp&, const Inst&, uint32_t) {
  return Flow::next;
}
void decode_hint(Decoder&, const Match&, Inst& in) {
  in.exec = hint;
  in.cls = Class::other;
}
Flow policy(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint64_t>(in.d);
  for_lanes(mask, [&](int l) { d.set(l, 0); });
  return Flow::next;
}
void decode_policy(Decoder& d, const Match&, Inst& in) {
  in.exec = policy;
  in.d = d.destination(d.operand(0), Type::b64);
}

}  // namespace

std::vector<Form> move_forms() {
  std::vector<Form> forms = {
      {"mov.pred|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64", decode_mov},
      {"mov.v2|v4.b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64", decode_mov_vector},
      {"cvta.[to].const|global|local|param|param::entry|shared|shared::cta|shared::cluster.u64", decode_cvta},
      {"isspacep.const|global|local|param|param::entry|shared|shared::cta|shared::cluster", decode_isspacep},
      {"mapa.[shared::cluster].u32|u64", decode_mapa},
      {"getctarank.[shared::cluster].u32|u64", decode_getctarank},
      {"prefetch.[global|local].L1|L2", decode_hint},
      {"prefetch.[global].L2::evict_last|L2::evict_normal", decode_hint},
      {"prefetch.[const|param].tensormap", decode_hint},
      {"prefetchu.L1", decode_hint},
      {"applypriority.[global].L2::evict_normal", decode_hint},
      {"createpolicy.fractional.L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged."
       "[L2::evict_first|L2::evict_unchanged].b64",
       decode_policy},
      {"createpolicy.range.[global].L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged."
       "[L2::evict_first|L2::evict_unchanged].b64",
       decode_policy},
      {"createpolicy.cvt.L2.b64", decode_policy},
  };
  for (const Form& f : load_store_forms()) forms.push_back(f);
  return forms;
}

}  // namespace emu
