// How often a cause is seen in a launch: counted exactly, the same for every run of a seed, and said so when counting
// stopped.
#include "checked.hpp"

using namespace checked;
using emu::Finding;

namespace {

// What one launch reports, in order.
std::vector<Finding> run(const std::string& body, const std::string& schedule, unsigned ctas = 1,
                         unsigned threads = 256, uint64_t most_sightings = 1'000'000,
                         uint64_t most_instructions = 10'000'000) {
  const emu_test::QuietReport report;
  emu::check::Checker checker;
  emu_test::Runner runner;
  runner.machine.findings.most_sightings = most_sightings;
  runner.machine.findings.most_instructions = most_instructions;
  emu_test::Options o;
  o.threads = threads;
  o.ctas = ctas;
  o.in_words = 16;
  o.out_words = 1;
  o.declarations =
      ".shared .align 16 .b8 tile[128];\n.shared .align 4 .b32 flag;\n.shared .align 8 .b64 bar;\n";
  o.schedule = schedule;
  o.observer = &checker;
  const Finding fault = runner.fault(body, {}, o);
  std::vector<Finding> all = report.findings();
  if (fault.id != emu::Id::none) all.push_back(fault);
  return all;
}

constexpr const char* kSchedules[] = {"in-order", "late", "random:1", "random:2", "random:3"};

// Thread 0 writes two words and raises a flag; the warps behind the first see the flag, which orders nothing, and read
// the first word `times` times and the second word once, each in a line of its own.
std::string races(unsigned times, const std::string& at_the_end = "") {
  return "mov.u32 %r1, tile;\nmov.u32 %r2, flag;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra INIT;\n"
         "st.shared.u32 [%r2], 0;\nINIT: bar.sync 0;\n@%p1 bra READERS;\n"
         "st.shared.u32 [%r1], 7;\nst.shared.u32 [%r1+4], 8;\nst.volatile.shared.u32 [%r2], 1;\nbra END;\n"
         "READERS: setp.lt.u32 %p2, %t, 32;\n@%p2 bra END;\n"
         "SPIN: ld.volatile.shared.u32 %r3, [%r2];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra SPIN;\nmov.u32 %r4, "
         "0;\n"
         "AGAIN: ld.shared.u32 %r5, [%r1];\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p4, %r4, " +
         std::to_string(times) + ";\n@%p4 bra AGAIN;\nld.shared.u32 %r6, [%r1+4];\nEND:\n" + at_the_end;
}

}  // namespace

TEST_CASE("launch findings: ten thousand races at one line are one finding with a count") {
  for (const char* schedule : kSchedules) {
    CAPTURE(schedule);
    const auto found = run(races(500), schedule, 3);
    REQUIRE(found.size() == 1);
    CHECK(found[0].id == "data-race");
    CHECK(found[0].count == 500 * 7 * 3);
    CHECK(found[0].spread == "3 CTAs, 7 warps of each");
    CHECK_FALSE(found[0].at_least);
    CHECK(found[0].text().find("\n  count  10,500 times in this launch, in 3 CTAs, 7 warps of each\n") !=
          std::string::npos);
  }
}

TEST_CASE("launch findings: another error after the first is named beside it, and is none of its own") {
  const auto found = run(races(4), "in-order");
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].also.size() == 1);
  CHECK(found[0].also[0] == "data-race at PTX line " + std::to_string(found[0].line.ptx_line + 4));
  CHECK(found[0].text().find("\n  also   data-race at PTX line ") != std::string::npos);
  CHECK(found[0].json().find("\"also\":[\"data-race at PTX line ") != std::string::npos);
}

TEST_CASE("launch findings: what is seen once has no count in the text, and 1 in the JSON") {
  const auto found = run(races(1), "in-order", 1, 64);
  REQUIRE(found.size() == 1);
  CHECK(found[0].text().find("count") == std::string::npos);
  CHECK(found[0].json().find("\"count\":1,\"at_least\":false,\"seen_in\":\"1 CTA, 1 warp of it\"") !=
        std::string::npos);
}

TEST_CASE("launch findings: a seed gives the same report every time") {
  // Whoever gets to the word first is up to the schedule here.
  const std::string body =
      "mov.u32 %r1, tile;\nmov.u32 %r4, 0;\nAGAIN: ld.shared.u32 %r5, [%r1];\nst.shared.u32 [%r1], %t;\n"
      "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p4, %r4, 99;\n@%p4 bra AGAIN;\n";
  for (const char* schedule : kSchedules) {
    CAPTURE(schedule);
    std::string first, second;
    for (const Finding& f : run(body, schedule, 2)) first += f.json();
    for (const Finding& f : run(body, schedule, 2)) second += f.json();
    CHECK(first == second);
    CHECK(first.find("\"severity\":\"error\"") != std::string::npos);
  }
}

TEST_CASE("launch findings: where counting stops, the report says at least") {
  const auto number = run(races(500), "in-order", 3, 256, 600);
  REQUIRE(number.size() == 1);
  CHECK(number[0].count == 600);
  CHECK(number[0].at_least);
  CHECK(number[0].text().find("\n  count  at least 600 times in this launch") != std::string::npos);
  CHECK(number[0].json().find("\"count\":600,\"at_least\":true") != std::string::npos);

  const auto early = run(races(20'000), "in-order", 1, 256, 1'000'000, 10'000);
  REQUIRE(early.size() == 1);
  CHECK(early[0].at_least);
  CHECK(early[0].count > 1'000);
  CHECK(early[0].count < 40'000);
  CHECK(early[0].also.empty());  // the second word is read when nobody counts any more
  const auto repeated = run(races(20'000), "in-order", 1, 256, 1'000'000, 10'000);
  REQUIRE(repeated.size() == 1);
  CHECK(repeated[0].count == early[0].count);
}

TEST_CASE("launch findings: a kernel that ends in a fault has reported before how often its error was seen") {
  for (const char* schedule : kSchedules) {
    CAPTURE(schedule);
    const auto found =
        run(races(20, "setp.lt.u32 %p5, %t, 32;\n@%p5 bra OUT;\ntrap;\nOUT:\n"), schedule, 1, 64);
    REQUIRE(found.size() == 2);
    CHECK(found[0].id == "data-race");
    CHECK(found[0].count == 20);
    CHECK(found[1].id == "trap");
  }
  const auto stuck = run(races(20, "bar.sync 1, 256;\n"), "in-order", 1, 64);
  REQUIRE(stuck.size() == 2);
  CHECK(stuck[0].count == 20);
  CHECK(stuck[1].id == "deadlock");
}

TEST_CASE("launch findings: reads of bytes that nobody wrote are counted, in every CTA") {
  for (const char* schedule : kSchedules) {
    CAPTURE(schedule);
    const auto found = run("mov.u32 %r1, tile;\nld.shared.u32 %r5, [%r1];\n", schedule, 5, 128);
    REQUIRE(found.size() == 1);
    CHECK(found[0].id == "uninitialised-read");
    CHECK(found[0].count == 20);
    CHECK(found[0].spread == "5 CTAs, 4 warps of each");
  }
}

TEST_CASE("launch findings: who reads bytes that nobody wrote is named") {
  const auto thread = run("mov.u32 %r1, tile;\nld.shared.u32 %r5, [%r1];\n", "in-order");
  REQUIRE(thread.size() == 1);
  CHECK(thread[0].title == "a thread reads shared memory that nothing has written");
  const auto store = run("mov.u32 %r1, tile;\nsetp.ne.u32 %p1, %t, 0;\n" +
                             by_thread_0("A", kStore + "cp.async.bulk.wait_group 0;\n"),
                         "in-order");
  REQUIRE(store.size() == 1);
  CHECK(store[0].title == "a bulk store reads shared memory that nothing has written");
}

TEST_CASE("launch findings: advice is counted, too") {
  const auto found = run(
      kInit + "bar.sync 0;\n" + by_thread_0("B", "mbarrier.init.shared::cta.b64 [%r2], 1;\n"), "in-order", 4);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == emu::Severity::advice);
  CHECK(found[0].count == 4);
  CHECK(found[0].spread == "4 CTAs, 1 warp of each");
}

TEST_CASE("Sightings: warps that differ from CTA to CTA, CTAs without a warp, events that come again") {
  emu::Sightings seen;
  seen.add(1, 0, 3);
  seen.add(1, 0, 4);  // the same event
  seen.add(2, 0, 3);
  CHECK(seen.count() == 2);
  CHECK(seen.spread() == "1 CTA, 1 warp of it");
  seen.add(3, 1, 0);
  seen.add(4, 1, 1);
  CHECK(seen.spread() == "2 CTAs, 1 to 2 warps of each");
  seen.add(5, 2, -1);
  CHECK(seen.count() == 5);
  CHECK(seen.spread() == "3 CTAs");
  emu::Sightings nowhere;
  nowhere.add(1, -1, -1);
  CHECK(nowhere.spread() == "");
}
