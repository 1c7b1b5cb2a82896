// How the tensor core adds, worked out by hand from the stated steps.
#include "emulator/numerics/matrix_numerics.hpp"

#include <cmath>
#include <functional>
#include <random>

#include "emulator/numerics/matrix_operands.hpp"
#include "support.hpp"

using emu::Type;
using emu_test::Options;
using emu_test::Runner;

namespace {

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
uint16_t bf16(float x) {
  return static_cast<uint16_t>(bits_of(x) >> 16);
}

// The sum of products given as pairs, and d, in the arithmetic of the format; other products are 0 * 0.
float sum(emu::MmaFormat format, std::vector<std::pair<float, float>> products, float d) {
  const auto element = [](Type t, float x) {
    if (t == Type::bf16) return emu::mma_element(t, bf16(x));
    if (t == Type::tf32) return emu::mma_element(t, bits_of(x));
    if (t == Type::f16) return emu::mma_element(t, emu::f16_from_double(static_cast<double>(x)));
    return emu::mma_element(Type::e5m2, emu::f16_from_double(static_cast<double>(x)) >> 8);
  };
  std::vector<emu::MmaElement> a(32, element(format.a, 0)), b(32, element(format.b, 0));
  for (size_t i = 0; i < products.size(); ++i) {
    a[i] = element(format.a, products[i].first);
    b[i] = element(format.b, products[i].second);
  }
  return emu::mma_fused_sum(format, a.data(), b.data(), d);
}

const emu::MmaFormat kBf16 = emu::mma_format(Type::bf16, Type::bf16, Type::f32);
const emu::MmaFormat kF16 = emu::mma_format(Type::f16, Type::f16, Type::f32);
const emu::MmaFormat kF16ToF16 = emu::mma_format(Type::f16, Type::f16, Type::f16);
const emu::MmaFormat kE5m2 = emu::mma_format(Type::e5m2, Type::e5m2, Type::f32);

}  // namespace

TEST_CASE("wgmma arithmetic cuts every term at 25 bits below the largest exponent, toward zero") {
  CHECK(sum(kBf16, {{0x1p-13f, 0x1p-13f}}, 1) == 1);              // 2^-26: cut to 0
  CHECK(sum(kBf16, {{-0x1p-13f, 0x1p-13f}}, 1) == 1);             // and so is -2^-26
  CHECK(sum(kBf16, {{-0x1p-12f, 0x1p-13f}}, 1) == 1 - 0x1p-24f);  // 1 - 2^-25, cut to 24 bits
  CHECK(sum(kBf16, std::vector<std::pair<float, float>>(4, {0x1p-12f, 0x1p-13f}), 1) == 1 + 0x1p-23f);
  CHECK(sum(kBf16, std::vector<std::pair<float, float>>(16, {0x1p-13f, 0x1p-13f}), 1) == 1);  // each one lost
}

TEST_CASE("wgmma arithmetic takes a product's exponent from its factors") {
  // 1.5 * 1.5 = 2.25 has exponent 0, so that 2^-25 survives beside it; 2^-26 does not.
  CHECK(sum(kBf16, {{1.5f, 1.5f}, {-1.5f, 1.5f}}, 0x1p-25f) == 0x1p-25f);
  CHECK(sum(kBf16, {{1.5f, 1.5f}, {-1.5f, 1.5f}}, 0x1p-26f) == 0);
  CHECK(sum(kBf16, {{2.25f, 1}, {-2.25f, 1}}, 0x1p-25f) == 0);  // exponent 1
}

TEST_CASE("wgmma arithmetic keeps subnormals and counts zeros as nothing") {
  CHECK(sum(kF16, {{0x1p-24f, 1}}, 0) == 0x1p-24f);
  CHECK(sum(kBf16, {{0x1p-133f, 0x1p10f}}, 0) == 0x1p-123f);
  CHECK(sum(kBf16, {{0, 0x1p15f}}, 0x1p-30f) == 0x1p-30f);
  CHECK(sum(kBf16, {{0x1p-100f, 0x1p-40f}}, 0) == 0x1p-140f);  // an f32 subnormal result
  CHECK(sum(kBf16, {{0, 0x1p100f}, {0x1p100f, 0}}, 0x1.000002p-60f) == 0x1.000002p-60f);
  CHECK(bits_of(sum(kBf16, {{-0x1p-90f, 0x1p-90f}}, 0)) == 0);  // and so is one that underflows
  CHECK(bits_of(sum(kF16ToF16, {{-0x1p-24f, 0x1p-24f}}, 0)) == 0);
  CHECK(bits_of(sum(kBf16, {{-1, 0}}, -0.0f)) == 0);  // a zero sum is +0
}

TEST_CASE("wgmma arithmetic: infinity and NaN") {
  CHECK(sum(kBf16, {{INFINITY, 1}}, 1) == INFINITY);
  CHECK(sum(kBf16, {{INFINITY, -1}}, 1) == -INFINITY);
  CHECK(bits_of(sum(kBf16, {{INFINITY, 1}}, -INFINITY)) == 0x7FFFFFFF);
  CHECK(bits_of(sum(kBf16, {{INFINITY, 0}}, 0)) == 0x7FFFFFFF);
  CHECK(bits_of(sum(kBf16, {{1, 1}}, float_of(0xFFC00001))) == 0x7FFFFFFF);
  CHECK(emu::f16_from_double(static_cast<double>(sum(kF16ToF16, {{1, 1}}, NAN))) == 0x7FFF);
}

TEST_CASE("wgmma arithmetic: f16 results are rounded to nearest even, fp8 operands keep 13 bits") {
  CHECK(sum(kF16ToF16, {{0x1p-11f, 1}}, 1) == 1);                            // a tie: even
  CHECK(sum(kF16ToF16, {{0x1p-11f, 1}}, 1 + 0x1p-10f) == 1 + 0x1p-9f);       // a tie: odd goes up
  CHECK(sum(kF16ToF16, {{0x1p-11f, 1}, {0x1p-14f, 1}}, 1) == 1 + 0x1p-10f);  // above the tie
  CHECK(sum(kF16ToF16, {{65504, 1}, {16, 1}}, 0) == INFINITY);
  CHECK(sum(kF16ToF16, {{65504, 1}, {15, 1}}, 0) == 65504);
  CHECK(sum(kE5m2, {{0x1p-7f, 0x1p-6f}}, 1) == 1 + 0x1p-13f);
  CHECK(sum(kE5m2, {{0x1p-7f, 0x1p-7f}}, 1) == 1);
}

TEST_CASE("wgmma arithmetic: the fast sum equals the stated steps, bit by bit") {
  std::mt19937 random(7);
  struct Pair {
    Type ab, d;
  };
  for (Pair p : {Pair{Type::bf16, Type::f32}, Pair{Type::f16, Type::f32}, Pair{Type::f16, Type::f16},
                 Pair{Type::tf32, Type::f32}, Pair{Type::e4m3, Type::f32}, Pair{Type::e5m2, Type::f16}}) {
    const emu::MmaFormat format = emu::mma_format(p.ab, p.ab, p.d);
    for (int spread : {2, 12, 70, 250}) {
      CAPTURE(emu::name_of(p.ab));
      CAPTURE(spread);
      const auto draw = [&]() -> emu::MmaElement {
        const int range = std::min(spread, p.ab == Type::f16                          ? 30
                                           : p.ab == Type::bf16 || p.ab == Type::tf32 ? 250
                                                                                      : 14);
        const float x = std::ldexp(1.0f + static_cast<float>(random() % 4096) / 4096,
                                   static_cast<int>(random() % static_cast<uint32_t>(range)) - range / 2);
        const uint32_t bits = bits_of(random() % 2 ? x : -x) * (random() % 8 != 0);
        if (p.ab == Type::bf16) return emu::mma_element(p.ab, bits >> 16);
        if (p.ab == Type::tf32) return emu::mma_element(p.ab, bits);
        if (p.ab == Type::f16)
          return emu::mma_element(p.ab, emu::f16_from_double(static_cast<double>(float_of(bits))));
        return emu::mma_element(p.ab, random() & 0x77);
      };
      static emu::MmaRows a;
      static emu::MmaColumns b;
      static emu::MmaAccumulator d, before;
      static emu::MmaElement rows[16][32], columns[24][32];
      a.clear();
      b.clear(24);
      for (int row = 0; row < 16; ++row)
        for (int k = 0; k < format.depth; ++k) a.set(row, k, rows[row][k] = draw());
      for (int column = 0; column < 24; ++column)
        for (int k = 0; k < format.depth; ++k) b.set(k, column, columns[column][k] = draw());
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 32; ++column) {
          const float c = column < 24 ? draw().value : 0;
          d.at(row, column) =
              p.d == Type::f16 ? emu::f16_to_f32(emu::f16_from_double(static_cast<double>(c))) : c;
        }
      before = d;
      emu::mma_multiply(format, a, b, 24, d);
      int wrong = 0;
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 24; ++column)
          wrong += bits_of(d.at(row, column)) !=
                   bits_of(emu::mma_fused_sum(format, rows[row], columns[column], before.at(row, column)));
      CHECK(wrong == 0);
    }
  }
}
