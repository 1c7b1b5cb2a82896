// Video instructions on bytes and half words.
#include <algorithm>

#include "table.hpp"

using namespace emu_test;

TEST_CASE("vabsdiff, vadd, vavrg ... on bytes and half words, merged or summed") {
  struct Op {
    const char* name;
    int64_t (*of)(int64_t, int64_t);
  };
  const Op ops[] = {
      {"vadd", [](int64_t a, int64_t b) { return a + b; }},
      {"vsub", [](int64_t a, int64_t b) { return a - b; }},
      {"vavrg", [](int64_t a, int64_t b) { return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1; }},
      {"vabsdiff", [](int64_t a, int64_t b) { return std::abs(a - b); }},
      {"vmin", [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"vmax", [](int64_t a, int64_t b) { return std::max(a, b); }}};
  std::vector<uint64_t> values = {0, 0x01020304, 0x80FF7F01, 0xFFFFFFFF, 0x80008000, 0x7FFF8001};
  for (auto& op : ops)
    for (unsigned count : {2u, 4u})
      for (bool is_signed : {false, true})
        for (std::string mode : {"", ".sat", ".add"}) {
          const IntType part{"", 4 / count, is_signed};
          unsigned width = 32 / count;
          std::string type = is_signed ? ".s32" : ".u32";
          check_table(op.name + std::to_string(count) + type + type + type + mode + " $d, $a, $b, $c;", 4,
                      {4, 4, 4}, cross({values, values, {0, 0x1000}}), [&](const Row& r) {
                        uint64_t merged = 0, sum = r[2];
                        for (unsigned i = 0; i < count; ++i) {
                          Wide t = op.of(static_cast<int64_t>(part.value(r[0] >> width * i)),
                                         static_cast<int64_t>(part.value(r[1] >> width * i)));
                          if (mode == ".sat") t = std::clamp(t, part.lowest(), part.highest());
                          merged |= (static_cast<uint64_t>(t) & ((1ull << width) - 1)) << width * i;
                          sum += static_cast<uint64_t>(t);
                        }
                        return mode == ".add" ? sum : merged;
                      });
        }
}

TEST_CASE("vshl, vshr: clamped or wrapped amounts, saturation, and a second operation") {
  const std::vector<uint64_t> values = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0x12345678},
                              amounts = {0, 1, 31, 32, 33, 64};
  for (bool left : {false, true})
    for (bool from_signed : {false, true})
      for (bool to_signed : {false, true})
        for (bool wrap : {false, true})
          for (std::string second : {"", ".add", ".min", ".max", "sat"}) {
            const bool saturate = second == "sat";
            if (saturate && left) continue;
            const IntType from{"", 4, from_signed}, to{"", 4, to_signed};
            const std::string text = std::string(left ? "vshl" : "vshr") + (to_signed ? ".s32" : ".u32") +
                                     (from_signed ? ".s32" : ".u32") + ".u32" + (saturate ? ".sat" : "") +
                                     (wrap ? ".wrap" : ".clamp") + (saturate ? "" : second) + " $d, $a, $b" +
                                     (second.empty() || saturate ? ";" : ", $c;");
            check_table(text, 4, {4, 4, 4}, cross({values, amounts, {0, 7, 0x80000001}}), [&](const Row& r) {
              const unsigned by = wrap ? r[1] & 31 : std::min<unsigned>(static_cast<unsigned>(r[1]), 32);
              Wide t = left ? from.value(r[0]) * (Wide{1} << by) : from.value(r[0]) >> by;
              if (saturate) t = std::clamp(t, to.lowest(), to.highest());
              const Wide c = to.value(r[2]);
              // Compared with all its bits, as 64-bit numbers with the result's sign (as an H200 does it).
              const auto order = [&](Wide v) {
                return to_signed ? Wide{static_cast<int64_t>(v)} : Wide{static_cast<uint64_t>(v)};
              };
              return static_cast<uint64_t>(second == ".add"   ? t + c
                                           : second == ".min" ? (order(t) < c ? t : c)
                                           : second == ".max" ? (order(t) < c ? c : t)
                                                              : t);
            });
          }
}

TEST_CASE("vshr.sat: the saturated word counts as signed when it is compared") {
  // As ptxas compiles it: a u32 with its top bit set is above every c.
  check_table("vshr.u32.u32.u32.sat.wrap.max $d, $a, $b, $c;", 4, {4, 4, 4},
              {{0x80000000, 0, 0xFFFFFFFF}, {0x80000000, 1, 0xFFFFFFFF}},
              [](const Row& r) { return r[1] ? 0xFFFFFFFF : 0x80000000; });
}
