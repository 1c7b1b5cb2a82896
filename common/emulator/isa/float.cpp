// Floating-point arithmetic of f32 and f64 (PTX ISA 9.7.3).
//
// add, sub, mul, fma, div, rcp and sqrt are rounded once, as their modifier says: to nearest by the host's own
// arithmetic, in the other directions by the host's arithmetic with its rounding mode set for one warp instruction.
// The .approx forms are computed in double and rounded once, which is inside every error bound of the manual but not
// bit for bit what a GPU's tables give. No executor has an a * b + c that a compiler could contract.
#include <cfenv>

#include "emulator/isa/operands.hpp"
#include "emulator/numerics/formats.hpp"

namespace emu {
namespace {

// Sets the host's rounding while it lives. Values pass through opaque(), so that no operation can be computed at
// compile time or moved out of the scope.
class RoundingScope {
 public:
  explicit RoundingScope(Round round) {
    std::fesetround(round == Round::rz ? FE_TOWARDZERO : round == Round::rm ? FE_DOWNWARD : FE_UPWARD);
  }
  ~RoundingScope() { std::fesetround(FE_TONEAREST); }
  RoundingScope(const RoundingScope&) = delete;
};
template <class T>
T opaque(T v) {
  asm volatile("" : "+m"(v) : : "memory");
  return v;
}

struct Add {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct Sub {
  template <class T>
  static T of(T a, T b) {
    return a - b;
  }
};
struct Mul {
  template <class T>
  static T of(T a, T b) {
    return a * b;
  }
};
struct Div {
  template <class T>
  static T of(T a, T b) {
    return a / b;
  }
};
struct Rcp {
  template <class T>
  static T of(T a) {
    return T{1} / a;
  }
};
struct Sqrt {
  template <class T>
  static T of(T a) {
    return std::sqrt(a);
  }
};
struct Fma {
  template <class T>
  static T of(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct FmaNearest32 {  // without the call of the library's function
  static float of(float a, float b, float c) { return static_cast<float>(fma_to_odd(a, b, c)); }
};

// For .ftz a result is subnormal if it is so when rounded to 24 bits with no end of exponents: 2^-126 (1 - 2^-24) is flushed
// although it would be rounded up to 2^-126 (checks/fuzz/isa/record.txt). Here it is rounded with an exponent that fits, as
// the host does just now. exact: the result, or rounded the same way or to odd.
inline bool is_subnormal(double exact) {
  if (!(std::fabs(exact) < 0x1p-126)) return false;
  return std::fabs(opaque(static_cast<float>(opaque(exact * 0x1p64)))) < 0x1p-62f;
}
template <class Op, class... A>
bool is_tiny(A... a) {
  return is_subnormal(opaque(Op::of(opaque(static_cast<double>(a))...)));
}
template <>
bool is_tiny<Fma>(float a, float b, float c) {
  return is_subnormal(opaque(opaque(static_cast<double>(a) * b) + c));
}
template <>
bool is_tiny<FmaNearest32>(float a, float b, float c) {
  return is_subnormal(fma_to_odd(a, b, c));
}

// One operation with its modifiers.
template <class Op, class T, Round kRound, bool kFtz, bool kSat>
struct Rounded {
  template <class... A>
  static T of(A... a) {
    T r;
    if constexpr (kFtz)
      return of_flushed(flush(a)...);
    else if constexpr (kRound == Round::rn)
      r = Op::of(a...);
    else
      r = opaque(Op::of(opaque(a)...));
    if constexpr (std::is_same_v<T, double>) return r == r ? r : nan_of(a...);
    return finish(r);
  }
  template <class... A>
  static double nan_of(A... a) {
    return handed_on(a...);
  }
  static double nan_of(double a, double b) {
    return std::is_same_v<Op, Div> ? handed_on(b, a) : handed_on(a, b);
  }
  template <class... A>
  static T of_flushed(A... a) {
    T r;
    if constexpr (kRound == Round::rn)
      r = Op::of(a...);
    else
      r = opaque(Op::of(opaque(a)...));
    return finish(is_tiny<Op>(a...) ? std::copysign(T{0}, r) : flush(r));
  }
  static T finish(T r) {
    if constexpr (kSat)
      return saturate01(r);
    else if constexpr (std::is_same_v<T, float>)
      return canonical(r);
    else
      return r;
  }
};

template <class Op, class T, int kSources, Round kRound>
Flow arithmetic(Warp& w, const Inst& in, uint32_t mask) {
  auto apply = [&] {
    if constexpr (kSources == 1)
      return unary<Op, T>(w, in, mask);
    else if constexpr (kSources == 2)
      return binary<Op, T, T>(w, in, mask);
    else
      return ternary<Op, T, T, T>(w, in, mask);
  };
  if constexpr (kRound == Round::rn) return apply();
  RoundingScope scope(kRound);
  return apply();
}

Round round_of(const Match& m) {
  std::string r = m.any_of({"rz", "rm", "rp"});
  return r == "rz" ? Round::rz : r == "rm" ? Round::rm : r == "rp" ? Round::rp : Round::rn;
}

template <class Op, int kSources, Round kRound>
Exec pick32(bool ftz, bool sat) {
  using T = float;
  if (ftz && sat) return arithmetic<Rounded<Op, T, kRound, true, true>, T, kSources, kRound>;
  if (ftz) return arithmetic<Rounded<Op, T, kRound, true, false>, T, kSources, kRound>;
  if (sat) return arithmetic<Rounded<Op, T, kRound, false, true>, T, kSources, kRound>;
  return arithmetic<Rounded<Op, T, kRound, false, false>, T, kSources, kRound>;
}
template <class Op, int kSources, Round kRound>
Exec pick(Type t, bool ftz, bool sat) {
  if (t == Type::f32) return pick32<Op, kSources, kRound>(ftz, sat);
  return arithmetic<Rounded<Op, double, kRound, false, false>, double, kSources, kRound>;
}

// op{.rnd}{.ftz}{.sat}.f32, op{.rnd}.f64 with one to three sources. No rounding modifier means .rn.
template <class Op, int kSources>
void rounded(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  if (kSources == 1) operands(d, in, Class::math, t, {t});
  if (kSources == 2) operands(d, in, Class::math, t, {t, t});
  if (kSources == 3) operands(d, in, Class::math, t, {t, t, t});
  bool ftz = m.has("ftz"), sat = m.has("sat");
  switch (round_of(m)) {
    case Round::rz:
      in.exec = pick<Op, kSources, Round::rz>(t, ftz, sat);
      break;
    case Round::rm:
      in.exec = pick<Op, kSources, Round::rm>(t, ftz, sat);
      break;
    case Round::rp:
      in.exec = pick<Op, kSources, Round::rp>(t, ftz, sat);
      break;
    default:
      in.exec = pick<Op, kSources, Round::rn>(t, ftz, sat);
  }
}
// fma.rn without modifiers on hosts that have the instruction: the same result, sooner.
#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2,fma"))) Flow fma_of_host(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<T>(in.d), a = w.lanes<T>(in.a), b = w.lanes<T>(in.b), c = w.lanes<T>(in.c);
  T result[32];
  for (int l = 0; l < 32; ++l) {
    T x = a[l], y = b[l], z = c[l];
    if constexpr (sizeof(T) == 4)
      result[l] = canonical(__builtin_fmaf(x, y, z));
    else if (T r = __builtin_fma(x, y, z); r == r)
      result[l] = r;
    else
      result[l] = handed_on(x, y, z);
  }
  for_lanes(mask, [&](int l) { d.set(l, result[l]); });
  return Flow::next;
}
bool host_has_fma() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
template <class T>
constexpr Exec fma_of_host = nullptr;
bool host_has_fma() {
  return false;
}
#endif

void fma(Decoder& d, const Match& m, Inst& in) {
  rounded<Fma, 3>(d, m, in);
  bool nearest = round_of(m) == Round::rn;
  if (nearest && !m.has("ftz") && !m.has("sat") && host_has_fma())
    in.exec = m.type() == Type::f32 ? fma_of_host<float> : fma_of_host<double>;
  else if (nearest && m.type() == Type::f32)
    in.exec = pick32<FmaNearest32, 3, Round::rn>(m.has("ftz"), m.has("sat"));
}

void rounded_division(Decoder& d, const Match& m, Inst& in) {
  rounded<Div, 2>(d, m, in);
  in.action = Action::divide;
}

// ---- .approx: in double, rounded once
template <bool kFtz = false>
float once(double v) {
  const float r = canonical(static_cast<float>(v));
  if constexpr (kFtz) return is_subnormal(v) ? std::copysign(0.0f, r) : r;
  return r;
}
template <bool kFtz>
struct DivApprox {  // a * (1/b): the reciprocal of |b| > 2^126 is flushed to zero (9.7.3.8)
  static float of(float a, float b) {
    if constexpr (kFtz) a = flush(a), b = flush(b);
    double reciprocal = std::fabs(b) > 0x1p126f ? std::copysign(0.0, b) : 1.0 / b;
    return once<kFtz>(std::isinf(b) || reciprocal != 0 ? static_cast<double>(a) / b : a * reciprocal);
  }
};
template <bool kFtz>
struct DivFull {
  static float of(float a, float b) {
    if constexpr (kFtz) a = flush(a), b = flush(b);
    return once<kFtz>(static_cast<double>(a) / b);
  }
};
struct RcpApprox {
  static double of(double a) { return 1 / a; }
};
struct SqrtApprox {
  static double of(double a) { return std::sqrt(a); }
};
struct RsqrtApprox {
  static double of(double a) { return 1 / std::sqrt(a); }
};
struct SinApprox {
  static double of(double a) { return std::sin(a); }
};
struct CosApprox {
  static double of(double a) { return std::cos(a); }
};
struct Lg2Approx {
  static double of(double a) { return std::log2(a); }
};
struct Ex2Approx {
  static double of(double a) { return std::exp2(a); }
};
struct TanhApprox {
  static double of(double a) { return std::tanh(a); }
};

template <class Op, bool kFtz>
struct Approx32 {
  static float of(float a) { return once<kFtz>(Op::of(kFtz ? flush(a) : a)); }
};
template <class Op>
void approx32(Decoder& d, const Match& m, Inst& in) {
  operands(d, in, Class::math, Type::f32, {Type::f32});
  in.exec = m.has("ftz") ? unary<Approx32<Op, true>, float> : unary<Approx32<Op, false>, float>;
}
template <template <bool> class Op>
void divide32(Decoder& d, const Match& m, Inst& in) {
  operands(d, in, Class::math, Type::f32, {Type::f32, Type::f32});
  in.exec = m.has("ftz") ? binary<Op<true>, float, float> : binary<Op<false>, float, float>;
}

// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: only the upper 32 bits of source and result count (9.7.3.14, 9.7.3.17).
double upper_half(double v) {
  return bit_cast<double>(bit_cast<uint64_t>(v) & 0xFFFFFFFF00000000ull);
}
double flush64(double v) {
  return std::fabs(v) < 0x1p-1022 ? std::copysign(0.0, v) : v;
}
template <class Op>
struct Gross64 {
  static double of(double a) { return flush64(upper_half(Op::of(flush64(upper_half(a))))); }
};
template <class Op>
void gross64(Decoder& d, const Match&, Inst& in) {
  operands(d, in, Class::math, Type::f64, {Type::f64});
  in.exec = unary<Gross64<Op>, double>;
}
template <class Op>
void approx64(Decoder& d, const Match&, Inst& in) {
  operands(d, in, Class::math, Type::f64, {Type::f64});
  in.exec = unary<Op, double>;
}

// ---- sign, minimum, tests
template <bool kFtz>
struct Neg {
  static float of(float a) { return canonical(-(kFtz ? flush(a) : a)); }
  static double of(double a) { return a != a ? quiet(a) : -a; }
};
template <bool kFtz>
struct Abs {
  static float of(float a) { return canonical(std::fabs(kFtz ? flush(a) : a)); }
  static double of(double a) { return a != a ? quiet(a) : std::fabs(a); }
};
template <template <bool> class Op>
void sign_op(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::math, t, {t});
  in.exec = t == Type::f64 ? unary<Op<false>, double>
            : m.has("ftz") ? unary<Op<true>, float>
                           : unary<Op<false>, float>;
}

// A NaN loses against a number, unless .NaN is given; +0 is greater than -0.
template <bool kMax, bool kFtz, bool kNan, bool kXorSign>
struct Extremum {
  template <class T>
  static T of(T a, T b) {
    if constexpr (kFtz) a = flush(a), b = flush(b);
    bool negative = std::signbit(a) != std::signbit(b);
    if constexpr (kXorSign) a = std::fabs(a), b = std::fabs(b);
    // Selections rather than branches. Equal numbers have equal bits, but for zeros: there the signs decide.
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    U x = bit_cast<U>(a), y = bit_cast<U>(b);
    T equal = bit_cast<T>(static_cast<U>(kMax ? x & y : x | y));
    T r = ((kMax ? a > b : a < b) || b != b) ? a : b;
    r = a == b ? equal : r;
    bool is_nan = kNan ? (a != a || b != b) : r != r;
    if constexpr (sizeof(T) == 4)
      r = is_nan ? bit_cast<float>(kNan32) : r;
    else
      r = is_nan ? quiet(b) : r;
    if constexpr (kXorSign) {
      if (r == r) r = std::copysign(r, negative ? T{-1} : T{1});
    }
    return r;
  }
};
template <bool kMax, bool kFtz, bool kNan>
Exec extremum32(bool xor_sign) {
  return xor_sign ? binary<Extremum<kMax, kFtz, kNan, true>, float, float>
                  : binary<Extremum<kMax, kFtz, kNan, false>, float, float>;
}
template <bool kMax>
void extremum(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::math, t, {t, t});
  bool ftz = m.has("ftz"), nan = m.has("NaN"), x = m.has("xorsign");
  if (t == Type::f64)
    in.exec = binary<Extremum<kMax, false, false, false>, double, double>;
  else if (ftz)
    in.exec = nan ? extremum32<kMax, true, true>(x) : extremum32<kMax, true, false>(x);
  else
    in.exec = nan ? extremum32<kMax, false, true>(x) : extremum32<kMax, false, false>(x);
}

// copysign d, a, b: the sign of a, the rest of b.
struct Copysign {
  template <class T>
  static T of(T a, T b) {
    return std::copysign(b, a);
  }
};
void copysign(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::math, t, {t, t});
  in.exec = t == Type::f32 ? binary<Copysign, float, float> : binary<Copysign, double, double>;
}

// testp.op p, a. Zeros count as normal.
enum class Test { finite, infinite, number, notanumber, normal, subnormal };
template <class T, Test kTest>
Flow testp_exec(Warp& w, const Inst& in, uint32_t mask) {
  auto a = w.lanes<T>(in.a);
  uint32_t result = 0;
  for_lanes(mask, [&](int l) {
    int kind = std::fpclassify(a[l]);
    bool holds = false;
    switch (kTest) {
      case Test::finite:
        holds = kind != FP_INFINITE && kind != FP_NAN;
        break;
      case Test::infinite:
        holds = kind == FP_INFINITE;
        break;
      case Test::number:
        holds = kind != FP_NAN;
        break;
      case Test::notanumber:
        holds = kind == FP_NAN;
        break;
      case Test::normal:
        holds = kind == FP_NORMAL || kind == FP_ZERO;
        break;
      case Test::subnormal:
        holds = kind == FP_SUBNORMAL;
        break;
    }
    result |= uint32_t{holds} << l;
  });
  w.set_predicate(in.d, result, mask);
  return Flow::next;
}
template <class T>
Exec testp_of(const Match& m) {
  if (m.has("finite")) return testp_exec<T, Test::finite>;
  if (m.has("infinite")) return testp_exec<T, Test::infinite>;
  if (m.has("number")) return testp_exec<T, Test::number>;
  if (m.has("notanumber")) return testp_exec<T, Test::notanumber>;
  return m.has("normal") ? testp_exec<T, Test::normal> : testp_exec<T, Test::subnormal>;
}
void testp(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 2);
  in.cls = Class::math;
  in.d = d.predicate_destination(d.operand(0));
  in.a = d.source(d.operand(1), m.type());
  in.exec = m.type() == Type::f32 ? testp_of<float>(m) : testp_of<double>(m);
}

}  // namespace

std::vector<Form> float_forms() {
  return {
      {"add.[rn|rz|rm|rp].[ftz].[sat].f32", rounded<Add, 2>},
      {"add.[rn|rz|rm|rp].f64", rounded<Add, 2>},
      {"sub.[rn|rz|rm|rp].[ftz].[sat].f32", rounded<Sub, 2>},
      {"sub.[rn|rz|rm|rp].f64", rounded<Sub, 2>},
      {"mul.[rn|rz|rm|rp].[ftz].[sat].f32", rounded<Mul, 2>},
      {"mul.[rn|rz|rm|rp].f64", rounded<Mul, 2>},
      {"fma.rn|rz|rm|rp.[ftz].[sat].f32", fma},
      {"fma.rn|rz|rm|rp.f64", fma},
      {"mad.rn|rz|rm|rp.[ftz].[sat].f32", fma},
      {"mad.rn|rz|rm|rp.f64", fma},
      {"div.approx.[ftz].f32", divide32<DivApprox>},
      {"div.full.[ftz].f32", divide32<DivFull>},
      {"div.rn|rz|rm|rp.[ftz].f32", rounded_division},
      {"div.rn|rz|rm|rp.f64", rounded_division},
      {"rcp.approx.[ftz].f32", approx32<RcpApprox>},
      {"rcp.rn|rz|rm|rp.[ftz].f32", rounded<Rcp, 1>},
      {"rcp.rn|rz|rm|rp.f64", rounded<Rcp, 1>},
      {"rcp.approx.ftz.f64", gross64<RcpApprox>},
      {"sqrt.approx.[ftz].f32", approx32<SqrtApprox>},
      {"sqrt.rn|rz|rm|rp.[ftz].f32", rounded<Sqrt, 1>},
      {"sqrt.rn|rz|rm|rp.f64", rounded<Sqrt, 1>},
      {"rsqrt.approx.[ftz].f32", approx32<RsqrtApprox>},
      {"rsqrt.approx.f64", approx64<RsqrtApprox>},
      {"rsqrt.approx.ftz.f64", gross64<RsqrtApprox>},
      {"sin.approx.[ftz].f32", approx32<SinApprox>},
      {"cos.approx.[ftz].f32", approx32<CosApprox>},
      {"lg2.approx.[ftz].f32", approx32<Lg2Approx>},
      {"ex2.approx.[ftz].f32", approx32<Ex2Approx>},
      {"tanh.approx.f32", approx32<TanhApprox>},
      {"neg.[ftz].f32", sign_op<Neg>},
      {"neg.f64", sign_op<Neg>},
      {"abs.[ftz].f32", sign_op<Abs>},
      {"abs.f64", sign_op<Abs>},
      {"min.[ftz].[NaN].f32", extremum<false>},
      {"min.[ftz].[NaN].xorsign.abs.f32", extremum<false>},
      {"min.f64", extremum<false>},
      {"max.[ftz].[NaN].f32", extremum<true>},
      {"max.[ftz].[NaN].xorsign.abs.f32", extremum<true>},
      {"max.f64", extremum<true>},
      {"copysign.f32|f64", copysign},
      {"testp.finite|infinite|number|notanumber|normal|subnormal.f32|f64", testp},
  };
}

}  // namespace emu
