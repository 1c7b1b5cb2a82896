// The claims of lesson 02.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "02_cp_async";
constexpr int kCtas = 2 * 3, kTiles = 4;  // what Size kCounted needs, with tiles of 128 x 128 x 64
const Size kCounted = {256, 384, 256};

}  // namespace

TEST_CASE("02 is right for whole tiles") {
  claim_right(kLesson, {{128, 128, 128}, {256, 256, 256}});
}

TEST_CASE("02 is right for fewer, as many and more K tiles than stages") {
  claim_right(kLesson, {{128, 128, 64}, {128, 128, 128}, {128, 128, 192}, {128, 128, 256}, {128, 128, 640}});
}

TEST_CASE("02 is right for ragged M, N and K") {
  claim_right(kLesson, {{1, 8, 8}, {127, 136, 72}, {200, 264, 104}, {130, 8, 512}});
}

TEST_CASE("02 is exact where sums are exact") {
  claim_exact(kLesson, {136, 200, 264});
}

TEST_CASE("02: nothing depends on the schedule" * doctest::skip(on_gpu())) {
  claim_any_schedule(kLesson, {136, 128, 328});
}

TEST_CASE("02: every 16 bytes of a tile are one cp.async, and none passes through registers" *
          doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kCounted.arguments());
  const double tile_bytes = (128 + 128) * 64 * 2;
  CHECK(run.stat("cp_async.bytes") == kCtas * kTiles * tile_bytes);
  CHECK(run.stat("cp_async.issued") == kCtas * kTiles * tile_bytes / 16);
  CHECK(run.stat("shared.store.bytes") == 0);
  CHECK(run.stat("global.load.bytes") == 0);
}

TEST_CASE("02: the tensor core does the same work as in lesson 01" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kCounted.arguments());
  CHECK(run.stat("wgmma.flop") == 2.0 * 256 * 384 * 256);
  CHECK(run.stat("wgmma.issued") == kCtas * kTiles * 2 * 4);
}

TEST_CASE("02: impostors are caught") {
  claim_impostors_caught(kLesson);
}
TEST_CASE("02: bad arguments are refused by name") {
  claim_bad_arguments(kLesson);
}
TEST_CASE("02: the starter fails with its first TODO") {
  claim_starter_reports_first_todo(kLesson);
}
TEST_CASE("02: each TODO alone is reported") {
  claim_each_todo_reported(kLesson);
}
