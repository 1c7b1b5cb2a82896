// mov, cvta, isspacep, vector registers.
#include "support.hpp"

using namespace emu_test;

TEST_CASE("vector registers: whole, and by element") {
  auto out = run_one(
      ".reg .v4 .u32 v;\n.reg .v2 .u32 %w<2>;\nld.global.v4.u32 v, [%in];\nst.global.v4.u32 [%out], v;\n"
      "mov.u32 v.w, 9;\nadd.u32 v.x, v.y, v.w;\nst.global.v2.u32 [%out+16], {v.r, v.a};\n"
      "{\n.reg .v2 .u32 v;\nmov.u32 v.x, 7;\nmov.u32 v.g, 8;\nmov.u32 %w1.x, v.y;\nmov.u32 %w1.y, v.x;\n}\n"
      "st.global.v2.u32 [%out+24], %w1;\nst.global.u32 [%out+32], v.z;",
      {1, 2, 3, 4}, 9);
  CHECK(out == std::vector<uint32_t>{1, 2, 3, 4, 11, 9, 8, 7, 3});
}

TEST_CASE("mov.v2, mov.v4: element by element, as if at once") {
  const auto out = run_one(
      ".reg .v2 .b32 pair, copy;\nld.global.v2.u32 {%r1, %r2}, [%in];\nmov.v2.u32 {%r1, %r2}, {%r2, %r1};\n"
      "mov.v2.b32 pair, {%r1, 5};\nmov.v2.b32 copy, pair;\nst.global.v2.u32 [%out], {%r1, %r2};\n"
      "st.global.v2.u32 [%out+8], copy;\nmov.b64 %rd1, 0x0004000300020001;\nmov.b64 {%rs1, %rs2, %rs3, %rs4}, %rd1;\n"
      "mov.v4.u16 {%rs1, _, %rs3, %rs4}, {%rs4, %rs3, %rs2, %rs1};\nmov.b64 %rd1, {%rs1, %rs2, %rs3, %rs4};\n"
      "st.global.b64 [%out+16], %rd1;",
      {1, 2}, 6);
  CHECK(out == std::vector<uint32_t>{2, 1, 2, 5, 0x00020004, 0x00010002});
  for (const char* bad : {"mov.v2.u32 {%r1, %r2}, %rd1;", "mov.v4.u32 {%r1, %r2, %r3, %r4}, {%r1, %r2};",
                          "mov.v2.u32 {%r1, %r2}, 5;", "mov.v2.u32 {%r1, %rs1}, {%r1, %r2};"})
    CHECK(Runner().fault(bad).id == emu::Id::unsupported_instruction);
}

TEST_CASE("mov: pack and unpack") {
  auto out = run_one(
      "mov.u32 %r1, 0x11223344;\nmov.u32 %r2, 0x55667788;\nmov.b64 %rd1, {%r1, %r2};\nmov.b64 {_, %r3}, "
      "%rd1;\n"
      "mov.b32 {%rs1, %rs2}, %r1;\nmov.b32 %r4, {%rs2, %rs1};\nst.global.u64 [%out], %rd1;\nst.global.v2.u32 "
      "[%out+8], {%r3, %r4};");
  CHECK(out == std::vector<uint32_t>{0x11223344u, 0x55667788u, 0x55667788u, 0x33441122u});
}

TEST_CASE("cvta and isspacep: generic addresses of shared and local memory") {
  Options o;
  o.declarations = ".shared .align 8 .b8 tile[64];\n";
  auto out = Runner().run(
      ".local .align 8 .b8 mine[32];\nmov.u64 %rd1, tile;\ncvta.shared.u64 %rd2, %rd1;\nst.u32 [%rd2+4], "
      "77;\n"
      "ld.shared.u32 %r1, [tile+4];\nmov.u64 %rd3, mine;\ncvta.local.u64 %rd4, %rd3;\nst.u32 [%rd4+8], 88;\n"
      "ld.local.u32 %r2, [mine+8];\nisspacep.shared %p1, %rd2;\nisspacep.global %p2, %rd2;\nisspacep.local "
      "%p3, %rd4;\n"
      "mov.u32 %r3, 0;\n@%p1 or.b32 %r3, %r3, 1;\n@%p2 or.b32 %r3, %r3, 2;\n@%p3 or.b32 %r3, %r3, 4;\n"
      "cvta.to.shared.u64 %rd5, %rd2;\ncvt.u32.u64 %r4, %rd5;\nst.global.v4.u32 [%out], {%r1, %r2, %r3, "
      "%r4};",
      {}, o);
  CHECK(out == std::vector<uint32_t>{77, 88, 5, 1024});
}

TEST_CASE("isspacep.const: constants, not all of global memory") {
  Options o;
  o.declarations = ".const .align 4 .u32 table[4] = {1, 2, 3, 4};\n";
  const auto out = Runner().run(
      "mov.u64 %rd1, table;\ncvta.const.u64 %rd2, %rd1;\nisspacep.const %p1, %rd2;\nisspacep.const %p2, %out;\n"
      "selp.u32 %r1, 1, 0, %p1;\nselp.u32 %r2, 1, 0, %p2;\nst.global.v2.u32 [%out], {%r1, %r2};",
      {}, o);
  CHECK(out[0] == 1);
  CHECK(out[1] == 0);
}
