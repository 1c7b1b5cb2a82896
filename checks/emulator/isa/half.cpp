// f16 and bf16 arithmetic, against a rounding of 113-bit results done here by search.
#include <cmath>
#include <map>

#include "table.hpp"

using namespace emu_test;

namespace {

using Quad = __float128;

// A 16-bit format, decoded by its definition.
struct Format {
  std::string name;
  int exponent_bits, fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  double value(uint64_t h) const {
    int field = static_cast<int>(h >> fraction_bits & ((1u << exponent_bits) - 1));
    double fraction = static_cast<double>(h & ((1u << fraction_bits) - 1)), v;
    if (field == (1 << exponent_bits) - 1)
      v = fraction != 0 ? NAN : INFINITY;
    else if (field == 0)
      v = std::ldexp(fraction, 1 - bias() - fraction_bits);
    else
      v = std::ldexp(fraction + (1 << fraction_bits), field - bias() - fraction_bits);
    return h & 0x8000 ? -v : v;
  }
  uint64_t infinity() const { return ((1ull << exponent_bits) - 1) << fraction_bits; }
  // Nearest, ties to even: positive codes are in the order of their values, so search them.
  uint64_t nearest(Quad exact, bool negative_zero) const {
    if (exact != exact) return 0x7FFF;
    uint64_t sign = exact < 0 || (exact == 0 && negative_zero) ? 0x8000 : 0;
    Quad a = exact < 0 ? -exact : exact;
    uint64_t low = 0, high = infinity();  // the largest code whose value is at most a
    while (low < high) {
      uint64_t middle = (low + high + 1) / 2;
      if (Quad{value(middle)} <= a)
        low = middle;
      else
        high = middle - 1;
    }
    if (low == infinity()) return sign | low;
    Quad below = value(low);
    // Beyond the largest finite number the next step would be a power of two: halfway to it becomes infinity.
    Quad above = low + 1 == infinity() ? Quad{std::ldexp(1.0, bias() + 1)} : Quad{value(low + 1)};
    Quad middle = (below + above) / 2;
    return sign | (a < middle || (a == middle && low % 2 == 0) ? low : low + 1);
  }
};
const Format kF16{"f16", 5, 10}, kBf16{"bf16", 8, 7};

std::vector<uint64_t> values(const Format& f) {
  uint64_t one = static_cast<uint64_t>(f.bias()) << f.fraction_bits, inf = f.infinity(),
           step = 1ull << f.fraction_bits;
  return {0,
          0x8000,
          1,
          0x8001,
          step - 1,
          step,
          one,
          one | 0x8000,
          one + 1,
          one - 1,
          one + 3 * step,
          one + step / 2 + 1,
          one - 9 * step + 5,
          (one + 7 * step + step / 3) | 0x8000,
          inf - 1,
          inf,
          inf | 0x8000,
          inf + 1};
}

// Random codes of all exponents; for every operation the sums of bf16 fit 113 bits only near each other, so that
// exponents are drawn from a window.
std::vector<Row> random_rows(const Format& f, size_t sources, int count) {
  std::vector<Row> rows;
  uint64_t seed = 7;
  auto next = [&] { return (seed = seed * 6364136223846793005ull + 1442695040888963407ull) >> 33; };
  for (int i = 0; i < count; ++i) {
    Row r;
    for (size_t s = 0; s < sources; ++s) {
      uint64_t exponent = static_cast<uint64_t>(f.bias()) - 12 + next() % 24;
      r.push_back((next() & 1) << 15 | exponent << f.fraction_bits |
                  (next() & ((1u << f.fraction_bits) - 1)));
    }
    rows.push_back(r);
  }
  return rows;
}

// The sign of an exact zero, nearest rounding: minus only when both terms are.
uint64_t sum(const Format& f, Quad a, Quad b) {
  return f.nearest(a + b, std::signbit(static_cast<double>(a)) && std::signbit(static_cast<double>(b)));
}

}  // namespace

TEST_CASE("add, sub, mul of f16 and bf16: rounded once, packed and not") {
  for (const Format& f : {kF16, kBf16}) {
    auto rows = cross({values(f), values(f)});
    for (auto& r : random_rows(f, 2, 2000)) rows.push_back(r);
    auto check = [&](const std::string& op, auto want) {
      check_table(op + "." + f.name + " $d, $a, $b;", 2, {2, 2}, rows, want);
      auto packed = rows;
      for (size_t i = 0; i < rows.size(); ++i) {
        const Row& other = rows[(i * 7 + 3) % rows.size()];
        packed[i] = {rows[i][0] << 16 | other[0], rows[i][1] << 16 | other[1]};
      }
      check_table(op + "." + f.name + "x2 $d, $a, $b;", 4, {4, 4}, packed, [&](const Row& r) {
        return want({r[0] >> 16, r[1] >> 16}) << 16 | want({r[0] & 0xFFFF, r[1] & 0xFFFF});
      });
    };
    check("add", [&](const Row& r) { return sum(f, f.value(r[0]), f.value(r[1])); });
    check("sub", [&](const Row& r) { return sum(f, f.value(r[0]), -f.value(r[1])); });
    check("mul", [&](const Row& r) {
      Quad product = Quad{f.value(r[0])} * f.value(r[1]);
      return f.nearest(product, (r[0] ^ r[1]) & 0x8000);
    });
  }
}

TEST_CASE("fma of f16 and bf16: rounded once, .sat and .relu") {
  for (const Format& f : {kF16, kBf16}) {
    auto rows = random_rows(f, 3, 4000);
    for (auto& r : cross({values(f), {0x3C00, 0x8001}, values(f)})) rows.push_back(r);
    // A tie of the product, decided by an addend far below it.
    uint64_t one = static_cast<uint64_t>(f.bias()) << f.fraction_bits, half = 1ull << (f.fraction_bits - 1);
    check_table("fma.rn." + f.name + " $d, $a, $b, $c;", 2, {2, 2, 2},
                {{one + 1, one + half, 1, one + half + 2}, {one + 1, one + half, 0x8001, one + half + 1}},
                [](const Row& r) { return r[3]; });
    auto want = [&](const Row& r) {
      Quad product = Quad{f.value(r[0])} * f.value(r[1]), c = f.value(r[2]);
      bool minus = ((r[0] ^ r[1]) & 0x8000) && (r[2] & 0x8000);
      return f.nearest(product + c, minus);
    };
    check_table("fma.rn." + f.name + " $d, $a, $b, $c;", 2, {2, 2, 2}, rows, want);
    check_table("fma.rn.relu." + f.name + " $d, $a, $b, $c;", 2, {2, 2, 2}, rows, [&](const Row& r) {
      uint64_t v = want(r);
      return v & 0x8000 ? 0 : v;
    });
    if (f.name == "f16")
      check_table("fma.rn.sat.f16 $d, $a, $b, $c;", 2, {2, 2, 2}, rows, [&](const Row& r) {
        uint64_t v = want(r);
        return v & 0x8000 || v > 0x7C00 ? 0 : std::min<uint64_t>(v, 0x3C00);
      });
  }
}

TEST_CASE("add.ftz.f16 flushes subnormal sources and results, add.f16 keeps them") {
  std::vector<Row> rows = {
      {0x0001, 0x0001}, {0x0400, 0x8001}, {0x0400, 0x83FF}, {0x83FF, 0x8000}, {0x3C00, 0x0001}};
  uint64_t kept[] = {0x0002, 0x03FF, 0x0001, 0x83FF, 0x3C00}, flushed[] = {0, 0x0400, 0x0400, 0x8000, 0x3C00};
  auto find = [&](const Row& r) { return std::find(rows.begin(), rows.end(), r) - rows.begin(); };
  check_table("add.f16 $d, $a, $b;", 2, {2, 2}, rows, [&](const Row& r) { return kept[find(r)]; });
  check_table("add.ftz.f16 $d, $a, $b;", 2, {2, 2}, rows, [&](const Row& r) { return flushed[find(r)]; });
  check_table("mul.ftz.f16 $d, $a, $b;", 2, {2, 2}, {{0x0400, 0x3800}, {0x8400, 0x3800}},
              [](const Row& r) { return r[0] & 0x8000; });
}

TEST_CASE("mul.ftz.f16 flushes a product that rounding would make the smallest normal number") {
  const std::vector<Row> rows = {{0x0400, 0x3BFF}, {0x8400, 0x3BFF}};
  check_table("mul.rn.f16 $d, $a, $b;", 2, {2, 2}, rows, [](const Row& r) { return r[0]; });
  check_table("mul.rn.ftz.f16 $d, $a, $b;", 2, {2, 2}, rows, [](const Row& r) { return r[0] & 0x8000; });
  check_table("mul.rn.ftz.sat.f16 $d, $a, $b;", 2, {2, 2}, {{0x8400, 0xBBFF}}, [](const Row&) { return 0; });
}

TEST_CASE("neg, abs, min, max of f16 and bf16") {
  for (const Format& f : {kF16, kBf16}) {
    auto rows = cross({values(f), values(f)});
    check_table("neg." + f.name + " $d, $a;", 2, {2}, cross({values(f)}), [&](const Row& r) {
      const double v = f.value(r[0]);
      return v != v ? 0x7FFF : r[0] ^ 0x8000;
    });
    check_table("abs." + f.name + "x2 $d, $a;", 4, {4}, {{0x80018000}, {0xFFFF7FFF}},
                [](const Row& r) { return r[0] & 0x7FFF7FFF; });
    for (bool is_max : {false, true}) {
      std::string op = is_max ? "max" : "min";
      auto pick = [&](uint64_t a, uint64_t b, bool any_nan) -> uint64_t {
        double x = f.value(a), y = f.value(b);
        if ((x != x && y != y) || ((x != x || y != y) && any_nan)) return 0x7FFF;
        if (x != x) return b;
        if (y != y) return a;
        bool a_below = x < y || (x == y && (a & 0x8000) && !(b & 0x8000));
        return a_below != is_max ? a : b;
      };
      check_table(op + "." + f.name + " $d, $a, $b;", 2, {2, 2}, rows,
                  [&](const Row& r) { return pick(r[0], r[1], false); });
      check_table(op + ".NaN." + f.name + " $d, $a, $b;", 2, {2, 2}, rows,
                  [&](const Row& r) { return pick(r[0], r[1], true); });
      check_table(op + ".xorsign.abs." + f.name + " $d, $a, $b;", 2, {2, 2}, rows, [&](const Row& r) {
        uint64_t v = pick(r[0] & 0x7FFF, r[1] & 0x7FFF, false);
        return v == 0x7FFF ? v : (v & 0x7FFF) | ((r[0] ^ r[1]) & 0x8000);
      });
      check_table(
          op + "." + f.name + "x2 $d, $a, $b;", 4, {4, 4}, {{0x00013C00, 0x3C008001}},
          [&](const Row&) { return pick(0x0001, 0x3C00, false) << 16 | pick(0x3C00, 0x8001, false); });
    }
  }
}

TEST_CASE("ex2.approx, tanh.approx of f16 and bf16: the rounded function") {
  for (const Format& f : {kF16, kBf16}) {
    std::string ftz = f.name == "bf16" ? ".ftz" : "";
    std::vector<Row> rows = random_rows(f, 1, 500);
    rows.push_back({0});
    rows.push_back({f.infinity()});
    rows.push_back({f.infinity() | 0x8000});
    check_table("ex2.approx" + ftz + "." + f.name + " $d, $a;", 2, {2}, rows, [&](const Row& r) {
      uint64_t v = f.nearest(std::exp2(f.value(r[0])), false);
      return f.name == "bf16" && v < 0x80 ? 0 : v;
    });
    check_table("tanh.approx." + f.name + " $d, $a;", 2, {2}, rows,
                [&](const Row& r) { return f.nearest(std::tanh(f.value(r[0])), false); });
  }
}
