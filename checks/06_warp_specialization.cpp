// The claims of lesson 06.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "06_warp_specialization";
constexpr double kTileBytes = (128 + 256) * 64 * 2;  // what lands for a K tile
constexpr int kCtas = 2 * 2, kTiles = 4;  // what both sizes below need, with tiles of 128 x 256 x 64
constexpr int kStages = 4, kConsumerWarps = 8;
const Size kWhole = {256, 512, 256};
const Size kRagged = {200, 264, 200};

}  // namespace

TEST_CASE("06 is right for whole tiles") {
  claim_right(kLesson, {{128, 256, 128}, {256, 512, 256}});
}

TEST_CASE("06 is right for fewer, as many and more K tiles than stages") {
  claim_right(kLesson, {{128, 256, 64}, {128, 256, 256}, {128, 256, 320}, {128, 256, 832}});
}

TEST_CASE("06 is right for ragged M, N and K") {
  claim_right(kLesson, {{1, 8, 8}, {127, 136, 72}, {200, 264, 104}, {130, 8, 512}});
}

TEST_CASE("06 is exact where sums are exact") {
  claim_exact(kLesson, {136, 264, 264});
}

TEST_CASE("06: nothing depends on the schedule" * doctest::skip(on_gpu())) {
  claim_any_schedule(kLesson, {136, 264, 456});
}

TEST_CASE("06: one thread of a CTA issues all copies, and they land in full" * doctest::skip(on_gpu())) {
  for (const Size& size : {kWhole, kRagged}) {
    const LessonRun run = run_lesson("solutions", kLesson, size.arguments());
    CHECK(run.stat("copy.issuing_threads") == 1);
    CHECK(run.stat("tensor.load.issued") == kCtas * kTiles * 2);
    CHECK(run.stat("mbarrier.expect_tx_bytes") == kCtas * kTiles * kTileBytes);
    CHECK(run.stat("mbarrier.complete_tx_bytes") == kCtas * kTiles * kTileBytes);
  }
}

TEST_CASE("06: a full and an empty barrier a stage; only the last tile's stage is not handed back" *
          doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  CHECK(run.stat("mbarrier.init") == kCtas * 2 * kStages);
  CHECK(run.stat("mbarrier.arrivals") == kCtas * (kTiles + (kTiles - 1) * kConsumerWarps));
  CHECK(run.stat("mbarrier.phases_completed") == kCtas * (kTiles + kTiles - 1));
}

TEST_CASE("06: the larger tile reads less: 3/4 of lesson 05's bytes" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  const LessonRun before = run_lesson("solutions", "05_tma_multistage", kWhole.arguments());
  CHECK(run.stat("tensor.load.bytes") * 4 == before.stat("tensor.load.bytes") * 3);
  CHECK(run.stat("wgmma.flop") == before.stat("wgmma.flop"));
}

TEST_CASE("06: the same FLOP in half the wgmma of lesson 05, and fewer instructions" *
          doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  const LessonRun before = run_lesson("solutions", "05_tma_multistage", kWhole.arguments());
  CHECK(run.stat("wgmma.issued") * 2 == before.stat("wgmma.issued"));
  CHECK(run.stat("warp_instructions") < before.stat("warp_instructions"));
}

TEST_CASE("06: impostors are caught") {
  claim_impostors_caught(kLesson);
}
TEST_CASE("06: bad arguments are refused by name") {
  claim_bad_arguments(kLesson);
}
TEST_CASE("06: the starter fails with its first TODO") {
  claim_starter_reports_first_todo(kLesson);
}
TEST_CASE("06: each TODO alone is reported") {
  claim_each_todo_reported(kLesson);
}
