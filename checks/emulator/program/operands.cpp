// Operands: numbers, constant expressions, register + constant, and what ptxas refuses. The values are those of ptxas 13.0.
#include "support.hpp"

using namespace emu_test;

namespace {

uint64_t value_of(const std::string& expression) {
  const auto out = run_one("mov.u64 %rd1, " + expression + ";\nst.global.u64 [%out], %rd1;");
  return out[0] | uint64_t{out[1]} << 32;
}

// "" when the text is taken; else the finding's title.
std::string refused(const std::string& body) {
  const emu::Finding f = Runner().fault("exit;\n" + body);
  if (f.id == emu::Id::none) return "";
  CHECK((f.id == emu::Id::ptx_syntax || f.id == emu::Id::unsupported_instruction));
  CHECK(f.where.find("PTX line") != std::string::npos);
  CHECK(!f.hint.empty());
  return f.title;
}

}  // namespace

TEST_CASE("constant expressions have the values that ptxas gives them") {
  const std::pair<const char*, int64_t> cases[] = {{"3 + 4", 7},
                                                   {"~5", -6},
                                                   {"!5", 0},
                                                   {"!0", 1},
                                                   {"--5", 5},
                                                   {"+5", 5},
                                                   {"2 + 3 * 4 - 1 << 2 | 1", 53},
                                                   {"1 ? 2 : 0 ? 5 : 6", 2},
                                                   {"0 ? 2 : 1 ? 5 : 6", 5},
                                                   {"3 == 3 && 2 < 1 || 5", 1},
                                                   {"07 + 0b11 + 0xa", 20},
                                                   {"-7 / 2", -3},
                                                   {"-7 / 2U", 0x7ffffffffffffffc},
                                                   {"-7 >> 1", -4},
                                                   {"(.u64)-7 >> 1", 0x7ffffffffffffffc},
                                                   {"-7 % 4", 1},
                                                   {"(-7 % 4) - 3 > 0", 1},
                                                   {"(~7) / 2", 0x7ffffffffffffffc},
                                                   {"(-7 & -1) / 2", -3},
                                                   {"(1 ? -8 : 7U) >> 1", -4},
                                                   {"(0 ? -8 : -8U) >> 1", 0x7ffffffffffffffc},
                                                   {"-1 > 0U", 1},
                                                   {"-1 > 0", 0},
                                                   {"(.u64) -5 > 3", 1},
                                                   {"1 << 70", 64},
                                                   {"-9223372036854775808 / -1", 0},
                                                   {"9223372036854775808 / 2", 0x4000000000000000},
                                                   {"1.5 > 1.0", 1},
                                                   {"WARP_SZ + 1", 33}};
  for (const auto& each : cases) {
    CAPTURE(each.first);
    CHECK(value_of(each.first) == static_cast<uint64_t>(each.second));
  }
  CHECK(run_one("mov.f32 %f1, 1.5 + 2.5;\nst.global.f32 [%out], %f1;")[0] == 0x40800000);
  CHECK(run_one("mov.f64 %fd1, -(1.5) / 4.0;\nst.global.f64 [%out], %fd1;")[1] == 0xbfd80000);
  CHECK(run_one("mov.f32 %f1, .5;\nst.global.f32 [%out], %f1;")[0] == 0x3f000000);
  CHECK(run_one("mov.u32 %r1, 0x123456789;\nst.global.u32 [%out], %r1;")[0] == 0x23456789);
  CHECK(run_one("ld.global.u32 %r1, [%in+(4*1)];\nst.global.u32 [%out+ 1?4:8], %r1;", {3, 9})[1] == 9);
}

TEST_CASE("constant expressions that mean nothing are refused") {
  for (const char* expression :
       {"7 / 0", "7 % 0", "1.5 + 1", "1 ? 1.5 : 2.5", "!1.5", "~1.5", "0f3f800000 + 1.0", "-0f3f800000",
        "3 +", "(3", "3 3", "(.u64)1.5", "%r1 - 4", "3 + %r1"}) {
    CAPTURE(expression);
    CHECK(refused("mov.u64 %rd1, " + std::string(expression) + ";") != "");
  }
}

TEST_CASE("numbers that are none are refused, and their neighbours are not") {
  for (const char* number :
       {"1r147", "12abc", "0xZZ", "0x", "089", "0b12", "0b", "5u", "1e", "1.5f", "1.2.3", "1e999", "0f3f8",
        "0f3f80000000", "0d3ff", "18446744073709551616", "'a'", "0x1ffffffffffffffff"}) {
    CAPTURE(number);
    CHECK(refused("mov.b64 %rd1, " + std::string(number) + ";") != "");
  }
  for (const char* number : {"147", "0xAbC", "0", "017", "0b101", "5U", "0xFFU", "18446744073709551615"}) {
    CAPTURE(number);
    CHECK(refused("mov.b64 %rd1, " + std::string(number) + ";") == "");
  }
  for (const char* number : {"1.5", "1.", "1e5", "1.e-2", "0f3f800000", "0F3F800000", "0d3ff0000000000000"}) {
    CAPTURE(number);
    CHECK(refused("mov.f32 %f1, " + std::string(number) + ";") == "");
  }
}

TEST_CASE("register + constant is computed in the register's width, in every place for a value") {
  const auto out = run_one(
      "ld.global.u32 %r1, [%in];\nld.global.u32 %r2, [%in+4];\n"
      "mov.u32 %r3, %r1+7;\nst.global.u32 [%out], %r3;\nst.global.u32 [%out+4], %r1+1;\n"
      "setp.eq.u32 %p1, %r1+1, 6;\nselp.u32 %r4, %r2+1, 0, %p1;\nst.global.u32 [%out+8], %r4;\n"
      "add.u32 %r5, %r1+4, %r2+-1;\nst.global.u32 [%out+12], %r5;\n"
      "cvt.u64.u32 %rd1, %r2+0xffffffff;\nst.global.u64 [%out+16], %rd1;\n"
      "mov.u64 %rd2, -1;\nst.global.u64 [%out+24], %rd2+0x100000001;\n"
      "cvt.u16.u32 %rs1, %r1;\ncvt.s32.s16 %r6, %rs1+0x7fff;\nst.global.u32 [%out+32], %r6;\n"
      "shl.b32 %r7, 1, %r1+1+1;\nst.global.u32 [%out+36], %r7;\n"
      "shfl.sync.idx.b32 %r8, %r1+3, 0, 31, -1;\nst.global.u32 [%out+40], %r8;\n"
      "atom.global.add.u32 %r9, [%out+44], %r1+100;",
      {5, 20}, 12);
  CHECK(out == std::vector<uint32_t>{12, 6, 21, 28, 19, 0, 0, 1, 0xffff8004, 128, 8, 0x7fff7fff + 105});
}

TEST_CASE("register + constant is refused where it is no value") {
  for (const char* text :
       {"mov.u32 %r1+1, %r2;", "mov.f32 %f1, %f2+1;", "add.f32 %f1, %f2, %f3+1;", "mov.pred %p1, %p2+1;",
        "bra L+4;\nL:", "mov.b64 %rd1, {%r1+1, %r2};", "st.global.v2.u32 [%out], {%r1+1, %r2};",
        "mov.u32 %r1, %tid.x+3;", "@%p1+1 mov.u32 %r1, 0;", "mov.u32 %r1, %r2+1.5;",
        "ld.global.u32 %r1+1, [%in];", "ld.global.u32 %r1, [%in-4];", "ld.global.u32 %r1, [%in+%r2];"}) {
    CAPTURE(text);
    CHECK(refused(text) != "");
  }
}

TEST_CASE("'!' stands before predicates only") {
  CHECK(refused("selp.u32 %r1, 1, 0, !%p1;") == "");
  CHECK(refused("setp.eq.and.u32 %p1, %r1, %r2, !%p2;") == "");
  for (const char* text :
       {"add.u32 %r1, !%r2, %r3;", "mov.u32 %r1, !%r2;", "st.global.u32 [%out], !%r1;",
        "ld.global.u32 %r1, [!%in];", "setp.eq.u32 !%p1, %r1, %r2;", "mov.pred %p1, !!%p2;"}) {
    CAPTURE(text);
    CHECK(refused(text) != "");
  }
}

TEST_CASE("registers of another size or kind than the instruction's are refused as ptxas does") {
  const std::string declare =
      ".reg .f16x2 %h2;\n.reg .b8 %c;\n.reg .s32 %s;\n.reg .u16 %u16;\n.reg .b128 %q;\n";
  for (const char* text : {"add.u32 %r1, %rs1, %r2;",
                           "add.u16 %rs1, %r1, %rs2;",
                           "add.u32 %r1, %f1, %r2;",
                           "add.u32 %f1, %r1, %r2;",
                           "add.f32 %f1, %s, %f2;",
                           "mov.u32 %r1, %f1;",
                           "mov.f32 %f1, %h2;",
                           "st.global.u32 [%out], %f1;",
                           "st.global.u32 [%out], %rs1;",
                           "ld.global.u32 %f1, [%in];",
                           "st.global.f32 [%out], %fd1;",
                           "cvt.u32.u64 %r1, %r2;",
                           "cvt.f32.u32 %r1, %f1;",
                           "cvt.u64.u32 %rd1, %f1;",
                           "cvt.u32.u32 %r1, %q;",
                           "ld.global.u32 %r1, [%r2];",
                           "ld.shared.u32 %r1, [%rs2];",
                           "shl.b32 %r1, %r2, %f1;",
                           "mov.b32 %r1, %rs1;",
                           "and.b64 %rd1, %rd2, %r1;",
                           "mov.b128 %q, %rd1;",
                           "atom.global.add.u32 %r1, [%out], %f1;",
                           "selp.b32 %r1, %rs1, %r2, %p1;",
                           "selp.b32 %r1, %p1, %r2, %p1;"}) {
    CAPTURE(text);
    CHECK(refused(declare + text) != "");
  }
  for (const char* text :
       {"add.u32 %r1, %s, %h2;", "add.f32 %f1, %r1, %f2;", "mov.b32 %f1, %s;", "mov.u16 %rs1, %u16;",
        "st.global.b32 [%out], %f1;", "st.global.u8 [%out], %r1;", "st.global.u8 [%out], %rd1;",
        "ld.global.u8 %rd1, [%in];", "ld.global.s8 %c, [%in];", "ld.global.f32 %rd1, [%in];",
        "cvt.u8.u32 %rd1, %r1;", "cvt.u64.u8 %rd1, %c;", "shl.b64 %rd1, %rd2, %s;", "and.b32 %r1, %f1, %h2;",
        "add.rn.f16x2 %h2, %r1, %h2;", "ld.shared.u32 %r1, [0];"}) {
    CAPTURE(text);
    const std::string why = refused(declare + text);
    CHECK((why == "" || why.find("declared") == std::string::npos));
  }
}

TEST_CASE("constants of another kind than the instruction's are refused as ptxas does") {
  for (const char* text :
       {"mov.f32 %f1, 3;", "mov.u32 %r1, 0f3f800000;", "mov.u32 %r1, 1.5;", "mov.b32 %r1, 1.5;",
        "add.f16 %rs1, %rs2, 1.5;", "add.f16 %rs1, %rs2, 5;", "fma.rn.f16x2 %r1, %r2, %r3, 0;",
        "mov.b64 %rd1, 0f3f800000;", "st.global.f32 [%out], 1;", "mov.pred %p1, 1.5;"}) {
    CAPTURE(text);
    CHECK(refused(text) != "");
  }
  for (const char* text :
       {"mov.f32 %f1, 0d3ff0000000000000;", "mov.f64 %fd1, 0f3f800000;", "mov.b32 %r1, 0f3f800000;",
        "mov.b64 %rd1, 1.5;", "mov.pred %p1, 1;", "st.global.b32 [%out], 0f3f800000;"}) {
    CAPTURE(text);
    CHECK(refused(text) == "");
  }
  CHECK(run_one("mov.f64 %fd1, 0f3f800000;\nst.global.f64 [%out], %fd1;")[1] == 0x3ff00000);
  CHECK(run_one("mov.f32 %f1, 0d4000000000000000;\nst.global.f32 [%out], %f1;")[0] == 0x40000000);
}

TEST_CASE("initial values: lists follow the dimensions, the rest is zero, and what does not fit is refused") {
  Runner r;
  Options o;
  o.out_words = 12;
  o.declarations =
      ".global .u32 a[2][2] = {{1+1}, {~5, 3<<2}};\n.global .v4 .u32 b[2] = {{1, 2, 3, 4}};\n"
      ".global .b32 c[2] = {0f3f800000};\n";
  std::string body;
  int word = 0;
  for (const char* place : {"a", "a+4", "a+8", "a+12", "b", "b+12", "b+16", "c", "c+4"})
    body += "ld.global.u32 %r1, [" + std::string(place) + "];\nst.global.u32 [%out+" +
            std::to_string(4 * word++) + "], %r1;\n";
  auto out = r.run(body, {}, o);
  out.resize(9);
  CHECK(out == std::vector<uint32_t>{2, 0, static_cast<uint32_t>(~5), 12, 1, 4, 0, 0x3f800000, 0});
  for (const char* bad : {".global .u32 g[2] = {1, 2, 3};", ".global .u32 g[2] = {{1}, {2}};",
                          ".global .u32 g = {5};", ".global .f32 g[1] = {3};", ".global .u32 g[1] = {1.5};",
                          ".shared .u32 g = 1;", ".global .u32 g[4] = {1,};"}) {
    CAPTURE(bad);
    o.declarations = bad;
    CHECK(Runner().fault("", {}, o).id == emu::Id::ptx_syntax);
  }
}
