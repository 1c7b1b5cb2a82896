// wgmma: layouts and fragments against plain host loops, and what the emulator says about wrong uses.
#include "emulator/machine/wgmma.hpp"

#include <cmath>
#include <functional>
#include <random>

#include "emulator/numerics/matrix_operands.hpp"
#include "support.hpp"

using emu::Type;
using emu_test::Options;
using emu_test::Runner;

namespace {

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
uint16_t bf16(float x) {
  return static_cast<uint16_t>(bits_of(x) >> 16);
}

constexpr uint32_t kTile = emu::kSharedBase;  // address of `tile`, the only shared variable

uint64_t descriptor(uint32_t start, uint32_t leading, uint32_t stride, uint64_t mode) {
  return (start & 0x3FFFF) >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | mode << 62;
}

// Fills `tile` from the image (128 * words words), then `middle`, with registers d0.. preset to `preset`; stores them.
std::string kernel(unsigned words, int registers, const std::string& type, const std::string& preset,
                   const std::string& middle) {
  std::string body = ".shared .align 1024 .b8 tile[" + std::to_string(512 * words) + "];\n.reg ." + type +
                     " d<" + std::to_string(registers) +
                     ">;\n.reg .b32 %at;\nmov.u32 %at, tile;\nmad.lo.u32 %at, %t, " +
                     std::to_string(4 * words) + ", %at;\n";
  for (unsigned i = 0; i < words; ++i)
    body += "ld.global.u32 %r0, [%in+" + std::to_string(4 * i) + "];\nst.shared.u32 [%at+" +
            std::to_string(4 * i) + "], %r0;\n";
  body += "fence.proxy.async;\nbar.sync 0;\n";
  for (int i = 0; i < registers; ++i)
    body += "mov." + type + " d" + std::to_string(i) + ", " + preset + ";\n";
  body += middle;
  for (int i = 0; i < registers; ++i)
    body += "st.global." + type + " [%out+" + std::to_string(4 * i) + "], d" + std::to_string(i) + ";\n";
  return body;
}

std::string vector(int registers) {
  std::string out = "{";
  for (int i = 0; i < registers; ++i) out += (i ? ", d" : "d") + std::to_string(i);
  return out + "}";
}

std::string mma(int n, const std::string& types, const std::string& a, uint64_t b, const std::string& tail,
                int per_register = 1) {
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + types + " " +
         vector(n / 2 / per_register) + ", " + a + ", " + std::to_string(b) + ", " + tail + ";\n";
}
const std::string kFence = "wgmma.fence.sync.aligned;\n", kCommit = "wgmma.commit_group.sync.aligned;\n",
                  kWait = "wgmma.wait_group.sync.aligned 0;\n";

Options options(unsigned words, int registers) {
  Options o;
  o.threads = 128;
  o.in_words = words;
  o.out_words = static_cast<unsigned>(registers);
  return o;
}

int a_of(int row, int k) {
  return (row * 5 + k * 3 + row / 16) % 13 - 6;
}
int b_of(int column, int k) {
  return (column * 7 + k * k + column / 8) % 11 - 5;
}

// An image of `words` words a thread, filled by a function (row, k) -> byte address.
struct Image {
  std::vector<uint32_t> words;
  explicit Image(unsigned per_thread) : words(128 * per_thread, 0x7FFF7FFF) {}
  void put(uint32_t address, uint16_t value) {
    std::memcpy(reinterpret_cast<char*>(words.data()) + address, &value, 2);
  }
  void fill(int rows, const std::function<int(int, int)>& value,
            const std::function<uint32_t(int, int)>& place) {
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < 16; ++k) put(place(row, k), bf16(static_cast<float>(value(row, k))));
  }
};

uint32_t rows_128B(int row, int k) {  // 128-byte rows, 128-byte swizzle
  return static_cast<uint32_t>(row * 128 + ((k / 8) ^ (row % 8)) * 16 + k % 8 * 2);
}

// Elements that differ from sign * (a * b) + d.
int mismatches(const std::vector<uint32_t>& out, int n, int d, int sign = 1) {
  int wrong = 0;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < n; ++column) {
      int want = 0;
      for (int k = 0; k < 16; ++k) want += a_of(row, k) * b_of(column, k);
      want = sign * want + d;
      const int t = row / 16 * 32 + row % 8 * 4 + column % 8 / 2,
                r = column / 8 * 4 + row / 8 % 2 * 2 + column % 2;
      wrong += float_of(out[static_cast<size_t>(t * (n / 2) + r)]) != static_cast<float>(want);
    }
  return wrong;
}

// A at 0 (64 rows), B at 8192 (n rows), both K-major with the 128-byte swizzle.
Image swizzled_image(int n, unsigned words) {
  Image image(words);
  image.fill(64, a_of, rows_128B);
  image.fill(n, b_of, [](int row, int k) { return 8192 + rows_128B(row, k); });
  return image;
}
const std::string kDescA = std::to_string(descriptor(kTile, 16, 1024, 1));
const uint64_t kDescB = descriptor(kTile + 8192, 16, 1024, 1);
constexpr const char* kTypes = "k16.f32.bf16.bf16";

}  // namespace

TEST_CASE("wgmma.mma_async multiplies K-major tiles with the 128-byte swizzle, for every N") {
  for (int n = 8; n <= 256; n += 8) {
    CAPTURE(n);
    const unsigned words = 80;
    Runner r;
    auto out = r.run(kernel(words, n / 2, "f32", "0f40400000",
                            kFence + mma(n, kTypes, kDescA, kDescB, "1, 1, 1, 0, 0") + kCommit + kWait),
                     swizzled_image(n, words).words, options(words, n / 2));
    CHECK(mismatches(out, n, 3) == 0);
    CHECK(r.statistics.stats().wgmma_issued == 1);
    CHECK(r.statistics.stats().wgmma_flop == 2ull * 64 * 16 * static_cast<uint64_t>(n));
  }
}

TEST_CASE("wgmma.mma_async: scale-d false does not read D, imm-scale negates an operand") {
  const unsigned words = 32;
  const Image image = swizzled_image(16, words);
  const auto run = [&](const std::string& preset, const std::string& tail) {
    Runner r;
    return r.run(kernel(words, 8, "f32", preset,
                        "setp.ne.u32 %p1, %r63, %r63;\n" + kFence + mma(16, kTypes, kDescA, kDescB, tail) +
                            kCommit + kWait),
                 image.words, options(words, 8));
  };
  CHECK(mismatches(run("0f7FC00000", "0, 1, 1, 0, 0"), 16, 0) == 0);
  CHECK(mismatches(run("0f7FC00000", "%p1, 1, 1, 0, 0"), 16, 0) == 0);
  CHECK(mismatches(run("0f40400000", "!%p1, 1, 1, 0, 0"), 16, 3) == 0);
  CHECK(mismatches(run("0f40400000", "1, -1, 1, 0, 0"), 16, 3, -1) == 0);
  CHECK(mismatches(run("0f40400000", "1, 1, -1, 0, 0"), 16, 3, -1) == 0);
  CHECK(mismatches(run("0f40400000", "1, -1, -1, 0, 0"), 16, 3) == 0);
}

TEST_CASE("wgmma.mma_async finds operands in every layout") {
  struct Layout {
    const char* name;
    int mn_major;
    uint64_t mode;
    uint32_t leading, stride;
    std::function<uint32_t(int, int)> place;  // (row, k) -> byte from the tile's start, which is 1024-aligned
  };
  const auto chunk_in = [](int line_bytes,
                           int chunks) {  // rows of line_bytes, their chunks permuted by the 128-byte line
    return [=](int row, int k) {
      const int address = row * line_bytes + k % (line_bytes / 2) * 2;
      return static_cast<uint32_t>(address ^ (((address / 128) % chunks) * 16));
    };
  };
  const auto mn_swizzled = [](int width, int chunks, uint32_t next_line) {
    return [=](int row, int k) {
      const uint32_t address = static_cast<uint32_t>(
          row % (8 * width) * 2 + row / (8 * width) * static_cast<int>(next_line) + k * width * 16);
      return address ^ ((address / 128 % static_cast<uint32_t>(chunks)) * 16);
    };
  };
  const std::vector<Layout> layouts = {
      {"K-major none", 0, 0, 128, 256,
       [](int row, int k) {
         return static_cast<uint32_t>(row % 8 * 16 + row / 8 * 256 + k / 8 * 128 + k % 8 * 2);
       }},
      {"K-major 32B", 0, 3, 16, 256, chunk_in(32, 2)},
      {"K-major 64B", 0, 2, 16, 512, chunk_in(64, 4)},
      {"K-major 128B", 0, 1, 16, 1024, chunk_in(128, 8)},
      {"MN-major none", 1, 0, 2048, 128,
       [](int row, int k) {
         return static_cast<uint32_t>(row % 8 * 2 + row / 8 * 128 + k % 8 * 16 + k / 8 * 2048);
       }},
      {"MN-major 32B", 1, 3, 512, 256, mn_swizzled(2, 2, 512)},
      {"MN-major 64B", 1, 2, 1024, 512, mn_swizzled(4, 4, 1024)},
      {"MN-major 128B", 1, 1, 2048, 1024, mn_swizzled(8, 8, 2048)},
  };
  const unsigned words = 40;
  const int n = 96;
  for (const Layout& a : layouts)
    for (const Layout& b : layouts) {
      CAPTURE(a.name);
      CAPTURE(b.name);
      Image image(words);
      image.fill(64, a_of, a.place);
      image.fill(n, b_of, [&](int row, int k) { return 8192 + b.place(row, k); });
      Runner r;
      auto out =
          r.run(kernel(words, n / 2, "f32", "0f00000000",
                       kFence +
                           mma(n, kTypes, std::to_string(descriptor(kTile, a.leading, a.stride, a.mode)),
                               descriptor(kTile + 8192, b.leading, b.stride, b.mode),
                               "1, 1, 1, " + std::to_string(a.mn_major) + ", " + std::to_string(b.mn_major)) +
                           kCommit + kWait),
                image.words, options(words, n / 2));
      CHECK(mismatches(out, n, 0) == 0);
    }
}

TEST_CASE("wgmma.mma_async: the base offset is the line at which the swizzle pattern starts") {
  // A starts at line 3 of the window's pattern, but was written as if that were line 0.
  const unsigned words = 40;
  Image image(words);
  image.fill(64, a_of, [](int row, int k) { return 3 * 128 + rows_128B(row, k); });
  image.fill(16, b_of, [](int row, int k) { return 10240 + rows_128B(row, k); });
  const auto wrong = [&](uint64_t base_offset) {
    const uint64_t a = descriptor(kTile + 3 * 128, 16, 1024, 1) | base_offset << 49;
    Runner r;
    auto out = r.run(kernel(words, 8, "f32", "0f00000000",
                            kFence +
                                mma(16, kTypes, std::to_string(a), descriptor(kTile + 10240, 16, 1024, 1),
                                    "1, 1, 1, 0, 0") +
                                kCommit + kWait),
                     image.words, options(words, 8));
    return mismatches(out, 16, 0);
  };
  CHECK(wrong(3) == 0);
  CHECK(wrong(0) > 100);
}

TEST_CASE("wgmma.mma_async takes A from registers") {
  // Each thread loads its fragment: register i, half h: row 16 * w + g + 8 * (i & 1), k = 2 * q + h + 8 * (i >> 1).
  const unsigned words = 32;
  const Image image = swizzled_image(64, words);
  std::string body =
      kernel(words, 32, "f32", "0f00000000",
             "mul.wide.u32 %rd1, %t, 16;\nmov.u64 %rd2, fragments;\nadd.u64 %rd1, %rd1, %rd2;\n"
             "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];\n" +
                 kFence + mma(64, kTypes, "{%r1, %r2, %r3, %r4}", kDescB, "1, 1, 1, 0") + kCommit + kWait);
  Options o = options(words, 32);
  o.declarations = ".global .align 16 .b32 fragments[512] = {";
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 4; ++i) {
      const int row = t / 32 * 16 + t % 32 / 4 + 8 * (i & 1), k = 2 * (t % 4) + 8 * (i >> 1);
      const uint32_t low = bf16(static_cast<float>(a_of(row, k))),
                     high = bf16(static_cast<float>(a_of(row, k + 1)));
      o.declarations += (t || i ? ", " : "") + std::to_string(low | high << 16);
    }
  o.declarations += "};\n";
  Runner r;
  CHECK(mismatches(r.run(body, image.words, o), 64, 0) == 0);
}

TEST_CASE("wgmma.mma_async with f16 accumulators packs two columns into a register") {
  const unsigned words = 32;
  Image image(words);
  const auto f16 = [](int x) { return emu::f16_from_double(x); };
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < 16; ++k) {
      image.put(rows_128B(row, k), f16(a_of(row, k)));
      if (row < 16) image.put(8192 + rows_128B(row, k), f16(b_of(row, k)));
    }
  Runner r;
  auto out =
      r.run(kernel(words, 4, "b32", "0x42004200",
                   kFence + mma(16, "k16.f16.f16.f16", kDescA, kDescB, "1, 1, 1, 0, 0", 2) + kCommit + kWait),
            image.words, options(words, 4));
  int wrong = 0;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 16; ++column) {
      int want = 3;
      for (int k = 0; k < 16; ++k) want += a_of(row, k) * b_of(column, k);
      const int t = row / 16 * 32 + row % 8 * 4 + column % 8 / 2, r2 = column / 8 * 2 + row / 8 % 2;
      wrong += (out[static_cast<size_t>(t * 4 + r2)] >> 16 * (column & 1) & 0xFFFF) != f16(want);
    }
  CHECK(wrong == 0);
}

TEST_CASE("wgmma.mma_async on s8 wraps, or saturates with .satfinite") {
  const unsigned words = 16;
  Image image(words);  // A: bytes of 100; B: bytes of 100, both K-major without swizzle
  for (uint32_t& w : image.words) w = 0x64646464;
  const uint64_t a = descriptor(kTile, 128, 256, 0), b = descriptor(kTile + 2048, 128, 256, 0);
  const auto first = [&](const std::string& types, const std::string& preset) {
    Runner r;
    return r.run(
        kernel(words, 4, "b32", preset, kFence + mma(8, types, std::to_string(a), b, "1") + kCommit + kWait),
        image.words, options(words, 4))[77];
  };
  CHECK(first("k32.s32.s8.s8", "5") == 320005u);
  CHECK(first("k32.s32.s8.s8", "0x7FFFFFFF") == 0x7FFFFFFFu + 320000u);
  CHECK(first("k32.satfinite.s32.s8.s8", "0x7FFFFFFF") == 0x7FFFFFFFu);
}

TEST_CASE("wgmma: the numbers of a right program are the same under every schedule") {
  // Two products in flight; registers are moved between issue and wait, as compilers do.
  const unsigned words = 32;
  const Image image = swizzled_image(64, words);
  std::string moves;
  for (int i = 0; i < 32; ++i) moves += "mov.f32 %f" + std::to_string(i) + ", d" + std::to_string(i) + ";\n";
  for (int i = 0; i < 32; ++i) moves += "mov.f32 d" + std::to_string(i) + ", %f" + std::to_string(i) + ";\n";
  const std::string product = mma(64, kTypes, kDescA, kDescB, "1, 1, 1, 0, 0");
  const std::string body =
      kernel(words, 32, "f32", "0f00000000",
             kFence + product + kCommit + moves + kFence + mma(64, kTypes, kDescA, kDescB, "0, 1, 1, 0, 0") +
                 kCommit + "wgmma.wait_group.sync.aligned 1;\n" + kWait);
  for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3"}) {
    CAPTURE(schedule);
    Options o = options(words, 32);
    o.schedule = schedule;
    Runner r;
    CHECK(mismatches(r.run(body, image.words, o), 64, 0) == 0);
  }
}

TEST_CASE("wgmma.wait_group: one warp may hand the tile back for the whole warpgroup") {
  // Warp 0 overwrites A as soon as its own wait returns; the other warps are held back by a long loop before they issue.
  const unsigned words = 32;
  const Image image = swizzled_image(8, words);
  const std::string body =
      kernel(words, 4, "f32", "0f00000000",
             "setp.lt.u32 %p1, %t, 32;\nmov.u32 %r1, 0;\n@%p1 bra READY;\nHOLD: add.u32 %r1, %r1, "
             "1;\nsetp.lt.u32 %p2, %r1, 5000;\n"
             "@%p2 bra HOLD;\nREADY: " +
                 kFence + mma(8, kTypes, kDescA, kDescB, "1, 1, 1, 0, 0") + kCommit + kWait +
                 "@!%p1 bra DONE;\nst.shared.u32 [%at], 0;\nDONE: bar.sync 0;\n");
  for (const char* schedule : {"in-order", "late", "random:1", "random:9"}) {
    CAPTURE(schedule);
    Options o = options(words, 4);
    o.schedule = schedule;
    Runner r;
    CHECK(mismatches(r.run(body, image.words, o), 8, 0) == 0);
  }
}

TEST_CASE("wgmma: an operand overwritten before the wait is a finding") {
  const unsigned words = 32;
  const Image image = swizzled_image(8, words);
  const std::string body = kernel(words, 4, "f32", "0f00000000",
                                  kFence + mma(8, kTypes, kDescA, kDescB, "1, 1, 1, 0, 0") + kCommit +
                                      "st.shared.u32 [%at], 0;\n" + kWait);
  for (const char* schedule : {"in-order", "late"}) {
    Options o = options(words, 4);
    o.schedule = schedule;
    Runner r;
    const emu::Finding f = r.fault(body, image.words, o);
    CHECK(f.id == "overwritten-while-read");
    CHECK(f.state.find("tile") != std::string::npos);
  }
}

TEST_CASE("wgmma: warps that do not agree are told so") {
  const unsigned words = 32;
  const Image image = swizzled_image(8, words);
  const auto id = [&](const std::string& middle) {
    Runner r;
    return r.fault(kernel(words, 4, "f32", "0f00000000", middle), image.words, options(words, 4)).id;
  };
  const std::string product = mma(8, kTypes, kDescA, kDescB, "1, 1, 1, 0, 0");
  CHECK(id(kFence + product + kCommit + kWait) == "none");
  // one warp's descriptor points elsewhere
  const std::string other =
      "mov.u64 %rd5, " + kDescA + ";\nsetp.ge.u32 %p1, %t, 96;\n@%p1 add.u64 %rd5, %rd5, 2;\n";
  CHECK(id(other + kFence + mma(8, kTypes, "%rd5", kDescB, "1, 1, 1, 0, 0") + kCommit + kWait) ==
        "wgmma-descriptor-differs");
  // one lane's does
  const std::string lane =
      "mov.u64 %rd5, " + kDescA + ";\nsetp.eq.u32 %p1, %t, 5;\n@%p1 add.u64 %rd5, %rd5, 2;\n";
  CHECK(id(lane + kFence + mma(8, kTypes, "%rd5", kDescB, "1, 1, 1, 0, 0") + kCommit + kWait) ==
        "wgmma-descriptor-differs");
  // a lane leaves, a warp leaves, a warp takes another instruction
  CHECK(id("setp.eq.u32 %p1, %t, 5;\n@%p1 exit;\n" + product) == "wgmma-not-converged");
  CHECK(id("setp.lt.u32 %p1, %t, 32;\n@%p1 exit;\n" + product) == "wgmma-not-converged");
  CHECK(id(kFence + "setp.lt.u32 %p1, %t, 32;\n@%p1 bra OTHER;\n" + product + "bra JOIN;\nOTHER: " + product +
           "JOIN: " + kCommit + kWait) == "wgmma-not-converged");
  // a warp never comes: the others wait for ever
  CHECK(id(kFence + "setp.lt.u32 %p1, %t, 32;\n@%p1 bra SKIP;\n" + product + kCommit + kWait +
           "SKIP: bar.sync 0;\n") == "deadlock");
}

TEST_CASE("wgmma: descriptors that cannot be right are findings") {
  const unsigned words = 32;
  const Image image = swizzled_image(8, words);
  const auto finding = [&](uint64_t b) {
    Runner r;
    return r.fault(kernel(words, 4, "f32", "0f00000000",
                          kFence + mma(8, kTypes, kDescA, b, "1, 1, 1, 0, 0") + kCommit + kWait),
                   image.words, options(words, 4));
  };
  CHECK(finding(descriptor(kTile + 512 * words - 512, 16, 1024, 1)).id == "out-of-bounds");
  CHECK(finding(descriptor(0, 16, 1024, 1)).id == "out-of-bounds");
  CHECK(finding(kDescB | 1ull << 53).id == "descriptor-unused-bits");
}

TEST_CASE("wgmma and setmaxnreg: forms that do not exist are refused when loaded") {
  const auto id = [](const std::string& body) {
    Runner r;
    Options o;
    o.threads = 128;
    return r.fault(".reg .f32 d<128>;\n.reg .b32 e<128>;\n" + body, {}, o).id;
  };
  const auto e = [](int n) {
    std::string out = "{";
    for (int i = 0; i < n; ++i) out += (i ? ", e" : "e") + std::to_string(i);
    return out + "}";
  };
  CHECK(id("wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 " + vector(6) +
           ", %rd0, %rd1, 1, 1, 1, 0, 0;") == "unsupported-instruction");
  CHECK(id("wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16 " + e(2) + ", %rd0, %rd1, 1, 1, 1, 0, 0;") !=
        "none");
  CHECK(id("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " + vector(4) +
           ", %rd0, %rd1, 1, 1, 1, 0, 0;") == "unsupported-instruction");
  CHECK(id("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 " + e(20) + ", %rd0, %rd1, 1;") ==
        "unsupported-instruction");
  CHECK(id("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " + vector(4) +
           ", %rd0, %rd1, 1, 2, 1, 0, 0;") == "unsupported-instruction");
  CHECK(id("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " + vector(3) +
           ", %rd0, %rd1, 1, 1, 1, 0, 0;") == "unsupported-instruction");
  CHECK(id("setmaxnreg.inc.sync.aligned.u32 240;") == "none");
  CHECK(id("setmaxnreg.dec.sync.aligned.u32 23;") == "unsupported-instruction");
  CHECK(id("setmaxnreg.dec.sync.aligned.u32 44;") == "unsupported-instruction");
  CHECK(id("setmaxnreg.dec.sync.aligned.u32 264;") == "unsupported-instruction");
}

TEST_CASE("wgmma: the ranges of an operand are its bytes, each once") {
  emu::MatrixDescriptor d = emu::MatrixDescriptor::from(descriptor(0x400, 16, 1024, 1));
  std::vector<emu::MemoryRange> ranges;
  emu::operand_ranges(d, false, 0, 64, nullptr, ranges);
  uint64_t bytes = 0;
  for (auto& range : ranges) bytes += range.bytes;
  CHECK(bytes == 64 * 32);
  CHECK(ranges.front().address == 0x400);
  CHECK(d.swizzle == emu::Swizzle::span128);
}
