// The checker on small kernels: what it must name, and what it must not accuse.
#include "emulator/checker/checker.hpp"

#include "emulator/report.hpp"
#include "support.hpp"

using namespace emu_test;

namespace {

const char* kShared = ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b64 bar;\n";
// %r1: the tile, %r2: the barrier, %p1: not thread 0. Thread 0 initialises the barrier for one arrival.
const std::string kInit =
    "mov.u32 %r1, tile;\nmov.u32 %r2, bar;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra INIT;\n"
    "mbarrier.init.shared::cta.b64 [%r2], 1;\nINIT: bar.sync 0;\n";
const std::string kCopy =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 64, [%r2];\n";
const std::string kExpect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;\n";
const std::string kRead = "ld.shared.u32 %r3, [%r1];\nst.global.u32 [%out], %r3;\n";

std::string by_thread_0(const std::string& label, const std::string& body) {
  return "@%p1 bra " + label + ";\n" + body + label + ":\n";
}
std::string wait(const std::string& label, int parity) {
  return label + ": mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], " + std::to_string(parity) +
         ";\n@!%p2 bra " + label + ";\n";
}

// Ids of what is reported, errors and advice, under each schedule; one string when all agree.
std::string reported(const std::string& body, const char* shared = kShared) {
  std::string all;
  for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3"}) {
    emu::Report& report = emu::Report::instance();
    report.clear();
    report.quiet = true;
    emu::check::Checker checker;
    Options o;
    o.threads = 64;
    o.in_words = 16;
    o.out_words = 1;
    o.declarations = shared;
    o.schedule = schedule;
    o.observer = &checker;
    const std::string fault = Runner().fault(body, std::vector<uint32_t>(64 * 16, 7), o).id;
    std::string ids = fault == "none" ? "" : "fault " + fault + " ";
    for (const emu::Finding& f : report.findings())
      ids += (f.severity == emu::Severity::advice ? "advice " : "") + f.id + " ";
    report.clear();
    report.quiet = false;
    if (all.empty())
      all = ids.empty() ? "nothing" : ids;
    else if (all != (ids.empty() ? "nothing" : ids))
      return all + "but under " + schedule + " " + ids;
  }
  return all;
}

}  // namespace

TEST_CASE("checker: a copy that is waited for is not accused") {
  CHECK(reported(kInit + by_thread_0("A", kExpect + kCopy) + wait("W", 0) + kRead) == "nothing");
}

TEST_CASE("checker: bytes announced after the copy was issued are not accused") {
  CHECK(reported(kInit + by_thread_0("A", kCopy + kExpect) + wait("W", 0) + kRead) == "nothing");
}

TEST_CASE("checker: a producer's first wait for parity 1 on a fresh barrier is not accused") {
  CHECK(reported(kInit + by_thread_0("A", wait("E", 1) + kExpect + kCopy) + wait("W", 0) + kRead) ==
        "nothing");
}

TEST_CASE("checker: several copies on one barrier whose sum is announced are not accused") {
  const std::string two =
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 32, [%r2];\n"
      "add.u32 %r4, %r1, 32;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], "
      "[%in], 32, [%r2];\n";
  CHECK(reported(kInit + by_thread_0("A", two) + wait("W", 0) + kRead) == "nothing");
}

TEST_CASE("checker: one proxy fence covers all earlier writes of its thread") {
  const std::string store =
      "st.shared.u32 [%r1], %t;\nst.shared.u32 [%r1+4], %t;\nst.shared.u32 [%r1+8], %t;\nst.shared.u32 "
      "[%r1+12], %t;\n"
      "fence.proxy.async.shared::cta;\ncp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 16;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n";
  CHECK(reported(kInit + by_thread_0("A", store)) == "nothing");
}

TEST_CASE("checker: a proxy fence in the reading thread is advice at most") {
  const std::string write =
      "setp.lt.u32 %p3, %t, 32;\nsetp.gt.u32 %p4, %t, 35;\n@%p3 bra B;\n@%p4 bra B;\n"
      "sub.u32 %r5, %t, 32;\nshl.b32 %r5, %r5, 2;\nadd.u32 %r5, %r5, %r1;\nst.shared.u32 [%r5], %t;\nB: "
      "bar.sync 0;\n";
  const std::string store =
      "fence.proxy.async.shared::cta;\ncp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 16;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n";
  CHECK(reported(kInit + write + by_thread_0("A", store)) == "advice proxy-fence-by-reader ");
}

TEST_CASE("checker: a lane that waits for its warp hands over with a warp barrier") {
  const std::string hand = "setp.ge.u32 %p5, %t, 32;\n@%p5 bra END;\n" +
                           by_thread_0("A", kExpect + kCopy + wait("W", 0)) + "bar.warp.sync 0xffffffff;\n" +
                           kRead + "END:\n";
  CHECK(reported(kInit + hand) == "nothing");
}

TEST_CASE("checker: a tile that is not waited for is read before it landed") {
  CHECK(reported(kInit + by_thread_0("A", kExpect + kCopy) + kRead + wait("W", 0)) == "read-before-landed ");
}

TEST_CASE("checker: a store without the proxy fence") {
  const std::string store =
      "st.shared.u32 [%r1], %t;\nst.shared.u32 [%r1+4], %t;\nst.shared.u32 [%r1+8], %t;\nst.shared.u32 "
      "[%r1+12], %t;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 16;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n";
  CHECK(reported(kInit + by_thread_0("A", store)) == "missing-proxy-fence ");
}

TEST_CASE("checker: a source that is overwritten before the store has read it, and an exit before it has") {
  const std::string store =
      "st.shared.v4.u32 [%r1], {%t, %t, %t, %t};\nfence.proxy.async.shared::cta;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 16;\ncp.async.bulk.commit_group;\n";
  CHECK(reported(kInit +
                 by_thread_0("A", store + "st.shared.u32 [%r1], %t;\ncp.async.bulk.wait_group.read 0;\n")) ==
        "source-reused-before-read ");
  CHECK(reported(kInit + by_thread_0("A", store)) == "exit-before-drain ");
}

TEST_CASE("checker: two warps that use a word with no barrier between") {
  CHECK(reported("mov.u32 %r1, tile;\nsetp.ne.u32 %p1, %t, 0;\nsetp.ne.u32 %p2, %t, 32;\n@!%p1 st.shared.u32 "
                 "[%r1], %t;\n"
                 "@!%p2 st.shared.u32 [%r1+4], %t;\nbar.sync 0;\n@!%p1 ld.shared.u32 %r3, [%r1];\n@!%p2 "
                 "st.shared.u32 [%r1], %t;\n") == "data-race ");
}
