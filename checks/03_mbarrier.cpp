// The claims of lesson 03.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "03_mbarrier";
constexpr int kCtas = 2 * 3, kTiles = 4;  // what Size kCounted needs, with tiles of 128 x 128 x 64
constexpr int kStages = 3, kThreads = 256, kWarps = kThreads / 32;
const Size kCounted = {256, 384, 256};

}  // namespace

TEST_CASE("03 is right for whole tiles") {
  claim_right(kLesson, {{128, 128, 128}, {256, 256, 256}});
}

TEST_CASE("03 is right for fewer, as many and more K tiles than stages") {
  claim_right(kLesson, {{128, 128, 64}, {128, 128, 128}, {128, 128, 192}, {128, 128, 256}, {128, 128, 640}});
}

TEST_CASE("03 is right for ragged M, N and K") {
  claim_right(kLesson, {{1, 8, 8}, {127, 136, 72}, {200, 264, 104}, {130, 8, 512}});
}

TEST_CASE("03 is exact where sums are exact") {
  claim_exact(kLesson, {136, 200, 264});
}

TEST_CASE("03: nothing depends on the schedule" * doctest::skip(on_gpu())) {
  claim_any_schedule(kLesson, {136, 128, 456});
}

TEST_CASE("03: the copies are those of lesson 02" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kCounted.arguments());
  const LessonRun before = run_lesson("solutions", "02_cp_async", kCounted.arguments());
  CHECK(run.stat("cp_async.issued") == before.stat("cp_async.issued"));
  CHECK(run.stat("cp_async.bytes") == before.stat("cp_async.bytes"));
  CHECK(run.stat("wgmma.flop") == before.stat("wgmma.flop"));
  CHECK(before.stat("mbarrier.init") == 0);
}

TEST_CASE("03: a full and an empty barrier a stage, a phase of each a K tile" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kCounted.arguments());
  CHECK(run.stat("mbarrier.init") == kCtas * 2 * kStages);
  CHECK(run.stat("mbarrier.phases_completed") == kCtas * kTiles * 2);
}

TEST_CASE("03: every thread arrives for its copies, every warp for its reads; no bytes are counted" *
          doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kCounted.arguments());
  CHECK(run.stat("mbarrier.arrivals") == kCtas * kTiles * (kThreads + kWarps));
  CHECK(run.stat("mbarrier.expect_tx_bytes") == 0);
  CHECK(run.stat("mbarrier.complete_tx_bytes") == 0);
}

TEST_CASE("03: impostors are caught") {
  claim_impostors_caught(kLesson);
}
TEST_CASE("03: bad arguments are refused by name") {
  claim_bad_arguments(kLesson);
}
TEST_CASE("03: the starter fails with its first TODO") {
  claim_starter_reports_first_todo(kLesson);
}
TEST_CASE("03: each TODO alone is reported") {
  claim_each_todo_reported(kLesson);
}
