// mbarrier (PTX ISA 9.7.13.15): counts, phases, waits, and what is reported when they are used wrongly.
#include "quiet.hpp"
#include "support.hpp"

using namespace emu_test;

namespace {

Options with_barrier(unsigned threads = 1) {
  Options o;
  o.threads = threads;
  o.declarations = ".shared .align 8 .b64 full_bar[2];\n";
  return o;
}

std::string init(int count) {
  return "mbarrier.init.shared::cta.b64 [full_bar], " + std::to_string(count) + ";\n";
}

// %rN = 1 when the phase of this parity is done
std::string ask(int parity, int n) {
  return "mbarrier.test_wait.parity.shared::cta.b64 %p1, [full_bar], " + std::to_string(parity) +
         ";\nselp.u32 %r" + std::to_string(n) + ", 1, 0, %p1;\n";
}

const char* const kArrive = "mbarrier.arrive.shared::cta.b64 _, [full_bar];\n";
const char* const kStore = "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};";

// A wait that spins until the phase of `parity` is done.
std::string spin(const std::string& parity, const char* label) {
  return std::string(label) + ":\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [full_bar], " + parity +
         ";\n@!%p2 bra " + label + ";\n";
}

}  // namespace

TEST_CASE("mbarrier.test_wait.parity answers about the current phase or the one before") {
  auto out = Runner().run(init(1) + ask(0, 1) + ask(1, 2) + kArrive + ask(0, 3) + ask(1, 4) + kStore, {},
                          with_barrier());
  CHECK(out == std::vector<uint32_t>{0, 1, 1, 0});
}

TEST_CASE("mbarrier.arrive with a count, and the phase completes at exactly zero") {
  auto out =
      Runner().run(init(5) + "mbarrier.arrive.release.cta.shared::cta.b64 _, [full_bar], 3;\n" + ask(0, 1) +
                       kArrive + ask(0, 2) + kArrive + ask(0, 3) + "mov.u32 %r4, 0;\n" + kStore,
                   {}, with_barrier());
  CHECK(out == std::vector<uint32_t>{0, 0, 1, 0});
}

TEST_CASE("mbarrier.test_wait with a state asks about the phase of that arrive") {
  auto out =
      Runner().run(init(2) +
                       "mov.u64 %rd8, full_bar;\ncvta.shared.u64 %rd9, %rd8;\n"
                       "mbarrier.arrive.shared::cta.b64 %rd1, [full_bar];\n"
                       "mbarrier.test_wait.shared::cta.b64 %p1, [full_bar], %rd1;\nselp.u32 %r1, 1, 0, %p1;\n"
                       "mbarrier.arrive.b64 %rd2, [%rd9];\n"
                       "mbarrier.test_wait.shared::cta.b64 %p1, [full_bar], %rd1;\nselp.u32 %r2, 1, 0, %p1;\n"
                       "mbarrier.try_wait.b64 %p1, [%rd9], %rd2, 100;\nselp.u32 %r3, 1, 0, %p1;\n"
                       "mbarrier.arrive.shared.b64 %rd3, [full_bar];\n"
                       "mbarrier.test_wait.shared.b64 %p1, [full_bar], %rd3;\nselp.u32 %r4, 1, 0, %p1;\n" +
                       std::string(kStore),
                   {}, with_barrier());
  CHECK(out == std::vector<uint32_t>{0, 1, 1, 0});
}

TEST_CASE("mbarrier.expect_tx and complete_tx: a phase ends when arrivals and bytes are both done") {
  auto out =
      Runner().run(init(1) + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full_bar], 64;\n" + ask(0, 1) +
                       "mbarrier.complete_tx.shared::cta.b64 [full_bar], 32;\n" + ask(0, 2) +
                       "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [full_bar], 32;\n" + ask(0, 3) +
                       "mov.u32 %r4, 9;\n" + kStore,
                   {}, with_barrier());
  CHECK(out == std::vector<uint32_t>{0, 0, 1, 9});
}

TEST_CASE("mbarrier.complete_tx before expect_tx: the tx-count may be negative for a while") {
  auto out = Runner().run(init(2) + "mbarrier.complete_tx.shared::cta.b64 [full_bar], 64;\n" + kArrive +
                              ask(0, 1) + "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [full_bar], 64;\n" +
                              ask(0, 2) + kArrive + ask(0, 3) + "mov.u32 %r4, 0;\n" + kStore,
                          {}, with_barrier());
  CHECK(out == std::vector<uint32_t>{0, 0, 1, 0});
}

TEST_CASE("mbarrier.arrive_drop lowers the expected count from the next phase on") {
  auto out =
      Runner().run(init(3) + "mbarrier.arrive_drop.shared::cta.b64 _, [full_bar];\n" + kArrive + ask(0, 1) +
                       kArrive + ask(0, 2) + kArrive + ask(1, 3) + kArrive + ask(1, 4) + kStore,
                   {}, with_barrier());
  CHECK(out == std::vector<uint32_t>{0, 1, 0, 1});
}

TEST_CASE("mbarrier.pending_count gives the count before the noComplete arrive") {
  auto out = Runner().run(init(9) +
                              "mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [full_bar], 2;\n"
                              "mbarrier.arrive_drop.noComplete.shared::cta.b64 %rd2, [full_bar], 3;\n"
                              "mbarrier.pending_count.b64 %r1, %rd1;\nmbarrier.pending_count.b64 %r2, %rd2;\n"
                              "mbarrier.arrive.shared::cta.b64 _, [full_bar], 4;\n" +
                              ask(0, 3) +
                              "mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [full_bar], 1;\n"
                              "mbarrier.pending_count.b64 %r4, %rd1;\n" +
                              kStore,
                          {}, with_barrier());
  CHECK(out == std::vector<uint32_t>{9, 7, 1, 6});
}

TEST_CASE("mbarrier: a plain load of the object sees nothing useful, and inval leaves poison") {
  auto out = Runner().run(
      init(1) +
          "ld.shared.u64 %rd1, [full_bar];\nmbarrier.inval.shared::cta.b64 [full_bar];\n"
          "ld.shared.u64 %rd2, [full_bar];\nst.global.u64 [%out], %rd1;\nst.global.u64 [%out+8], %rd2;",
      {}, with_barrier());
  CHECK((out[0] | uint64_t{out[1]} << 32) == emu::kMbarrierBytes);
  CHECK(out[2] == emu::kPoison32);
}

TEST_CASE("mbarrier.inval of an mbarrier that was invalidated is advice; of other memory, an error") {
  const QuietReport report;
  const std::string inval = "mbarrier.inval.shared::cta.b64 [full_bar];\n";
  CHECK(Runner().run(init(1) + inval + inval + "st.global.u32 [%out], 7;", {}, with_barrier())[0] == 7);
  REQUIRE(report.findings().size() == 1);
  CHECK(report.findings()[0].id == "barrier-not-initialised");
  CHECK(report.findings()[0].severity == emu::Severity::advice);
  CHECK(Runner().fault(inval, {}, with_barrier()).id == "barrier-not-initialised");
}

TEST_CASE("mbarrier.try_wait: producer and consumers take turns on every schedule") {
  // 64 threads; thread 0 fills a value each round, all read it; full_bar[0] full (count 1), full_bar[1] empty (count 64).
  const std::string body =
      "setp.eq.u32 %p1, %t, 0;\n"
      "@%p1 mbarrier.init.shared::cta.b64 [full_bar], 1;\n@%p1 mbarrier.init.shared::cta.b64 [full_bar+8], "
      "64;\n"
      "bar.sync 0;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
      "LOOP:\nand.b32 %r3, %r1, 1;\nxor.b32 %r4, %r3, 1;\n"
      "@!%p1 bra CONSUME;\n"
      "EMPTY: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full_bar+8], %r4;\n@!%p2 bra "
      "EMPTY;\n"
      "mul.lo.u32 %r5, %r1, 3;\nst.shared.u32 [value], %r5;\n"
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [full_bar];\n"
      "CONSUME:\nFULL: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full_bar], %r3;\n@!%p2 bra "
      "FULL;\n"
      "ld.shared.u32 %r6, [value];\nadd.u32 %r2, %r2, %r6;\n"
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [full_bar+8];\n"
      "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p3, %r1, 10;\n@%p3 bra LOOP;\n"
      "st.global.u32 [%out], %r2;";
  for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3"}) {
    CAPTURE(schedule);
    Options o = with_barrier(64);
    o.declarations += ".shared .align 4 .b32 value;\n";
    o.out_words = 1;
    o.schedule = schedule;
    Runner r;
    CHECK(r.run(body, {}, o) == std::vector<uint32_t>(64, 135));
    CHECK(r.statistics.stats().mbarrier_phases_completed == 20);
    CHECK(r.statistics.stats().mbarrier_arrivals == 10 + 640);
  }
}

TEST_CASE("mbarrier.test_wait: lanes of a warp wait for different barriers that depend on each other") {
  // Lane 0 waits for bar 0, then arrives on bar 1, for which lane 1 waits; lane 2 arrives on bar 0.
  const std::string body =
      "setp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared::cta.b64 [full_bar], 1;\n"
      "@%p1 mbarrier.init.shared::cta.b64 [full_bar+8], 1;\nbar.warp.sync 7;\n"
      "mov.u32 %r1, full_bar;\nand.b32 %r2, %t, 1;\nshl.b32 %r2, %r2, 3;\nadd.u32 %r1, %r1, %r2;\n"
      "setp.eq.u32 %p3, %t, 2;\n@%p3 mbarrier.arrive.shared::cta.b64 _, [full_bar];\n@%p3 bra DONE;\n"
      "AGAIN: mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n@!%p2 bra AGAIN;\n"
      "@%p1 mbarrier.arrive.shared::cta.b64 _, [full_bar+8];\n"
      "DONE: st.global.u32 [%out], 1;";
  for (const char* schedule : {"in-order", "late", "random:5"}) {
    Options o = with_barrier(3);
    o.out_words = 1;
    o.schedule = schedule;
    CHECK(Runner().run(body, {}, o) == std::vector<uint32_t>{1, 1, 1});
  }
}

TEST_CASE("mbarrier.test_wait in a loop that gives up ends by itself") {
  auto out =
      Runner().run(init(1) +
                       "mov.u32 %r1, 0;\nL: mbarrier.test_wait.parity.shared::cta.b64 %p1, [full_bar], 0;\n"
                       "@%p1 bra D;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 3;\n@%p2 bra L;\nD:\n"
                       "mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\n" +
                       std::string(kStore),
                   {}, with_barrier());
  CHECK(out[0] == 3);
}

TEST_CASE("mbarrier: operations on memory that holds none are reported with the variable") {
  Runner r;
  for (const char* text : {"mbarrier.arrive.shared::cta.b64 _, [full_bar+8];",
                           "mbarrier.expect_tx.shared::cta.b64 [full_bar+8], 16;",
                           "mbarrier.test_wait.parity.shared::cta.b64 %p1, [full_bar+8], 0;",
                           "mbarrier.inval.shared::cta.b64 [full_bar+8];"}) {
    auto f = r.fault(init(1) + text, {}, with_barrier());
    CHECK(f.id == "barrier-not-initialised");
    CHECK(f.title.find("full_bar") != std::string::npos);
  }
  auto f = r.fault(init(1) + "mbarrier.inval.shared::cta.b64 [full_bar];\n" + kArrive, {}, with_barrier());
  CHECK(f.id == "barrier-not-initialised");
  CHECK(f.why.find("inval") != std::string::npos);
}

TEST_CASE("mbarrier: counts out of range are reported") {
  Runner r;
  CHECK(r.fault(init(0), {}, with_barrier()).id == "arrival-count");
  CHECK(r.fault(init(1048576), {}, with_barrier()).id == "arrival-count");
  auto f = r.fault(init(2) + "mbarrier.arrive.shared::cta.b64 _, [full_bar], 3;", {}, with_barrier());
  CHECK(f.id == "arrival-count");
  CHECK(f.state.find("phase 0: 2 of 2 arrivals pending") != std::string::npos);
  CHECK(
      r.fault(init(1) + "mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [full_bar], 1;", {}, with_barrier())
          .id == "arrival-count");
  CHECK(r.fault(init(1) + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full_bar], 16;\n" + kArrive, {},
                with_barrier())
            .id == "arrival-count");
  const std::string most = "mbarrier.expect_tx.shared::cta.b64 [full_bar], 1048575;\n";
  CHECK(r.fault(init(1) + most, {}, with_barrier()).id == "none");
  CHECK(
      r.fault(init(1) + most + "mbarrier.expect_tx.shared::cta.b64 [full_bar], 1;", {}, with_barrier()).id ==
      "tx-count-range");
  CHECK(
      r.fault(init(1) + "mbarrier.complete_tx.shared::cta.b64 [full_bar], 1048576;", {}, with_barrier()).id ==
      "tx-count-range");
}

TEST_CASE("mbarrier: bad addresses, parities and states are reported") {
  Runner r;
  CHECK(r.fault("mbarrier.init.shared::cta.b64 [full_bar+4], 1;", {}, with_barrier()).id ==
        "misaligned-address");
  CHECK(r.fault("mbarrier.init.shared::cta.b64 [full_bar+4096], 1;", {}, with_barrier()).id ==
        "out-of-bounds");
  CHECK(r.fault("mbarrier.init.b64 [%out], 1;", {}, with_barrier()).id == "out-of-bounds");
  CHECK(r.fault(init(1) + ask(2, 1), {}, with_barrier()).id == "wrong-parity");
  CHECK(r.fault(init(1) + "mov.u64 %rd1, 5;\nmbarrier.test_wait.shared::cta.b64 %p1, [full_bar], %rd1;", {},
                with_barrier())
            .id == "barrier-state");
  CHECK(r.fault(init(1) + "mbarrier.arrive.shared::cta.b64 %rd1, [full_bar];\n" + kArrive +
                    "mbarrier.test_wait.shared::cta.b64 %p1, [full_bar], %rd1;",
                {}, with_barrier())
            .id == "barrier-state");
  CHECK(
      r.fault(init(1) +
                  "mbarrier.arrive.shared::cta.b64 %rd1, [full_bar];\nmbarrier.pending_count.b64 %r1, %rd1;",
              {}, with_barrier())
          .id == "barrier-state");
}

TEST_CASE("mbarrier: forms that the manual does not have are refused") {
  Runner r;
  for (const char* text : {"mbarrier.init.shared::cluster.b64 [full_bar], 1;",
                           "mbarrier.arrive.shared::cluster.b64 %rd1, [full_bar];",
                           "mbarrier.arrive.release.shared::cta.b64 _, [full_bar];",
                           "mbarrier.arrive.acquire.cta.shared::cta.b64 _, [full_bar];",
                           "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full_bar];",
                           "mbarrier.try_wait.parity.shared::cluster.b64 %p1, [full_bar], 0;"})
    CHECK(r.fault(text, {}, with_barrier()).id == "unsupported-instruction");
}

TEST_CASE("mbarrier: a deadlock names the barrier, its counts and what is missing") {
  Runner r;
  auto f = r.fault(init(1) +
                       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full_bar], 4096;\n"
                       "mbarrier.complete_tx.shared::cta.b64 [full_bar], 2048;\n" +
                       spin("0", "W"),
                   {}, with_barrier());
  CHECK(f.id == "deadlock");
  CHECK(f.state.find("0 of 1 arrival pending, tx-count 2048 bytes outstanding") != std::string::npos);
  CHECK(f.why.find("expect_tx announced 4096 bytes") != std::string::npos);
  CHECK(f.why.find("brought 2048 bytes") != std::string::npos);

  f = r.fault(init(3) + kArrive + spin("0", "W"), {}, with_barrier());
  CHECK(f.id == "deadlock");
  CHECK(f.why.find("2 of 3 arrivals never came (1 did)") != std::string::npos);

  f = r.fault(init(1) + kArrive + spin("0", "V") + spin("1", "W"), {}, with_barrier());
  CHECK(f.id == "deadlock");
  CHECK(f.why.find("nobody has arrived for phase 1") != std::string::npos);

  f = r.fault(init(1) + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full_bar], 16;\n" + spin("0", "W"), {},
              with_barrier());
  CHECK(f.why.find("no copy named this barrier") != std::string::npos);
}

TEST_CASE("mbarrier.arrive and expect_tx reach the other CTA of a cluster, a wait does not") {
  // Each CTA announces 16 bytes on the other's barrier, completes them there, and arrives there.
  const std::string setup =
      init(2) +
      "fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "mov.u32 %r1, %cluster_ctarank;\nxor.b32 %r2, %r1, 1;\nmov.u32 %r3, full_bar;\n"
      "mapa.shared::cluster.u32 %r4, %r3, %r2;\n";
  const std::string body = setup +
                           "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r4], 16;\n"
                           "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r4], 16;\n"
                           "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];\n" +
                           spin("0", "W") +
                           "barrier.cluster.arrive;\nbarrier.cluster.wait;\nst.global.u32 [%out], 1;";
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"}) {
    CAPTURE(schedule);
    Options o = with_barrier();
    o.ctas = o.cluster = 2;
    o.out_words = 1;
    o.schedule = schedule;
    CHECK(Runner().run(body, {}, o) == std::vector<uint32_t>{1, 1});
  }
  Options o = with_barrier();
  o.ctas = o.cluster = 2;
  auto f = Runner().fault(setup + "mbarrier.test_wait.parity.b64 %p1, [%rd1], 0;", {}, o);
  CHECK(f.id == "out-of-bounds");
}
