// Carry chains, against 128-bit host arithmetic.
#include "table.hpp"

using namespace emu_test;

TEST_CASE("add.cc, addc, sub.cc, subc: the carry runs through a chain") {
  // 128-bit values in two 64-bit halves: a = {a, b}, b = {c, e}; the upper half of the result is stored.
  auto rows = cross({edges(), {0, 1, ~0ull}, {0, 1, ~0ull, 0x8000000000000000}, {0, ~0ull}});
  auto wide = [](uint64_t high, uint64_t low) { return static_cast<unsigned __int128>(high) << 64 | low; };
  check_table("add.cc.u64 %rd20, $a, $c;\naddc.u64 $d, $b, $e;", 8, {8, 8, 8, 8}, rows, [&](const Row& r) {
    return static_cast<uint64_t>((wide(r[1], r[0]) + wide(r[3], r[2])) >> 64);
  });
  check_table("sub.cc.u64 %rd20, $a, $c;\nsubc.u64 $d, $b, $e;", 8, {8, 8, 8, 8}, rows, [&](const Row& r) {
    return static_cast<uint64_t>((wide(r[1], r[0]) - wide(r[3], r[2])) >> 64);
  });
  // Three links, and the carry out of addc.cc.
  check_table("add.cc.u32 %r20, $a, $b;\naddc.cc.u32 %r21, $a, $c;\naddc.u32 $d, 0, 0;", 4, {4, 4, 4},
              cross({edges(), edges(), {0, 0xFFFFFFFF}}), [](const Row& r) {
                uint64_t low = (r[0] & 0xFFFFFFFF) + (r[1] & 0xFFFFFFFF);
                return ((r[0] & 0xFFFFFFFF) + r[2] + (low >> 32)) >> 32;
              });
}

// sm_90 subtracts as a + ~b + 1, and all of these instructions share one carry flag: it is 1 after a subtraction that
// borrowed nothing.
template <class U>
void check_carries(const std::string& type) {
  using Wide = unsigned __int128;
  constexpr unsigned kBits = 8 * sizeof(U);
  struct Step {
    const char* text;
    Wide (*sum)(U a, U b, bool carry);
  };
  const Step first[] = {
      {"add.cc.", [](U a, U b, bool) { return Wide{a} + b; }},
      {"sub.cc.", [](U a, U b, bool) { return Wide{a} + static_cast<U>(~b) + 1; }},
      {"mad.lo.cc.", [](U a, U b, bool) { return Wide{static_cast<U>(Wide{a} * b)} + a; }},
      {"mad.hi.cc.", [](U a, U b, bool) { return Wide{static_cast<U>(Wide{a} * b >> kBits)} + a; }},
  };
  const Step second[] = {
      {"addc.cc.", [](U a, U b, bool c) { return Wide{a} + b + c; }},
      {"subc.cc.", [](U a, U b, bool c) { return Wide{a} + static_cast<U>(~b) + c; }},
      {"madc.lo.cc.", [](U a, U b, bool c) { return Wide{static_cast<U>(Wide{a} * b)} + a + c; }},
      {"madc.hi.cc.", [](U a, U b, bool c) { return Wide{static_cast<U>(Wide{a} * b >> kBits)} + a + c; }},
  };
  std::vector<Row> rows;
  const uint64_t top = uint64_t{1} << (kBits - 1),
                 edges[] = {0, 1, 5, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1};
  for (uint64_t a : edges)
    for (uint64_t b : edges) rows.push_back({a, b});
  const auto text = [&](const Step& s, const std::string& d) {
    return s.text + type + " " + d + ", $a, $b" + (s.text[0] == 'm' ? ", $a" : "") + ";\n";
  };
  const std::string scratch = sizeof(U) == 4 ? "%r20" : "%rd20";
  for (const Step& s : first)
    for (const Step& t : second) {
      const auto sums = [&](const Row& r) {
        const U a = static_cast<U>(r[0]), b = static_cast<U>(r[1]);
        return t.sum(a, b, s.sum(a, b, false) >> kBits & 1);
      };
      check_table(text(s, scratch) + text(t, "$d"), sizeof(U), {sizeof(U), sizeof(U)}, rows,
                  [&](const Row& r) { return static_cast<uint64_t>(static_cast<U>(sums(r))); });
      check_table(text(s, scratch) + text(t, scratch) + "addc." + type + " $d, 0, 0;", sizeof(U),
                  {sizeof(U), sizeof(U)}, rows,
                  [&](const Row& r) { return static_cast<uint64_t>(sums(r) >> kBits & 1); });
    }
}

TEST_CASE("the carry flag: every instruction that sets it, before every one that takes it") {
  check_carries<uint32_t>("u32");
  check_carries<uint64_t>("u64");
}

TEST_CASE("mad.lo.cc, madc.hi: the 64-bit product plus a 64-bit addend") {
  check_table("mad.lo.cc.u32 %r20, $a, $b, $c;\nmadc.hi.u32 $d, $a, $b, $e;", 4, {4, 4, 4, 4},
              cross({edges(), edges(), {0, 1, 0xFFFFFFFF}, {0, 0x80000000}}), [](const Row& r) {
                uint64_t product = (r[0] & 0xFFFFFFFF) * (r[1] & 0xFFFFFFFF);
                return (product + (r[3] << 32 | r[2])) >> 32;
              });
  check_table("mad.lo.cc.s32 %r20, $a, $b, $c;\nmadc.hi.s32 $d, $a, $b, 0;", 4, {4, 4, 4},
              cross({edges(), edges(), {0, 1, 0xFFFFFFFF}}), [](const Row& r) {
                int64_t product = int64_t{static_cast<int32_t>(r[0])} * static_cast<int32_t>(r[1]);
                return (static_cast<uint64_t>(product) + r[2]) >> 32;
              });
}
