// ldmatrix, stmatrix, movmatrix and mma.sync against fragments written down from the manual's pictures.
#include "support.hpp"

using emu_test::Options;
using emu_test::Runner;

namespace {

Options warp(unsigned in_words, unsigned out_words) {
  Options o;
  o.threads = 32;
  o.in_words = in_words;
  o.out_words = out_words;
  return o;
}

// Element (row, column) of matrix m is 64 * m + 8 * row + column, 16 bits each; %r10 is the address of this lane's row.
const std::string kTile =
    ".shared .align 16 .b8 tile[512];\nmov.u32 %r10, tile;\nmad.lo.u32 %r10, %t, 16, %r10;\nmul.lo.u32 %r11, "
    "%t, 8;\n"
    "add.u32 %r12, %r11, 1;\nshl.b32 %r13, %r12, 16;\nor.b32 %r11, %r11, %r13;\n"
    "st.shared.u32 [%r10], %r11;\nadd.u32 %r11, %r11, 0x20002;\nst.shared.u32 [%r10+4], %r11;\n"
    "add.u32 %r11, %r11, 0x20002;\nst.shared.u32 [%r10+8], %r11;\nadd.u32 %r11, %r11, 0x20002;\n"
    "st.shared.u32 [%r10+12], %r11;\nbar.warp.sync 0xffffffff;\n";

std::string store(int registers) {
  std::string out;
  for (int i = 0; i < registers; ++i)
    out += "st.global.u32 [%out+" + std::to_string(4 * i) + "], %r" + std::to_string(i) + ";\n";
  return out;
}

uint32_t pair(int low, int high) {
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
}

}  // namespace

TEST_CASE("ldmatrix: lane l gets elements 2 * (l % 4) and the next of row l / 4") {
  Runner r;
  auto out =
      r.run(kTile + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r10];\n" + store(4), {},
            warp(1, 4));
  for (int l = 0; l < 32; ++l)
    for (int m = 0; m < 4; ++m) {
      const int first = 64 * m + 8 * (l / 4) + 2 * (l % 4);
      CHECK(out[static_cast<size_t>(4 * l + m)] == pair(first, first + 1));
    }
  CHECK(r.statistics.stats().shared_load_bytes == 512);
}

TEST_CASE("ldmatrix.trans: lane l gets rows 2 * (l % 4) and the next of column l / 4") {
  Runner r;
  auto out =
      r.run(kTile + "ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%r0, %r1}, [%r10];\n" + store(2),
            {}, warp(1, 2));
  for (int l = 0; l < 32; ++l)
    for (int m = 0; m < 2; ++m) {
      const int first = 64 * m + 8 * (2 * (l % 4)) + l / 4;
      CHECK(out[static_cast<size_t>(2 * l + m)] == pair(first, first + 8));
    }
}

TEST_CASE("ldmatrix.x1 takes the rows' addresses from lanes 0 to 7 only, generic ones too") {
  Runner r;
  auto out = r.run(kTile +
                       "setp.gt.u32 %p1, %t, 7;\n@%p1 mov.u32 %r10, 3;\ncvt.u64.u32 %rd1, %r10;\n"
                       "cvta.shared.u64 %rd1, %rd1;\nldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%rd1];\n" +
                       store(1),
                   {}, warp(1, 1));
  for (int l = 0; l < 32; ++l) CHECK(out[static_cast<size_t>(l)] == pair(2 * l, 2 * l + 1));
}

TEST_CASE("stmatrix writes what ldmatrix reads, and .trans the transposed matrix") {
  const std::string load =
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r10];\nbar.warp.sync 0xffffffff;\n";
  const std::string read =
      "bar.warp.sync 0xffffffff;\nld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%r10];\n" + store(4);
  for (bool transposed : {false, true}) {
    Runner r;
    auto out = r.run(kTile + load + "stmatrix.sync.aligned.m8n8.x4" + (transposed ? ".trans" : "") +
                         ".shared.b16 [%r10], {%r0, %r1, %r2, %r3};\n" + read,
                     {}, warp(1, 4));
    for (int row = 0; row < 32; ++row)
      for (int i = 0; i < 4; ++i) {
        const int m = 64 * (row / 8), r8 = row % 8;
        CHECK(out[static_cast<size_t>(4 * row + i)] ==
              (transposed ? pair(m + 16 * i + r8, m + 16 * i + 8 + r8)
                          : pair(m + 8 * r8 + 2 * i, m + 8 * r8 + 2 * i + 1)));
      }
    CHECK(r.statistics.stats().shared_store_bytes == 512 + 512);
  }
}

TEST_CASE("movmatrix transposes the matrix that a warp holds") {
  Runner r;
  auto out = r.run(
      "mad.lo.u32 %r1, %t, 2, 1;\nshl.b32 %r1, %r1, 16;\nmad.lo.u32 %r1, %t, 2, %r1;\n"
      "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;\n" +
          store(1),
      {}, warp(1, 1));
  for (int l = 0; l < 32; ++l) {
    const int row = l / 4, column = 2 * (l % 4);  // of the result: element (row, column) was (column, row)
    CHECK(out[static_cast<size_t>(l)] == pair(8 * column + row, 8 * (column + 1) + row));
  }
}

TEST_CASE("ldmatrix: a row off its 16 bytes, outside the window or in global memory is a finding") {
  const auto id = [](const std::string& address) {
    Runner r;
    return r.fault(kTile + address + "ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%rd1];\n", {}, warp(1, 1)).id;
  };
  const std::string generic = "cvt.u64.u32 %rd1, %r10;\ncvta.shared.u64 %rd1, %rd1;\n";
  CHECK(id(generic) == "none");
  CHECK(id("add.u32 %r10, %r10, 8;\n" + generic) == "misaligned-address");
  CHECK(id("add.u32 %r10, %r10, 512;\n" + generic) == "out-of-bounds");
  Runner r;
  Options o = warp(4, 4);
  CHECK(r.fault("ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%out];\n", {}, o).id == "not-shared-memory");
}

TEST_CASE("ldmatrix: a warp that is not whole is a finding") {
  Runner r;
  CHECK(r.fault(kTile + "setp.eq.u32 %p1, %t, 9;\n@%p1 exit;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 "
                        "{%r0}, [%r10];\n",
                {}, warp(1, 1))
            .id == "warp-not-converged");
}

namespace {

int a_of(int row, int k) {
  return (row * 5 + k * 3) % 11 - 5;
}
int b_of(int column, int k) {
  return (column * 7 + k * 2) % 9 - 4;
}
uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

// Fragments of mma.m16n8kK: `bits` per element, `encode` an element. Input words of a lane: A, B, C registers.
template <class Encode>
std::vector<uint32_t> fragments(int k_elements, int bits, Encode encode, uint32_t c) {
  const int per_word = 32 / bits, row_words = k_elements / per_word, a_words = row_words / 2,
            b_words = row_words / 4;
  std::vector<uint32_t> input;
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, q = lane % 4;
    for (int i = 0; i < a_words; ++i) {
      uint32_t word = 0;
      for (int e = 0; e < per_word; ++e)
        word |= encode(a_of(g + 8 * (i % 2), (q + 4 * (i / 2)) * per_word + e)) << e * bits;
      input.push_back(word);
    }
    for (int i = 0; i < b_words; ++i) {
      uint32_t word = 0;
      for (int e = 0; e < per_word; ++e) word |= encode(b_of(g, (q + 4 * i) * per_word + e)) << e * bits;
      input.push_back(word);
    }
    input.push_back(c);
  }
  return input;
}

int product(int row, int column, int depth) {
  int sum = 0;
  for (int k = 0; k < depth; ++k) sum += a_of(row, k) * b_of(column, k);
  return sum;
}

// Loads the fragments, multiplies, stores D as 4 words a lane.
std::vector<uint32_t> multiply(const std::string& form, const std::vector<uint32_t>& input, int a_words,
                               int b_words, bool packed = false) {
  std::string body, a = "{", b = "{";
  const unsigned words = static_cast<unsigned>(a_words + b_words + 1);
  for (unsigned i = 0; i < words; ++i)
    body += "ld.global.u32 %r" + std::to_string(10 + i) + ", [%in+" + std::to_string(4 * i) + "];\n";
  for (int i = 0; i < a_words; ++i) a += (i ? ", %r" : "%r") + std::to_string(10 + i);
  for (int i = 0; i < b_words; ++i) b += (i ? ", %r" : "%r") + std::to_string(10 + a_words + i);
  const std::string c = "%r" + std::to_string(10 + a_words + b_words);
  const bool floats = form.find(".f32.") != std::string::npos;
  std::string d = packed ? "{%r0, %r1}" : floats ? "{%f0, %f1, %f2, %f3}" : "{%r0, %r1, %r2, %r3}";
  std::string cs = packed   ? "{" + c + ", " + c + "}"
                   : floats ? "{%f9, %f9, %f9, %f9}"
                            : "{" + c + ", " + c + ", " + c + ", " + c + "}";
  body += "mov.b32 %f9, " + c + ";\nmma.sync.aligned." + form + " " + d + ", " + a + "}, " + b + "}, " + cs +
          ";\n";
  for (int i = 0; i < (packed ? 2 : 4); ++i)
    body += "st.global.b32 [%out+" + std::to_string(4 * i) + "], " + (floats ? "%f" : "%r") +
            std::to_string(i) + ";\n";
  Runner r;
  return r.run(body, input, warp(words, 4));
}

template <class Want>
int mismatches(const std::vector<uint32_t>& out, int depth, Want want) {
  int wrong = 0;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      wrong += out[static_cast<size_t>(4 * lane + i)] !=
               want(product(lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2, depth));
  return wrong;
}

}  // namespace

TEST_CASE("mma.sync: every supported shape and type multiplies small integers exactly") {
  const auto bf16 = [](int x) { return bits_of(static_cast<float>(x)) >> 16; };
  const auto tf32 = [](int x) { return bits_of(static_cast<float>(x)); };
  const auto f16 = [](int x) -> uint32_t {  // exact for small integers
    if (x == 0) return 0;
    const uint32_t b = bits_of(static_cast<float>(x));
    return (b >> 16 & 0x8000) | ((b >> 23 & 0xFF) - 112) << 10 | (b >> 13 & 0x3FF);
  };
  const auto s8 = [](int x) { return static_cast<uint32_t>(x) & 0xFF; };
  const auto e4m3 = [](int x) -> uint32_t {
    if (x == 0) return 0;
    const uint32_t b = bits_of(static_cast<float>(x));
    return (b >> 24 & 0x80) | ((b >> 23 & 0xFF) - 120) << 3 | (b >> 20 & 7);
  };
  const auto f32_plus_2 = [](int x) { return bits_of(static_cast<float>(x + 2)); };
  const uint32_t two = bits_of(2.0f);
  CHECK(mismatches(multiply("m16n8k16.row.col.f32.bf16.bf16.f32", fragments(16, 16, bf16, two), 4, 2), 16,
                   f32_plus_2) == 0);
  CHECK(mismatches(multiply("m16n8k8.row.col.f32.bf16.bf16.f32", fragments(8, 16, bf16, two), 2, 1), 8,
                   f32_plus_2) == 0);
  CHECK(mismatches(multiply("m16n8k16.row.col.f32.f16.f16.f32", fragments(16, 16, f16, two), 4, 2), 16,
                   f32_plus_2) == 0);
  CHECK(mismatches(multiply("m16n8k8.row.col.f32.tf32.tf32.f32", fragments(8, 32, tf32, two), 4, 2), 8,
                   f32_plus_2) == 0);
  CHECK(mismatches(multiply("m16n8k4.row.col.f32.tf32.tf32.f32", fragments(4, 32, tf32, two), 2, 1), 4,
                   f32_plus_2) == 0);
  CHECK(mismatches(multiply("m16n8k32.row.col.f32.e4m3.e4m3.f32", fragments(32, 8, e4m3, two), 4, 2), 32,
                   f32_plus_2) == 0);
  const auto plus_7 = [](int x) { return static_cast<uint32_t>(x + 7); };
  CHECK(mismatches(multiply("m16n8k32.row.col.s32.s8.s8.s32", fragments(32, 8, s8, 7), 4, 2), 32, plus_7) ==
        0);
  CHECK(mismatches(multiply("m16n8k16.row.col.s32.s8.s8.s32", fragments(16, 8, s8, 7), 2, 1), 16, plus_7) ==
        0);
  const auto saturated = [](int x) { return x >= 0 ? 0x7FFFFFFFu : 0x7FFFFFFFu + static_cast<uint32_t>(x); };
  CHECK(
      mismatches(multiply("m16n8k32.row.col.satfinite.s32.s8.s8.s32", fragments(32, 8, s8, 0x7FFFFFFF), 4, 2),
                 32, saturated) == 0);
  // f16 accumulators: two a register
  const auto out =
      multiply("m16n8k16.row.col.f16.f16.f16.f16", fragments(16, 16, f16, pair(0x4000, 0x4000)), 4, 2, true);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      CHECK((out[static_cast<size_t>(4 * lane + i / 2)] >> 16 * (i % 2) & 0xFFFF) ==
            f16(product(lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2, 16) + 2));
}

TEST_CASE("mma.sync: what is not supported is refused when loaded") {
  const auto id = [](const std::string& text) {
    Runner r;
    return r.fault(text, {}, warp(1, 1)).id;
  };
  CHECK(id("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd0, %fd1};") !=
        "none");
  CHECK(
      id("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r4, %r5}, "
         "{%f0, %f1, %f2, %f3};") == "unsupported-instruction");
  CHECK(id("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, "
           "{%r4, %r5}, {%r6, %r7};") == "unsupported-instruction");
}
