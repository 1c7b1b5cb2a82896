// Special registers: who a thread is, in a CTA, a cluster, a grid.
#include "support.hpp"

using namespace emu_test;

TEST_CASE("%tid, %ctaid, %laneid, %warpid: each thread reads its own") {
  Options o;
  o.threads = 40;
  o.ctas = 2;
  o.out_words = 4;
  const auto out = Runner().run(
      "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %laneid;\nmov.u32 %r4, %warpid;\n"
      "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};",
      {}, o);
  for (uint32_t t = 0; t < 80; ++t) {
    CHECK(out[4 * t] == t % 40);
    CHECK(out[4 * t + 1] == t / 40);
    CHECK(out[4 * t + 2] == t % 40 % 32);
    CHECK(out[4 * t + 3] == t % 40 / 32);
  }
}

TEST_CASE("%ntid, %nctaid, %clusterid, %cluster_ctarank: sizes and places") {
  Options o;
  o.threads = 1;
  o.ctas = 4;
  o.cluster = 2;
  o.out_words = 6;
  const auto out = Runner().run(
      "mov.u32 %r1, %ntid.x;\nmov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %clusterid.x;\n"
      "mov.u32 %r4, %cluster_ctarank;\nmov.u32 %r5, %cluster_nctarank;\nmov.u32 %r6, %ntid.y;\n"
      "st.global.v2.u32 [%out], {%r1, %r2};\nst.global.v2.u32 [%out+8], {%r3, %r4};\n"
      "st.global.v2.u32 [%out+16], {%r5, %r6};",
      {}, o);
  for (uint32_t cta = 0; cta < 4; ++cta)
    CHECK(std::vector<uint32_t>(&out[6 * cta], &out[6 * cta] + 6) ==
          std::vector<uint32_t>{1, 4, cta / 2, cta % 2, 2, 1});
}

TEST_CASE("%lanemask: the lanes equal to, below and above the reader's") {
  Options o;
  o.threads = 32;
  o.out_words = 5;
  const auto out = Runner().run(
      "mov.u32 %r1, %lanemask_eq;\nmov.u32 %r2, %lanemask_lt;\nmov.u32 %r3, %lanemask_le;\n"
      "mov.u32 %r4, %lanemask_gt;\nmov.u32 %r5, %lanemask_ge;\nst.global.u32 [%out], %r1;\n"
      "st.global.u32 [%out+4], %r2;\nst.global.u32 [%out+8], %r3;\nst.global.u32 [%out+12], %r4;\n"
      "st.global.u32 [%out+16], %r5;",
      {}, o);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t equal = 1u << lane, below = equal - 1;
    CHECK(std::vector<uint32_t>(&out[5 * lane], &out[5 * lane] + 5) ==
          std::vector<uint32_t>{equal, below, below | equal, ~(below | equal), ~below});
  }
}

TEST_CASE("%clock: it goes on") {
  const auto out = run_one(
      "mov.u32 %r1, %clock;\nmov.u32 %r3, 0;\nLOOP: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 20000;\n"
      "@%p1 bra LOOP;\nmov.u32 %r2, %clock;\nst.global.v2.u32 [%out], {%r1, %r2};");
  CHECK(out[1] > out[0]);
}
