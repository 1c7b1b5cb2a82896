// Conversions between scalar types (PTX ISA 9.7.9.21: cvt). The packed formats are in convert_packed.cpp.
//
// A value goes source bits -> exact value -> rounding and saturation -> destination bits, so every conversion rounds
// once. Registers may be wider than the types: a source's upper bits are ignored, a result is extended to the
// register, by sign when the destination type is signed.
#include "emulator/isa/convert.hpp"

#include <algorithm>
#include <limits>

#include "emulator/isa/operands.hpp"
#include "emulator/numerics/formats.hpp"

namespace emu {
namespace {

// Inst::flags
constexpr uint32_t kFtz = 1, kSat = 2, kRelu = 4, kSatFinite = 8, kIntegral = 16, kWideD = 32, kWideA = 64;
// imm: the Round.
Round round_in(const Inst& in) {
  return static_cast<Round>(in.imm);
}

uint64_t load_bits(const At& at) {
  return at.inst.flags & kWideA ? at.warp.lanes<uint64_t>(at.inst.a)[at.lane]
                                : at.warp.lanes<uint32_t>(at.inst.a)[at.lane];
}
void store_int(const At& at, int64_t v) {
  if (at.inst.flags & kWideD)
    at.warp.lanes<uint64_t>(at.inst.d).set(at.lane, static_cast<uint64_t>(v));
  else
    at.warp.lanes<uint32_t>(at.inst.d).set(at.lane, static_cast<uint32_t>(v));
}

// ---- integers
template <class T>
__int128 clamp_to(__int128 v) {
  constexpr __int128 kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  return v < kMin ? kMin : v > kMax ? kMax : v;
}
template <class From, class To>
struct Cast {
  static To of(From a) { return static_cast<To>(a); }
};
// Registers wider than their type, or .sat: clamp to the destination's range.
template <class From, class To>
Flow int_to_int(Warp& w, const Inst& in, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    auto v = static_cast<From>(load_bits({w, in, l}));
    To r = in.flags & kSat ? static_cast<To>(clamp_to<To>(v)) : static_cast<To>(v);
    store_int({w, in, l}, static_cast<int64_t>(r));
  });
  return Flow::next;
}

// ---- sources of floating-point conversions, as exact doubles
template <Type kType>
struct Source;
template <>
struct Source<Type::f16> {
  static double of(uint64_t bits, uint32_t) { return F16::widen(static_cast<uint16_t>(bits)); }
};
template <>
struct Source<Type::bf16> {
  static double of(uint64_t bits, uint32_t) { return BF16::widen(static_cast<uint16_t>(bits)); }
};
template <>
struct Source<Type::f32> {
  static double of(uint64_t bits, uint32_t flags) {
    auto v = bit_cast<float>(static_cast<uint32_t>(bits));
    return flags & kFtz ? flush(v) : v;
  }
};
template <>
struct Source<Type::f64> {
  static double of(uint64_t bits, uint32_t) { return bit_cast<double>(bits); }
};

double round_integral(double v, Round r) {
  switch (r) {
    case Round::rz:
      return std::trunc(v);
    case Round::rm:
      return std::floor(v);
    case Round::rp:
      return std::ceil(v);
    default:
      return std::nearbyint(v);  // the host's mode is nearest even
  }
}

// Out of range: the nearest value of the type. NaN: 0, but from f64, or to a 64-bit type, only the top bit set.
template <class To>
To to_integer(double v, bool from_f64) {
  if (v != v)
    return from_f64 || sizeof(To) == 8 ? static_cast<To>(Bits<To>{1} << (8 * sizeof(To) - 1)) : To{0};
  constexpr double kTop = std::is_signed_v<To>
                              ? static_cast<double>(Bits<To>{1} << (8 * sizeof(To) - 1))
                              : 2.0 * static_cast<double>(Bits<To>{1} << (8 * sizeof(To) - 1));
  if (v >= kTop) return std::numeric_limits<To>::max();
  if (v <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(v);
}
template <Type kFrom, class To>
Flow float_to_int(Warp& w, const Inst& in, uint32_t mask) {
  Round r = round_in(in);
  for_lanes(mask, [&](int l) {
    double v = round_integral(Source<kFrom>::of(load_bits({w, in, l}), in.flags), r);
    store_int({w, in, l}, static_cast<int64_t>(to_integer<To>(v, kFrom == Type::f64)));
  });
  return Flow::next;
}

// ---- floating-point destinations
template <Type kType>
struct Target;
template <>
struct Target<Type::f16> {
  using Stored = uint16_t;
  static Stored of(double v, Round r) { return F16::round(v, r); }
  static Stored of(Exact v, Round r) { return static_cast<uint16_t>(encode<5, 10>(v, r)); }
  static Stored largest(bool negative) { return F16::kLargest | negative << 15; }
  static bool infinite(Stored s) { return (s & 0x7FFF) == 0x7C00; }
};
template <>
struct Target<Type::bf16> {
  using Stored = uint16_t;
  static Stored of(double v, Round r) { return BF16::round(v, r); }
  static Stored of(Exact v, Round r) { return static_cast<uint16_t>(encode<8, 7>(v, r)); }
  static Stored largest(bool negative) { return BF16::kLargest | negative << 15; }
  static bool infinite(Stored s) { return (s & 0x7FFF) == 0x7F80; }
};
template <>
struct Target<Type::f32> {
  using Stored = float;
  static Stored of(double v, Round r) { return to_f32(v, r); }
  static Stored of(Exact v, Round r) { return bit_cast<float>(static_cast<uint32_t>(encode<8, 23>(v, r))); }
};
template <>
struct Target<Type::f64> {
  using Stored = double;
  static Stored of(double v, Round) { return v; }
  static Stored of(Exact v, Round r) { return bit_cast<double>(encode<11, 52>(v, r)); }
};

double saturate(double v) {
  return v > 0 ? std::min(v, 1.0) : 0.0;
}  // .sat: [0, 1], NaN becomes +0

// A NaN that is converted from or to f64 keeps its sign and the payload that there is room for, and is quiet then; bf16
// bits are the upper half of f32's. Everything else makes the canonical NaN (checks/recorded/nan_bits.txt).
template <Type kFrom, Type kTo>
constexpr bool kKeepsNan = kFrom == Type::f64 || kTo == Type::f64 ||
                           (kFrom == Type::bf16 && kTo == Type::f32);
template <Type kFrom, Type kTo>
typename Target<kTo>::Stored kept_nan(uint64_t bits) {
  if constexpr (kFrom == Type::bf16 && kTo == Type::f32) {
    return bit_cast<float>(static_cast<uint32_t>(bits << 16));
  } else {
    uint64_t nan = bits;  // as f64
    if constexpr (kFrom == Type::f32)
      nan = (bits >> 31 & 1) << 63 | (bits & 0x7FFFFFFF) << 29 | 0x7FF0000000000000ull;
    else if constexpr (kFrom == Type::f16)
      nan = (bits >> 15 & 1) << 63 | (bits & 0x7FFF) << 42 | 0x7FF0000000000000ull;
    else if constexpr (kFrom == Type::bf16)
      nan = (bits >> 15 & 1) << 63 | (bits & 0x7FFF) << 45 | 0x7FF0000000000000ull;
    nan |= 0x0008000000000000ull;
    if constexpr (kTo == Type::f64)
      return bit_cast<double>(nan);
    else if constexpr (kTo == Type::f32)
      return bit_cast<float>(static_cast<uint32_t>(nan >> 63 << 31 | 0x7F800000 | (nan >> 29 & 0x7FFFFF)));
    else if constexpr (kTo == Type::f16)
      return static_cast<uint16_t>(nan >> 63 << 15 | 0x7C00 | (nan >> 42 & 0x3FF));
    else
      return static_cast<uint16_t>(nan >> 63 << 15 | 0x7F80 | (nan >> 45 & 0x7F));
  }
}

template <Type kFrom, Type kTo>
Flow float_to_float(Warp& w, const Inst& in, uint32_t mask) {
  Round r = round_in(in);
  auto d = w.lanes<typename Target<kTo>::Stored>(in.d);
  for_lanes(mask, [&](int l) {
    double v = Source<kFrom>::of(load_bits({w, in, l}), in.flags);
    if constexpr (kKeepsNan<kFrom, kTo>) {
      if (v != v && !(in.flags & kSat)) return d.set(l, kept_nan<kFrom, kTo>(load_bits({w, in, l})));
    }
    if (in.flags & kIntegral) v = round_integral(v, r);
    if (in.flags & kSat) v = saturate(v);
    if (in.flags & kRelu) v = v <= 0 ? 0.0 : v;  // NaN stays
    auto result = Target<kTo>::of(v, r);
    if constexpr (sizeof(result) == 2) {
      if (in.flags & kSatFinite && Target<kTo>::infinite(result)) result = Target<kTo>::largest(v < 0);
    } else if constexpr (kTo == Type::f32) {
      if (in.flags & kFtz) result = flush(result);
    }
    d.set(l, result);
  });
  return Flow::next;
}

template <class From, Type kTo>
Flow int_to_float(Warp& w, const Inst& in, uint32_t mask) {
  Round r = round_in(in);
  auto d = w.lanes<typename Target<kTo>::Stored>(in.d);
  for_lanes(mask, [&](int l) {
    auto v = static_cast<From>(load_bits({w, in, l}));
    Exact e{v < 0, static_cast<uint64_t>(v), 0};
    if (v < 0) e.significand = -e.significand;
    if (in.flags & kSat && v != 0) e = {false, v > 0, 0};
    d.set(l, Target<kTo>::of(e, r));
  });
  return Flow::next;
}

// ---- the conversions that programs use most, without the detour
struct F16ToF32 {
  static float of(uint16_t a) { return canonical(F16::widen(a)); }
};
struct Bf16ToF32 {
  static float of(uint16_t a) { return BF16::widen(a); }
};
struct F32ToF16 {
  static uint16_t of(float a) { return F16::round(a); }
};
struct F32ToBf16 {
  static uint16_t of(float a) { return bf16_nearest(a); }
};
template <class From, class To>
struct Nearest {  // the host converts to the nearest, ties to even, and keeps sign and payload of a NaN
  static To of(From a) { return static_cast<To>(a); }
};
template <class To>
struct TruncateF32 {
  static To of(float a) { return to_integer<To>(a, false); }
};

Exec frequent(Type to, Type from, const Inst& in) {
  Round r = static_cast<Round>(in.imm);
  if (in.flags & ~kWideA & ~kWideD) return nullptr;
  bool natural_d = (size_of(to) == 8) == ((in.flags & kWideD) != 0);
  bool natural_a = (size_of(from) == 8) == ((in.flags & kWideA) != 0);
  if (!natural_a || !natural_d) return nullptr;
  if (to == Type::f32 && from == Type::f16) return unary<F16ToF32, uint16_t>;
  if (to == Type::f32 && from == Type::bf16) return unary<Bf16ToF32, uint16_t>;
  if (to == Type::f64 && from == Type::f32) return unary<Nearest<float, double>, float>;
  if (r == Round::rn) {
    if (to == Type::f16 && from == Type::f32) return unary<F32ToF16, float>;
    if (to == Type::bf16 && from == Type::f32) return unary<F32ToBf16, float>;
    if (to == Type::f32 && from == Type::s32) return unary<Nearest<int32_t, float>, int32_t>;
    if (to == Type::f32 && from == Type::u32) return unary<Nearest<uint32_t, float>, uint32_t>;
    if (to == Type::f32 && from == Type::f64) return unary<Nearest<double, float>, double>;
    if (to == Type::f64 && from == Type::s32) return unary<Nearest<int32_t, double>, int32_t>;
    if (to == Type::f64 && from == Type::u32) return unary<Nearest<uint32_t, double>, uint32_t>;
  }
  return nullptr;
}
Exec frequent_truncation(Type to, const Inst& in) {
  if (in.flags || round_in(in) != Round::rz) return nullptr;
  if (to == Type::s32) return unary<TruncateF32<int32_t>, float>;
  if (to == Type::u32) return unary<TruncateF32<uint32_t>, float>;
  return nullptr;
}

// ---- decoding
Round rounding(const Match& m, bool* integral) {
  std::string r = m.any_of({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"});
  *integral = r.size() == 3;
  if (r[0] != 'r') return Round::rn;
  return r[1] == 'z' ? Round::rz : r[1] == 'm' ? Round::rm : r[1] == 'p' ? Round::rp : Round::rn;
}

// Fills d, a, flags and the rounding.
void convert_operands(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 2);
  bool integral;
  in.cls = Class::math;
  in.imm = static_cast<int64_t>(rounding(m, &integral));
  unsigned wide_d, wide_a;
  in.d = d.destination_any(d.operand(0), m.type(0), &wide_d);
  in.a = d.source_any(d.operand(1), m.type(1), &wide_a);
  if (wide_d > 8 || wide_a > 8 || size_of(m.type(0)) > wide_d || size_of(m.type(1)) > wide_a)
    d.refuse("`" + d.text().full_name() + "` with a register narrower than its type, or of 128 bits");
  in.flags = (m.has("ftz") ? kFtz : 0) | (m.has("sat") ? kSat : 0) | (m.has("relu") ? kRelu : 0) |
             (m.has("satfinite") ? kSatFinite : 0) | (integral ? kIntegral : 0) | (wide_d == 8 ? kWideD : 0) |
             (wide_a == 8 ? kWideA : 0);
}
void refuse_wide_float(Decoder& d, const Match& m, const Inst& in) {
  if (size_of(m.type(0)) < 8 && in.flags & kWideD)
    d.refuse("`" + d.text().full_name() + "` into a 64-bit register", "use a 32-bit register");
}

void int_to_int(Decoder& d, const Match& m, Inst& in) {
  convert_operands(d, m, in);
  in.cls = Class::address;
  Type to = m.type(0), from = m.type(1);
  bool natural = !(in.flags & kSat) && (size_of(to) == 8) == ((in.flags & kWideD) != 0) &&
                 (size_of(from) == 8) == ((in.flags & kWideA) != 0);
  in.exec = for_integer(from, [&](auto from_tag) -> Exec {
    using From = typename decltype(from_tag)::type;
    return for_integer(to, [&](auto to_tag) -> Exec {
      using To = typename decltype(to_tag)::type;
      return natural ? unary<Cast<From, To>, From> : int_to_int<From, To>;
    });
  });
}
void float_to_int(Decoder& d, const Match& m, Inst& in) {
  convert_operands(d, m, in);
  in.flags &= ~kIntegral;
  Type to = m.type(0), from = m.type(1);
  if (from == Type::f32) in.exec = frequent_truncation(to, in);
  if (in.exec) return;
  in.exec = for_integer(to, [&](auto tag) -> Exec {
    using To = typename decltype(tag)::type;
    switch (from) {
      case Type::f16:
        return float_to_int<Type::f16, To>;
      case Type::bf16:
        return float_to_int<Type::bf16, To>;
      case Type::f32:
        return float_to_int<Type::f32, To>;
      default:
        return float_to_int<Type::f64, To>;
    }
  });
}
void int_to_float(Decoder& d, const Match& m, Inst& in) {
  convert_operands(d, m, in);
  refuse_wide_float(d, m, in);
  Type to = m.type(0), from = m.type(1);
  in.exec = frequent(to, from, in);
  if (in.exec) return;
  in.exec = for_integer(from, [&](auto tag) -> Exec {
    using From = typename decltype(tag)::type;
    switch (to) {
      case Type::f16:
        return int_to_float<From, Type::f16>;
      case Type::bf16:
        return int_to_float<From, Type::bf16>;
      case Type::f32:
        return int_to_float<From, Type::f32>;
      default:
        return int_to_float<From, Type::f64>;
    }
  });
}
template <Type kFrom>
Exec float_to_float_from(Type to) {
  switch (to) {
    case Type::f16:
      return float_to_float<kFrom, Type::f16>;
    case Type::bf16:
      return float_to_float<kFrom, Type::bf16>;
    case Type::f32:
      return float_to_float<kFrom, Type::f32>;
    default:
      return float_to_float<kFrom, Type::f64>;
  }
}
void float_to_float(Decoder& d, const Match& m, Inst& in) {
  convert_operands(d, m, in);
  refuse_wide_float(d, m, in);
  Type to = m.type(0), from = m.type(1);
  in.exec = frequent(to, from, in);
  if (in.exec) return;
  switch (from) {
    case Type::f16:
      in.exec = float_to_float_from<Type::f16>(to);
      break;
    case Type::bf16:
      in.exec = float_to_float_from<Type::bf16>(to);
      break;
    case Type::f32:
      in.exec = float_to_float_from<Type::f32>(to);
      break;
    default:
      in.exec = float_to_float_from<Type::f64>(to);
  }
}

// Between the two 16-bit formats, which neither contains the other.
void float_to_float_16(Decoder& d, const Match& m, Inst& in) {
  if (m.type(0) == m.type(1))
    d.refuse("a conversion to the same format has an integer rounding (.rni ...) or none");
  float_to_float(d, m, in);
}

}  // namespace

std::vector<Form> convert_forms() {
  std::vector<Form> forms = {
      {"cvt.[sat].u8|u16|u32|u64|s8|s16|s32|s64.u8|u16|u32|u64|s8|s16|s32|s64", int_to_int},
      {"cvt.rni|rzi|rmi|rpi.[ftz].[sat].u8|u16|u32|u64|s8|s16|s32|s64.f32", float_to_int},
      {"cvt.rni|rzi|rmi|rpi.[sat].u8|u16|u32|u64|s8|s16|s32|s64.f16|f64", float_to_int},
      {"cvt.rni|rzi|rmi|rpi.u8|u16|u32|u64|s8|s16|s32|s64.bf16", float_to_int},
      {"cvt.rn|rz|rm|rp.[ftz].[sat].f32.u8|u16|u32|u64|s8|s16|s32|s64", int_to_float},
      {"cvt.rn|rz|rm|rp.[sat].f16|f64.u8|u16|u32|u64|s8|s16|s32|s64", int_to_float},
      {"cvt.rn|rz|rm|rp.bf16.u8|u16|u32|u64|s8|s16|s32|s64", int_to_float},
      // to a wider format: exact
      {"cvt.[ftz].[sat].f32.f16", float_to_float},
      {"cvt.[ftz].f32.bf16", float_to_float},
      {"cvt.[ftz].[sat].f64.f32", float_to_float},
      {"cvt.[sat].f64.f16", float_to_float},
      {"cvt.f64.bf16", float_to_float},
      // to a narrower one: rounded
      {"cvt.rn|rz|rm|rp.[ftz].[sat].f32.f64", float_to_float},
      {"cvt.rn|rz|rm|rp.[ftz].[sat].f16.f32", float_to_float},
      {"cvt.rn|rz.relu.[satfinite].f16.f32", float_to_float},
      {"cvt.rn|rz.satfinite.f16.f32", float_to_float},
      {"cvt.rn|rz|rm|rp.[sat].f16.f64", float_to_float},
      {"cvt.rn|rz|rm|rp.[ftz].bf16.f32", float_to_float},
      {"cvt.rn|rz.relu.[satfinite].bf16.f32", float_to_float},
      {"cvt.rn|rz.satfinite.bf16.f32", float_to_float},
      {"cvt.rn|rz|rm|rp.bf16.f64", float_to_float},
      {"cvt.rn|rz|rm|rp.f16|bf16.f16|bf16", float_to_float_16},
      // to an integral value of the same format, or with .sat or .ftz alone
      {"cvt.[rni|rzi|rmi|rpi].[ftz].[sat].f32.f32", float_to_float},
      {"cvt.[rni|rzi|rmi|rpi].[sat].f64.f64", float_to_float},
      {"cvt.[rni|rzi|rmi|rpi].[sat].f16.f16", float_to_float},
      {"cvt.[rni|rzi|rmi|rpi].bf16.bf16", float_to_float},
  };
  for (const Form& f : packed_convert_forms()) forms.push_back(f);
  return forms;
}

}  // namespace emu
