// What every lesson program has from gemm_main, shown on one of them.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "01_thread_copy";

const LessonRun& run_with(const std::vector<std::string>& options) {
  return run_lesson({{136, 72, 64}, options, "in-order", "solutions", kLesson});
}

}  // namespace

TEST_CASE("impostors are caught: kernels that write nothing, zeros, NaN") {
  struct Impostor {
    const char *name, *classification;
  };
  for (const Impostor& impostor : {Impostor{"none", "not-written"}, {"zeros", "zeros"}, {"nan", "nan"}}) {
    CAPTURE(impostor.name);
    const LessonRun& run = run_with({"--impostor", impostor.name});
    CAPTURE(run.outcome.output);
    CHECK(run.outcome.exit_code == 1);
    CHECK(run.said("verdict") == "wrong");
    CHECK(run.said("classification") == impostor.classification);
    CHECK(run.outcome.output.find("(0, 0)  want") != std::string::npos);
  }
}

TEST_CASE("a command line that cannot be obeyed ends with exit code 2 and one sentence") {
  const LessonRun& run = run_with({"--fast"});
  CAPTURE(run.outcome.output);
  CHECK(run.outcome.exit_code == 2);
  CHECK(run.outcome.output.find("unknown option \"--fast\"") != std::string::npos);
  CHECK(run.outcome.output.find("--help") != std::string::npos);
}

TEST_CASE("a JSON file that cannot be written is named before the work begins") {
  const std::string program = run_with({"--help"}).command[0];
  const Outcome outcome = run({program, "--json", "/no/such/folder/results.json"}, {}, {60, 600});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output.find("--json cannot write /no/such/folder/results.json") != std::string::npos);
}

TEST_CASE("--help lists the options and runs nothing") {
  const LessonRun& run = run_with({"--help"});
  CHECK(run.outcome.exit_code == 0);
  CHECK(run.program.members.empty());
  CHECK(run.outcome.output.find("--repeat") != std::string::npos);
}

TEST_CASE("a program is ended by the processor time it has used, and by the clock only where it gets none") {
  const Outcome busy = run({"/bin/sh", "-c", "while :; do :; done"}, {}, {1, 600});
  CHECK(busy.timed_out);
  CHECK_FALSE(busy.stalled);
  const Outcome waiting = run({"/bin/sleep", "100"}, {}, {60, 1});
  CHECK_FALSE(waiting.timed_out);
  CHECK(waiting.stalled);
}
