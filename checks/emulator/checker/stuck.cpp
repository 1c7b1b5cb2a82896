// Deadlocks at mbarriers: the first message names the cause, not the counter.
#include <doctest/doctest.h>

#include "checked.hpp"

using namespace checked;

namespace {

// Two barriers: %r2 is bar, %r5 is other. Both are initialised by thread 0, for `count` and `count_of_other`.
std::string init(int count, int count_of_other = 1) {
  const auto n = [](int i) { return std::to_string(i); };
  return "mov.u32 %r1, tile;\nmov.u32 %r2, bar;\nmov.u32 %r5, other;\nsetp.ne.u32 %p1, %t, 0;\nsetp.ge.u32 %p3, %t, 32;\n"
         "@%p1 bra INIT;\nmbarrier.init.shared::cta.b64 [%r2], " +
         n(count) + ";\nmbarrier.init.shared::cta.b64 [%r5], " + n(count_of_other) + ";\nINIT: bar.sync 0;\n";
}
const std::string kArrive = "mbarrier.arrive.shared::cta.b64 _, [%r2];\n",
                  kArriveOnOther = "mbarrier.arrive.shared::cta.b64 _, [%r5];\n";
std::string wait_for_other(const std::string& label, int parity) {
  return label + ": mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], " + std::to_string(parity) +
         ";\n@!%p2 bra " + label + ";\n";
}
// What warp 0 does, and what warp 1 does.
std::string roles(const std::string& warp_0, const std::string& warp_1) {
  return "@%p3 bra SECOND;\n" + warp_0 + "bra END;\nSECOND:\n" + warp_1 + "END:\n";
}

// The deadlock that a body ends in, the same under each schedule.
std::string deadlock(const std::string& body, bool whole = false) {
  std::string all;
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"}) {
    CAPTURE(schedule);
    const emu_test::QuietReport report;
    emu::check::Checker checker;
    emu_test::Runner runner;
    emu_test::Options o;
    o.threads = 64;
    o.in_words = 16;
    o.out_words = 1;
    o.declarations = std::string(kShared) + ".shared .align 8 .b64 other;\n";
    o.schedule = schedule;
    o.observer = &checker;
    const emu::Finding f = runner.fault(body, std::vector<uint32_t>(64 * 16, 7), o);
    CHECK(f.id == emu::Id::deadlock);
    const std::string said = whole ? f.text() : f.title;
    if (all.empty()) all = said;
    CHECK(said == all);
  }
  return all;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("deadlock: a count that several arrivals of one use complete more than once") {
  const std::string body = init(2) + roles(kArrive + "bar.warp.sync -1;\n" + wait("W", 0), "");
  CHECK(
      deadlock(body) ==
      "bar is initialised for 2, and 32 arrivals came between two waits: 16 phases were completed where one was meant");
}

TEST_CASE("deadlock: a count that is larger than the arrivals that come") {
  CHECK(deadlock(init(5) + roles(by_thread_0("A", kArrive) + wait("W", 0), "")) ==
        "bar is initialised for 5, and 1 arrival came for phase 0");
  // Both warps wait for the other barrier, and one of them hands back.
  const std::string fill = by_thread_0("F", kArriveOnOther);
  const std::string text =
      deadlock(init(2) + roles(fill + wait_for_other("W0", 0) + by_thread_0("A", kArrive) + wait("W1", 0),
                               wait_for_other("W2", 0)),
               true);
  CHECK(holds(text, "warp 1 never arrived"));
  CHECK(holds(text, "try    let every reader arrive"));
}

TEST_CASE("deadlock: a role that has returned") {
  const std::string arrive = "setp.ne.u32 %p4, %t, 32;\n@%p4 bra B;\n" + kArrive + "B:\n";
  CHECK(deadlock(init(1) + roles(wait("W0", 0) + wait("W1", 1), arrive)) ==
        "warp 1 has returned, and phase 1 of bar lacks the arrival");
}

TEST_CASE("deadlock: the first wait for an empty stage asks for parity 0") {
  const std::string producer = wait("W", 0) + by_thread_0("A", kExpect + kCopy);
  CHECK(deadlock(init(1) + roles(producer, "")) ==
        "the first wait for bar asks for phase 0, and nobody has arrived on it");
  // the same wait a lap later, and nobody hands back
  const std::string again = deadlock(init(1) + roles(wait("P", 1) + producer, ""));
  CHECK(again.rfind("nobody has arrived on bar: the arrival of ", 0) == 0);
  CHECK(holds(again, "which would hand the stage back, has not been reached"));
}

TEST_CASE(
    "deadlock: a reader waits for a copy that was never issued, or for another barrier than that of the copy") {
  CHECK(deadlock(init(1) + roles(wait("W", 0) + kRead, "")) ==
        "nobody has arrived on bar, and no copy was ever issued for it");
  CHECK(
      deadlock(init(1) + roles(by_thread_0("A", kExpect + kCopy), wait_for_other("W", 0) + kRead)) ==
      "nobody waits for bar, whose copies have landed; warp 1 waits for other, on which nobody has arrived");
}

TEST_CASE("deadlock: bytes that do not come, or go to another barrier") {
  CHECK(deadlock(init(1) + by_thread_0("A", kExpect) + wait("W", 0)) ==
        "64 bytes were announced on bar, and 0 came");
  const std::string elsewhere =
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 64;\n" + kCopy;  // it names bar
  CHECK(holds(deadlock(init(1) + by_thread_0("A", elsewhere) + wait_for_other("W", 0), true),
              "64 bytes that nobody announced came to bar"));
}

TEST_CASE("deadlock: two roles that wait for each other") {
  // A first phase of each barrier has shown who arrives on it.
  const std::string first = by_thread_0("A", kArrive),
                    second = "setp.ne.u32 %p4, %t, 32;\n@%p4 bra B;\n" + kArriveOnOther + "B:\n";
  const std::string text = deadlock(init(1) + roles(first + wait_for_other("W0", 0) + wait_for_other("W1", 1),
                                                    second + wait("W2", 0) + wait("W3", 1)),
                                    true);
  CHECK(holds(text, "deadlock: warp 0 and warp 1 wait for each other\n"));
  CHECK(holds(text, "for other, phase 1, so for warp 1\n"));
  CHECK(holds(text, "for bar, phase 1, so for warp 0\n"));
}

TEST_CASE("deadlock: a barrier of the program's own between CTAs, which one of them leaves out") {
  // Thread 0 of each CTA adds to a counter and waits until it is 3; the others wait for it at a barrier. CTA 2 has nothing to do.
  const auto text = [](const std::string& leave) {
    const emu_test::QuietReport report;
    emu::check::Checker checker;
    emu_test::Runner runner;
    emu_test::Options o;
    o.threads = 64;
    o.ctas = 3;
    o.declarations = ".global .align 4 .u32 counter;\n";
    o.observer = &checker;
    return runner
        .fault("mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p2, %r1, 2;\n" + leave +
                   "mov.u64 %rd1, counter;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra MEET;\n"
                   "atom.global.add.u32 %r2, [%rd1], 1;\nSPIN: ld.volatile.global.u32 %r3, [%rd1];\n"
                   "setp.lt.u32 %p3, %r3, 3;\n@%p3 bra SPIN;\nMEET: bar.sync 0;\nEND:\n",
               {}, o)
        .text();
  };
  const std::string left = text("@%p2 bra END;\n");
  CHECK(holds(
      left,
      "a loop polls a word of global memory that nobody is left to change: 1 of 3 CTAs has returned\n"));
  CHECK(holds(left, "'counter'"));
  CHECK(holds(left, "holds 2; 2 CTAs wait"));
  CHECK(!holds(text(""), "polls"));
}

TEST_CASE("groups: what became of an operation in its group") {
  using emu::check::GroupLog;
  using emu::check::GroupStory;
  using Kind = GroupStory::Kind;
  GroupLog log;
  CHECK(GroupStory::of(log, 1, 0).kind == Kind::never_committed);
  log.commit(1, 4);  // operation 1
  CHECK(GroupStory::of(log, 1, 0).kind == Kind::never_waited);
  CHECK(GroupStory::of(log, 2, 0).kind == Kind::never_committed);
  log.commit(2, 4);
  log.commit(2, 4);  // an empty group
  log.wait(2, 7);
  const GroupStory newest = GroupStory::of(log, 2, 1);
  CHECK(newest.kind == Kind::too_many);
  CHECK(newest.newest == 2);
  CHECK(newest.pending == 2);
  CHECK(newest.empty == 1);
  CHECK(newest.wait_source == 7);
  CHECK(newest.cause("the copy") == "the wait leaves 2 groups pending, and the copy is in the 2nd newest");
  CHECK(GroupStory::of(log, 1, 1).kind == Kind::waited);
  log.commit(3, 4);
  CHECK(GroupStory::of(log, 3, 1).kind == Kind::committed_late);
}

TEST_CASE("groups: old commits are dropped, and the numbers stay right") {
  emu::check::GroupLog log;
  for (uint32_t i = 1; i <= 1000; ++i) log.commit(i, 4);
  CHECK(log.commits.size() < 100);
  log.wait(2, 0);
  const auto story = emu::check::GroupStory::of(log, 999, 998);
  CHECK(story.kind == emu::check::GroupStory::Kind::too_many);
  CHECK(story.newest == 2);
}
