// Floating-point formats: exact values to bits with every rounding of PTX, and back.
//   f16, bf16 (PTX ISA 5.2.1), tf32, e4m3, e5m2 (5.2.3), f32 and f64 where the host's rounding does not serve.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace emu {

// rn: nearest, ties to even; rz: to zero; rm: down; rp: up; rna: nearest, ties away from zero.
enum class Round : uint8_t { rn, rz, rm, rp, rna };

template <class To, class From>
To bit_cast(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To r;
  std::memcpy(&r, &v, sizeof r);
  return r;
}

// A finite number: (-1)^negative * significand * 2^exponent.
struct Exact {
  bool negative = false;
  uint64_t significand = 0;
  int exponent = 0;
};

inline Exact exact(double v) {  // v is finite
  uint64_t bits = bit_cast<uint64_t>(v), field = bits >> 52 & 0x7FF, fraction = bits & ((1ull << 52) - 1);
  return {bits >> 63 != 0, field ? fraction | 1ull << 52 : fraction,
          static_cast<int>(field ? field : 1) - 1075};
}

// The bits of the IEEE-like format with kExp exponent and kMant fraction bits (sign above them) that `v` rounds to.
// Overflow gives infinity or the largest finite number, as the rounding says.
template <int kExp, int kMant>
uint64_t encode(Exact v, Round round) {
  constexpr int kBias = (1 << (kExp - 1)) - 1;
  constexpr uint64_t kInfinity = ((1ull << kExp) - 1) << kMant;
  uint64_t sign = uint64_t{v.negative} << (kExp + kMant);
  if (v.significand == 0) return sign;
  int lead = __builtin_clzll(v.significand);
  uint64_t top = v.significand << lead;   // bit 63 set
  int exponent = v.exponent + 63 - lead;  // of that bit
  bool subnormal = exponent < 1 - kBias;
  int shift = 63 - kMant + (subnormal ? 1 - kBias - exponent : 0);  // at least 11
  uint64_t kept = shift < 64 ? top >> shift : 0;
  int half =
      0;  // what is cut off, compared with one half of the last place: -1, 0, 1; -2: nothing is cut off
  if (shift > 64) {
    half = -1;
  } else {
    uint64_t rest = shift == 64 ? top : top << (64 - shift);
    half = rest == 0 ? -2 : rest < 1ull << 63 ? -1 : rest == 1ull << 63 ? 0 : 1;
  }
  bool up = false;
  switch (round) {
    case Round::rn:
      up = half == 1 || (half == 0 && (kept & 1));
      break;
    case Round::rna:
      up = half >= 0;
      break;
    case Round::rz:
      break;
    case Round::rm:
      up = half != -2 && v.negative;
      break;
    case Round::rp:
      up = half != -2 && !v.negative;
      break;
  }
  uint64_t code = kept + up;
  if (!subnormal) code += static_cast<uint64_t>(exponent + kBias - 1) << kMant;  // kept holds the leading 1
  if (exponent > kBias || code >= kInfinity) {
    bool to_infinity = round == Round::rn || round == Round::rna || (round == Round::rm && v.negative) ||
                       (round == Round::rp && !v.negative);
    code = to_infinity ? kInfinity : kInfinity - 1;
  }
  return sign | code;
}

// To nearest even, of any double, for formats well inside double's range. The quick way to what encode() gives.
template <int kExp, int kMant>
uint64_t encode_nearest(double v) {
  constexpr int kBias = (1 << (kExp - 1)) - 1, kCut = 52 - kMant;
  constexpr uint64_t kInfinity = ((1ull << kExp) - 1) << kMant;
  constexpr uint64_t kSmallestNormal = static_cast<uint64_t>(1024 - kBias) << 52;     // 2^(1-bias)
  constexpr uint64_t kUnit = static_cast<uint64_t>(1024 - kBias - kMant + 52) << 52;  // see below
  constexpr uint64_t kOverflow =
      (static_cast<uint64_t>(1023 + kBias) << 52) | ((1ull << 52) - (1ull << (kCut - 1)));
  uint64_t bits = bit_cast<uint64_t>(v), sign = bits >> 63 << (kExp + kMant), a = bits & ~(1ull << 63);
  if (a <
      kSmallestNormal)  // adding a number whose last place is the smallest subnormal rounds to multiples of that
    return sign |
           (bit_cast<uint64_t>(bit_cast<double>(a) + bit_cast<double>(kUnit)) & ((1ull << (kMant + 1)) - 1));
  if (a < kOverflow) {
    a += ((1ull << (kCut - 1)) - 1) + (a >> kCut & 1);
    return sign | ((a >> kCut) - (static_cast<uint64_t>(1023 - kBias) << kMant));
  }
  return a > 0x7FF0000000000000ull ? (1ull << (kExp + kMant)) - 1 : sign | kInfinity;
}

// The same for any double. NaN gives the canonical NaN: sign 0, every other bit 1.
template <int kExp, int kMant>
uint64_t encode(double v, Round round) {
  constexpr uint64_t kInfinity = ((1ull << kExp) - 1) << kMant;
  if constexpr (kExp < 11) {
    if (round == Round::rn) return encode_nearest<kExp, kMant>(v);
  }
  if (v != v) return (1ull << (kExp + kMant)) - 1;
  if (std::isinf(v)) return kInfinity | uint64_t{v < 0} << (kExp + kMant);
  return encode<kExp, kMant>(exact(v), round);
}

// The value of such a format's bits.
template <int kExp, int kMant>
double decode(uint32_t bits) {
  constexpr int kBias = (1 << (kExp - 1)) - 1;
  uint32_t field = bits >> kMant & ((1u << kExp) - 1), fraction = bits & ((1u << kMant) - 1);
  bool negative = bits >> (kExp + kMant) & 1;
  double v;
  if (field == (1u << kExp) - 1)
    v = fraction ? NAN : INFINITY;
  else if (field == 0)
    v = std::ldexp(static_cast<double>(fraction), 1 - kBias - kMant);
  else
    v = std::ldexp(static_cast<double>(fraction | 1u << kMant), static_cast<int>(field) - kBias - kMant);
  return negative ? -v : v;
}

constexpr uint32_t kNan32 = 0x7FFFFFFFu;  // the canonical NaN of f32
inline float canonical(float v) {
  return v != v ? bit_cast<float>(kNan32) : v;
}

// What becomes of NaNs (checks/recorded/nan_bits.txt). An f32 NaN is the canonical one. f64 hands the NaN of an operand on,
// quiet, with its sign and payload: that of the second operand before the third before the first, of the dividend first.
inline double quiet(double nan) {
  return bit_cast<double>(bit_cast<uint64_t>(nan) | 0x0008000000000000ull);
}
inline const double kInvalid64 = bit_cast<double>(0xFFF8000000000000ull);
inline double handed_on(double a) {
  return a != a ? quiet(a) : kInvalid64;
}
inline double handed_on(double a, double b) {
  return b != b ? quiet(b) : handed_on(a);
}
inline double handed_on(double a, double b, double c) {
  return b != b ? quiet(b) : c != c ? quiet(c) : handed_on(a);
}

// What an atomic or a bulk reduction leaves in memory. Which of two NaNs an addition of C++ gives is left to the compiler; an
// H200 keeps the one in shared memory before the one that is added, and makes it quiet, and in global memory the one that is
// added before the one that is there, as it is (checks/recorded/nan_bits.txt).
inline double add_to_memory(double old, double value, bool global) {
  const double sum = old + value;
  if (sum == sum) return sum;
  if (!global) return handed_on(value, old);
  return value != value ? value : old != old ? old : kInvalid64;
}

// .ftz: subnormal numbers become zero of the same sign.
inline float flush(float v) {
  return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v;
}
// .sat: to [0, 1], NaN to +0.
inline float saturate01(float v) {
  return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
}

inline float to_f32(double v, Round round) {
  if (round == Round::rn) return canonical(static_cast<float>(v));
  return bit_cast<float>(static_cast<uint32_t>(encode<8, 23>(v, round)));
}

struct F16 {
  // The bits in a float's place are the value times 2^-112, subnormal numbers too.
  static float widen(uint16_t h) {
    uint32_t sign = uint32_t{h & 0x8000u} << 16, rest = uint32_t{h & 0x7FFFu} << 13;
    auto bits = bit_cast<uint32_t>(bit_cast<float>(rest) * 0x1p112f);
    return bit_cast<float>(
        sign | (rest >= 0x0F800000u ? rest | 0x7F800000u : bits));  // infinity and NaN keep theirs
  }
  static uint16_t round(double v, Round r = Round::rn) { return static_cast<uint16_t>(encode<5, 10>(v, r)); }
  static uint16_t flush(uint16_t h) { return h & 0x7C00 ? h : h & 0x8000; }
  static bool is_nan(uint16_t h) { return (h & 0x7FFF) > 0x7C00; }
  static constexpr uint16_t kNan = 0x7FFF, kOne = 0x3C00, kLargest = 0x7BFF;
  static constexpr double kSmallestNormal = 0x1p-14;
};

struct BF16 {
  static float widen(uint16_t h) { return bit_cast<float>(uint32_t{h} << 16); }
  static uint16_t round(double v, Round r = Round::rn) { return static_cast<uint16_t>(encode<8, 7>(v, r)); }
  static uint16_t flush(uint16_t h) { return h & 0x7F80 ? h : h & 0x8000; }
  static bool is_nan(uint16_t h) { return (h & 0x7FFF) > 0x7F80; }
  static constexpr uint16_t kNan = 0x7FFF, kOne = 0x3F80, kLargest = 0x7F7F;
  static constexpr double kSmallestNormal = 0x1p-126;
};

// a + b, rounded to odd: the exact sum when a double holds it, else the neighbour whose last bit is 1. Rounding that
// to any format of at most 51 bits gives what rounding the exact sum would (so one rounding, not two).
inline double add_to_odd(double a, double b) {
  double s = a + b;
  double back = s - a;
  double error = (a - (s - back)) + (b - back);  // exact (Knuth's two-sum)
  uint64_t bits = bit_cast<uint64_t>(s);
  bool inexact = error < 0 || error > 0;  // false for NaN, which infinities give
  if (inexact && !(bits & 1)) bits += (error > 0) == (s > 0) ? 1 : -1;
  return bit_cast<double>(bits);
}

// a * b + c of f32, f16 or bf16 values: the product of two 24-bit significands is exact in a double.
inline double fma_to_odd(float a, float b, float c) {
  return add_to_odd(static_cast<double>(a) * b, c);
}

}  // namespace emu
