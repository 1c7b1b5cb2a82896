// atom and red: the value that was there, the value that stays, in global and shared memory.
#include "table.hpp"

using namespace emu_test;

namespace {

// Runs `instruction` once on a location that holds `old`; $d is the result, [$m] the location, $a and $b sources.
// Returns {result, what the location holds then}.
std::pair<uint64_t, uint64_t> once(const std::string& instruction, unsigned bytes, const std::string& space,
                                   uint64_t old, uint64_t a, uint64_t b = 0) {
  std::string w = std::to_string(8 * bytes), prefix = bytes == 2 ? "%rs" : bytes == 4 ? "%r" : "%rd";
  std::string place = space == "shared" ? "cell" : "%in";
  std::string body = "ld.global.b" + w + " " + prefix + "1, [%in+16];\nld.global.b" + w + " " + prefix +
                     "2, [%in+24];\n" + "mov.u64 %rd40, cell;\n";
  if (space == "shared")
    body += "ld.global.b" + w + " " + prefix + "3, [%in];\nst.shared.b" + w + " [cell], " + prefix + "3;\n";
  std::string text = replace_all(instruction, "$d", prefix + "10");
  text = replace_all(text, "$m", space == "generic" ? "%in" : place);
  text = replace_all(text, "$a", prefix + "1");
  text = replace_all(text, "$b", prefix + "2");
  if (space != "generic") text = replace_all(text, "$s", "." + space);
  text = replace_all(text, "$s", "");
  body += "mov.u64 %rd60, 0;\nst.global.v2.u64 [%out], {%rd60, %rd60};\nmov.b" + w + " " + prefix +
          "10, 0;\n" + text + "\nst.global.b" + w + " [%out], " + prefix + "10;\n";
  body += "ld." + std::string(space == "shared" ? "shared" : "global") + ".b" + w + " " + prefix + "11, [" +
          place + "];\nst.global.b" + w + " [%out+8], " + prefix + "11;\n";
  Options o;
  o.in_words = 8;
  o.out_words = 4;
  o.declarations = ".shared .align 16 .b8 cell[64];\n";
  auto word = [](uint64_t v, int i) { return static_cast<uint32_t>(v >> 32 * i); };
  auto out = Runner().run(
      body, {word(old, 0), word(old, 1), 0, 0, word(a, 0), word(a, 1), word(b, 0), word(b, 1)}, o);
  return {out[0] | uint64_t{out[1]} << 32, out[2] | uint64_t{out[3]} << 32};
}

void both(const std::string& op, unsigned bytes, uint64_t old, uint64_t a, uint64_t want, uint64_t b = 0) {
  bool cas = op.rfind("cas", 0) == 0;
  for (std::string space : {"global", "shared", "generic"}) {
    CAPTURE(op);
    CAPTURE(space);
    auto atom = once("atom$s." + op + " $d, [$m], $a" + (cas ? ", $b;" : ";"), bytes, space, old, a, b);
    CHECK(hex64(atom.first) == hex64(old));
    CHECK(hex64(atom.second) == hex64(want));
    if (cas || op.rfind("exch", 0) == 0) continue;
    auto red = once("red$s." + op + " [$m], $a;", bytes, space, old, a);
    CHECK(hex64(red.second) == hex64(want));
  }
}

}  // namespace

TEST_CASE("atom, red: add, min, max by type") {
  both("add.u32", 4, 0xFFFFFFFF, 2, 1);
  both("add.s32", 4, 5, 0xFFFFFFFD, 2);
  both("add.u64", 8, 0xFFFFFFFF, 1, 0x100000000);
  both("min.u32", 4, 0x80000000, 1, 1);
  both("min.s32", 4, 0x80000000, 1, 0x80000000);
  both("max.u32", 4, 0x80000000, 1, 0x80000000);
  both("max.s32", 4, 0x80000000, 1, 1);
  both("min.u64", 8, ~0ull, 7, 7);
  both("min.s64", 8, ~0ull, 7, ~0ull);
  both("max.s64", 8, ~0ull, 7, 7);
  both("max.u64", 8, ~0ull, 7, ~0ull);
}

TEST_CASE("atom, red: inc wraps at the bound, dec at zero and above the bound") {
  both("inc.u32", 4, 3, 5, 4);
  both("inc.u32", 4, 5, 5, 0);
  both("inc.u32", 4, 9, 5, 0);
  both("dec.u32", 4, 3, 5, 2);
  both("dec.u32", 4, 0, 5, 5);
  both("dec.u32", 4, 9, 5, 5);
}

TEST_CASE("atom, red: and, or, xor, exch, cas") {
  both("and.b32", 4, 0xF0F0, 0xFF00, 0xF000);
  both("or.b32", 4, 0xF0F0, 0xFF00, 0xFFF0);
  both("xor.b64", 8, 0xF0F0F0F0F0F0, 0xFF00FF00FF00, 0x0FF00FF00FF0);
  both("exch.b32", 4, 1, 2, 2);
  both("exch.b64", 8, 1, 0x200000000, 0x200000000);
  both("cas.b32", 4, 7, 7, 9, 9);
  both("cas.b32", 4, 7, 8, 7, 9);
  both("cas.b64", 8, 0x700000000, 0x700000000, 9, 9);
  both("cas.b16", 2, 7, 7, 9, 9);
}

TEST_CASE("atom, red: add of f32 flushes subnormal numbers in global memory only") {
  both("add.f32", 4, bits(1.5f), bits(-0.25f), bits(1.25f));
  both("add.f64", 8, bits(1.5), bits(1e-3), bits(1.501));
  CHECK(once("atom$s.add.f32 $d, [$m], $a;", 4, "global", 1, 1).second == 0);
  CHECK(once("atom$s.add.f32 $d, [$m], $a;", 4, "shared", 1, 1).second == 2);
  CHECK(once("atom$s.add.f32 $d, [$m], $a;", 4, "global", 0x00800000, 0x80000001).second == 0x00800000);
}

TEST_CASE("atom, red: add of f16, bf16 and the packed types rounds each half and keeps subnormal numbers") {
  both("add.noftz.f16", 2, 0x3C00, 0x3C01, 0x4000);  // 1 + (1 + 2^-10): a tie, to even
  both("add.noftz.f16", 2, 1, 1, 2);
  both("add.noftz.bf16", 2, 0x3F80, 0x3F81, 0x4000);
  both("add.noftz.f16x2", 4, 0x3C007BFF, 0x3C017BFF, 0x40007C00);
  both("add.noftz.bf16x2", 4, 0x3F800001, 0x40000001, 0x40400002);
}

TEST_CASE("atom.v2: a register that is a source and a destination") {
  Options o;
  o.in_words = 4;
  o.out_words = 4;
  const auto out = Runner().run(
      "ld.global.v2.f32 {%f1, %f2}, [%in+8];\n"
      "atom.global.add.v2.f32 {%f2, %f1}, [%in], {%f1, %f2};\n"
      "st.global.v2.f32 [%out], {%f2, %f1};\nld.global.v2.f32 {%f3, %f4}, [%in];\n"
      "st.global.v2.f32 [%out+8], {%f3, %f4};",
      {0x3F800000, 0x40000000, 0x40400000, 0x40800000}, o);
  CHECK(out == std::vector<uint32_t>{0x3F800000, 0x40000000, 0x40800000, 0x40C00000});  // 1, 2; 1 + 3, 2 + 4
}

TEST_CASE("atom.v2, atom.v4, red.v4 of f32; min of v2 f16x2") {
  Options o;
  o.in_words = 8;
  o.out_words = 12;
  std::vector<uint32_t> in = {static_cast<uint32_t>(bits(1.0f)),  static_cast<uint32_t>(bits(2.0f)),
                              static_cast<uint32_t>(bits(3.0f)),  static_cast<uint32_t>(bits(4.0f)),
                              static_cast<uint32_t>(bits(10.0f)), static_cast<uint32_t>(bits(20.0f)),
                              static_cast<uint32_t>(bits(30.0f)), static_cast<uint32_t>(bits(40.0f))};
  auto out = Runner().run(
      "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%in+16];\n"
      "atom.global.add.v4.f32 {%f5, %f6, %f7, %f8}, [%in], {%f1, %f2, %f3, %f4};\n"
      "st.global.v4.f32 [%out], {%f5, %f6, %f7, %f8};\n"
      "ld.global.v4.f32 {%f5, %f6, %f7, %f8}, [%in];\nst.global.v4.f32 [%out+16], {%f5, %f6, %f7, %f8};\n"
      "red.global.v2.f32.add [%in+8], {%f1, %f2};\n"
      "mov.u32 %r1, 0x3C004000;\nmov.u32 %r2, 0x40003C00;\nst.global.v2.u32 [%in], {%r1, %r1};\n"
      "atom.global.v2.f16x2.min.noftz {%r3, _}, [%in], {%r2, %r1};\n"
      "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%in];\nst.global.v4.u32 [%out+32], {%r4, %r5, %r6, %r7};",
      in, o);
  for (int i = 0; i < 4; ++i) {
    CHECK(out[i] == in[i]);
    CHECK(f32(out[4 + i]) == f32(in[i]) + f32(in[4 + i]));
  }
  CHECK(out[8] == 0x3C003C00);
  CHECK(out[9] == 0x3C004000);
  CHECK(f32(out[10]) == 43.0f);
  CHECK(f32(out[11]) == 64.0f);
}

TEST_CASE("atom.exch.b128, atom.cas.b128") {
  Options o;
  o.in_words = 12;
  o.out_words = 12;
  auto out = Runner().run(
      ".reg .b128 %q<8>;\nld.global.v2.u64 {%rd1, %rd2}, [%in+16];\nld.global.v2.u64 {%rd3, %rd4}, "
      "[%in+32];\n"
      "mov.b128 %q1, {%rd1, %rd2};\nmov.b128 %q2, {%rd3, %rd4};\natom.global.exch.b128 %q3, [%in], %q1;\n"
      "atom.global.cas.b128 %q4, [%in], %q1, %q2;\nmov.b128 {%rd5, %rd6}, %q3;\nmov.b128 {%rd7, %rd8}, %q4;\n"
      "st.global.v2.u64 [%out], {%rd5, %rd6};\nst.global.v2.u64 [%out+16], {%rd7, %rd8};\n"
      "ld.global.v2.u64 {%rd9, %rd10}, [%in];\nst.global.v2.u64 [%out+32], {%rd9, %rd10};",
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, o);
  CHECK(out == std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST_CASE("atom: lanes of a warp and warps of a grid take turns") {
  Options o;
  o.threads = 96;
  o.ctas = 3;
  o.out_words = 1;
  o.declarations = ".global .align 4 .u32 counter;\n";
  auto out = Runner().run("atom.global.add.u32 %r1, [counter], 1;\nst.global.u32 [%out], %r1;", {}, o);
  std::vector<bool> seen(288);
  for (uint32_t v : out) {
    REQUIRE(v < 288);
    CHECK_FALSE(seen[v]);
    seen[v] = true;
  }
  CHECK(out[5] == out[0] + 5);  // in lane order within a warp
}

TEST_CASE("atom: orderings, scopes and cache hints in any order; what does not exist is refused") {
  both("release.gpu.add.u32", 4, 1, 2, 3);
  CHECK(once("atom.acq_rel.sys$s.add.u32 $d, [$m], $a;", 4, "global", 1, 2).second == 3);
  CHECK(once("atom.add.acquire.cta$s.u32 $d, [$m], $a;", 4, "global", 1, 2).second == 3);
  CHECK(once("atom$s.add.L2::cache_hint.u32 $d, [$m], $a, %rd1;", 4, "global", 1, 2).second == 3);
  for (const char* bad :
       {"atom.global.add.s64 %rd1, [%in], %rd2;", "atom.global.inc.u64 %rd1, [%in], %rd2;",
        "atom.global.min.f32 %f1, [%in], %f2;", "red.acquire.gpu.global.add.u32 [%in], %r1;",
        "atom.local.add.u32 %r1, [%in], %r2;", "atom.global.add.f16 %rs1, [%in], %rs2;"})
    CHECK(Runner().fault(bad).id == "unsupported-instruction");
}

TEST_CASE("atom: out of bounds, misaligned") {
  CHECK(Runner().fault("atom.global.add.u32 %r1, [%out+16], 1;").id == "out-of-bounds");
  CHECK(Runner().fault("atom.global.add.u32 %r1, [%out+2], 1;").id == "misaligned-address");
  CHECK(Runner().fault("red.shared.add.u32 [8], 1;").id == "out-of-bounds");
}
