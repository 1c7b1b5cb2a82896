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

TEST_CASE("nanosleep: emulated time passes, which %clock, %clock64 and %globaltimer share") {
  for (const char* schedule : {"in-order", "late", "random:1"}) {
    Options o;
    o.schedule = schedule;
    const auto out = Runner().run(
        "mov.u64 %rd1, %globaltimer;\nmov.u64 %rd2, %clock64;\nmov.u32 %r1, %clock;\n"
        "nanosleep.u32 50000000;\nmov.u64 %rd3, %globaltimer;\nmov.u64 %rd4, %clock64;\nmov.u32 %r2, %clock;\n"
        "sub.u64 %rd3, %rd3, %rd1;\nsub.u64 %rd4, %rd4, %rd2;\nsub.u32 %r2, %r2, %r1;\n"
        "cvt.u32.u64 %r3, %rd3;\ncvt.u32.u64 %r4, %rd4;\nst.global.v2.u32 [%out], {%r3, %r4};\n"
        "mov.u64 %rd1, %clock64;\nmov.u64 %rd2, %clock64;\nsub.u64 %rd2, %rd2, %rd1;\ncvt.u32.u64 %r5, %rd2;\n"
        "st.global.v2.u32 [%out+8], {%r2, %r5};",
        {}, o);
    CAPTURE(schedule);
    for (int i = 0; i < 3; ++i) {
      CHECK(out[i] >= 50000000);
      CHECK(out[i] < 50001000);
    }
    CHECK(out[3] > 0);
    CHECK(out[3] < 100);
  }
}

TEST_CASE("nanosleep: a loop that waits with a time limit comes to its end; one without is found") {
  Options o;
  o.threads = 64;
  o.declarations = ".global .u32 flag;\n";
  const std::string poll =
      "mov.u64 %rd2, flag;\nmov.u64 %rd1, %globaltimer;\nmov.u32 %r2, 0;\n"
      "LOOP: nanosleep.u32 100000;\nadd.u32 %r2, %r2, 1;\nld.volatile.global.u32 %r1, [%rd2];\n"
      "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n";
  const auto out = Runner().run(poll +
                                    "mov.u64 %rd3, %globaltimer;\nsub.u64 %rd3, %rd3, %rd1;\n"
                                    "setp.lt.u64 %p2, %rd3, 1000000;\n@%p2 bra LOOP;\n"
                                    "DONE: st.global.u32 [%out], %r2;",
                                {}, o);
  CHECK(out[0] == 10);
  const auto f = Runner().fault(poll + "mov.u32 %r2, 0;\nbra LOOP;\nDONE: st.global.u32 [%out], %r2;", {}, o);
  CHECK(f.id == "endless-loop");
}

TEST_CASE("%reserved_smem_offset_1: a part of the system's shared memory that begins with zeros") {
  const auto out = Runner().run(
      "mov.u32 %r1, %reserved_smem_offset_1;\nld.shared.u32 %r2, [%r1];\nst.shared.u32 [%r1+284], 5;\n"
      "ld.shared.u32 %r3, [%r1+284];\nmov.u32 %r4, %reserved_smem_offset_end;\nsub.u32 %r4, %r4, %r1;\n"
      "st.global.v4.u32 [%out], {%r2, %r3, %r4, 0};");
  CHECK(out[0] == 0);
  CHECK(out[1] == 5);
  CHECK(out[2] >= 288);
  CHECK(Runner().fault("mov.u32 %r1, 512;\nld.shared.u32 %r2, [%r1];").id == "out-of-bounds");
}
