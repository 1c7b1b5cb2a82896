// f32 and f64 arithmetic. Exact results come from 113-bit arithmetic and are rounded here by comparison, not by the
// host's rounding modes.
#include <cmath>
#include <limits>

#include "table.hpp"

using namespace emu_test;

namespace {

using Quad = __float128;
constexpr uint64_t kNan = 0x7FFFFFFF;
const float kInf = std::numeric_limits<float>::infinity();
const char* const kRoundings[] = {"rn", "rz", "rm", "rp"};

// The neighbour of the nearest value that the rounding asks for.
template <class T>
T rounded(Quad exact, const std::string& mode) {
  T n = static_cast<T>(exact);
  constexpr T inf = std::numeric_limits<T>::infinity();
  if (exact - exact != 0) return n;                    // infinite or NaN
  if (exact == 0) return mode == "rm" ? -T{0} : T{0};  // a sum that cancels
  Quad value = n;
  if (mode == "rm" || (mode == "rz" && exact > 0)) return value > exact ? std::nextafter(n, -inf) : n;
  if (mode == "rp" || (mode == "rz" && exact < 0)) return value < exact ? std::nextafter(n, inf) : n;
  return n;
}

template <class T>
T value(uint64_t b) {
  if constexpr (sizeof(T) == 4)
    return f32(b);
  else
    return f64(b);
}
template <class T>
uint64_t result(T v) {
  return v != v && sizeof(T) == 4 ? kNan : bits(v);
}

template <class T>
std::vector<uint64_t> list(std::initializer_list<double> values) {
  std::vector<uint64_t> out;
  for (double v : values) out.push_back(bits(static_cast<T>(v)));
  return out;
}
// Values whose sums and products 113 bits hold, up to what cannot decide a rounding.
template <class T>
std::vector<uint64_t> ordinary() {
  return list<T>({1, -1, 1.5, 3, -7.25, 1.0 / 3, 3.14159265358979, -1e10, 1e-5, 16777215, -8388609,
                  1 + 1.0 / 8388608, 0.1, 4097.0 / 4096, -0.7});
}
std::vector<uint64_t> extremes32() {
  return {bits(0.0f), bits(-0.0f), bits(1.0f), bits(-3.0f),  1,           0x80000003,
          0x007FFFFF, 0x00800000,  0x7F7FFFFF, 0xFF7FFFFF,   0x7F800000,  0xFF800000,
          0x7FC00000, 0xFFC12345,  bits(0.5f), bits(1e-20f), bits(-3e38f)};
}
float flushed(float v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
}

template <class T, class F>
void all_roundings(const std::string& op, const std::string& type, size_t sources, F exact) {
  std::vector<std::vector<uint64_t>> lists(sources, ordinary<T>());
  const char* operands[] = {" $d, $a;", " $d, $a, $b;", " $d, $a, $b, $c;"};
  for (std::string mode : kRoundings)
    check_table(op + "." + mode + "." + type + operands[sources - 1], sizeof(T),
                std::vector<unsigned>(sources, sizeof(T)), cross(lists), [&](const Row& r) {
                  Quad a = value<T>(r[0]), b = value<T>(r[sources > 1]), c = value<T>(r[sources > 2 ? 2 : 0]);
                  return result(rounded<T>(exact(a, b, c), mode));
                });
}

template <class T>
T sqrt_rounded(T a, const std::string& mode) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  auto square = [](Quad v) { return v * v; };
  T n = std::sqrt(a);
  while (square(n) > a) n = std::nextafter(n, T{0});
  while (square(std::nextafter(n, inf)) <= a) n = std::nextafter(n, inf);
  T up = square(n) == a ? n : std::nextafter(n, inf);  // n rounds down, up rounds up
  if (mode == "rp") return up;
  if (mode != "rn") return n;
  return square((Quad{n} + up) / 2) < a ? up : n;
}

}  // namespace

TEST_CASE("add, sub, mul, fma, div, rcp: each rounding of f32 and f64") {
  auto add = [](Quad a, Quad b, Quad) { return a + b; };
  auto sub = [](Quad a, Quad b, Quad) { return a - b; };
  auto mul = [](Quad a, Quad b, Quad) { return a * b; };
  auto div = [](Quad a, Quad b, Quad) { return a / b; };
  auto rcp = [](Quad a, Quad, Quad) { return 1 / a; };
  auto fma = [](Quad a, Quad b, Quad c) { return a * b + c; };
  all_roundings<float>("add", "f32", 2, add);
  all_roundings<float>("mul", "f32", 2, mul);
  all_roundings<float>("div", "f32", 2, div);
  all_roundings<float>("rcp", "f32", 1, rcp);
  all_roundings<double>("add", "f64", 2, add);
  all_roundings<double>("mul", "f64", 2, mul);
  all_roundings<double>("div", "f64", 2, div);
  all_roundings<double>("rcp", "f64", 1, rcp);
  all_roundings<float>("sub", "f32", 2, sub);
  all_roundings<double>("sub", "f64", 2, sub);
  for (std::string op : {"fma", "mad"}) {
    all_roundings<float>(op, "f32", 3, fma);
    all_roundings<double>(op, "f64", 3, fma);
  }
}

TEST_CASE("sqrt: each rounding of f32 and f64") {
  auto roots32 = list<float>({2, 3, 0.1, 16, 1e10, 1e-20, 0.7, 16777215, 1 + 1.0 / 8388608});
  roots32.push_back(1);  // the smallest subnormal
  for (std::string mode : kRoundings) {
    check_table("sqrt." + mode + ".f32 $d, $a;", 4, {4}, cross({roots32}),
                [&](const Row& r) { return bits(sqrt_rounded(f32(r[0]), mode)); });
    check_table("sqrt." + mode + ".f64 $d, $a;", 8, {8},
                cross({list<double>({2, 3, 0.1, 16, 1e10, 1e-20, 0.7})}),
                [&](const Row& r) { return bits(sqrt_rounded(f64(r[0]), mode)); });
  }
}

TEST_CASE("fma.rn.f32 is rounded once, at the edges of the format too") {
  std::vector<Row> rows;
  uint64_t seed = 1;
  auto next = [&] {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return seed >> 33;
  };
  // a*b with 48 bits next to a c that makes a tie of all but the last of them; and random bits of every exponent.
  for (int i = 0; i < 4000; ++i) {
    uint64_t a = next() | next() << 31, b = next() | next() << 31, c = next() | next() << 31;
    rows.push_back({a & 0xFFFFFFFF, b & 0xFFFFFFFF, c & 0xFFFFFFFF});
  }
  rows.push_back({bits(4097.0f), bits(4097.0f), bits(0x1p48f)});
  rows.push_back({bits(1.0f + 0x1p-23f), bits(1.0f - 0x1p-24f), bits(0x1p-60f)});
  rows.push_back({bits(0x1p-100f), bits(0x1p-49f), bits(0x1p-149f)});
  rows.push_back({bits(0x1p-75f), bits(0x1p-75f), bits(-0x1p-149f)});
  rows.push_back({0x7F7FFFFF, bits(2.0f), 0xFF7FFFFF});
  rows.push_back({0x7F800000, 0, bits(1.0f)});
  rows.push_back({0x7F800000, bits(1.0f), 0xFF800000});
  check_table("fma.rn.f32 $d, $a, $b, $c;", 4, {4, 4, 4}, rows,
              [](const Row& r) { return result(std::fma(f32(r[0]), f32(r[1]), f32(r[2]))); });
}

TEST_CASE("add, mul, div: infinities, NaN, subnormal numbers, overflow") {
  auto x = extremes32();
  // Host arithmetic rounds to nearest; NaN is the canonical one.
  check_table("add.f32 $d, $a, $b;", 4, {4, 4}, cross({x, x}),
              [](const Row& r) { return result(f32(r[0]) + f32(r[1])); });
  check_table("sub.f32 $d, $a, $b;", 4, {4, 4}, cross({x, x}),
              [](const Row& r) { return result(f32(r[0]) - f32(r[1])); });
  check_table("mul.f32 $d, $a, $b;", 4, {4, 4}, cross({x, x}),
              [](const Row& r) { return result(f32(r[0]) * f32(r[1])); });
  check_table("div.rn.f32 $d, $a, $b;", 4, {4, 4}, cross({x, x}),
              [](const Row& r) { return result(f32(r[0]) / f32(r[1])); });
  check_table("mul.ftz.f32 $d, $a, $b;", 4, {4, 4}, cross({x, x}),
              [](const Row& r) { return result(flushed(flushed(f32(r[0])) * flushed(f32(r[1])))); });
  check_table("add.ftz.f32 $d, $a, $b;", 4, {4, 4}, cross({x, x}),
              [](const Row& r) { return result(flushed(flushed(f32(r[0])) + flushed(f32(r[1])))); });
  check_table("add.sat.f32 $d, $a, $b;", 4, {4, 4}, cross({x, x}), [](const Row& r) {
    float v = f32(r[0]) + f32(r[1]);
    return v >= 1 ? bits(1.0f) : v > 0 ? bits(v) : bits(0.0f);
  });
  // Directed roundings at the ends of the range, and the sign of an exact zero.
  auto one = [](const std::string& text, uint64_t a, uint64_t b, uint64_t want) {
    check_table(text, 4, {4, 4}, {{a, b}}, [&](const Row&) { return want; });
  };
  one("add.rz.f32 $d, $a, $b;", 0x7F7FFFFF, 1, 0x7F7FFFFF);
  one("add.rp.f32 $d, $a, $b;", 0x7F7FFFFF, 1, 0x7F800000);
  one("add.rm.f32 $d, $a, $b;", 0x7F7FFFFF, 0x7F7FFFFF, 0x7F7FFFFF);
  one("add.rm.f32 $d, $a, $b;", bits(1.0f), 0x80000001, 0x3F7FFFFF);
  one("mul.rp.f32 $d, $a, $b;", 1, 1, 1);
  one("mul.rm.f32 $d, $a, $b;", 1, 0x80000001, 0x80000001);
  one("mul.rz.f32 $d, $a, $b;", 1, 0x80000001, 0x80000000);
  one("add.rm.f32 $d, $a, $b;", bits(1.0f), bits(-1.0f), 0x80000000);
  one("add.rn.f32 $d, $a, $b;", bits(1.0f), bits(-1.0f), 0);
  one("add.rp.f32 $d, $a, $b;", 0x80000000, 0x80000000, 0x80000000);
  // A rounding mode does not outlive its instruction.
  one("add.rp.f32 %f20, $a, $b;\nadd.rn.f32 $d, $a, $b;", bits(1.0f), bits(0x1p-30f), bits(1.0f));
}

TEST_CASE(
    ".ftz: a result that is subnormal with no end of exponents is flushed, though it would be rounded up") {
  // 2^-126 (1 - 2^-24) has 24 bits: a tie that f32 without .ftz rounds to 2^-126.
  const std::vector<Row> rows = {{0x00800000, 0x3F7FFFFF}, {0x80800000, 0x3F7FFFFF}};
  check_table("mul.rn.f32 $d, $a, $b;", 4, {4, 4}, rows, [](const Row& r) { return r[0]; });
  for (const char* rounding : {"rn", "rz", "rm", "rp"}) {
    const std::string name(rounding);
    const auto zero = [](const Row& r) { return r[0] & 0x80000000; };
    check_table("mul." + name + ".ftz.f32 $d, $a, $b;", 4, {4, 4}, rows, zero);
    check_table("fma." + name + ".ftz.f32 $d, $a, $b, 0f00000000;", 4, {4, 4}, rows, zero);
  }
  // (1 + 2^-23) (1 - 2^-23) 2^-126 has more: it is rounded to 2^-126, or to less.
  const std::vector<Row> longer = {{0x00800001, 0x3F7FFFFE}};
  for (const char* up : {"rn", "rp"})
    for (std::string op : {"mul.", "fma."})
      check_table(op + up + ".ftz.f32 $d, $a, $b" + (op == "fma." ? ", 0f00000000;" : ";"), 4, {4, 4}, longer,
                  [](const Row&) { return 0x00800000; });
  for (const char* down : {"rz", "rm"})
    for (std::string op : {"mul.", "fma."})
      check_table(op + down + ".ftz.f32 $d, $a, $b" + (op == "fma." ? ", 0f00000000;" : ";"), 4, {4, 4},
                  longer, [](const Row&) { return 0; });
}

TEST_CASE("min, max: NaN loses, +0 is above -0, .NaN and .xorsign.abs") {
  auto x = extremes32();
  for (bool is_max : {false, true}) {
    std::string op = is_max ? "max" : "min";
    auto pick = [=](float a, float b) {
      if (a != a) return b;
      if (b != b) return a;
      bool a_below = a < b || (a == b && std::signbit(a) && !std::signbit(b));
      return a_below != is_max ? a : b;
    };
    auto rows = cross({x, x});
    check_table(op + ".f32 $d, $a, $b;", 4, {4, 4}, rows,
                [&](const Row& r) { return result(pick(f32(r[0]), f32(r[1]))); });
    check_table(op + ".NaN.f32 $d, $a, $b;", 4, {4, 4}, rows, [&](const Row& r) {
      float a = f32(r[0]), b = f32(r[1]);
      return a != a || b != b ? kNan : result(pick(a, b));
    });
    check_table(op + ".ftz.f32 $d, $a, $b;", 4, {4, 4}, rows,
                [&](const Row& r) { return result(pick(flushed(f32(r[0])), flushed(f32(r[1])))); });
    check_table(op + ".xorsign.abs.f32 $d, $a, $b;", 4, {4, 4}, rows, [&](const Row& r) {
      float v = pick(std::fabs(f32(r[0])), std::fabs(f32(r[1])));
      return v != v ? kNan : (bits(v) & 0x7FFFFFFF) | ((r[0] ^ r[1]) & 0x80000000);
    });
    auto y = list<double>({0.0, -0.0, 1, -2, 1e300, -1e300});
    check_table(op + ".f64 $d, $a, $b;", 8, {8, 8}, cross({y, y}), [&](const Row& r) {
      double a = f64(r[0]), b = f64(r[1]);
      bool a_below = a < b || (a == b && std::signbit(a) && !std::signbit(b));
      return bits(a_below != is_max ? a : b);
    });
  }
}

TEST_CASE("neg, abs, copysign, testp") {
  auto x = extremes32();
  // An f32 NaN becomes the canonical one, an f64 NaN keeps its sign (recorded/nan_bits.txt).
  const auto number = [](const Row& r) { return (r[0] & 0x7FFFFFFF) <= 0x7F800000; };
  check_table("neg.f32 $d, $a;", 4, {4}, cross({x}),
              [&](const Row& r) { return number(r) ? r[0] ^ 0x80000000 : 0x7FFFFFFF; });
  check_table("abs.f32 $d, $a;", 4, {4}, cross({x}),
              [&](const Row& r) { return number(r) ? r[0] & 0x7FFFFFFF : 0x7FFFFFFF; });
  check_table("abs.ftz.f32 $d, $a;", 4, {4}, cross({x}),
              [&](const Row& r) { return number(r) ? bits(flushed(f32(r[0] & 0x7FFFFFFF))) : 0x7FFFFFFFu; });
  check_table("neg.f64 $d, $a;", 8, {8}, cross({edges()}), [](const Row& r) {
    return (r[0] & ~0x8000000000000000) > 0x7FF0000000000000 ? r[0] | 0x0008000000000000
                                                             : r[0] ^ 0x8000000000000000;
  });
  check_table("copysign.f32 $d, $a, $b;", 4, {4, 4}, cross({x, x}),
              [](const Row& r) { return (r[0] & 0x80000000) | (r[1] & 0x7FFFFFFF); });
  auto test = [&](const std::string& op, auto holds) {
    check_table("testp." + op + ".f32 $d, $a;", 1, {4}, cross({x}), [&](const Row& r) {
      unsigned exponent = r[0] >> 23 & 255, fraction = r[0] & 0x7FFFFF;
      return uint64_t{holds(exponent, fraction)};
    });
  };
  test("finite", [](unsigned e, unsigned) { return e != 255; });
  test("infinite", [](unsigned e, unsigned f) { return e == 255 && f == 0; });
  test("number", [](unsigned e, unsigned f) { return e != 255 || f == 0; });
  test("notanumber", [](unsigned e, unsigned f) { return e == 255 && f != 0; });
  test("normal", [](unsigned e, unsigned f) { return e != 255 && (e != 0 || f == 0); });
  test("subnormal", [](unsigned e, unsigned f) { return e == 0 && f != 0; });
}

TEST_CASE("rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh .approx: inside the manual's bounds, special values") {
  auto within = [](const std::string& op, std::initializer_list<double> values, double relative,
                   double absolute, auto want) {
    std::vector<uint64_t> inputs = list<float>(values);
    auto got = run_table(op + " $d, $a;", 4, {4}, cross({inputs}));
    for (size_t i = 0; i < inputs.size(); ++i) {
      double exact = want(static_cast<double>(f32(inputs[i])));
      CAPTURE(op);
      CAPTURE(f32(inputs[i]));
      CHECK(std::fabs(f32(got[i]) - exact) <= relative * std::fabs(exact) + absolute);
    }
  };
  within("rcp.approx.f32", {1, 3, -7, 1e20, 1e-20}, 0x1p-23, 0, [](double v) { return 1 / v; });
  within("sqrt.approx.f32", {0, 2, 3, 1e20, 1e-30}, 0x1p-23, 0, [](double v) { return std::sqrt(v); });
  within("rsqrt.approx.f32", {2, 3, 1e20, 1e-30}, 0x1p-22, 0, [](double v) { return 1 / std::sqrt(v); });
  within("sin.approx.f32", {0, 1, -2, 3.1}, 0, 0x1p-20, [](double v) { return std::sin(v); });
  within("cos.approx.f32", {0, 1, -2, 3.1}, 0, 0x1p-20, [](double v) { return std::cos(v); });
  within("lg2.approx.f32", {1, 2, 3, 1e20, 1e-20}, 0x1p-22, 0x1p-22, [](double v) { return std::log2(v); });
  within("ex2.approx.f32", {0, 1, -3.5, 100, -140}, 0x1p-21, 0, [](double v) { return std::exp2(v); });
  within("tanh.approx.f32", {0, 0.5, -2, 20}, 0x1p-11, 0, [](double v) { return std::tanh(v); });
  within("div.full.f32 %f20, $a, $a;\nmov.f32", {1, 3, 1e20}, 0x1p-22, 0, [](double v) { return v; });
  auto special = [](const std::string& op, float in, uint64_t want) {
    check_table(op + " $d, $a;", 4, {4}, {{bits(in)}}, [&](const Row&) { return want; });
  };
  special("rcp.approx.f32", -0.0f, bits(-kInf));
  special("rcp.approx.ftz.f32", 0x1p-140f, bits(kInf));
  special("rcp.approx.ftz.f32", 0x1p127f, bits(0.0f));
  special("rsqrt.approx.f32", 0.0f, bits(kInf));
  special("sqrt.approx.f32", -1.0f, kNan);
  special("lg2.approx.f32", 0.0f, bits(-kInf));
  special("lg2.approx.f32", -1.0f, kNan);
  special("ex2.approx.f32", -kInf, bits(0.0f));
  special("ex2.approx.ftz.f32", -130.0f, bits(0.0f));
  special("sin.approx.f32", kInf, kNan);
  // |b| above 2^126: the reciprocal is zero.
  check_table("div.approx.f32 $d, $a, $b;", 4, {4, 4},
              {{bits(6.0f), bits(3.0f), bits(2.0f)},
               {bits(-0x1p127f), bits(0x1p127f), bits(-0.0f)},
               {bits(kInf), bits(0x1p127f), kNan},
               {bits(1.0f), bits(0.0f), bits(kInf)},
               {bits(1.0f), bits(-kInf), bits(-0.0f)}},
              [](const Row& r) { return r[2]; });
  // .ftz flushes 2^-126 (1 - 2^-24) although it would be rounded up to 2^-126.
  for (const char* form : {"div.approx.ftz.f32 $d, $a, $b;", "div.full.ftz.f32 $d, $a, $b;"})
    check_table(form, 4, {4, 4}, {{0x017FFFFF, bits(4.0f), 0}, {0x81800000, bits(4.0f), 0x80800000}},
                [](const Row& r) { return r[2]; });
  check_table("rcp.approx.ftz.f64 $d, $a;", 8, {8}, {{bits(3.0)}, {bits(-0.5)}, {bits(1e-310)}},
              [](const Row& r) {
                double v = f64(r[0]);
                return bits(v == 1e-310 ? static_cast<double>(kInf) : 1 / v) & 0xFFFFFFFF00000000;
              });
}
