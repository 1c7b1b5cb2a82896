// Logic, shifts and bit fields (PTX ISA 9.7.1 and 9.7.8).
#include <algorithm>

#include "emulator/isa/operands.hpp"

namespace emu {
namespace {

struct And {
  template <class T>
  static T of(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
};
struct Cnot {  // logical: 1 for 0, else 0
  template <class T>
  static T of(T a) {
    return a == 0;
  }
};

// Amounts above the register width are clamped to it.
struct Shl {
  template <class T>
  static T of(T a, uint32_t b) {
    return b >= 8 * sizeof(T) ? 0 : static_cast<T>(a << b);
  }
};
struct Shr {  // signed types fill with the sign bit
  template <class T>
  static T of(T a, uint32_t b) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    if (b >= kBits) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : 0;
    return static_cast<T>(a >> b);
  }
};

// shf.{l,r}.{clamp,wrap}.b32 d, a, b, c: shift the 64-bit value b:a by c; .l takes the upper half, .r the lower.
template <bool kLeft, bool kClamp>
struct Funnel {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t n = kClamp ? std::min(c, 32u) : c & 31;
    uint64_t both = uint64_t{b} << 32 | a;
    return static_cast<uint32_t>(kLeft ? both << n >> 32 : both >> n);
  }
};

struct Popc {
  template <class T>
  static uint32_t of(T a) {
    return static_cast<uint32_t>(__builtin_popcountll(a));
  }
};
struct Clz {
  template <class T>
  static uint32_t of(T a) {
    return a == 0 ? 8 * sizeof(T) : __builtin_clzll(a) - (64 - 8 * sizeof(T));
  }
};
// bfind: position of the most significant bit that differs from the sign (for unsigned: that is 1); ~0 when
// there is none. .shiftamt: by how much to shift left to bring it to the top.
template <bool kShiftAmount>
struct Bfind {
  template <class T>
  static uint32_t of(T a) {
    Bits<T> v = static_cast<Bits<T>>(a < 0 ? ~a : a);
    if (v == 0) return ~0u;
    uint32_t position = 63 - __builtin_clzll(v);
    return kShiftAmount ? static_cast<uint32_t>(8 * sizeof(T) - 1 - position) : position;
  }
};
struct Brev {
  template <class T>
  static T of(T a) {
    T r = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) r |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return r;
  }
};

// A position or length of bfe and bfi. The 32-bit forms take it modulo 256, as the manual says; the 64-bit forms take all
// of it (checks/recorded/bit_fields.txt), so that what is beyond the word stays beyond it.
template <class T>
uint32_t place(uint32_t v) {
  return sizeof(T) == 8 ? std::min(v, 255u) : v & 0xFF;
}
// bfe d, a, b, c: c bits of a from bit b; bits above the word are zero or the sign, which is bit min(b + c - 1, msb) of a.
struct Bfe {
  template <class T>
  static T of(T a, uint32_t b, uint32_t c) {
    constexpr uint32_t kMsb = 8 * sizeof(T) - 1;
    uint32_t pos = place<T>(b), len = place<T>(c);
    bool sign = std::is_signed_v<T> && len != 0 && (a >> std::min(pos + len - 1, kMsb) & 1);
    Bits<T> field = pos > kMsb ? 0 : static_cast<Bits<T>>(a) >> pos;
    uint32_t present = pos > kMsb ? 0 : std::min(len, kMsb + 1 - pos);  // bits that come from a
    Bits<T> mask = present > kMsb ? ~Bits<T>{0} : (Bits<T>{1} << present) - 1;
    return static_cast<T>(sign ? field | ~mask : field & mask);
  }
};
// bfi f, a, b, c, d: the low d bits of a inserted into b from bit c.
struct Bfi {
  template <class T>
  static T of(T a, T b, uint32_t c, uint32_t d) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    uint32_t pos = place<T>(c), len = place<T>(d);
    if (pos >= kBits || len == 0) return b;
    T mask = (len >= kBits ? ~T{0} : (T{1} << len) - 1) << pos;
    return static_cast<T>((b & ~mask) | ((a << pos) & mask));
  }
};

// fns d, mask, base, offset: the position of the offset-th set bit from base, upwards when positive, downwards when
// negative; offset 0 asks for the bit at base itself. ~0 when there is none.
struct Fns {
  static uint32_t of(uint32_t mask, uint32_t base, int32_t offset) {
    base &= 31;
    if (offset == 0) return mask >> base & 1 ? base : ~0u;
    int step = offset > 0 ? 1 : -1;
    int64_t wanted = std::abs(int64_t{offset});
    for (int p = static_cast<int>(base); p >= 0 && p < 32; p += step)
      if ((mask >> p & 1) && --wanted == 0) return static_cast<uint32_t>(p);
    return ~0u;
  }
};

// szext d, a, n: sign- or zero-extend the low n bits. .clamp: n above 32 is 32; .wrap: n modulo 32.
template <bool kClamp>
struct Szext {
  template <class T>
  static T of(T a, uint32_t b) {
    uint32_t n = kClamp ? std::min(b, 32u) : b & 31;
    if (n == 0) return 0;
    uint32_t up = static_cast<uint32_t>(a) << (32 - n);
    return static_cast<T>(up) >> (32 - n);
  }
};
// bmsk d, a, b: a mask of b bits from bit a.
template <bool kClamp>
struct Bmsk {
  static uint32_t of(uint32_t a, uint32_t b) {
    uint32_t pos = kClamp ? std::min(a, 32u) : a & 31, width = kClamp ? std::min(b, 32u) : b & 31;
    return static_cast<uint32_t>(((uint64_t{1} << width) - 1) << pos);
  }
};

// lop3 d, a, b, c, lut: any function of three bits; lut holds its value at index a*4 + b*2 + c.
// Selected by c, then b, then a: m[i] is all ones where lut has bit i.
Flow lop3_exec(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d), a = w.lanes<uint32_t>(in.a), b = w.lanes<uint32_t>(in.b),
       c = w.lanes<uint32_t>(in.c);
  uint32_t m[8];
  for (int i = 0; i < 8; ++i) m[i] = in.imm >> i & 1 ? ~0u : 0;
  auto select = [](uint32_t which, uint32_t zero, uint32_t one) { return zero ^ (which & (zero ^ one)); };
  for_lanes(mask, [&](int l) {
    uint32_t x = a[l], y = b[l], z = c[l];
    uint32_t low = select(y, select(z, m[0], m[1]), select(z, m[2], m[3]));
    uint32_t high = select(y, select(z, m[4], m[5]), select(z, m[6], m[7]));
    d.set(l, select(x, low, high));
  });
  return Flow::next;
}
// lop3.{or,and} d|p, a, b, c, lut, q: p = (d != 0) BoolOp q. extra: p, q; flags: 1 for .and.
Flow lop3_pred_exec(Warp& w, const Inst& in, uint32_t mask) {
  lop3_exec(w, in, mask);
  auto d = w.lanes<uint32_t>(in.d);
  uint32_t nonzero = 0;
  for_lanes(mask, [&](int l) { nonzero |= uint32_t{d[l] != 0} << l; });
  uint32_t q = w.predicate(in.extra->refs[1]);
  w.set_predicate(in.extra->refs[0], in.flags & 1 ? nonzero & q : nonzero | q, mask);
  return Flow::next;
}

// prmt.b32.mode d, a, b, c: bytes of d chosen from the eight bytes of b:a.
// Default mode: nibble i of c selects (bits 0-2) and, with bit 3, replicates the sign.
uint32_t prmt_default(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t r = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t selector = c >> 4 * i & 0xF;
    uint32_t byte = bytes >> 8 * (selector & 7) & 0xFF;
    if (selector & 8) byte = byte & 0x80 ? 0xFF : 0;
    r |= byte << 8 * i;
  }
  return r;
}
struct Prmt {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) { return prmt_default(a, b, c); }
};
// The other modes: rows of the manual's table, c & 3 selects the row; a row as nibbles, byte 3 first.
constexpr uint32_t kF4e[] = {0x3210, 0x4321, 0x5432, 0x6543};   // forward 4 extract
constexpr uint32_t kB4e[] = {0x5670, 0x6701, 0x7012, 0x0123};   // backward 4 extract
constexpr uint32_t kRc8[] = {0x0000, 0x1111, 0x2222, 0x3333};   // replicate 8
constexpr uint32_t kEcl[] = {0x3210, 0x3211, 0x3222, 0x3333};   // edge clamp left
constexpr uint32_t kEcr[] = {0x0000, 0x1110, 0x2210, 0x3210};   // edge clamp right
constexpr uint32_t kRc16[] = {0x1010, 0x3232, 0x1010, 0x3232};  // replicate 16
template <const uint32_t (&kRows)[4]>
struct PrmtMode {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) { return prmt_default(a, b, kRows[c & 3]); }
};

// ---- decoding
// and/or/xor/not of predicates work on the masks.
template <class Op>
Flow pred_binary(Warp& w, const Inst& in, uint32_t mask) {
  w.set_predicate(in.d, Op::of(w.predicate(in.a), w.predicate(in.b)), mask);
  return Flow::next;
}
Flow pred_not(Warp& w, const Inst& in, uint32_t mask) {
  w.set_predicate(in.d, ~w.predicate(in.a), mask);
  return Flow::next;
}

template <class Op>
void logic2(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  if (t == Type::pred) {
    expect_operands(d, 3);
    in.d = d.predicate_destination(d.operand(0));
    in.a = d.predicate(d.operand(1));
    in.b = d.predicate(d.operand(2));
    in.cls = Class::control;
    in.exec = pred_binary<Op>;
    return;
  }
  operands(d, in, Class::address, t, {t, t});
  in.exec = for_integer(t, [](auto tag) -> Exec {
    using T = typename decltype(tag)::type;
    return binary<Op, T, T>;
  });
}
template <class Op>
void logic1(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, t, {t});
  in.exec = for_integer(t, [](auto tag) -> Exec { return unary<Op, typename decltype(tag)::type>; });
}
void logic_not(Decoder& d, const Match& m, Inst& in) {
  if (m.type() != Type::pred) return logic1<Not>(d, m, in);
  expect_operands(d, 2);
  in.d = d.predicate_destination(d.operand(0));
  in.a = d.predicate(d.operand(1));
  in.cls = Class::control;
  in.exec = pred_not;
}
// By an immediate: one amount for all lanes.
template <class Op, class T>
EMU_WIDE Flow shift_by_constant(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<T>(in.d), a = w.lanes<T>(in.a);
  uint32_t n = w.lanes<uint32_t>(in.b)[0];
  for_lanes(mask, [&](int l) { d.set(l, Op::of(a[l], n)); });
  return Flow::next;
}
template <class Op>
void shift(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, t, {t, Type::u32});
  if (in.b & kConstBit) {
    in.exec =
        for_integer(t, [](auto tag) -> Exec { return shift_by_constant<Op, typename decltype(tag)::type>; });
    return;
  }
  in.exec =
      for_integer(t, [](auto tag) -> Exec { return binary<Op, typename decltype(tag)::type, uint32_t>; });
}
void funnel(Decoder& d, const Match& m, Inst& in) {
  operands(d, in, Class::address, Type::b32, {Type::b32, Type::b32, Type::u32});
  using U = uint32_t;
  bool clamp = m.has("clamp");
  in.exec = m.has("l")
                ? (clamp ? ternary<Funnel<true, true>, U, U, U> : ternary<Funnel<true, false>, U, U, U>)
                : (clamp ? ternary<Funnel<false, true>, U, U, U> : ternary<Funnel<false, false>, U, U, U>);
}
// popc, clz, bfind: a 32-bit result whatever the source.
template <class Op>
void position(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, Type::u32, {t});
  in.exec = for_integer(t, [](auto tag) -> Exec { return unary<Op, typename decltype(tag)::type>; });
}
void bfe(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, t, {t, Type::u32, Type::u32});
  in.exec = for_integer(t, [](auto tag) -> Exec {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) >= 4)
      return ternary<Bfe, T, uint32_t, uint32_t>;
    else
      return nullptr;
  });
}
// Four sources: the fourth is extra->refs[0].
template <class T>
Flow bfi_exec(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<T>(in.d), a = w.lanes<T>(in.a), b = w.lanes<T>(in.b);
  auto c = w.lanes<uint32_t>(in.c), n = w.lanes<uint32_t>(in.extra->refs[0]);
  for_lanes(mask, [&](int l) { d.set(l, Bfi::of(a[l], b[l], c[l], n[l])); });
  return Flow::next;
}
void bfi(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 5);
  Type t = m.type();
  in.cls = Class::address;
  in.d = d.destination(d.operand(0), t);
  in.a = d.source(d.operand(1), t);
  in.b = d.source(d.operand(2), t);
  in.c = d.source(d.operand(3), Type::u32);
  d.extra(in).refs = {d.source(d.operand(4), Type::u32)};
  in.exec = t == Type::b32 ? bfi_exec<uint32_t> : bfi_exec<uint64_t>;
}
void fns(Decoder& d, const Match&, Inst& in) {
  operands(d, in, Class::address, Type::b32, {Type::b32, Type::b32, Type::s32});
  in.exec = ternary<Fns, uint32_t, uint32_t, int32_t>;
}
void szext(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, t, {t, Type::u32});
  using U = uint32_t;
  in.exec = m.has("clamp") ? (t == Type::u32 ? binary<Szext<true>, U, U> : binary<Szext<true>, int32_t, U>)
                           : (t == Type::u32 ? binary<Szext<false>, U, U> : binary<Szext<false>, int32_t, U>);
}
void bmsk(Decoder& d, const Match& m, Inst& in) {
  operands(d, in, Class::address, Type::b32, {Type::u32, Type::u32});
  in.exec = m.has("clamp") ? binary<Bmsk<true>, uint32_t, uint32_t> : binary<Bmsk<false>, uint32_t, uint32_t>;
}
void lop3_sources(Decoder& d, Inst& in) {
  in.cls = Class::address;
  in.a = d.source(d.operand(1), Type::b32);
  in.b = d.source(d.operand(2), Type::b32);
  in.c = d.source(d.operand(3), Type::b32);
  in.imm = d.immediate(d.operand(4), "the look-up table") & 0xFF;
}
void lop3(Decoder& d, const Match&, Inst& in) {
  expect_operands(d, 5);
  in.d = d.destination(d.operand(0), Type::b32);
  lop3_sources(d, in);
  in.exec = lop3_exec;
}
void lop3_pred(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 6);
  const Operand& pair = d.operand(0);
  if (pair.kind != Operand::Kind::pair) d.refuse("the destination of lop3 with .or or .and is written d|p");
  in.d = d.destination(pair.items[0], Type::b32);
  lop3_sources(d, in);
  d.extra(in).refs = {d.predicate_destination(pair.items[1]), d.predicate(d.operand(5))};
  in.flags = m.has("and");
  in.exec = lop3_pred_exec;
}
// With an immediate selector that replicates no sign, the amounts to shift by are the same for all lanes.
Flow prmt_by_constant(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d), a = w.lanes<uint32_t>(in.a), b = w.lanes<uint32_t>(in.b);
  uint32_t c = w.lanes<uint32_t>(in.c)[0];
  int s0 = 8 * (c & 7), s1 = 8 * (c >> 4 & 7), s2 = 8 * (c >> 8 & 7), s3 = 8 * (c >> 12 & 7);
  for_lanes(mask, [&](int l) {
    uint64_t bytes = uint64_t{b[l]} << 32 | a[l];
    d.set(l, static_cast<uint32_t>((bytes >> s0 & 0xFF) | (bytes >> s1 & 0xFF) << 8 |
                                   (bytes >> s2 & 0xFF) << 16 | (bytes >> s3 & 0xFF) << 24));
  });
  return Flow::next;
}
void prmt(Decoder& d, const Match& m, Inst& in) {
  operands(d, in, Class::address, Type::b32, {Type::b32, Type::b32, Type::b32});
  const Operand& selector = d.operand(3);
  if (m.slots[1].empty() && selector.kind == Operand::Kind::constant && !(selector.constant.bits & 0x8888)) {
    in.exec = prmt_by_constant;
    return;
  }
  using U = uint32_t;
  if (m.has("f4e"))
    in.exec = ternary<PrmtMode<kF4e>, U, U, U>;
  else if (m.has("b4e"))
    in.exec = ternary<PrmtMode<kB4e>, U, U, U>;
  else if (m.has("rc8"))
    in.exec = ternary<PrmtMode<kRc8>, U, U, U>;
  else if (m.has("ecl"))
    in.exec = ternary<PrmtMode<kEcl>, U, U, U>;
  else if (m.has("ecr"))
    in.exec = ternary<PrmtMode<kEcr>, U, U, U>;
  else if (m.has("rc16"))
    in.exec = ternary<PrmtMode<kRc16>, U, U, U>;
  else
    in.exec = ternary<Prmt, U, U, U>;
}

}  // namespace

std::vector<Form> bit_forms() {
  return {
      {"and.pred|b16|b32|b64", logic2<And>},
      {"or.pred|b16|b32|b64", logic2<Or>},
      {"xor.pred|b16|b32|b64", logic2<Xor>},
      {"not.pred|b16|b32|b64", logic_not},
      {"cnot.b16|b32|b64", logic1<Cnot>},
      {"shl.b16|b32|b64", shift<Shl>},
      {"shr.b16|b32|b64|u16|u32|u64|s16|s32|s64", shift<Shr>},
      {"shf.l|r.clamp|wrap.b32", funnel},
      {"lop3.b32", lop3},
      {"lop3.or|and.b32", lop3_pred},
      {"popc.b32|b64", position<Popc>},
      {"clz.b32|b64", position<Clz>},
      {"bfind.u32|s32|u64|s64", position<Bfind<false>>},
      {"bfind.shiftamt.u32|s32|u64|s64", position<Bfind<true>>},
      {"brev.b32|b64", logic1<Brev>},
      {"bfe.u32|s32|u64|s64", bfe},
      {"bfi.b32|b64", bfi},
      {"fns.b32", fns},
      {"szext.clamp|wrap.u32|s32", szext},
      {"bmsk.clamp|wrap.b32", bmsk},
      {"prmt.b32.[f4e|b4e|rc8|ecl|ecr|rc16]", prmt},
  };
}

}  // namespace emu
