// SIMD video instructions (PTX ISA 9.7.19): vadd, vsub, vavrg, vabsdiff, vmin, vmax on two half words or four bytes.
//   vop.dtype.atype.btype{.sat} d, a, b, c;     every part of d is replaced, so c does not matter
//   vop.dtype.atype.btype.add   d, a, b, c;     d = c + the sum of the parts
// and the scalar shifts vshl, vshr (PTX ISA 9.7.18).
// Parts are taken in their order; the selectors and masks written behind registers (r1.b0) are refused as unknown names.
#include "emulator/isa/simd.hpp"

#include <algorithm>

#include "emulator/isa/operands.hpp"

namespace emu {
namespace {

constexpr uint32_t kSignedD = 1, kSignedA = 2, kSignedB = 4, kSat = 8, kSum = 16, kWrap = 32;  // Inst::flags

struct Add {
  static int32_t of(int32_t a, int32_t b) { return a + b; }
};
struct Sub {
  static int32_t of(int32_t a, int32_t b) { return a - b; }
};
struct Average {  // halves are rounded up for sums that are not negative, and down to minus infinity else
  static int32_t of(int32_t a, int32_t b) { return (a + b + (a + b >= 0)) >> 1; }
};
struct AbsDiff {
  static int32_t of(int32_t a, int32_t b) { return a < b ? b - a : a - b; }
};
struct Min {
  static int32_t of(int32_t a, int32_t b) { return std::min(a, b); }
};
struct Max {
  static int32_t of(int32_t a, int32_t b) { return std::max(a, b); }
};

template <class Op, int kBits>
Flow parts(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d), a = w.lanes<uint32_t>(in.a), b = w.lanes<uint32_t>(in.b),
       c = w.lanes<uint32_t>(in.c);
  constexpr uint32_t kField = (1u << kBits) - 1;
  auto part = [](uint32_t v, int shift, bool is_signed) {
    auto top = static_cast<int32_t>(v >> shift << (32 - kBits));
    return is_signed ? top >> (32 - kBits) : static_cast<int32_t>(static_cast<uint32_t>(top) >> (32 - kBits));
  };
  int32_t low = in.flags & kSignedD ? -(1 << (kBits - 1)) : 0;
  int32_t high = static_cast<int32_t>(in.flags & kSignedD ? kField >> 1 : kField);
  for_lanes(mask, [&](int l) {
    uint32_t merged = 0, sum = c[l];
    for (int shift = 0; shift < 32; shift += kBits) {
      int32_t t = Op::of(part(a[l], shift, in.flags & kSignedA), part(b[l], shift, in.flags & kSignedB));
      // The saturated word counts as signed below (as ptxas compiles it): a u32 with its top bit set is above any c.
      if (in.flags & kSat) t = static_cast<int32_t>(std::clamp(t, low, high));
      merged |= (static_cast<uint32_t>(t) & kField) << shift;
      sum += static_cast<uint32_t>(t);
    }
    d.set(l, in.flags & kSum ? sum : merged);
  });
  return Flow::next;
}

template <class Op, int kBits>
void decode(Decoder& d, const Match& m, Inst& in) {
  operands(d, in, Class::math, Type::b32, {Type::b32, Type::b32, Type::b32});
  auto flag = [&](int nth, uint32_t bit) { return m.type(nth) == Type::s32 ? bit : 0; };
  in.flags = flag(0, kSignedD) | flag(1, kSignedA) | flag(2, kSignedB) | (m.has("sat") ? kSat : 0) |
             (m.has("add") ? kSum : 0);
  in.exec = parts<Op, kBits>;
}

// vshl, vshr.dtype.atype.u32{.sat}.mode{.op2} d, a, b{, c}: the shift with one bit more than a word has, then c + it, or the
// smaller or larger of c and it. vshl.sat has no row: what it makes of lost bits is not recorded.
enum class Second { none, add, min, max };
template <bool kLeft, Second kSecond>
Flow shift(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d), a = w.lanes<uint32_t>(in.a), b = w.lanes<uint32_t>(in.b),
       c = w.lanes<uint32_t>(kSecond == Second::none ? in.a : in.c);
  const bool is_signed = in.flags & kSignedD;
  const int64_t low = is_signed ? INT32_MIN : 0, high = is_signed ? INT32_MAX : UINT32_MAX;
  for_lanes(mask, [&](int l) {
    const uint32_t by = in.flags & kWrap ? b[l] & 31 : std::min(b[l], 32u);
    int64_t t = in.flags & kSignedA ? static_cast<int32_t>(a[l]) : static_cast<int64_t>(a[l]);
    t = kLeft ? static_cast<int64_t>(static_cast<uint64_t>(t) << by) : t >> by;
    // The saturated word counts as signed below (as ptxas compiles it): a u32 with its top bit set is above any c.
    if (in.flags & kSat) t = static_cast<int32_t>(std::clamp(t, low, high));
    // min and max compare what was shifted before it is cut to a word, both with the sign of the result's type.
    const int64_t second = is_signed ? static_cast<int32_t>(c[l]) : static_cast<int64_t>(c[l]);
    const bool less = is_signed ? t < second : static_cast<uint64_t>(t) < static_cast<uint64_t>(second);
    d.set(l, static_cast<uint32_t>(kSecond == Second::add   ? t + second
                                   : kSecond == Second::min ? (less ? t : second)
                                   : kSecond == Second::max ? (less ? second : t)
                                                            : t));
  });
  return Flow::next;
}

template <bool kLeft>
void decode_shift(Decoder& d, const Match& m, Inst& in) {
  const Type to = m.type(0), from = m.type(1);
  in.flags = (to == Type::s32 ? kSignedD : 0) | (from == Type::s32 ? kSignedA : 0) |
             (m.has("sat") ? kSat : 0) | (m.has("wrap") ? kWrap : 0);
  const std::string second = m.any_of({"add", "min", "max"});
  if (second.empty())
    operands(d, in, Class::math, to, {from, Type::u32});
  else
    operands(d, in, Class::math, to, {from, Type::u32, to});
  in.exec = second == "add"   ? shift<kLeft, Second::add>
            : second == "min" ? shift<kLeft, Second::min>
            : second == "max" ? shift<kLeft, Second::max>
                              : shift<kLeft, Second::none>;
}

}  // namespace

#define TYPES ".u32|s32.u32|s32.u32|s32."

std::vector<Form> simd_forms() {
  return {
      {"vadd2" TYPES "[sat|add]", decode<Add, 16>},
      {"vadd4" TYPES "[sat|add]", decode<Add, 8>},
      {"vsub2" TYPES "[sat|add]", decode<Sub, 16>},
      {"vsub4" TYPES "[sat|add]", decode<Sub, 8>},
      {"vavrg2" TYPES "[sat|add]", decode<Average, 16>},
      {"vavrg4" TYPES "[sat|add]", decode<Average, 8>},
      {"vabsdiff2" TYPES "[sat|add]", decode<AbsDiff, 16>},
      {"vabsdiff4" TYPES "[sat|add]", decode<AbsDiff, 8>},
      {"vmin2" TYPES "[sat|add]", decode<Min, 16>},
      {"vmin4" TYPES "[sat|add]", decode<Min, 8>},
      {"vmax2" TYPES "[sat|add]", decode<Max, 16>},
      {"vmax4" TYPES "[sat|add]", decode<Max, 8>},
      {"vshl.u32|s32.u32|s32.u32.clamp|wrap.[add|min|max]", decode_shift<true>},
      {"vshr.u32|s32.u32|s32.u32.[sat].clamp|wrap.[add|min|max]", decode_shift<false>},
  };
}

}  // namespace emu
