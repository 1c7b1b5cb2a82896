// The claims of lesson 07.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "07_tma_store";
constexpr int kCtas = 2 * 2, kTiles = 4;        // what both sizes below need, with tiles of 128 x 256 x 64
constexpr int kConsumerWarps = 8, kBlocks = 4;  // blocks of 16 x 64 a warp
const Size kWhole = {256, 512, 256};
const Size kRagged = {200, 264, 200};

}  // namespace

TEST_CASE("07 is right for whole tiles") {
  claim_right(kLesson, {{128, 256, 128}, {256, 512, 256}});
}

TEST_CASE("07 is right for fewer, as many and more K tiles than stages") {
  claim_right(kLesson, {{128, 256, 64}, {128, 256, 256}, {128, 256, 320}, {128, 256, 832}});
}

TEST_CASE("07 is right for ragged M, N and K") {
  claim_right(kLesson, {{1, 8, 8}, {127, 136, 72}, {200, 264, 104}, {130, 8, 512}});
}

TEST_CASE("07 is exact where sums are exact") {
  claim_exact(kLesson, {136, 264, 264});
}

TEST_CASE("07: nothing depends on the schedule" * doctest::skip(on_gpu())) {
  claim_any_schedule(kLesson, {136, 264, 456});
}

TEST_CASE("07: no thread stores to global memory: the result leaves in boxes of 16 x 64" *
          doctest::skip(on_gpu())) {
  for (const Size& size : {kWhole, kRagged}) {
    const LessonRun run = run_lesson("solutions", kLesson, size.arguments());
    CHECK(run.stat("global.store.bytes") == 0);
    CHECK(run.stat("tensor.store.issued") == kCtas * kConsumerWarps * kBlocks);
    CHECK(run.stat("shared.store.bytes") == kCtas * 128 * 256 * 2);
  }
}

TEST_CASE("07: one thread loads, and one of each consumer warp stores" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  CHECK(run.stat("copy.issuing_threads") == 1 + kConsumerWarps);
}

TEST_CASE("07: the way in is that of lesson 06" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  const LessonRun before = run_lesson("solutions", "06_warp_specialization", kWhole.arguments());
  for (const char* key :
       {"tensor.load.bytes", "mbarrier.phases_completed", "mbarrier.arrivals", "wgmma.issued"}) {
    CAPTURE(key);
    CHECK(run.stat(key) == before.stat(key));
  }
  CHECK(run.stat("mbarrier.phases_completed") == kCtas * (2 * kTiles - 1));
  CHECK(run.stat("warp_instructions") < before.stat("warp_instructions"));
}

TEST_CASE("07: impostors are caught") {
  claim_impostors_caught(kLesson);
}
TEST_CASE("07: bad arguments are refused by name") {
  claim_bad_arguments(kLesson);
}
TEST_CASE("07: the starter fails with its first TODO") {
  claim_starter_reports_first_todo(kLesson);
}
TEST_CASE("07: each TODO alone is reported") {
  claim_each_todo_reported(kLesson);
}
