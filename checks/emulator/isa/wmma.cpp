// wmma: whole matrices loaded, multiplied and stored; recorded/wmma_products has every shape to the last bit.
#include <doctest/doctest.h>

#include "../support.hpp"

using namespace emu_test;

namespace {

int a_at(int i, int k) {
  return (3 * i + 5 * k) % 11 - 5;
}
int b_at(int k, int j) {
  return (2 * k + 7 * j) % 13 - 6;
}

// s8: A by rows and B by columns, 16 bytes each, then C = 1; lane 0's addresses for all lanes.
std::vector<uint32_t> multiply(int m, int n, const std::string& a, const std::string& b,
                               const std::string& d_layout, const std::string& leading) {
  std::vector<uint32_t> input(static_cast<size_t>(4 * m + 4 * n + m * n), 1);
  auto* bytes = reinterpret_cast<int8_t*>(input.data());
  for (int k = 0; k < 16; ++k) {
    for (int i = 0; i < m; ++i) bytes[16 * i + k] = static_cast<int8_t>(a_at(i, k));
    for (int j = 0; j < n; ++j) bytes[16 * (m + j) + k] = static_cast<int8_t>(b_at(k, j));
  }
  Options o;
  o.threads = 32;
  o.in_words = (4u * 32 + 4 * 32 + 256) / 32 + 1;
  o.out_words = 8;
  input.resize(o.in_words * 32);
  const std::string shape = "m" + std::to_string(m) + "n" + std::to_string(n) + "k16";
  const std::string c = "{%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}";
  Runner r;
  return r.run("ld.param.u64 %in, [in_pointer];\nld.param.u64 %out, [out_pointer];\nmov.u32 %r9, " + leading +
                   ";\nwmma.load.a.sync.aligned.row." + shape + ".global.s8 " + a +
                   ", [%in], 16;\nwmma.load.b.sync.aligned.col." + shape + ".s8 " + b + ", [%in+" +
                   std::to_string(16 * m) + "];\nwmma.load.c.sync.aligned.row." + shape + ".global.s32 " + c +
                   ", [%in+" + std::to_string(16 * (m + n)) + "];\nwmma.mma.sync.aligned.row.col." + shape +
                   ".s32.s8.s8.s32 " + c + ", " + a + ", " + b + ", " + c + ";\nwmma.store.d.sync.aligned." +
                   d_layout + "." + shape + ".global.s32 [%out], " + c + ", %r9;\n",
               input, o);
}

}  // namespace

TEST_CASE("wmma: what is loaded by rows or columns is multiplied and stored by either") {
  for (int m : {16, 32, 8}) {
    const int n = 256 / m;
    const std::string a = m == 16 ? "{%r0, %r1}" : m == 32 ? "{%r0, %r1, %r2, %r3}" : "{%r0}";
    const std::string b = m == 16 ? "{%r4, %r5}" : m == 32 ? "{%r4}" : "{%r4, %r5, %r6, %r7}";
    for (bool columns : {false, true}) {
      CAPTURE(m);
      const auto out = multiply(m, n, a, b, columns ? "col" : "row", std::to_string(columns ? m : n));
      int wrong = 0;
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          int want = 1;
          for (int k = 0; k < 16; ++k) want += a_at(i, k) * b_at(k, j);
          wrong += static_cast<int>(out[static_cast<size_t>(columns ? j * m + i : i * n + j)]) != want;
        }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("wmma: a fragment has as many registers as its shape and type say") {
  Runner r;
  const auto f = r.fault("wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r0}, [%in];");
  CHECK(f.id == "unsupported-instruction");
  CHECK(f.title.find("2 registers") != std::string::npos);
}
