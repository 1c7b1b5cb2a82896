// The claims of lesson 05.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "05_tma_multistage";
constexpr double kTileBytes = (128 + 128) * 64 * 2;  // both boxes of a K tile
constexpr int kCtas = 2 * 3, kTiles = 4;  // what both sizes below need, with tiles of 128 x 128 x 64
const Size kWhole = {256, 384, 256};
const Size kRagged = {200, 264, 200};
const char* const kStageCounts[] = {"2", "3", "4", "5", "6"};

}  // namespace

TEST_CASE("05 is right for whole tiles") {
  claim_right(kLesson, {{128, 128, 128}, {256, 256, 256}});
}

TEST_CASE("05 is right for fewer, as many and more K tiles than stages, whatever their number") {
  for (const char* stages : kStageCounts) {
    CAPTURE(stages);
    claim_right(kLesson, {{128, 128, 64}, {128, 128, 192}, {128, 128, 320}, {128, 128, 832}},
                {"--stages", stages});
  }
}

TEST_CASE("05 is right for ragged M, N and K") {
  claim_right(kLesson, {{1, 8, 8}, {127, 136, 72}, {200, 264, 104}, {130, 8, 512}});
}

TEST_CASE("05 is exact where sums are exact") {
  claim_exact(kLesson, {136, 200, 264});
}

TEST_CASE("05: nothing depends on the schedule" * doctest::skip(on_gpu())) {
  claim_any_schedule(kLesson, {136, 128, 456});
}

TEST_CASE("05: one thread of a CTA issues all copies, two a K tile" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  CHECK(run.stat("copy.issuing_threads") == 1);
  CHECK(run.stat("tensor.load.issued") == kCtas * kTiles * 2);
  CHECK(run.stat("shared.store.bytes") == 0);
  CHECK(run.stat("global.load.bytes") == 0);
}

TEST_CASE("05: a barrier a stage; all of them together complete a phase a K tile" * doctest::skip(on_gpu())) {
  for (const char* stages : kStageCounts) {
    CAPTURE(stages);
    std::vector<std::string> arguments = kWhole.arguments();
    arguments.insert(arguments.end(), {"--stages", stages});
    const LessonRun run = run_lesson("solutions", kLesson, arguments);
    CHECK(run.json.at("stages") == stages);
    CHECK(run.stat("mbarrier.init") == kCtas * std::stod(stages));
    CHECK(run.stat("mbarrier.phases_completed") == kCtas * kTiles);
    CHECK(run.stat("mbarrier.arrivals") == kCtas * kTiles);
  }
}

TEST_CASE("05: the bytes announced are the bytes that land, and full boxes even at the edges" *
          doctest::skip(on_gpu())) {
  for (const Size& size : {kWhole, kRagged}) {
    const LessonRun run = run_lesson("solutions", kLesson, size.arguments());
    CHECK(run.stat("mbarrier.expect_tx_bytes") == kCtas * kTiles * kTileBytes);
    CHECK(run.stat("mbarrier.complete_tx_bytes") == kCtas * kTiles * kTileBytes);
  }
}

TEST_CASE("05: a stage count that is not built is refused with those that are") {
  const Outcome outcome = run({program_path("solutions", kLesson), "--stages", "9"}, {}, 60);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output.find("--stages takes one of 2, 3, 4, 5, 6, not \"9\"") != std::string::npos);
}

TEST_CASE("05: impostors are caught") {
  claim_impostors_caught(kLesson);
}
TEST_CASE("05: bad arguments are refused by name") {
  claim_bad_arguments(kLesson);
}
TEST_CASE("05: the starter fails with its first TODO") {
  claim_starter_reports_first_todo(kLesson);
}
TEST_CASE("05: each TODO alone is reported") {
  claim_each_todo_reported(kLesson);
}
