// The claims of lesson 04.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "04_tma_single_stage";
constexpr double kTileBytes = (128 + 128) * 64 * 2;  // both boxes of a K tile
constexpr int kCtas = 2 * 3, kTiles = 4;  // what both sizes below need, with tiles of 128 x 128 x 64
const Size kWhole = {256, 384, 256};
const Size kRagged = {200, 264, 200};

}  // namespace

TEST_CASE("04 is right for whole tiles") {
  claim_right(kLesson, {{128, 128, 64}, {256, 256, 256}});
}

TEST_CASE("04 is right for one and for many K tiles: both parities come round") {
  claim_right(kLesson, {{128, 128, 64}, {128, 128, 128}, {128, 128, 192}, {128, 128, 640}});
}

TEST_CASE("04 is right for ragged M, N and K, by the zeros of the tensor map") {
  claim_right(kLesson, {{1, 8, 8}, {127, 136, 72}, {200, 264, 104}, {130, 8, 512}});
}

TEST_CASE("04 is exact where sums are exact") {
  claim_exact(kLesson, {136, 200, 264});
}

TEST_CASE("04 --bulk is right: the same tiles, packed, without tensor maps") {
  claim_right(kLesson, {{256, 256, 256}, {127, 136, 72}, {1, 8, 8}}, {"--bulk"});
}

TEST_CASE("04: nothing depends on the schedule" * doctest::skip(on_gpu())) {
  claim_any_schedule(kLesson, {136, 128, 200});
}

TEST_CASE("04: one thread of a CTA issues all copies, two a K tile" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  CHECK(run.stat("copy.issuing_threads") == 1);
  CHECK(run.stat("tensor.load.issued") == kCtas * kTiles * 2);
  CHECK(run.stat("cp_async.issued") == 0);
  CHECK(run.stat("shared.store.bytes") == 0);
  CHECK(run.stat("global.load.bytes") == 0);
}

TEST_CASE("04: the bytes announced are the bytes that land, and full boxes even at the edges" *
          doctest::skip(on_gpu())) {
  for (const Size& size : {kWhole, kRagged}) {
    const LessonRun run = run_lesson("solutions", kLesson, size.arguments());
    CHECK(run.stat("mbarrier.expect_tx_bytes") == kCtas * kTiles * kTileBytes);
    CHECK(run.stat("mbarrier.complete_tx_bytes") == kCtas * kTiles * kTileBytes);
    CHECK(run.stat("tensor.load.bytes") == kCtas * kTiles * kTileBytes);
  }
}

TEST_CASE("04: one mbarrier a CTA, one phase and one arrival a K tile" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  CHECK(run.stat("mbarrier.init") == kCtas);
  CHECK(run.stat("mbarrier.phases_completed") == kCtas * kTiles);
  CHECK(run.stat("mbarrier.arrivals") == kCtas * kTiles);
}

TEST_CASE("04 --bulk: the same bytes by 1-D copies, no tensor copy" * doctest::skip(on_gpu())) {
  std::vector<std::string> arguments = kRagged.arguments();
  arguments.push_back("--bulk");
  const LessonRun run = run_lesson("solutions", kLesson, arguments);
  CHECK(run.stat("bulk.load.issued") == kCtas * kTiles * 2);
  CHECK(run.stat("bulk.load.bytes") == kCtas * kTiles * kTileBytes);
  CHECK(run.stat("tensor.load.issued") == 0);
  CHECK(run.stat("copy.issuing_threads") == 1);
}

TEST_CASE("04: the tensor core does the same work as in lesson 01" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kWhole.arguments());
  CHECK(run.stat("wgmma.flop") == 2.0 * 256 * 384 * 256);
  CHECK(run.stat("wgmma.issued") == kCtas * kTiles * 2 * 4);
}

TEST_CASE("04: impostors are caught") {
  claim_impostors_caught(kLesson);
}
TEST_CASE("04: bad arguments are refused by name") {
  claim_bad_arguments(kLesson);
}
TEST_CASE("04: the starter fails with its first TODO") {
  claim_starter_reports_first_todo(kLesson);
}
TEST_CASE("04: each TODO alone is reported") {
  claim_each_todo_reported(kLesson);
}
