// Integer arithmetic, against 128-bit host arithmetic.
#include <algorithm>
#include <limits>

#include "table.hpp"

using namespace emu_test;

namespace {

const IntType kTypes[] = {{"u16", 2, false}, {"s16", 2, true},  {"u32", 4, false},
                          {"s32", 4, true},  {"u64", 8, false}, {"s64", 8, true}};
const IntType kS32 = kTypes[3];

// op.type d, a, b: want gets the values of a and b.
template <class F>
void two(const std::string& op, const IntType& t, F want) {
  check_table(op + "." + t.name + " $d, $a, $b;", t.bytes, {t.bytes, t.bytes}, cross({edges(), edges()}),
              [&](const Row& r) { return static_cast<uint64_t>(want(t.value(r[0]), t.value(r[1]))); });
}
const std::vector<uint64_t> kAddends = {
    0, 1, 0x7FFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x8000000000000000, 0x123456789ABCDEF0};
template <class F>
void three(const std::string& op, const IntType& t, F want) {
  check_table(op + "." + t.name + " $d, $a, $b, $c;", t.bytes, {t.bytes, t.bytes, t.bytes},
              cross({edges(), edges(), kAddends}), [&](const Row& r) {
                return static_cast<uint64_t>(want(t.value(r[0]), t.value(r[1]), t.value(r[2])));
              });
}
Wide magnitude(Wide v) {
  return v < 0 ? -v : v;
}
// Products of 64-bit values need 128 bits, unsigned ones all of them.
Wide high_half(const IntType& t, Wide a, Wide b) {
  if (t.name == "u64")
    return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b) >> 64);
  return a * b >> 8 * t.bytes;
}

}  // namespace

TEST_CASE("add, sub, mul.lo: modulo 2^n") {
  for (auto& t : kTypes) {
    two("add", t, [](Wide a, Wide b) { return a + b; });
    two("sub", t, [](Wide a, Wide b) { return a - b; });
    two("mul.lo", t,
        [](Wide a, Wide b) { return static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b); });
  }
}

TEST_CASE("add.sat, sub.sat: clamp to the 32-bit signed range") {
  auto clamp = [](Wide v) { return std::clamp(v, kS32.lowest(), kS32.highest()); };
  two("add.sat", kS32, [&](Wide a, Wide b) { return clamp(a + b); });
  two("sub.sat", kS32, [&](Wide a, Wide b) { return clamp(a - b); });
  three("mad.hi.sat", kS32, [&](Wide a, Wide b, Wide c) { return clamp((a * b >> 32) + c); });
}

TEST_CASE("mul.hi, mad.hi, mad.lo: parts of the double-width product") {
  for (auto& t : kTypes) {
    two("mul.hi", t, [&](Wide a, Wide b) { return high_half(t, a, b); });
    three("mad.hi", t, [&](Wide a, Wide b, Wide c) { return high_half(t, a, b) + c; });
    three("mad.lo", t, [](Wide a, Wide b, Wide c) {
      return static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b) +
             static_cast<unsigned __int128>(c);
    });
  }
}

TEST_CASE("mul.wide, mad.wide: a result of twice the width") {
  for (int i = 0; i < 4; ++i) {
    const IntType& t = kTypes[i];
    check_table("mul.wide." + t.name + " $d, $a, $b;", 2 * t.bytes, {t.bytes, t.bytes},
                cross({edges(), edges()}),
                [&](const Row& r) { return static_cast<uint64_t>(t.value(r[0]) * t.value(r[1])); });
    check_table("mad.wide." + t.name + " $d, $a, $b, $c;", 2 * t.bytes, {t.bytes, t.bytes, 2 * t.bytes},
                cross({edges(), edges(), kAddends}),
                [&](const Row& r) { return static_cast<uint64_t>(t.value(r[0]) * t.value(r[1])) + r[2]; });
  }
}

TEST_CASE("mul24, mad24: 24-bit sources, bits 0-31 or 16-47 of the product") {
  for (int i = 2; i < 4; ++i) {
    const IntType& t = kTypes[i];
    auto product = [&](Wide a, Wide b) {
      auto low24 = [&](Wide v) {
        Wide low = v & 0xFFFFFF;
        return t.is_signed && low >= 0x800000 ? low - 0x1000000 : low;
      };
      return low24(a) * low24(b);
    };
    two("mul24.lo", t, product);
    two("mul24.hi", t, [&](Wide a, Wide b) { return product(a, b) >> 16; });
    three("mad24.lo", t, [&](Wide a, Wide b, Wide c) { return product(a, b) + c; });
    three("mad24.hi", t, [&](Wide a, Wide b, Wide c) { return (product(a, b) >> 16) + c; });
  }
  check_table("mad24.hi.sat.s32 $d, $a, $b, $c;", 4, {4, 4, 4},
              {{0x7FFFFF, 0x7FFFFF, 0x7FFFFFFF}, {0x7FFFFF, 0x800000, 0x80000000}, {1, 1, 5}},
              [](const Row& r) { return r[2] == 5            ? 5u
                                        : r[2] == 0x7FFFFFFF ? 0x7FFFFFFFu
                                                             : 0x80000000u; });
}

TEST_CASE("div, rem: truncate to zero; all ones for a zero divisor; the lowest value by -1 wraps") {
  for (auto& t : kTypes) {
    two("div", t, [](Wide a, Wide b) { return b == 0 ? Wide{-1} : a / b; });
    two("rem", t, [](Wide a, Wide b) { return b == 0 ? Wide{-1} : a % b; });
  }
}

TEST_CASE("min, max, sad, abs, neg follow the signedness of the type") {
  for (auto& t : kTypes) {
    two("min", t, [](Wide a, Wide b) { return std::min(a, b); });
    two("max", t, [](Wide a, Wide b) { return std::max(a, b); });
    three("sad", t, [](Wide a, Wide b, Wide c) { return c + magnitude(a - b); });
    if (!t.is_signed) continue;
    check_table("abs." + t.name + " $d, $a;", t.bytes, {t.bytes}, cross({edges()}),
                [&](const Row& r) { return static_cast<uint64_t>(magnitude(t.value(r[0]))); });
    check_table("neg." + t.name + " $d, $a;", t.bytes, {t.bytes}, cross({edges()}),
                [&](const Row& r) { return static_cast<uint64_t>(-t.value(r[0])); });
  }
  two("min.relu", kS32, [](Wide a, Wide b) { return std::max<Wide>(0, std::min(a, b)); });
  two("max.relu", kS32, [](Wide a, Wide b) { return std::max<Wide>(0, std::max(a, b)); });
}

TEST_CASE("add, min, max of u16x2 and s16x2 work on the halves apart") {
  auto halves = [](const std::string& op, const IntType& t, auto want) {
    check_table(
        op + "." + t.name + "x2 $d, $a, $b;", 4, {4, 4}, cross({edges(), edges()}), [&](const Row& r) {
          uint64_t low = static_cast<uint64_t>(want(t.value(r[0]), t.value(r[1]))) & 0xFFFF;
          uint64_t high = static_cast<uint64_t>(want(t.value(r[0] >> 16), t.value(r[1] >> 16))) & 0xFFFF;
          return high << 16 | low;
        });
  };
  for (int i = 0; i < 2; ++i) {
    halves("add", kTypes[i], [](Wide a, Wide b) { return a + b; });
    halves("min", kTypes[i], [](Wide a, Wide b) { return std::min(a, b); });
    halves("max", kTypes[i], [](Wide a, Wide b) { return std::max(a, b); });
  }
  halves("min.relu", kTypes[1], [](Wide a, Wide b) { return std::max<Wide>(0, std::min(a, b)); });
  halves("max.relu", kTypes[1], [](Wide a, Wide b) { return std::max<Wide>(0, std::max(a, b)); });
}

TEST_CASE("dp4a, dp2a: dot products with mixed signs") {
  auto byte = [](uint64_t v, int i, bool s) {
    auto b = static_cast<uint8_t>(v >> 8 * i);
    return s ? int64_t{static_cast<int8_t>(b)} : int64_t{b};
  };
  auto half = [](uint64_t v, int i, bool s) {
    auto h = static_cast<uint16_t>(v >> 16 * i);
    return s ? int64_t{static_cast<int16_t>(h)} : int64_t{h};
  };
  std::vector<uint64_t> values = {0, 0x01020304, 0x80FF7F01, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F};
  for (bool sa : {false, true})
    for (bool sb : {false, true}) {
      std::string types = std::string(sa ? ".s32" : ".u32") + (sb ? ".s32" : ".u32");
      check_table("dp4a" + types + " $d, $a, $b, $c;", 4, {4, 4, 4}, cross({values, values, kAddends}),
                  [&](const Row& r) {
                    int64_t sum = static_cast<int64_t>(r[2]);
                    for (int i = 0; i < 4; ++i) sum += byte(r[0], i, sa) * byte(r[1], i, sb);
                    return static_cast<uint64_t>(sum);
                  });
      for (int first : {0, 2})
        check_table(std::string("dp2a.") + (first ? "hi" : "lo") + types + " $d, $a, $b, $c;", 4, {4, 4, 4},
                    cross({values, values, kAddends}), [&](const Row& r) {
                      int64_t sum = static_cast<int64_t>(r[2]);
                      for (int i = 0; i < 2; ++i) sum += half(r[0], i, sa) * byte(r[1], first + i, sb);
                      return static_cast<uint64_t>(sum);
                    });
    }
}
