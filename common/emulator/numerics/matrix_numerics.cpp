#include "emulator/numerics/matrix_numerics.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace emu {
namespace {

constexpr int kZeroExponent = kMmaZeroExponent;
// Bounds of the fast sum (see fused_rows): no product or scale leaves the normal range of f32.
constexpr int kPlainLowest = -80, kPlainHighest = 100;

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

MmaElement from_f16(uint16_t bits) {
  const int field = bits >> 10 & 0x1F;
  const bool zero = (bits & 0x7FFF) == 0;
  return {f16_to_f32(bits), static_cast<int16_t>(zero ? kZeroExponent : std::max(field, 1) - 15),
          field != 31};
}

// e4m3 has no infinity, and one NaN pattern: all ones.
MmaElement from_e4m3(uint32_t bits) {
  if ((bits & 0x7F) == 0x7F) return {std::numeric_limits<float>::quiet_NaN(), 9, false};
  const int fraction = bits & 7, field = bits >> 3 & 15;
  const bool zero = (bits & 0x7F) == 0;
  const int exponent = std::max(field, 1) - 7;
  const float value = std::ldexp(static_cast<float>(field ? fraction + 8 : fraction), exponent - 3);
  return {bits & 0x80 ? -value : value, static_cast<int16_t>(zero ? kZeroExponent : exponent), true};
}

// Exponent of an old D element.
int accumulator_exponent(float value, bool is_f16) {
  if (value == 0) return kZeroExponent;
  return std::max(std::ilogb(value), is_f16 ? -14 : -126);
}

// The exact sum, cut toward zero to an f32 with `result_bits` fraction bits.
float cut_to_f32(double sum, int result_bits) {
  const int exponent = std::max(sum == 0 ? 0 : std::ilogb(sum), -126);
  const double cut = std::trunc(std::ldexp(sum, result_bits - exponent));
  return static_cast<float>(std::ldexp(cut, exponent - result_bits));  // exact, or beyond f32: infinity
}

float round_to_f16(double sum) {
  return f16_to_f32(f16_from_double(sum));
}

// A zero result is +0, also one that was cut or rounded to zero.
float convert_sum(double sum, const MmaFormat& format) {
  const float result = format.d == Type::f16 ? round_to_f16(sum) : cut_to_f32(sum, format.result_bits);
  return result == 0 ? 0.0f : result;
}

}  // namespace

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7FFFu;
  if (magnitude >= 0x7C00) return float_of(sign | 0x7F800000u | (magnitude & 0x3FF) << 13);
  return float_of(sign | bits_of(float_of(magnitude << 13) * 0x1p112f));  // 112 = 127 - 15: moves the bias
}

uint16_t f16_from_double(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  const uint32_t sign = static_cast<uint32_t>(bits >> 48) & 0x8000;
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023;
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 1024 && fraction) return 0x7FFF;
  if (exponent > 15) return static_cast<uint16_t>(sign | 0x7C00);
  if (exponent < -25) return static_cast<uint16_t>(sign);  // below half of the smallest subnormal
  // Keep 10 fraction bits, fewer for a subnormal; round what is dropped. A carry moves on into the exponent.
  const int dropped = exponent < -14 ? 42 - 14 - exponent : 42;
  const uint64_t significand = fraction | uint64_t{1} << 52;
  uint32_t kept = static_cast<uint32_t>(significand >> dropped);
  const uint64_t rest = significand & ((uint64_t{1} << dropped) - 1), half = uint64_t{1} << (dropped - 1);
  kept += rest > half || (rest == half && (kept & 1));
  const uint32_t field =
      exponent < -14 ? 0 : static_cast<uint32_t>(exponent + 14) << 10;  // + 1 from the leading bit
  return static_cast<uint16_t>(sign | (field + kept));
}

MmaElement mma_element(Type type, uint32_t bits) {
  switch (type) {
    case Type::f16:
      return from_f16(static_cast<uint16_t>(bits));
    case Type::bf16:
      return mma_element_of_f32(bits << 16);
    case Type::tf32:
      return mma_element_of_f32(bits & ~0x1FFFu);
    case Type::e5m2:
      return from_f16(static_cast<uint16_t>(bits << 8));  // the upper byte of an f16
    default:
      return from_e4m3(bits & 0xFF);
  }
}

MmaFormat mma_format(Type a, Type b, Type d) {
  MmaFormat format;
  format.a = a;
  format.b = b;
  format.d = d;
  format.depth = static_cast<int>(32 / size_of(a));
  if (size_of(a) == 1) format.fraction_bits = format.result_bits = 13;
  return format;
}

void MmaColumns::clear(int columns) {
  for (bool& p : plain) p = true;
  bits = MmaBits();
  if (columns % kMmaBlock == 0) return;
  std::memset(value[columns / kMmaBlock], 0, sizeof(value[0]));
  for (auto& k : exponent[columns / kMmaBlock])
    for (int16_t& e : k) e = kZeroExponent;
}

float mma_fused_sum(const MmaFormat& format, const MmaElement* a, const MmaElement* b, float d) {
  double special = d;  // decides about NaN and infinity only
  int largest = accumulator_exponent(d, format.d == Type::f16);
  const bool finite_d = std::isfinite(d);
  bool finite = finite_d;
  for (int k = 0; k < format.depth; ++k) {
    const double product = static_cast<double>(a[k].value) * b[k].value;
    finite = finite && std::isfinite(product);
    special += product;
    largest = std::max(largest, a[k].exponent + b[k].exponent);
  }
  if (!finite) {
    if (!std::isnan(special)) return static_cast<float>(special);
    return format.d == Type::f16 ? f16_to_f32(0x7FFF) : float_of(0x7FFFFFFF);
  }
  const int scale = format.fraction_bits - largest;
  double sum = std::trunc(std::ldexp(static_cast<double>(d), scale));
  for (int k = 0; k < format.depth; ++k)
    sum += std::trunc(std::ldexp(static_cast<double>(a[k].value) * b[k].value, scale));
  return convert_sum(std::ldexp(sum, -scale), format);
}

namespace {

template <class T, int W>
struct Vector {
  typedef T type __attribute__((vector_size(W * sizeof(T))));
};

// Some blocks of columns, side by side.
struct Blocks {
  const float (*value)[kMmaDepth][kMmaBlock];  // of B
  const int16_t (*exponent)[kMmaDepth][kMmaBlock];
  float (*d)[kMmaRows][kMmaBlock];
};

// Rows of `Count` blocks of columns, all terms within the bounds above. Returns the rows (bit i) that are not, because of
// the old D or of a sum that is too large: their D is left alone.
//
// With s = 2^(fraction_bits - E), a term cut to a multiple of 1/s is trunc(term * s), below 2^27 in magnitude; K of
// them stay below 2^31, and so, mostly, does the sum with the old D. Rounding is toward zero (TowardZero), so that an f32
// keeps the leading bits of the sum.
template <int W, int Count>  // lanes of a vector
inline __attribute__((always_inline)) uint32_t fused_rows(const MmaFormat& format, const MmaRows& a,
                                                          const Blocks& blocks, uint32_t rows) {
  using Floats = typename Vector<float, W>::type;
  using Ints = typename Vector<int32_t, W>::type;
  using Unsigned = typename Vector<uint32_t, W>::type;
  using Shorts = typename Vector<int16_t, W>::type;
  using BlockShorts = typename Vector<int16_t, kMmaBlock>::type;
  using BlockInts = typename Vector<int32_t, kMmaBlock / 2>::type;
  constexpr int kInBlock = kMmaBlock / W, kVectors = Count * kInBlock;
  const bool is_f16 = format.d == Type::f16;
  const int32_t kept = ~((1 << (23 - format.result_bits)) - 1);
  const int depth = format.depth, fraction_bits = format.fraction_bits;
  uint32_t left_out = 0;
  for (uint32_t m = rows; m; m &= m - 1) {
    const int row = __builtin_ctz(m);
    BlockShorts largest_product[Count];
    for (int c = 0; c < Count; ++c) largest_product[c] = BlockShorts{} + kPlainLowest;
#pragma GCC unroll 4
    for (int k = 0; k < depth; ++k) {
      const BlockInts both = BlockInts{} + a.exponent_twice[row][k];
      BlockShorts of_a;
      std::memcpy(&of_a, &both, sizeof of_a);
      for (int c = 0; c < Count; ++c) {
        BlockShorts exponent;
        std::memcpy(&exponent, blocks.exponent[c][k], sizeof exponent);
        exponent += of_a;
        largest_product[c] = largest_product[c] > exponent ? largest_product[c] : exponent;
      }
    }
    // The exponents of the old D join. Sign bits and shifts instead of comparisons, which compilers take apart for wide
    // vectors.
    Floats scale[kVectors];
    Ints sum[kVectors], strange = {};
    for (int v = 0; v < kVectors; ++v) {
      Shorts of_products;
      std::memcpy(&of_products, reinterpret_cast<const int16_t*>(largest_product) + v * W,
                  sizeof of_products);
      Ints bits, largest = __builtin_convertvector(of_products, Ints);
      std::memcpy(&bits, &blocks.d[v / kInBlock][row][v % kInBlock * W], sizeof bits);
      bits &= 0x7FFFFFFF;
      const Ints exponent = (bits >> 23) - 127;
      const Ints nonzero = -bits;  // negative when the magnitude is not 0
      strange |= (kPlainHighest - exponent) | (nonzero & (exponent - kPlainLowest));
      Ints used = exponent;  // of a zero it is lower than any other
      if (is_f16) {
        const Ints raise = -14 - exponent;  // positive for a subnormal f16
        used = (exponent + (raise & ~(raise >> 31))) & (nonzero >> 31);
        used |= kPlainLowest & ~(nonzero >> 31);
      }
      largest = largest > used ? largest : used;
      const Ints field = (127 + fraction_bits - largest) << 23;
      std::memcpy(&scale[v], &field, sizeof field);
      sum[v] = Ints{};
    }
#pragma GCC unroll 4
    for (int k = 0; k < depth; ++k) {
      const Floats of_a = a.value[row][k] - Floats{};
      for (int v = 0; v < kVectors; ++v) {
        Floats x;
        std::memcpy(&x, &blocks.value[v / kInBlock][k][v % kInBlock * W], sizeof x);
        x = x * of_a * scale[v];
        sum[v] += __builtin_convertvector(x, Ints);
      }
    }
    Ints total[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      Floats old;
      std::memcpy(&old, &blocks.d[v / kInBlock][row][v % kInBlock * W], sizeof old);
      const Ints last = __builtin_convertvector(old * scale[v], Ints);
      Unsigned added;  // modulo 2^32
      Unsigned one, other;
      std::memcpy(&one, &sum[v], sizeof one);
      std::memcpy(&other, &last, sizeof other);
      added = one + other;
      std::memcpy(&total[v], &added, sizeof added);
      strange |= (sum[v] ^ total[v]) & (last ^ total[v]);  // negative when it does not fit
    }
    uint64_t pairs[W / 2], any = 0;
    std::memcpy(pairs, &strange, sizeof pairs);
    for (uint64_t pair : pairs) any |= pair;
    if (any & 0x8000000080000000) {
      left_out |= 1u << row;
      continue;
    }
    for (int v = 0; v < kVectors; ++v) {
      Ints field;
      std::memcpy(&field, &scale[v], sizeof field);
      field = (254 << 23) - field;  // one unit: 1 / scale
      Floats unit;
      std::memcpy(&unit, &field, sizeof field);
      float* to = &blocks.d[v / kInBlock][row][v % kInBlock * W];
      if (is_f16) {
        for (int i = 0; i < W; ++i)
          to[i] = convert_sum(static_cast<double>(total[v][i]) * static_cast<double>(unit[i]), format);
      } else {
        const Floats whole = __builtin_convertvector(total[v], Floats);
        Ints bits;
        std::memcpy(&bits, &whole, sizeof bits);
        bits &= kept;
        Floats cut;
        std::memcpy(&cut, &bits, sizeof cut);
        cut *= unit;
        std::memcpy(to, &cut, sizeof cut);
      }
    }
  }
  return left_out;
}

// One block, or two of them, which share the reading of A.
template <int W>
inline __attribute__((always_inline)) uint32_t fused_blocks(const MmaFormat& format, const MmaRows& a,
                                                            const Blocks& blocks, int count, uint32_t rows) {
  return count == 2 ? fused_rows<W, 2>(format, a, blocks, rows) : fused_rows<W, 1>(format, a, blocks, rows);
}

using FusedBlocks = uint32_t (*)(const MmaFormat&, const MmaRows&, const Blocks&, int, uint32_t);

uint32_t fused_blocks_portable(const MmaFormat& format, const MmaRows& a, const Blocks& blocks, int count,
                               uint32_t rows) {
  return fused_blocks<4>(format, a, blocks, count, rows);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) uint32_t fused_blocks_avx2(const MmaFormat& format, const MmaRows& a,
                                                           const Blocks& blocks, int count, uint32_t rows) {
  return fused_blocks<8>(format, a, blocks, count, rows);
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) uint32_t fused_blocks_avx512(
    const MmaFormat& format, const MmaRows& a, const Blocks& blocks, int count, uint32_t rows) {
  return fused_blocks<16>(format, a, blocks, count, rows);
}
#endif

FusedBlocks choose_fused_blocks() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return fused_blocks_avx512;
  if (__builtin_cpu_supports("avx2")) return fused_blocks_avx2;
#endif
  return fused_blocks_portable;
}

// ---- sums that need no rounding, as those of small whole numbers: f32 arithmetic says by its inexact flag where it did round

void forget_rounding() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() & ~static_cast<unsigned>(_MM_EXCEPT_INEXACT));
#else
  std::feclearexcept(FE_INEXACT);
#endif
}
bool has_rounded() {
#if defined(__x86_64__)
  return _mm_getcsr() & _MM_EXCEPT_INEXACT;
#else
  return std::fetestexcept(FE_INEXACT) != 0;
#endif
}

// What must hold of all terms and every old D for the cut of the terms to change none of them.
struct ExactTerms {
  float steady;        // added and taken off again: rounds an old D that has bits below those that are kept
  uint32_t too_large;  // the bits of an old D whose magnitude may cut terms
  bool possible;
};

ExactTerms exact_terms(const MmaFormat& format, const MmaBits& a, const MmaBits& b) {
  ExactTerms exact{0, 0, false};
  if (format.d != Type::f32 || format.result_bits != 23) return exact;
  const bool zero = a.highest == kZeroExponent || b.highest == kZeroExponent;
  const int highest = zero ? 0 : a.highest + b.highest, lowest = zero ? 0 : a.lowest + b.lowest;
  exact.possible = lowest >= highest - format.fraction_bits;
  exact.steady = float_of(static_cast<uint32_t>(127 + 24 + highest - format.fraction_bits) << 23) * 1.5f;
  exact.too_large = static_cast<uint32_t>(127 + lowest + format.fraction_bits) << 23;
  return exact;
}

// All rows of `Count` blocks of columns. False where a sum was rounded, or a term would be cut: D is as it was then.
template <int W, int Count>
inline __attribute__((always_inline)) bool exact_rows(int depth, const MmaRows& a, const Blocks& blocks,
                                                      const ExactTerms& exact) {
  using Floats = typename Vector<float, W>::type;
  using Ints = typename Vector<int32_t, W>::type;
  constexpr int kInBlock = kMmaBlock / W, kVectors = Count * kInBlock, kRows = 2;
  float sums[Count][kMmaRows][kMmaBlock];
  Ints magnitudes = {};
  forget_rounding();
  asm volatile("" : : : "memory");  // none of them has begun yet
  for (int row = 0; row < kMmaRows; row += kRows) {
    Floats sum[kRows * kVectors];  // in registers, when all loops over them are unrolled
#pragma GCC unroll 16
    for (int i = 0; i < kRows * kVectors; ++i) {
      const int r = i / kVectors, v = i % kVectors;
      Floats old;
      Ints bits;
      std::memcpy(&old, &blocks.d[v / kInBlock][row + r][v % kInBlock * W], sizeof old);
      std::memcpy(&bits, &old, sizeof bits);
      bits &= 0x7FFFFFFF;
      magnitudes = magnitudes > bits ? magnitudes : bits;
      sum[i] = old + exact.steady - exact.steady;
    }
    for (int k = 0; k < depth; ++k) {
#pragma GCC unroll 16
      for (int i = 0; i < kRows * kVectors; ++i) {
        const int r = i / kVectors, v = i % kVectors;
        Floats x;
        std::memcpy(&x, &blocks.value[v / kInBlock][k][v % kInBlock * W], sizeof x);
        sum[i] += x * a.value[row + r][k];
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows * kVectors; ++i) {
      const int r = i / kVectors, v = i % kVectors;
      std::memcpy(&sums[v / kInBlock][row + r][v % kInBlock * W], &sum[i], sizeof sum[i]);
    }
  }
  asm volatile("" : : "r"(sums) : "memory");  // all of them are there now
  uint32_t largest = 0;
  for (int i = 0; i < W; ++i) largest = std::max(largest, static_cast<uint32_t>(magnitudes[i]));
  if (largest >= exact.too_large || has_rounded()) return false;
  for (int c = 0; c < Count; ++c) std::memcpy(blocks.d[c], sums[c], sizeof sums[c]);
  return true;
}

template <int W>
inline __attribute__((always_inline)) bool exact_blocks(int depth, const MmaRows& a, const Blocks& blocks,
                                                        int count, const ExactTerms& exact) {
  return count == 2 ? exact_rows<W, 2>(depth, a, blocks, exact) : exact_rows<W, 1>(depth, a, blocks, exact);
}

using ExactBlocks = bool (*)(int, const MmaRows&, const Blocks&, int, const ExactTerms&);

bool exact_blocks_portable(int depth, const MmaRows& a, const Blocks& blocks, int count,
                           const ExactTerms& exact) {
  return exact_blocks<4>(depth, a, blocks, count, exact);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) bool exact_blocks_avx2(int depth, const MmaRows& a, const Blocks& blocks,
                                                           int count, const ExactTerms& exact) {
  return exact_blocks<8>(depth, a, blocks, count, exact);
}
#endif

ExactBlocks choose_exact_blocks() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return exact_blocks_avx2;
#endif
  return exact_blocks_portable;
}

// For as long as it lives, floating point arithmetic of this thread rounds toward zero.
struct TowardZero {
  const int before = std::fegetround();
  TowardZero() { std::fesetround(FE_TOWARDZERO); }
  ~TowardZero() { std::fesetround(before); }
};

// Row by row, step by step.
void multiply_slowly(const MmaFormat& format, const MmaRows& a, const MmaColumns& b, int block, uint32_t rows,
                     MmaAccumulator& d) {
  for (; rows; rows &= rows - 1) {
    const int row = __builtin_ctz(rows);
    MmaElement x[kMmaDepth], y[kMmaDepth];
    for (int k = 0; k < format.depth; ++k) x[k] = {a.value[row][k], a.exponent[row][k], true};
    for (int lane = 0; lane < kMmaBlock; ++lane) {
      for (int k = 0; k < format.depth; ++k)
        y[k] = {b.value[block][k][lane], b.exponent[block][k][lane], true};
      float& element = d.value[block][row][lane];
      element = mma_fused_sum(format, x, y, element);
    }
  }
}

}  // namespace

void mma_multiply(const MmaFormat& format, const MmaRows& a, const MmaColumns& b, int columns,
                  MmaAccumulator& d) {
  static const FusedBlocks fast = choose_fused_blocks();
  static const ExactBlocks without_rounding = choose_exact_blocks();
  constexpr uint32_t kAll = (1u << kMmaRows) - 1;
  uint32_t plain_rows = 0, slow[kMmaBlocks];
  for (int row = 0; row < kMmaRows; ++row) plain_rows |= static_cast<uint32_t>(a.plain[row]) << row;
  const int blocks = (columns + kMmaBlock - 1) / kMmaBlock;
  const ExactTerms exact = exact_terms(format, a.bits, b.bits);
  bool try_exact = exact.possible && plain_rows == kAll;
  {
    const TowardZero rounding;
    for (int block = 0; block < blocks;) {
      slow[block] = kAll;
      if (!b.plain[block]) {
        ++block;
        continue;
      }
      const int count = block + 1 < blocks && b.plain[block + 1] ? 2 : 1;
      const Blocks some{b.value + block, b.exponent + block, d.value + block};
      try_exact = try_exact && without_rounding(format.depth, a, some, count, exact);
      const uint32_t left_out = try_exact ? 0 : fast(format, a, some, count, plain_rows);
      for (int end = block + count; block < end; ++block) slow[block] = (kAll & ~plain_rows) | left_out;
    }
  }
  for (int block = 0; block < blocks; ++block) multiply_slowly(format, a, b, block, slow[block], d);
}

}  // namespace emu
