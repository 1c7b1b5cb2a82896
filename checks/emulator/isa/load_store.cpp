// ld and st.
#include "checked.hpp"

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

TEST_CASE("ld with .pragma used_bytes_mask reads the marked bytes and no others") {
  const std::string pragma = ".pragma \"used_bytes_mask 4095\";\n";
  const std::string load = "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [words];\n";
  Options o;
  o.declarations = ".shared .align 16 .b8 words[12];\n";
  const std::string fill =
      "st.shared.u32 [words], 1;\nst.shared.u32 [words+4], 2;\nst.shared.u32 [words+8], 3;\n";
  const auto out =
      Runner().run(fill + pragma + load + "st.global.v4.f32 [%out], {%f1, %f2, %f3, 0f40800000};", {}, o);
  CHECK(out == std::vector<uint32_t>{1, 2, 3, 0x40800000});
  CHECK(Runner().fault(fill + load, {}, o).id == "out-of-bounds");
  CHECK(Runner().fault(fill + pragma + "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [words+4];", {}, o).id ==
        "misaligned-address");
  // The bytes at both ends, and the fourth word is another thread's.
  CHECK(run_one(".pragma \"used_bytes_mask 0xf00f\";\nld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%in];\n"
                "st.global.v2.u32 [%out], {%r1, %r4};",
                {5, 6, 7, 8}, 2) == std::vector<uint32_t>{5, 8});
  const std::string shared = ".shared .align 16 .b8 words[16];\n";
  // The first warp reads what its first thread wrote, while the second warp's first thread writes the fourth word.
  const std::string body =
      "setp.ge.u32 %p1, %t, 32;\nand.b32 %r9, %t, 31;\nsetp.ne.u32 %p2, %r9, 0;\n@%p1 bra OTHER;\n@%p2 bra "
      "FILLED;\n" +
      fill + "FILLED: bar.sync 0;\n";
  const std::string other = "bra END;\nOTHER: bar.sync 0;\n@%p2 bra END;\nst.shared.u32 [words+12], 4;\nEND:";
  CHECK(checked::reported(body + pragma + load + other, shared) == "nothing");
  CHECK(checked::reported(body + load + other, shared) == "data-race ");
}

TEST_CASE("ld and atom of a word that begins in an allocation of single bytes: strong ones reach its end") {
  Options o;
  o.declarations = ".global .u8 byte = 7;\n.global .align 4 .b8 five[5] = {1, 2, 3, 4, 5};\n";
  const std::string at = "mov.u64 %rd1, byte;\nmov.u64 %rd2, five;\n";
  const auto out =
      Runner().run(at + "ld.relaxed.sys.global.u32 %r1, [%rd1];\nand.b32 %r2, %r1, 0xffffff00;\n"
                        "or.b32 %r2, %r2, 9;\natom.cas.relaxed.sys.global.b32 %r3, [%rd1], %r1, %r2;\n"
                        "ld.global.u8 %r4, [%rd1];\nld.volatile.global.u32 %r5, [%rd2+4];\n"
                        "and.b32 %r5, %r5, 255;\nst.global.v2.u32 [%out], {%r4, %r5};",
                   {}, o);
  CHECK(out[0] == 9);
  CHECK(out[1] == 5);
  CHECK(Runner().fault(at + "ld.global.u32 %r1, [%rd1];", {}, o).id == "out-of-bounds");
  CHECK(Runner().fault(at + "ld.volatile.global.u32 %r1, [%rd1+4];", {}, o).id == "out-of-bounds");
}
