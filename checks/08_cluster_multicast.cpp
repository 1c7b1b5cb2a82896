// The claims of lesson 08.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "08_cluster_multicast";
constexpr double kTileBytes = (128 + 256) * 64 * 2;  // what lands for a K tile
constexpr int kCtas = 2 * 2, kTiles = 4;  // what both sizes below need, with tiles of 128 x 256 x 64
constexpr int kStages = 4, kConsumerWarps = 8;
const Size kWhole = {256, 512, 256};
const Size kRagged = {200, 264, 200};

}  // namespace

TEST_CASE("08 is right for whole tiles") {
  claim_right(kLesson, {{128, 256, 128}, {256, 512, 256}});
}

TEST_CASE("08 is right for fewer, as many and more K tiles than stages") {
  claim_right(kLesson, {{128, 256, 64}, {128, 256, 256}, {128, 256, 320}, {128, 256, 832}});
}

TEST_CASE("08 is right for ragged M, N and K") {
  claim_right(kLesson, {{1, 8, 8}, {127, 136, 72}, {200, 264, 104}, {130, 8, 512}});
}

TEST_CASE("08 is exact where sums are exact") {
  claim_exact(kLesson, {136, 264, 264});
}

TEST_CASE("08: nothing depends on the schedule" * doctest::skip(on_gpu())) {
  claim_any_schedule(kLesson, {136, 264, 456});
}

TEST_CASE("08 is right where the lower tile of a pair lies outside the matrix") {
  claim_right(kLesson, {{128, 256, 128}, {264, 264, 128}, {384, 256, 64}});
}

TEST_CASE("08: B is read once for two CTAs: 2/3 of lesson 07's bytes are read, and as many land" *
          doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  const LessonRun before = run_lesson("solutions", "07_tma_store", kWhole.arguments());
  CHECK(run.stat("tensor.load.bytes") * 3 == before.stat("tensor.load.bytes") * 2);
  CHECK(run.stat("tensor.load.issued") == before.stat("tensor.load.issued"));
  CHECK(run.stat("mbarrier.complete_tx_bytes") == before.stat("mbarrier.complete_tx_bytes"));
}

TEST_CASE("08: each CTA announces all that lands in it, whoever fetches it" * doctest::skip(on_gpu())) {
  for (const Size& size : {kWhole, kRagged}) {
    const LessonRun run = run_lesson("solutions", kLesson, size.arguments());
    CHECK(run.stat("mbarrier.expect_tx_bytes") == kCtas * kTiles * kTileBytes);
    CHECK(run.stat("mbarrier.complete_tx_bytes") == kCtas * kTiles * kTileBytes);
  }
}

TEST_CASE("08: every consumer warp hands a stage back to both CTAs" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  CHECK(run.stat("mbarrier.init") == kCtas * 2 * kStages);
  CHECK(run.stat("mbarrier.arrivals") == kCtas * (kTiles + (kTiles - 1) * 2 * kConsumerWarps));
  CHECK(run.stat("mbarrier.phases_completed") == kCtas * (2 * kTiles - 1));
}

TEST_CASE("08: impostors are caught") {
  claim_impostors_caught(kLesson);
}
TEST_CASE("08: bad arguments are refused by name") {
  claim_bad_arguments(kLesson);
}
TEST_CASE("08: the starter fails with its first TODO") {
  claim_starter_reports_first_todo(kLesson);
}
TEST_CASE("08: each TODO alone is reported") {
  claim_each_todo_reported(kLesson);
}
