// ld and st.
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
