// bar, barrier.cluster: who waits for whom in a CTA and in a cluster.
#include "support.hpp"

using namespace emu_test;

TEST_CASE("bar.sync: orders shared memory of a CTA, several warps") {
  Runner r;
  Options o;
  o.threads = 128;
  o.out_words = 1;
  o.declarations = ".shared .align 4 .b8 data[512];\n";
  auto out = r.run(
      "mov.u32 %r1, data;\nshl.b32 %r2, %t, 2;\nadd.u32 %r3, %r1, %r2;\nst.shared.u32 [%r3], %t;\nbar.sync "
      "0;\n"
      "xor.b32 %r4, %r2, 508;\nadd.u32 %r4, %r4, %r1;\nld.shared.u32 %r5, [%r4];\nst.global.u32 [%out], %r5;",
      {}, o);
  for (unsigned t = 0; t < 128; ++t) CHECK(out[t] == 127 - t);
}

TEST_CASE("bar.red: popc, and, or over the CTA") {
  Runner r;
  Options o;
  o.threads = 64;
  auto out = r.run(
      "setp.lt.u32 %p1, %t, 40;\nbar.red.popc.u32 %r1, 1, %p1;\nbar.red.and.pred %p2, 1, "
      "%p1;\nbar.red.or.pred %p3, 1, %p1;\n"
      "mov.u32 %r2, 0;\n@%p2 mov.u32 %r2, 1;\nmov.u32 %r3, 0;\n@%p3 mov.u32 %r3, 1;\n"
      "st.global.v2.u32 [%out], {%r1, %r2};\nst.global.u32 [%out+8], %r3;",
      {}, o);
  CHECK(out[0] == 40);
  CHECK(out[1] == 0);
  CHECK(out[2] == 1);
}

TEST_CASE("bar.arrive and bar.sync with a count: one warp hands over to another") {
  Runner r;
  Options o;
  o.threads = 64;
  o.out_words = 1;
  o.declarations = ".shared .align 4 .u32 word;\n";
  auto out = r.run(
      "setp.ge.u32 %p1, %t, 32;\n@%p1 bra CONSUMER;\nst.shared.u32 [word], 99;\nbar.arrive 3, 64;\nbra END;\n"
      "CONSUMER: bar.sync 3, 64;\nEND: mov.u32 %r1, 0;\n@%p1 ld.shared.u32 %r1, [word];\nst.global.u32 "
      "[%out], %r1;",
      {}, o);
  CHECK(out[63] == 99);
}

TEST_CASE("bar.arrive then bar.sync by the same warps: arrivals are counted, not warps") {
  // Two groups of 64 threads take turns; the first gives itself the start signal.
  Options o;
  o.threads = 128;
  o.out_words = 1;
  o.declarations = ".shared .align 4 .u32 turn;\n";
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"}) {
    o.schedule = schedule;
    const auto out = Runner().run(
        "shr.u32 %r1, %t, 6;\nadd.u32 %r2, %r1, 9;\nxor.b32 %r3, %r1, 1;\nadd.u32 %r3, %r3, 9;\nmov.u32 %r4, 0;\n"
        "setp.eq.u32 %p1, %r1, 0;\nand.b32 %r5, %t, 63;\nsetp.eq.u32 %p2, %r5, 0;\n"
        "setp.eq.u32 %p3, %t, 0;\n@%p3 st.shared.u32 [turn], 0;\n@%p1 bar.arrive 9, 128;\n"
        "LOOP: bar.sync %r2, 128;\nld.shared.u32 %r6, [turn];\nbar.warp.sync 0xffffffff;\nadd.u32 %r7, %r6, 1;\n"
        "bar.sync %r1, 64;\n@%p2 st.shared.u32 [turn], %r7;\nbar.arrive %r3, 128;\n"
        "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p4, %r4, 3;\n@%p4 bra LOOP;\n@%p1 bar.sync 9, 128;\n"
        "st.global.u32 [%out], %r6;",
        {}, o);
    CAPTURE(schedule);
    CHECK(out[0] == 4);
    CHECK(out[127] == 5);
  }
}

TEST_CASE("bar.arrive by one warp of those that wait: it counts twice") {
  Options o;
  o.threads = 64;
  o.out_words = 1;
  const auto out = Runner().run(
      "setp.lt.u32 %p1, %t, 32;\n@%p1 bar.arrive 2, 96;\nbar.sync 2, 96;\nst.global.u32 [%out], 5;", {}, o);
  CHECK(out == std::vector<uint32_t>(64, 5));
  const auto f = Runner().fault("bar.sync 2, 96;", {}, o);
  CHECK(f.id == "deadlock");
  CHECK(f.state.find("barrier 2: 64 of 96 threads") != std::string::npos);
}

TEST_CASE("bar.sync: threads that have exited are not waited for") {
  Runner r;
  Options o;
  o.threads = 96;
  o.out_words = 1;
  auto out = r.run("setp.lt.u32 %p1, %t, 32;\n@%p1 exit;\nbar.sync 0;\nst.global.u32 [%out], 5;", {}, o);
  CHECK(out[95] == 5);
}

TEST_CASE("bar.sync: a warp that never arrives is a deadlock that names it") {
  Options o;
  o.threads = 64;
  auto f =
      Runner().fault("setp.lt.u32 %p1, %t, 32;\n@%p1 bra WAIT;\nLOOP: bra LOOP;\nWAIT: bar.sync 2;", {}, o);
  CHECK(f.id == "deadlock");
  CHECK(f.state.find("barrier 2: 32 of all threads") != std::string::npos);
}

TEST_CASE("bar.sync: reached by part of a warp is a deadlock that names the missing lanes") {
  Options o;
  o.threads = 32;
  o.declarations = ".shared .align 4 .u32 flag;\n";
  auto f = Runner().fault("setp.lt.u32 %p1, %t, 16;\n@%p1 bra WAIT;\nbar.sync 1;\nWAIT: bar.sync 0;", {}, o);
  CHECK(f.id == "deadlock");
}

TEST_CASE("barrier.cluster: distributed shared memory through mapa") {
  Runner r;
  Options o;
  o.ctas = 4;
  o.cluster = 2;
  o.out_words = 1;
  o.declarations = ".shared .align 4 .u32 word;\n";
  auto out = r.run(
      "mov.u32 %r1, %cluster_ctarank;\nmov.u32 %r7, %ctaid.x;\nst.shared.u32 [word], "
      "%r7;\nbarrier.cluster.arrive;\n"
      "barrier.cluster.wait;\nxor.b32 %r2, %r1, 1;\nmov.u32 %r3, word;\nmapa.shared::cluster.u32 %r4, %r3, "
      "%r2;\n"
      "ld.shared::cluster.u32 %r5, [%r4];\nst.global.u32 [%out], "
      "%r5;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;",
      {}, o);
  CHECK(out == std::vector<uint32_t>{1, 0, 3, 2});
}

TEST_CASE("bar.warp.sync: member masks of one instruction are barriers apart") {
  // Two tiles of 16 lanes; half of the second comes late, after lane 0 is through.
  Options o;
  o.threads = 32;
  o.out_words = 1;
  o.declarations = ".shared .align 4 .b8 words[128];\n.shared .align 4 .u32 flag;\n";
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"}) {
    o.schedule = schedule;
    const auto out = Runner().run(
        "setp.lt.u32 %p1, %t, 16;\nselp.b32 %r1, 0xffff, 0xffff0000, %p1;\nsetp.eq.u32 %p2, %t, 0;\n"
        "setp.ge.u32 %p3, %t, 24;\n@%p2 st.shared.u32 [flag], 0;\nbar.warp.sync -1;\n"
        "mov.u32 %r4, words;\nshl.b32 %r5, %t, 2;\nadd.u32 %r6, %r4, %r5;\n@!%p3 bra MEET;\n"
        "LOOP: ld.volatile.shared.u32 %r2, [flag];\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra LOOP;\n"
        "MEET: st.shared.u32 [%r6], %t;\nbar.warp.sync %r1;\n@%p2 st.volatile.shared.u32 [flag], 1;\n"
        "xor.b32 %r5, %r5, 60;\nadd.u32 %r6, %r4, %r5;\nld.shared.u32 %r3, [%r6];\nst.global.u32 [%out], %r3;",
        {}, o);
    CAPTURE(schedule);
    for (uint32_t l = 0; l < 32; ++l) CHECK(out[l] == (l ^ 15));
  }
  const auto f = Runner().fault("bar.warp.sync 0xffff;", {}, o);
  CHECK(f.id == "warp-sync-mask");
}
