// setp, set, selp, slct.
#include <cmath>

#include "table.hpp"

using namespace emu_test;

namespace {

const std::vector<uint64_t> kFloats = {bits(0.0f), bits(-0.0f), bits(1.0f), bits(-1.0f),
                                       1,          0x80000001,  0x7F800000, 0xFF800000,
                                       0x7FC00000, 0xFFC00000,  bits(2.5f)};

// less, equal, greater or unordered, as a character
char order(double a, double b) {
  return a < b ? '<' : a == b ? '=' : a > b ? '>' : '?';
}
bool holds(const std::string& op, char o) {
  if (op == "num") return o != '?';
  if (op == "nan") return o == '?';
  if (op.size() == 3) return o == '?' || holds(op.substr(0, 2), o);
  if (op == "eq") return o == '=';
  if (op == "ne") return o == '<' || o == '>';
  if (op == "lt" || op == "lo") return o == '<';
  if (op == "le" || op == "ls") return o == '<' || o == '=';
  if (op == "gt" || op == "hi") return o == '>';
  return o == '>' || o == '=';
}
const char* const kFloatOps[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                 "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
float flushed(float v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
}

}  // namespace

TEST_CASE("setp: signed, unsigned and untyped integers of every width") {
  for (unsigned bytes : {2u, 4u, 8u}) {
    std::string w = std::to_string(8 * bytes);
    auto rows = cross({edges(), edges()});
    auto signed_of = [=](uint64_t v) { return static_cast<int64_t>(v << (64 - 8 * bytes)); };
    auto unsigned_of = [=](uint64_t v) { return v << (64 - 8 * bytes); };
    for (std::string op : {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"}) {
      check_table("setp." + op + ".u" + w + " $d, $a, $b;", 1, {bytes, bytes}, rows, [&](const Row& r) {
        uint64_t a = unsigned_of(r[0]), b = unsigned_of(r[1]);
        return uint64_t{holds(op, a < b ? '<' : a == b ? '=' : '>')};
      });
      if (op[0] == 'h' || op == "lo" || op == "ls") continue;
      check_table("setp." + op + ".s" + w + " $d, $a, $b;", 1, {bytes, bytes}, rows, [&](const Row& r) {
        int64_t a = signed_of(r[0]), b = signed_of(r[1]);
        return uint64_t{holds(op, a < b ? '<' : a == b ? '=' : '>')};
      });
      if (op == "eq" || op == "ne")
        check_table("setp." + op + ".b" + w + " $d, $a, $b;", 1, {bytes, bytes}, rows, [&](const Row& r) {
          return uint64_t{(unsigned_of(r[0]) == unsigned_of(r[1])) == (op == "eq")};
        });
    }
  }
}

TEST_CASE("setp: ordered and unordered comparisons of f32 and f64, .ftz") {
  std::vector<uint64_t> doubles;
  for (uint64_t f : kFloats) doubles.push_back(bits(static_cast<double>(f32(f))));
  for (std::string op : kFloatOps) {
    check_table("setp." + op + ".f32 $d, $a, $b;", 1, {4, 4}, cross({kFloats, kFloats}),
                [&](const Row& r) { return uint64_t{holds(op, order(f32(r[0]), f32(r[1])))}; });
    check_table(
        "setp." + op + ".ftz.f32 $d, $a, $b;", 1, {4, 4}, cross({kFloats, kFloats}),
        [&](const Row& r) { return uint64_t{holds(op, order(flushed(f32(r[0])), flushed(f32(r[1]))))}; });
    check_table("setp." + op + ".f64 $d, $a, $b;", 1, {8, 8}, cross({doubles, doubles}),
                [&](const Row& r) { return uint64_t{holds(op, order(f64(r[0]), f64(r[1])))}; });
  }
}

TEST_CASE("setp: f16, bf16 and both halves of the packed types") {
  // 0, -0, 1, -2, smallest subnormal, infinity, NaN; the upper halves of the same as f32 for bf16
  const std::vector<uint64_t> halves = {0, 0x8000, 0x3C00, 0xC000, 1, 0x7C00, 0x7E00};
  auto value16 = [](uint64_t h) {
    double m = (h & 0x3FF), v = (h & 0x7C00) == 0x7C00 ? (m != 0 ? NAN : INFINITY)
                                : (h & 0x7C00) ? std::ldexp(1024 + m, static_cast<int>(h >> 10 & 31) - 25)
                                               : std::ldexp(m, -24);
    return h & 0x8000 ? -v : v;
  };
  const std::vector<uint64_t> brains = {0, 0x8000, 0x3F80, 0xC000, 1, 0x7F80, 0x7FC0};
  for (std::string op : kFloatOps) {
    check_table("setp." + op + ".f16 $d, $a, $b;", 1, {2, 2}, cross({halves, halves}),
                [&](const Row& r) { return uint64_t{holds(op, order(value16(r[0]), value16(r[1])))}; });
    check_table("setp." + op + ".bf16 $d, $a, $b;", 1, {2, 2}, cross({brains, brains}),
                [&](const Row& r) { return uint64_t{holds(op, order(f32(r[0] << 16), f32(r[1] << 16)))}; });
    auto rows = cross({halves, halves});
    for (auto& r : rows) r = {r[0] << 16 | r[1], r[1] << 16 | r[0]};
    auto packed = [&](const Row& r, int shift) {
      return uint64_t{holds(op, order(value16(r[0] >> shift & 0xFFFF), value16(r[1] >> shift & 0xFFFF)))};
    };
    check_table("setp." + op + ".f16x2 $d|%p11, $a, $b;", 1, {4, 4}, rows,
                [&](const Row& r) { return packed(r, 0); });
    check_table("setp." + op + ".f16x2 %p11|$d, $a, $b;", 1, {4, 4}, rows,
                [&](const Row& r) { return packed(r, 16); });
  }
}

TEST_CASE("setp: p and q with a third predicate") {
  auto rows = cross({{1, 2, 3}, {2}, {0, 1}});
  for (std::string op : {"and", "or", "xor"})
    for (bool negated : {false, true}) {
      auto combine = [&](bool t, bool c) {
        return uint64_t{op == "and" ? t && c : op == "or" ? t || c : t != c};
      };
      std::string tail = std::string(", $a, $b, ") + (negated ? "!$c;" : "$c;");
      check_table("setp.lt." + op + ".s32 $d|%p11" + tail, 1, {4, 4, 1}, rows,
                  [&](const Row& r) { return combine(r[0] < r[1], (r[2] != 0) != negated); });
      check_table("setp.lt." + op + ".s32 %p11|$d" + tail, 1, {4, 4, 1}, rows,
                  [&](const Row& r) { return combine(!(r[0] < r[1]), (r[2] != 0) != negated); });
      check_table("setp.lt." + op + ".s32 _|$d" + tail, 1, {4, 4, 1}, rows,
                  [&](const Row& r) { return combine(!(r[0] < r[1]), (r[2] != 0) != negated); });
    }
  check_table("setp.lt.s32 $d|%p11, $a, $b;", 1, {4, 4, 1}, rows,
              [](const Row& r) { return uint64_t{r[0] < r[1]}; });
}

TEST_CASE("set: all ones or 1.0 in the result type") {
  auto rows = cross({{0, 1, 0xFFFFFFFF}, {0, 1}});
  auto less = [](const Row& r) { return static_cast<int32_t>(r[0]) < static_cast<int32_t>(r[1]); };
  check_table("set.lt.u32.s32 $d, $a, $b;", 4, {4, 4}, rows,
              [&](const Row& r) { return less(r) ? 0xFFFFFFFFull : 0; });
  check_table("set.lt.f32.s32 $d, $a, $b;", 4, {4, 4}, rows,
              [&](const Row& r) { return less(r) ? bits(1.0f) : 0; });
  check_table("set.lt.f16.s32 $d, $a, $b;", 2, {4, 4}, rows,
              [&](const Row& r) { return less(r) ? 0x3C00ull : 0; });
  check_table("set.lt.bf16.s32 $d, $a, $b;", 2, {4, 4}, rows,
              [&](const Row& r) { return less(r) ? 0x3F80ull : 0; });
  check_table("set.lt.and.u32.s32 $d, $a, $b, !$c;", 4, {4, 4, 1}, cross({{0, 1}, {1}, {0, 1}}),
              [&](const Row& r) { return r[0] < r[1] && !r[2] ? 0xFFFFFFFFull : 0; });
  check_table("set.gt.f16x2.f16x2 $d, $a, $b;", 4, {4, 4},
              {{0x3C00C000, 0x0000C001}, {0x80003C00, 0x00000000}},
              [](const Row& r) { return r[0] == 0x3C00C000 ? 0x3C003C00ull : 0x00003C00ull; });
  check_table("set.gt.u32.bf16x2 $d, $a, $b;", 4, {4, 4},
              {{0x3F80C000, 0x0000C001}, {0x7FC03F80, 0x00000000}},
              [](const Row& r) { return r[0] == 0x3F80C000 ? 0xFFFFFFFFull : 0x0000FFFFull; });
  check_table("set.gt.s16.f16 $d, $a, $b;", 2, {2, 2}, {{0x3C00, 0}, {0, 0x3C00}},
              [](const Row& r) { return r[0] ? 0xFFFFull : 0; });
  CHECK(Runner().fault("set.lo.u32.s32 %r1, %r2, %r3;").id == "unsupported-instruction");
  CHECK(Runner().fault("set.lt.f16x2.s32 %r1, %r2, %r3;").id == "unsupported-instruction");
}

TEST_CASE("selp, slct: the selected source, unchanged") {
  for (unsigned bytes : {2u, 4u, 8u}) {
    std::string w = std::to_string(8 * bytes);
    for (const char* kind : {"b", "u", "s"}) {
      check_table("selp." + (kind + w) + " $d, $a, $b, $c;", bytes, {bytes, bytes, 1},
                  cross({edges(), {5}, {0, 1}}), [](const Row& r) { return r[2] ? r[0] : r[1]; });
      check_table("slct." + (kind + w) + ".s32 $d, $a, $b, $c;", bytes, {bytes, bytes, 4},
                  cross({edges(), {5}, {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF}}),
                  [](const Row& r) { return static_cast<int32_t>(r[2]) >= 0 ? r[0] : r[1]; });
    }
  }
  check_table("slct.f32.f32 $d, $a, $b, $c;", 4, {4, 4, 4}, cross({{bits(1.0f)}, {bits(2.0f)}, kFloats}),
              [](const Row& r) { return f32(r[2]) >= 0 ? r[0] : r[1]; });
  check_table("slct.ftz.u64.f32 $d, $a, $b, $c;", 8, {8, 8, 4}, cross({{~0ull}, {1}, kFloats}),
              [](const Row& r) { return flushed(f32(r[2])) >= 0 ? r[0] : r[1]; });
}
