// Runs one instruction on a table of operands, a thread a row, and compares every result with a function's.
//
//   check_table("shl.b32 $d, $a, $b;", 4, {4, 4}, rows, [](const Row& r) { return ...; });
//
// $d is the destination, $a $b $c $e the sources. Widths are bytes: 2, 4 or 8, and 1 for a predicate. A row holds the
// bits of each source; results are compared as bits of the destination's width.
#pragma once

#include <functional>
#include <initializer_list>

#include "support.hpp"

namespace emu_test {

using Row = std::vector<uint64_t>;

inline std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

inline std::string hex64(uint64_t v) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

inline std::vector<uint64_t> run_table(const std::string& instruction, unsigned result,
                                       const std::vector<unsigned>& widths, const std::vector<Row>& rows) {
  const char* names[] = {"$a", "$b", "$c", "$e"};
  auto reg = [](unsigned width, size_t number) {
    const char* prefix = width == 1 ? "%p" : width == 2 ? "%rs" : width == 4 ? "%r" : "%rd";
    return prefix + std::to_string(number);
  };
  std::string body, text = instruction;
  for (size_t i = 0; i < widths.size(); ++i) {
    std::string r = reg(widths[i], i + 1), from = "[%in+" + std::to_string(8 * i) + "]";
    if (widths[i] == 1)
      body += "ld.global.u32 %r60, " + from + ";\nsetp.ne.u32 " + r + ", %r60, 0;\n";
    else
      body += "ld.global.b" + std::to_string(8 * widths[i]) + " " + r + ", " + from + ";\n";
    text = replace_all(text, names[i], r);
  }
  std::string d = reg(result, 10);
  text = replace_all(text, "$d", d);
  body += "mov.u64 %rd60, 0;\nst.global.u64 [%out], %rd60;\n" + text + "\n";
  if (result == 1)
    body += "selp.u32 %r61, 1, 0, " + d + ";\nst.global.u32 [%out], %r61;\n";
  else
    body += "st.global.b" + std::to_string(8 * result) + " [%out], " + d + ";\n";

  Options o;
  o.threads = rows.size() < 256 ? static_cast<unsigned>(rows.size()) : 256;
  o.ctas = static_cast<unsigned>((rows.size() + o.threads - 1) / o.threads);
  o.in_words = static_cast<unsigned>(2 * std::max<size_t>(widths.size(), 1));
  o.out_words = 2;
  std::vector<uint32_t> in(size_t{o.threads} * o.ctas * o.in_words, 0);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t i = 0; i < widths.size(); ++i) {
      in[r * o.in_words + 2 * i] = static_cast<uint32_t>(rows[r][i]);
      in[r * o.in_words + 2 * i + 1] = static_cast<uint32_t>(rows[r][i] >> 32);
    }
  auto out = Runner().run(body, in, o);
  std::vector<uint64_t> results;
  for (size_t r = 0; r < rows.size(); ++r) results.push_back(out[2 * r] | uint64_t{out[2 * r + 1]} << 32);
  return results;
}

inline void check_table(const std::string& instruction, unsigned result, const std::vector<unsigned>& widths,
                        const std::vector<Row>& rows, const std::function<uint64_t(const Row&)>& want) {
  auto got = run_table(instruction, result, widths, rows);
  uint64_t mask = result == 8 ? ~0ull : result == 1 ? 1 : (1ull << 8 * result) - 1;
  int reported = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    uint64_t expected = want(rows[r]) & mask;
    if (got[r] == expected) continue;
    std::string operands;
    for (uint64_t v : rows[r]) operands += " " + hex64(v);
    if (++reported <= 5)
      FAIL_CHECK(instruction << " with" << operands << " gave " << hex64(got[r]) << ", not "
                             << hex64(expected));
  }
  CHECK_MESSAGE(reported == 0, instruction, ": ", reported, " of ", rows.size(), " rows are wrong");
}

// Every combination of the lists.
inline std::vector<Row> cross(const std::vector<std::vector<uint64_t>>& lists) {
  std::vector<Row> rows{{}};
  for (auto& list : lists) {
    std::vector<Row> next;
    for (auto& row : rows)
      for (uint64_t v : list) {
        next.push_back(row);
        next.back().push_back(v);
      }
    rows.swap(next);
  }
  return rows;
}

// Integers at the edges of every width, and a few in between.
inline const std::vector<uint64_t>& edges() {
  static const std::vector<uint64_t> values = {0,
                                               1,
                                               2,
                                               3,
                                               7,
                                               0x7F,
                                               0x80,
                                               0xFF,
                                               0x7FFF,
                                               0x8000,
                                               0xFFFF,
                                               0x10000,
                                               0x7FFFFF,
                                               0x800000,
                                               0x7FFFFFFF,
                                               0x80000000,
                                               0xFFFFFFFE,
                                               0xFFFFFFFF,
                                               0x100000000,
                                               0x123456789ABCDEF0,
                                               0xDEADBEEFCAFEF00D,
                                               0x7FFFFFFFFFFFFFFF,
                                               0x8000000000000000,
                                               0xFFFFFFFFFFFFFFFF};
  return values;
}

using Wide = __int128;

// A PTX integer type by name: its width, and the value its bits stand for.
struct IntType {
  std::string name;
  unsigned bytes;
  bool is_signed;
  Wide value(uint64_t bits) const {
    if (bytes == 8) return is_signed ? Wide{static_cast<int64_t>(bits)} : Wide{bits};
    uint64_t low = bits & ((1ull << 8 * bytes) - 1);
    return is_signed && low >> (8 * bytes - 1) ? Wide{low} - (Wide{1} << 8 * bytes) : Wide{low};
  }
  Wide lowest() const { return is_signed ? -(Wide{1} << (8 * bytes - 1)) : Wide{0}; }
  Wide highest() const { return (Wide{1} << (8 * bytes - is_signed)) - 1; }
};
template <class To, class From>
To bits_as(From v) {
  static_assert(sizeof(To) <= sizeof(From));
  To r;
  std::memcpy(&r, &v, sizeof r);
  return r;
}
inline float f32(uint64_t bits) {
  return bits_as<float>(static_cast<uint32_t>(bits));
}
inline double f64(uint64_t bits) {
  return bits_as<double>(bits);
}
inline uint64_t bits(float v) {
  return bits_as<uint32_t>(v);
}
inline uint64_t bits(double v) {
  return bits_as<uint64_t>(v);
}

}  // namespace emu_test
