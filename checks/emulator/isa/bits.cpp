// Logic, shifts and bit fields, bit by bit.
#include "table.hpp"

using namespace emu_test;

namespace {

// The low n bits; n may be 0 to 64.
uint64_t low_bits(uint64_t v, unsigned n) {
  return n >= 64 ? v : v & ((1ull << n) - 1);
}
uint64_t bit(uint64_t v, unsigned i) {
  return v >> i & 1;
}

template <class F>
void one(const std::string& op, unsigned bytes, unsigned result, F want) {
  check_table(op + " $d, $a;", result, {bytes}, cross({edges()}),
              [&](const Row& r) { return want(low_bits(r[0], 8 * bytes)); });
}

}  // namespace

TEST_CASE("and, or, xor, not, cnot of 16, 32 and 64 bits") {
  for (unsigned bytes : {2u, 4u, 8u}) {
    std::string type = ".b" + std::to_string(8 * bytes);
    auto rows = cross({edges(), edges()});
    check_table("and" + type + " $d, $a, $b;", bytes, {bytes, bytes}, rows,
                [](const Row& r) { return r[0] & r[1]; });
    check_table("or" + type + " $d, $a, $b;", bytes, {bytes, bytes}, rows,
                [](const Row& r) { return r[0] | r[1]; });
    check_table("xor" + type + " $d, $a, $b;", bytes, {bytes, bytes}, rows,
                [](const Row& r) { return r[0] ^ r[1]; });
    one("not" + type, bytes, bytes, [](uint64_t a) { return ~a; });
    one("cnot" + type, bytes, bytes, [](uint64_t a) { return uint64_t{a == 0}; });
  }
}

TEST_CASE("and, or, xor, not of predicates, negated sources too") {
  auto rows = cross({{0, 1}, {0, 1}});
  check_table("and.pred $d, $a, $b;", 1, {1, 1}, rows, [](const Row& r) { return r[0] & r[1]; });
  check_table("or.pred $d, !$a, $b;", 1, {1, 1}, rows, [](const Row& r) { return uint64_t{!r[0] || r[1]}; });
  check_table("xor.pred $d, $a, $b;", 1, {1, 1}, rows, [](const Row& r) { return r[0] ^ r[1]; });
  check_table("not.pred $d, $a;", 1, {1}, cross({{0, 1}}), [](const Row& r) { return !r[0]; });
}

TEST_CASE("shl, shr: amounts of the width and above give zero or the sign") {
  std::vector<uint64_t> amounts = {0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 0x80000000, 0xFFFFFFFF};
  for (unsigned bytes : {2u, 4u, 8u}) {
    unsigned width = 8 * bytes;
    std::string w = std::to_string(width);
    auto rows = cross({edges(), amounts});
    check_table("shl.b" + w + " $d, $a, $b;", bytes, {bytes, 4}, rows,
                [&](const Row& r) { return r[1] >= width ? 0 : r[0] << r[1]; });
    for (const char* kind : {"u", "b"})
      check_table("shr." + (kind + w) + " $d, $a, $b;", bytes, {bytes, 4}, rows,
                  [&](const Row& r) { return r[1] >= width ? 0 : low_bits(r[0], width) >> r[1]; });
    check_table("shr.s" + w + " $d, $a, $b;", bytes, {bytes, 4}, rows, [&](const Row& r) {
      uint64_t result = 0;
      for (unsigned i = 0; i < width; ++i)
        result |= bit(r[0], static_cast<unsigned>(std::min<uint64_t>(i + r[1], width - 1))) << i;
      return result;
    });
  }
}

TEST_CASE("shf: a funnel shift of b:a, clamped at 32 or wrapped") {
  std::vector<uint64_t> amounts = {0, 1, 5, 31, 32, 33, 40, 63, 64, 0xFFFFFFFF};
  auto rows = cross({edges(), edges(), amounts});
  for (bool left : {false, true})
    for (bool clamp : {false, true})
      check_table(
          std::string("shf.") + (left ? "l" : "r") + (clamp ? ".clamp" : ".wrap") + ".b32 $d, $a, $b, $c;", 4,
          {4, 4, 4}, rows, [&](const Row& r) {
            unsigned n = clamp ? static_cast<unsigned>(std::min<uint64_t>(r[2], 32)) : r[2] & 31;
            uint64_t result = 0;
            for (unsigned i = 0; i < 32; ++i) {  // bit i of the result is bit j of b:a
              unsigned j = left ? i + 32 - n : i + n;
              result |= (j < 32 ? bit(r[0], j) : bit(r[1], j - 32)) << i;
            }
            return result;
          });
}

TEST_CASE("lop3: every look-up table, and the predicate of its boolean operation") {
  std::vector<Row> rows = {{0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA}, {0x12345678, 0x9ABCDEF0, 0xFFFF0000}};
  for (unsigned lut = 0; lut < 256; ++lut)
    check_table(
        "lop3.b32 $d, $a, $b, $c, " + std::to_string(lut) + ";", 4, {4, 4, 4}, rows, [&](const Row& r) {
          uint64_t result = 0;
          for (unsigned i = 0; i < 32; ++i)
            result |= bit(lut, static_cast<unsigned>(4 * bit(r[0], i) + 2 * bit(r[1], i) + bit(r[2], i)))
                      << i;
          return result;
        });
  auto pairs = cross({{0, 5}, {0, 6}, {0, 1}});
  check_table("lop3.or.b32 _|$d, $a, $b, $a, 0xC0, $c;", 1, {4, 4, 1}, pairs,
              [](const Row& r) { return uint64_t{(r[0] & r[1]) != 0 || r[2] != 0}; });
  // ptxas takes blanks in front of modifiers
  check_table("lop3 .b32 $d, $a, $b, $c, 0x80;", 4, {4, 4, 4}, rows,
              [](const Row& r) { return r[0] & r[1] & r[2]; });
  check_table("and  .b32 $d, $a, $b;", 4, {4, 4}, cross({{5, 6}, {3, 12}}),
              [](const Row& r) { return r[0] & r[1]; });
  check_table("lop3.and.b32 %r20|$d, $a, $b, $a, 0xC0, $c;", 1, {4, 4, 1}, pairs,
              [](const Row& r) { return uint64_t{(r[0] & r[1]) != 0 && r[2] != 0}; });
}

TEST_CASE("popc, clz, brev, bfind: counts and positions") {
  for (unsigned bytes : {4u, 8u}) {
    unsigned width = 8 * bytes;
    std::string w = std::to_string(width);
    one("popc.b" + w, bytes, 4, [&](uint64_t a) {
      uint64_t n = 0;
      for (unsigned i = 0; i < width; ++i) n += bit(a, i);
      return n;
    });
    one("clz.b" + w, bytes, 4, [&](uint64_t a) {
      uint64_t n = 0;
      while (n < width && !bit(a, static_cast<unsigned>(width - 1 - n))) ++n;
      return n;
    });
    one("brev.b" + w, bytes, bytes, [&](uint64_t a) {
      uint64_t r = 0;
      for (unsigned i = 0; i < width; ++i) r |= bit(a, i) << (width - 1 - i);
      return r;
    });
    for (bool is_signed : {false, true})
      for (bool amount : {false, true})
        one(std::string("bfind.") + (amount ? "shiftamt." : "") + (is_signed ? "s" : "u") + w, bytes, 4,
            [&](uint64_t a) {
              if (is_signed && bit(a, width - 1)) a = ~a;
              for (unsigned i = width; i-- > 0;)
                if (bit(a, i)) return uint64_t{amount ? width - 1 - i : i};
              return ~uint64_t{0};
            });
  }
}

TEST_CASE("bfe, bfi: positions and lengths up to 255 and past the word") {
  std::vector<uint64_t> places = {0, 1, 4, 16, 31, 32, 33, 63, 64, 200, 255, 256, 0x101};
  for (unsigned bytes : {4u, 8u}) {
    unsigned width = 8 * bytes;
    std::string w = std::to_string(width);
    for (bool is_signed : {false, true})
      check_table("bfe." + ((is_signed ? "s" : "u") + w) + " $d, $a, $b, $c;", bytes, {bytes, 4, 4},
                  cross({edges(), places, places}), [&](const Row& r) {
                    const uint64_t field = bytes == 8 ? ~0u : 255;  // recorded/bit_fields.txt
                    uint64_t pos = r[1] & field, len = r[2] & field;
                    uint64_t sign = is_signed && len ? bit(r[0], std::min<uint64_t>(pos + len - 1, width - 1))
                                                     : 0,
                             d = 0;
                    for (unsigned i = 0; i < width; ++i)
                      d |= (i < len && pos + i < width ? bit(r[0], pos + i) : sign) << i;
                    return d;
                  });
    check_table("bfi.b" + w + " $d, $a, $b, $c, $e;", bytes, {bytes, bytes, 4, 4},
                cross({{0, ~0ull, 0x123456789ABCDEF0}, {0, ~0ull, 0xDEADBEEFCAFEF00D}, places, places}),
                [&](const Row& r) {
                  const uint64_t field = bytes == 8 ? ~0u : 255;
                  uint64_t pos = r[2] & field, len = r[3] & field;
                  uint64_t f = r[1];
                  for (unsigned i = 0; i < len && pos + i < width; ++i)
                    f = (f & ~(1ull << (pos + i))) | bit(r[0], i) << (pos + i);
                  return f;
                });
  }
}

TEST_CASE("fns: the manual's examples, an absent bit, offset 0") {
  check_table("fns.b32 $d, $a, $b, $c;", 4, {4, 4, 4},
              {{0xAAAAAAAA, 3, 1, 3},
               {0xAAAAAAAA, 3, 0xFFFFFFFF, 3},
               {0xAAAAAAAA, 2, 1, 3},
               {0xAAAAAAAA, 2, 0xFFFFFFFF, 1},
               {0xAAAAAAAA, 2, 0, ~0ull},
               {0xAAAAAAAA, 5, 0, 5},
               {0x1, 1, 1, ~0ull},
               {0xFFFFFFFF, 0, 32, 31},
               {0xFFFFFFFF, 0, 33, ~0ull}},
              [](const Row& r) { return r[3]; });
}

TEST_CASE("szext, bmsk: clamped and wrapped widths") {
  std::vector<uint64_t> widths = {0, 1, 5, 16, 31, 32, 33, 63, 64, 0xFFFFFFFF};
  for (bool clamp : {false, true}) {
    std::string mode = clamp ? "clamp" : "wrap";
    auto n_of = [&](uint64_t v) { return static_cast<unsigned>(clamp ? std::min<uint64_t>(v, 32) : v & 31); };
    for (bool is_signed : {false, true})
      check_table("szext." + mode + (is_signed ? ".s32" : ".u32") + " $d, $a, $b;", 4, {4, 4},
                  cross({edges(), widths}), [&](const Row& r) {
                    unsigned n = n_of(r[1]);
                    uint64_t v = low_bits(r[0], n);
                    return is_signed && n && bit(v, n - 1) ? v | ~0ull << n : v;
                  });
    check_table("bmsk." + mode + ".b32 $d, $a, $b;", 4, {4, 4}, cross({widths, widths}), [&](const Row& r) {
      unsigned pos = n_of(r[0]), n = n_of(r[1]);
      uint64_t d = 0;
      for (unsigned i = pos; i < pos + n && i < 32; ++i) d |= 1ull << i;
      return d;
    });
  }
}

TEST_CASE("prmt: bytes by selector, replicated signs, and the six modes") {
  auto byte = [](const Row& r, unsigned i) { return (i < 4 ? r[0] >> 8 * i : r[1] >> 8 * (i - 4)) & 255; };
  const uint64_t a = 0x83828180, b = 0x07060504;
  check_table("prmt.b32 $d, $a, $b, $c;", 4, {4, 4, 4},
              cross({{a}, {b}, {0x3210, 0x7654, 0x0123, 0xFEDC, 0x89AB, 0x5410, 0xFFFF8080}}),
              [&](const Row& r) {
                uint64_t d = 0;
                for (unsigned i = 0; i < 4; ++i) {
                  unsigned s = r[2] >> 4 * i & 15;
                  uint64_t v = byte(r, s & 7);
                  d |= (s & 8 ? (v & 128 ? 255 : 0) : v) << 8 * i;
                }
                return d;
              });
  // The rows of the manual's table: source bytes for c = 0, 1, 2, 3, the most significant first.
  struct Mode {
    const char* name;
    const char* rows[4];
  };
  const Mode modes[] = {
      {"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
      {"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
      {"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}}};
  for (auto& mode : modes)
    check_table(std::string("prmt.b32.") + mode.name + " $d, $a, $b, $c;", 4, {4, 4, 4},
                cross({{a}, {b}, {0, 1, 2, 3, 0xFC}}), [&](const Row& r) {
                  uint64_t d = 0;
                  for (unsigned i = 0; i < 4; ++i)
                    d = d << 8 | byte(r, static_cast<unsigned>(mode.rows[r[2] & 3][i] - '0'));
                  return d;
                });
}

TEST_CASE("shl, shr, prmt by an immediate give what a register gives") {
  for (unsigned n : {0u, 1u, 7u, 15u, 16u, 31u, 32u, 33u, 63u, 64u, 255u})
    for (unsigned bytes : {2u, 4u, 8u})
      for (std::string op : {"shl.b", "shr.u", "shr.s"}) {
        std::string head = op + std::to_string(8 * bytes) + " $d, $a, ";
        std::vector<Row> rows = cross({edges()});
        auto want =
            run_table("mov.u32 %r30, " + std::to_string(n) + ";\n" + head + "%r30;", bytes, {bytes}, rows);
        CHECK(run_table(head + std::to_string(n) + ";", bytes, {bytes}, rows) == want);
      }
  for (const char* selector :
       {"0x3210", "0x5410", "0x7632", "0x0123", "0x7777", "0x8888", "0xF4A1", "0x17654"}) {
    auto rows = cross({edges(), edges()});
    auto want = run_table(std::string("mov.u32 %r30, ") + selector + ";\nprmt.b32 $d, $a, $b, %r30;", 4,
                          {4, 4}, rows);
    CHECK(run_table(std::string("prmt.b32 $d, $a, $b, ") + selector + ";", 4, {4, 4}, rows) == want);
  }
}
