// Arithmetic of f16, f16x2, bf16 and bf16x2 (PTX ISA 9.7.4; ex2 and tanh 9.7.3).
//
// Values are widened to double, where products of two are exact and sums are rounded to odd, then rounded once to the
// format: the result is that of one rounding. Subnormal numbers are kept unless .ftz is given. The packed types do
// the same to each half. fma.rn.oob has no row: what counts as an out-of-bounds NaN is not written down.
#include <algorithm>

#include "emulator/isa/operands.hpp"
#include "emulator/numerics/formats.hpp"

namespace emu {
namespace {

constexpr uint32_t kFtz = 1, kSat = 2, kRelu = 4, kNan = 8, kXorSign = 16;  // Inst::flags

// ---- operations on widened values
struct Add {
  static double of(float a, float b) { return add_to_odd(a, b); }
};
struct Sub {
  static double of(float a, float b) { return add_to_odd(a, -b); }
};
struct Mul {
  static double of(float a, float b) { return static_cast<double>(a) * b; }
};
struct Fma {
  static double of(float a, float b, float c) { return fma_to_odd(a, b, c); }
};
struct Ex2 {
  static double of(float a) { return std::exp2(static_cast<double>(a)); }
};
struct Tanh {
  static double of(float a) { return std::tanh(static_cast<double>(a)); }
};

// One value through Op, with the modifiers in `flags`.
template <class Format, class Op>
struct Rounded {
  template <class... A>
  static uint16_t of(uint32_t flags, A... a) {
    if (flags & kFtz) return finish(flags, Op::of(Format::widen(Format::flush(a))...));
    return finish(flags, Op::of(Format::widen(a)...));
  }
  static uint16_t finish(uint32_t flags, double v) {
    if (flags & kSat) v = v > 0 ? std::min(v, 1.0) : 0.0;  // NaN becomes +0
    if (flags & kRelu && v <= 0) v = 0;                    // NaN stays
    // For .ftz a result is subnormal if it is so when rounded with no end of exponents (checks/fuzz/isa/record.txt).
    constexpr double kRoundsUp = std::is_same_v<Format, F16> ? 1 - 0x1p-12 : 1 - 0x1p-9;
    if (flags & kFtz && std::fabs(v) < Format::kSmallestNormal * kRoundsUp)
      return static_cast<uint16_t>(std::signbit(v) << 15);
    return Format::round(v);
  }
};

template <class Format>
struct Neg {
  static uint16_t of(uint32_t flags, uint16_t a) {
    return Format::is_nan(a) ? Format::kNan : (flags & kFtz ? Format::flush(a) : a) ^ 0x8000;
  }
};
template <class Format>
struct Abs {
  static uint16_t of(uint32_t flags, uint16_t a) {
    return Format::is_nan(a) ? Format::kNan : (flags & kFtz ? Format::flush(a) : a) & 0x7FFF;
  }
};

// A NaN loses against a number unless .NaN is given; +0 is greater than -0; .xorsign.abs: the smaller or larger
// magnitude, with the product of the signs.
template <class Format, bool kMax>
struct Extremum {
  static uint16_t of(uint32_t flags, uint16_t a, uint16_t b) {
    if (flags & kFtz) a = Format::flush(a), b = Format::flush(b);
    uint16_t sign = (a ^ b) & 0x8000;
    if (flags & kXorSign) a &= 0x7FFF, b &= 0x7FFF;
    bool nan_a = Format::is_nan(a), nan_b = Format::is_nan(b);
    if ((nan_a && nan_b) || ((nan_a || nan_b) && flags & kNan)) return Format::kNan;
    uint16_t r;
    if (nan_a || nan_b) {
      r = nan_a ? b : a;
    } else {
      float x = Format::widen(a), y = Format::widen(b);
      if (x == y)
        r = (a >> 15 != 0) == kMax ? b : a;
      else
        r = (x < y) != kMax ? a : b;
    }
    return flags & kXorSign ? (r & 0x7FFF) | sign : r;
  }
};

// ---- executors: Op::of(flags, values...) on each lane, or on both halves of it
template <class Op, bool kPacked, int kSources>
Flow apply(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d);
  auto a = w.lanes<uint32_t>(in.a);
  auto b = w.lanes<uint32_t>(kSources > 1 ? in.b : in.a), c = w.lanes<uint32_t>(kSources > 2 ? in.c : in.a);
  for_lanes(mask, [&](int l) {
    auto part = [&](int shift) -> uint32_t {
      auto half = [&](uint32_t v) { return static_cast<uint16_t>(v >> shift); };
      uint16_t r;
      if constexpr (kSources == 1)
        r = Op::of(in.flags, half(a[l]));
      else if constexpr (kSources == 2)
        r = Op::of(in.flags, half(a[l]), half(b[l]));
      else
        r = Op::of(in.flags, half(a[l]), half(b[l]), half(c[l]));
      return uint32_t{r} << shift;
    };
    d.set(l, kPacked ? part(16) | part(0) : part(0));
  });
  return Flow::next;
}

// ---- decoding
template <template <class> class Op, int kSources>
void decode(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  if (kSources == 1) operands(d, in, Class::math, t, {t});
  if (kSources == 2) operands(d, in, Class::math, t, {t, t});
  if (kSources == 3) operands(d, in, Class::math, t, {t, t, t});
  in.flags = (m.has("ftz") ? kFtz : 0) | (m.has("sat") ? kSat : 0) | (m.has("relu") ? kRelu : 0) |
             (m.has("NaN") ? kNan : 0) | (m.has("xorsign") ? kXorSign : 0);
  switch (t) {
    case Type::f16:
      in.exec = apply<Op<F16>, false, kSources>;
      break;
    case Type::f16x2:
      in.exec = apply<Op<F16>, true, kSources>;
      break;
    case Type::bf16:
      in.exec = apply<Op<BF16>, false, kSources>;
      break;
    default:
      in.exec = apply<Op<BF16>, true, kSources>;
  }
}

template <class Format>
using RoundedAdd = Rounded<Format, Add>;
template <class Format>
using RoundedSub = Rounded<Format, Sub>;
template <class Format>
using RoundedMul = Rounded<Format, Mul>;
template <class Format>
using RoundedFma = Rounded<Format, Fma>;
template <class Format>
using RoundedEx2 = Rounded<Format, Ex2>;
template <class Format>
using RoundedTanh = Rounded<Format, Tanh>;
template <class Format>
using Min = Extremum<Format, false>;
template <class Format>
using Max = Extremum<Format, true>;

}  // namespace

std::vector<Form> half_forms() {
  return {
      {"add.[rn].[ftz].[sat].f16|f16x2", decode<RoundedAdd, 2>},
      {"add.[rn].bf16|bf16x2", decode<RoundedAdd, 2>},
      {"sub.[rn].[ftz].[sat].f16|f16x2", decode<RoundedSub, 2>},
      {"sub.[rn].bf16|bf16x2", decode<RoundedSub, 2>},
      {"mul.[rn].[ftz].[sat].f16|f16x2", decode<RoundedMul, 2>},
      {"mul.[rn].bf16|bf16x2", decode<RoundedMul, 2>},
      {"fma.rn.[ftz].[sat].f16|f16x2", decode<RoundedFma, 3>},
      {"fma.rn.[ftz].relu.f16|f16x2", decode<RoundedFma, 3>},
      {"fma.rn.[relu].bf16|bf16x2", decode<RoundedFma, 3>},
      {"neg.[ftz].f16|f16x2", decode<Neg, 1>},
      {"neg.bf16|bf16x2", decode<Neg, 1>},
      {"abs.[ftz].f16|f16x2", decode<Abs, 1>},
      {"abs.bf16|bf16x2", decode<Abs, 1>},
      {"min.[ftz].[NaN].f16|f16x2", decode<Min, 2>},
      {"min.[ftz].[NaN].xorsign.abs.f16|f16x2", decode<Min, 2>},
      {"min.[NaN].bf16|bf16x2", decode<Min, 2>},
      {"min.[NaN].xorsign.abs.bf16|bf16x2", decode<Min, 2>},
      {"max.[ftz].[NaN].f16|f16x2", decode<Max, 2>},
      {"max.[ftz].[NaN].xorsign.abs.f16|f16x2", decode<Max, 2>},
      {"max.[NaN].bf16|bf16x2", decode<Max, 2>},
      {"max.[NaN].xorsign.abs.bf16|bf16x2", decode<Max, 2>},
      {"ex2.approx.f16|f16x2", decode<RoundedEx2, 1>},
      {"ex2.approx.ftz.bf16|bf16x2", decode<RoundedEx2, 1>},
      {"tanh.approx.f16|f16x2|bf16|bf16x2", decode<RoundedTanh, 1>},
  };
}

}  // namespace emu
