// ld, st, mov, cvta and the state spaces.
#include "support.hpp"

using namespace emu_test;

TEST_CASE("ld and st: sign and zero extension into wider registers") {
  auto out = run_one(
      "ld.global.s8 %r1, [%in];\nld.global.u8 %r2, [%in];\nld.global.s16 %r3, [%in];\nld.global.s8 %rd1, "
      "[%in];\n"
      "st.global.v2.u32 [%out], {%r1, %r2};\nst.global.u32 [%out+8], %r3;\nst.global.u64 [%out+16], %rd1;",
      {0x000080F0u}, 6);
  CHECK(out[0] == 0xFFFFFFF0u);
  CHECK(out[1] == 0xF0u);
  CHECK(out[2] == 0xFFFF80F0u);
  CHECK(out[4] == 0xFFFFFFF0u);
  CHECK(out[5] == 0xFFFFFFFFu);
}

TEST_CASE("ld and st: vectors of 2 and 4, and a destination that is the address") {
  auto out = run_one(
      "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%in];\nld.global.v2.u64 {%rd1, %rd2}, [%in];\n"
      "st.global.v4.u32 [%out], {%r4, %r3, %r2, %r1};\nst.global.v2.u64 [%out+16], {%rd2, %rd1};",
      {1, 2, 3, 4}, 8);
  CHECK(out == std::vector<uint32_t>{4, 3, 2, 1, 3, 4, 1, 2});
}

TEST_CASE("vector registers: whole, and by element") {
  auto out = run_one(
      ".reg .v4 .u32 v;\n.reg .v2 .u32 %w<2>;\nld.global.v4.u32 v, [%in];\nst.global.v4.u32 [%out], v;\n"
      "mov.u32 v.w, 9;\nadd.u32 v.x, v.y, v.w;\nst.global.v2.u32 [%out+16], {v.r, v.a};\n"
      "{\n.reg .v2 .u32 v;\nmov.u32 v.x, 7;\nmov.u32 v.g, 8;\nmov.u32 %w1.x, v.y;\nmov.u32 %w1.y, v.x;\n}\n"
      "st.global.v2.u32 [%out+24], %w1;\nst.global.u32 [%out+32], v.z;",
      {1, 2, 3, 4}, 9);
  CHECK(out == std::vector<uint32_t>{1, 2, 3, 4, 11, 9, 8, 7, 3});
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

TEST_CASE("shared memory starts at 1024 and is poisoned") {
  Options o;
  o.declarations = ".extern .shared .align 16 .b8 dynamic[];\n.shared .align 4 .b8 fixed[20];\n";
  o.dynamic_shared = 64;
  auto out = Runner().run(
      "mov.u32 %r1, fixed;\nmov.u32 %r2, dynamic;\nld.shared.u32 %r3, [fixed];\nst.global.v2.u32 [%out], "
      "{%r1, %r2};\n"
      "st.global.u32 [%out+8], %r3;",
      {}, o);
  CHECK(out[0] == 1024);
  CHECK(out[1] == 1056);
  CHECK(out[2] == emu::kPoison32);
}

TEST_CASE("ld and st out of bounds name the allocation") {
  auto f = Runner().fault("st.global.u32 [%out+16], %t;");
  CHECK(f.id == "out-of-bounds");
  CHECK(f.state.find("0 bytes past the end of 'out' (16 bytes") != std::string::npos);
  CHECK(Runner().fault("mov.u64 %rd1, 0;\nld.global.u32 %r1, [%rd1];").state.find("null") !=
        std::string::npos);
  Options o;
  o.declarations = ".shared .align 4 .b8 tile[64];\n";
  CHECK(Runner().fault("ld.shared.u32 %r1, [tile+64];", {}, o).id == "out-of-bounds");
  CHECK(Runner().fault(".local .align 4 .b8 a[16];\nst.local.u32 [a+16], %t;").id == "out-of-bounds");
}

TEST_CASE("ld and st misaligned") {
  CHECK(Runner().fault("ld.global.u32 %r1, [%in+2];").id == "misaligned-address");
  CHECK(Runner().fault("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%in+4];").id == "misaligned-address");
}

TEST_CASE("ld of a wrong register width is refused") {
  CHECK(Runner().fault("add.u32 %r1, %rd1, 1;").id == "unsupported-instruction");
}
