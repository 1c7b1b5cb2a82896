// cvt between all scalar types, packed formats, tf32 and cvt.pack.
#include <algorithm>
#include <cmath>
#include <limits>

#include "table.hpp"

using namespace emu_test;

namespace {

using Wide = __int128;

struct IntType {
  std::string name;
  unsigned bytes;
  bool is_signed;
  unsigned reg() const { return std::max(bytes, 2u); }  // 8-bit values live in 16-bit registers
  Wide value(uint64_t bits) const {
    uint64_t low = bytes == 8 ? bits : bits & ((1ull << 8 * bytes) - 1);
    return is_signed && low >> (8 * bytes - 1) ? Wide{low} - (Wide{1} << 8 * bytes) : Wide{low};
  }
  Wide lowest() const { return is_signed ? -(Wide{1} << (8 * bytes - 1)) : Wide{0}; }
  Wide highest() const { return (Wide{1} << (8 * bytes - is_signed)) - 1; }
  // The register after writing v: extended by the type's sign.
  uint64_t stored(Wide v) const { return static_cast<uint64_t>(value(static_cast<uint64_t>(v))); }
};
const IntType kTypes[] = {{"u8", 1, false},  {"s8", 1, true},  {"u16", 2, false}, {"s16", 2, true},
                          {"u32", 4, false}, {"s32", 4, true}, {"u64", 8, false}, {"s64", 8, true}};

// IEEE-like formats by their parameters; everything is decoded by the definition and encoded by search.
struct Format {
  std::string name;
  unsigned bytes;
  int exponent_bits, fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int top() const { return exponent_bits + fraction_bits; }  // the sign's bit
  uint64_t infinity() const { return ((1ull << exponent_bits) - 1) << fraction_bits; }
  long double value(uint64_t h) const {
    int field = static_cast<int>(h >> fraction_bits & ((1u << exponent_bits) - 1));
    long double fraction = static_cast<long double>(h & ((1ull << fraction_bits) - 1)), v;
    if (field == (1 << exponent_bits) - 1)
      v = fraction != 0 ? NAN : INFINITY;
    else if (field == 0)
      v = std::ldexp(fraction, 1 - bias() - fraction_bits);
    else
      v = std::ldexp(fraction + static_cast<long double>(1ull << fraction_bits),
                     field - bias() - fraction_bits);
    return h >> top() & 1 ? -v : v;
  }
  uint64_t encode(long double v, const std::string& mode) const {
    if (v != v) return (1ull << top()) - 1;
    uint64_t sign = static_cast<uint64_t>(std::signbit(v)) << top();
    long double a = std::fabs(v);
    uint64_t low = 0, high = infinity();
    while (low < high) {
      uint64_t middle = low + (high - low + 1) / 2;
      if (value(middle) <= a)
        low = middle;
      else
        high = middle - 1;
    }
    if (value(low) == a) return sign | low;
    bool away = (mode == "rp" && !sign) || (mode == "rm" && sign);
    if (mode == "rn" || mode == "rna") {
      long double above = low + 1 == infinity() ? std::ldexp(1.0L, bias() + 1) : value(low + 1);
      long double middle = (value(low) + above) / 2;
      away = a > middle || (a == middle && (mode == "rna" || low % 2 == 1));
    }
    return sign | (low + away);
  }
};
const Format kF16{"f16", 2, 5, 10}, kBf16{"bf16", 2, 8, 7}, kF32{"f32", 4, 8, 23}, kF64{"f64", 8, 11, 52};
const char* const kRoundings[] = {"rn", "rz", "rm", "rp"};

std::vector<uint64_t> values(const Format& f) {
  uint64_t one = static_cast<uint64_t>(f.bias()) << f.fraction_bits, inf = f.infinity(),
           step = 1ull << f.fraction_bits;
  std::vector<uint64_t> v = {0,
                             1,
                             step - 1,
                             step,
                             one,
                             one + 1,
                             one - 1,
                             one - step,
                             one + step / 2,
                             one + step + step / 4,
                             one + step + step / 4 + 1,
                             one + 7 * step - 1,
                             one + 8 * step + 3,
                             one + 10 * step + step / 3,
                             inf - 1,
                             inf};
  // numbers that are halfway or close to it in narrower formats, and near the ends of the integer types
  for (double x : {2.5,        3.5,          127.5,         255.49,           128.0,   32767.5,
                   65504.0,    65519.0,      65520.0,       0.00006103515625, 5.96e-8, 2.98e-8,
                   1e-40,      2147483647.0, 2147483648.0,  4294967295.0,     9.3e18,  1.9e19,
                   1.00390625, 1.01171875,   1.00048828125, 1.00146484375,    3.4e38})
    v.push_back(f.encode(x, "rz"));
  size_t count = v.size();
  for (size_t i = 0; i < count; ++i) v.push_back(v[i] | 1ull << f.top());
  return v;
}
const uint64_t kNans[] = {0x7E00, 0x7FC0, 0x7FC00000, 0x7FF8000000000000};
uint64_t nan_of(const Format& f) {
  return f.name == "f16" ? kNans[0] : f.name == "bf16" ? kNans[1] : f.bytes == 4 ? kNans[2] : kNans[3];
}

long double integral(long double v, const std::string& mode) {
  if (mode == "rzi") return std::trunc(v);
  if (mode == "rmi") return std::floor(v);
  if (mode == "rpi") return std::ceil(v);
  return std::rint(v);
}

}  // namespace

TEST_CASE("cvt: integers, truncated or extended; .sat clamps") {
  for (auto& from : kTypes)
    for (auto& to : kTypes) {
      std::string types = to.name + "." + from.name + " $d, $a;";
      auto rows = cross({edges()});
      check_table("cvt." + types, to.reg(), {from.reg()}, rows,
                  [&](const Row& r) { return to.stored(from.value(r[0])); });
      check_table("cvt.sat." + types, to.reg(), {from.reg()}, rows, [&](const Row& r) {
        return to.stored(std::clamp(from.value(r[0]), to.lowest(), to.highest()));
      });
      // in registers wider than the types
      check_table("cvt." + types, 8, {8}, rows, [&](const Row& r) { return to.stored(from.value(r[0])); });
    }
}

TEST_CASE("cvt: floats to integers clamp; NaN gives 0 or the top bit") {
  for (auto& f : {kF16, kBf16, kF32, kF64})
    for (auto& to : kTypes)
      for (std::string mode : {"rni", "rzi", "rmi", "rpi"}) {
        std::string text = "cvt." + mode + "." + to.name + "." + f.name + " $d, $a;";
        check_table(text, to.reg(), {f.bytes}, cross({values(f)}), [&](const Row& r) {
          long double v = integral(f.value(r[0]), mode);
          if (v <= static_cast<long double>(to.lowest())) return to.stored(to.lowest());
          if (v >= static_cast<long double>(to.highest())) return to.stored(to.highest());
          return to.stored(static_cast<Wide>(v));
        });
        bool top_bit = f.name == "f64" || to.bytes == 8;
        check_table(text, to.reg(), {f.bytes}, {{nan_of(f)}},
                    [&](const Row&) { return top_bit ? to.stored(Wide{1} << (8 * to.bytes - 1)) : 0; });
      }
}

TEST_CASE("cvt: integers to floats, every rounding") {
  std::vector<uint64_t> more = edges();
  for (uint64_t v : {16777217ull, 16777219ull, 0xFFFFFF7Full, 0xFFFFFF80ull, 0x8000008000000001ull,
                     0x20000000000001ull, 2049ull, 2051ull, 257ull, 259ull, 65520ull, 65519ull})
    more.push_back(v);
  for (auto& f : {kF16, kBf16, kF32, kF64})
    for (auto& from : kTypes)
      for (std::string mode : kRoundings)
        check_table("cvt." + mode + "." + f.name + "." + from.name + " $d, $a;", f.bytes, {from.reg()},
                    cross({more}),
                    [&](const Row& r) { return f.encode(static_cast<long double>(from.value(r[0])), mode); });
}

TEST_CASE("cvt: between float formats") {
  for (auto& from : {kF16, kBf16, kF32, kF64})
    for (auto& to : {kF16, kBf16, kF32, kF64}) {
      if (from.name == to.name) continue;
      bool wider = to.exponent_bits >= from.exponent_bits && to.fraction_bits >= from.fraction_bits;
      for (std::string mode : kRoundings) {
        std::string text = "cvt." + (wider ? "" : mode + ".") + to.name + "." + from.name + " $d, $a;";
        check_table(text, to.bytes, {from.bytes}, cross({values(from)}),
                    [&](const Row& r) { return to.encode(from.value(r[0]), mode); });
      }
      auto nan = run_table("cvt." + std::string(wider ? "" : "rn.") + to.name + "." + from.name + " $d, $a;",
                           to.bytes, {from.bytes}, {{nan_of(from)}});
      CHECK(std::isnan(to.value(nan[0])));
    }
}

TEST_CASE("cvt: integral values of the same format, .sat, .ftz, .relu, .satfinite") {
  for (auto& f : {kF16, kBf16, kF32, kF64})
    for (std::string mode : {"rni", "rzi", "rmi", "rpi"})
      check_table("cvt." + mode + "." + f.name + "." + f.name + " $d, $a;", f.bytes, {f.bytes},
                  cross({values(f)}),
                  [&](const Row& r) { return f.encode(integral(f.value(r[0]), mode), "rn"); });
  auto clamp01 = [](long double v) { return v > 0 ? std::min(v, 1.0L) : 0.0L; };
  check_table("cvt.sat.f32.f32 $d, $a;", 4, {4}, cross({values(kF32)}),
              [&](const Row& r) { return kF32.encode(clamp01(kF32.value(r[0])), "rn"); });
  check_table("cvt.rn.sat.f16.f32 $d, $a;", 2, {4}, cross({values(kF32)}),
              [&](const Row& r) { return kF16.encode(clamp01(kF32.value(r[0])), "rn"); });
  check_table("cvt.sat.f32.f32 $d, $a;", 4, {4}, {{0x7FC00000}}, [](const Row&) { return 0; });
  check_table("cvt.ftz.f32.f32 $d, $a;", 4, {4}, {{1}, {0x807FFFFF}, {0x00800000}},
              [](const Row& r) { return r[0] & 0xFF800000; });
  check_table("cvt.rn.ftz.f32.f64 $d, $a;", 4, {8}, {{bits(1e-40)}, {bits(-1e-40)}},
              [](const Row& r) { return r[0] >> 63 ? 0x80000000 : 0; });
  for (auto& f : {kF16, kBf16})
    for (std::string mode : {"rn", "rz"}) {
      auto rows = cross({values(kF32)});
      check_table("cvt." + mode + ".relu." + f.name + ".f32 $d, $a;", 2, {4}, rows, [&](const Row& r) {
        uint64_t v = f.encode(kF32.value(r[0]), mode);
        return v & 0x8000 ? 0 : v;
      });
      check_table("cvt." + mode + ".satfinite." + f.name + ".f32 $d, $a;", 2, {4}, rows, [&](const Row& r) {
        uint64_t v = f.encode(kF32.value(r[0]), mode);
        return (v & 0x7FFF) == f.infinity() ? v - 1 : v;
      });
      check_table("cvt." + mode + ".relu.satfinite." + f.name + ".f32 $d, $a;", 2, {4},
                  {{0x7FC00000}, {0xFF800000}, {0x7F800000}}, [&](const Row& r) {
                    return r[0] == 0x7FC00000 ? 0x7FFF : r[0] == 0xFF800000 ? 0 : f.infinity() - 1;
                  });
    }
}

TEST_CASE("cvt.ftz: a NaN becomes canonical on its way; f32 to f16 flushes nothing") {
  const auto nan = [](uint64_t v) { return [v](const Row&) { return v; }; };
  check_table("cvt.ftz.f64.f32 $d, $a;", 8, {4}, {{0xFF800001}, {0x7FC12345}}, nan(0x7FFFFFFFE0000000));
  check_table("cvt.ftz.f32.bf16 $d, $a;", 4, {2}, {{0xFFFE}, {0x7F81}}, nan(0x7FFFFFFF));
  check_table("cvt.f32.bf16 $d, $a;", 4, {2}, {{0xFFFE}, {0x7F81}}, [](const Row& r) { return r[0] << 16; });
  check_table("cvt.rp.ftz.f16.f32 $d, $a;", 2, {4}, {{1}, {0x80000001}, {0}},
              [](const Row& r) { return r[0] == 1 ? 1u : r[0] >> 16; });
  check_table("cvt.rm.ftz.f16.f32 $d, $a;", 2, {4}, {{1}, {0x80000001}},
              [](const Row& r) { return r[0] == 1 ? 0u : 0x8001u; });
}

TEST_CASE("cvt: f16x2 and bf16x2 take the first source in the upper half") {
  auto x = values(kF32);
  std::vector<Row> rows;
  for (size_t i = 0; i < x.size(); ++i) rows.push_back({x[i], x[(i * 5 + 2) % x.size()]});
  for (auto& f : {kF16, kBf16})
    for (std::string mode : {"rn", "rz"}) {
      auto part = [&](uint64_t v) { return f.encode(kF32.value(v), mode); };
      check_table("cvt." + mode + "." + f.name + "x2.f32 $d, $a, $b;", 4, {4, 4}, rows,
                  [&](const Row& r) { return part(r[0]) << 16 | part(r[1]); });
      check_table("cvt." + mode + ".relu." + f.name + "x2.f32 $d, $a, $b;", 4, {4, 4}, rows,
                  [&](const Row& r) {
                    uint64_t a = part(r[0]), b = part(r[1]);
                    return (a & 0x8000 ? 0 : a) << 16 | (b & 0x8000 ? 0 : b);
                  });
    }
}

TEST_CASE("cvt: e4m3x2 and e5m2x2, every code and the rounding between them") {
  // The values of the codes 0..126 (e4m3) and 0..123 (e5m2), by the formats' definitions.
  struct Narrow {
    const char* name;
    int fraction_bits, bias;
    uint64_t largest;
    double value(uint64_t code) const {
      auto field = static_cast<int>(code >> fraction_bits);
      double fraction = static_cast<double>(code & ((1u << fraction_bits) - 1));
      return field ? std::ldexp(fraction + (1 << fraction_bits), field - bias - fraction_bits)
                   : std::ldexp(fraction, 1 - bias - fraction_bits);
    }
    uint64_t nearest(double v) const {
      if (v != v) return 0x7F;
      double a = std::fabs(v);
      uint64_t low = 0;
      while (low < largest && value(low + 1) <= a) ++low;
      if (low < largest) {
        double middle = (value(low) + value(low + 1)) / 2;
        if (a > middle || (a == middle && low % 2)) ++low;
      }
      return low | (std::signbit(v) ? 0x80 : 0);
    }
  };
  for (const Narrow& n : {Narrow{"e4m3x2", 3, 7, 126}, Narrow{"e5m2x2", 2, 15, 123}}) {
    std::vector<Row> rows;
    for (uint64_t c = 0; c <= n.largest; ++c) {
      double v = n.value(c), next = n.value(c + 1);
      rows.push_back({bits(static_cast<float>(v)), bits(static_cast<float>(-(v + next) / 2))});
      rows.push_back(
          {bits(static_cast<float>(v + (next - v) * 0.51)), bits(static_cast<float>(v + (next - v) * 0.49))});
    }
    rows.push_back({0x7F800000, 0xFF800000});
    rows.push_back({0x7FC00000, bits(1e30f)});
    check_table(std::string("cvt.rn.satfinite.") + n.name + ".f32 $d, $a, $b;", 2, {4, 4}, rows,
                [&](const Row& r) { return n.nearest(f32(r[0])) << 8 | n.nearest(f32(r[1])); });
    check_table(std::string("cvt.rn.satfinite.relu.") + n.name + ".f32 $d, $a, $b;", 2, {4, 4}, rows,
                [&](const Row& r) {
                  uint64_t a = n.nearest(f32(r[0])), b = n.nearest(f32(r[1]));
                  return (a & 0x80 ? 0 : a) << 8 | (b & 0x80 ? 0 : b);
                });
    std::vector<Row> codes;
    for (uint64_t c = 0; c <= n.largest; ++c) codes.push_back({c << 8 | (c ^ 0x80)});
    check_table(std::string("cvt.rn.f16x2.") + n.name + " $d, $a;", 4, {2}, codes, [&](const Row& r) {
      uint64_t h = kF16.encode(n.value(r[0] >> 8), "rn");
      return h << 16 | h | 0x8000;
    });
    check_table(std::string("cvt.rn.satfinite.") + n.name + ".f16x2 $d, $a;", 2, {4},
                {{0x3C00C900}, {0x7C00FC00}, {0x7E000001}}, [&](const Row& r) {
                  return n.nearest(static_cast<double>(kF16.value(r[0] >> 16))) << 8 |
                         n.nearest(static_cast<double>(kF16.value(r[0] & 0xFFFF)));
                });
  }
}

TEST_CASE("cvt: tf32 keeps ten fraction bits") {
  const Format tf32{"tf32", 4, 8, 10};
  for (std::string mode : {"rna", "rn", "rz"})
    check_table("cvt." + mode + ".tf32.f32 $d, $a;", 4, {4}, cross({values(kF32)}),
                [&](const Row& r) { return tf32.encode(kF32.value(r[0]), mode) << 13; });
  check_table("cvt.rna.tf32.f32 $d, $a;", 4, {4},
              {{0x3F801000}, {0xBF801000}, {0x3F800FFF}, {0x7FFFFFFF}, {0x7F800003}}, [](const Row& r) {
                return r[0] == 0x3F800FFF   ? 0x3F800000
                       : r[0] == 0x7FFFFFFF ? 0x7FFFE000
                       : r[0] == 0x7F800003 ? 0x7F800000  // a NaN that is cut off (recorded/nan_bits.txt)
                                            : (r[0] & 0x80000000) | 0x3F802000;
              });
  check_table("cvt.rna.satfinite.tf32.f32 $d, $a;", 4, {4}, {{0x7F800000}, {0xFF7FFFFF}},
              [](const Row& r) { return (r[0] & 0x80000000) | 0x7F7FE000; });
}

TEST_CASE("cvt.pack: saturated values side by side") {
  std::vector<uint64_t> x = {0, 1, 5, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 200, 40000, 0xFFFFFF00};
  for (std::string type : {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"}) {
    unsigned n = static_cast<unsigned>(std::stoi(type.substr(1)));
    bool is_signed = type[0] == 's';
    int64_t low = is_signed ? -(1ll << (n - 1)) : 0, high = (1ll << (n - is_signed)) - 1;
    auto part = [&](uint64_t v) {
      return static_cast<uint64_t>(std::clamp<int64_t>(static_cast<int32_t>(v), low, high)) &
             ((1ull << n) - 1);
    };
    if (n == 16)
      check_table("cvt.pack.sat." + type + ".s32 $d, $a, $b;", 4, {4, 4}, cross({x, x}),
                  [&](const Row& r) { return part(r[0]) << 16 | part(r[1]); });
    else
      check_table("cvt.pack.sat." + type + ".s32.b32 $d, $a, $b, $c;", 4, {4, 4, 4},
                  cross({x, x, {0, 0x89ABCDEF}}),
                  [&](const Row& r) { return r[2] << 2 * n | part(r[0]) << n | part(r[1]); });
  }
}
