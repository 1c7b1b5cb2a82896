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
