// The claims of lesson 01.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "01_thread_copy";
constexpr int kCtas = 2 * 3, kTiles = 4;  // what Size kCounted needs, with tiles of 128 x 128 x 64
const Size kCounted = {256, 384, 256};

}  // namespace

TEST_CASE("01 is right for whole tiles") {
  claim_right(kLesson, {{128, 128, 64}, {256, 256, 256}});
}

TEST_CASE("01 is right for ragged M, N and K") {
  claim_right(kLesson, {{1, 8, 8}, {127, 136, 72}, {200, 264, 104}, {130, 8, 512}});
}

TEST_CASE("01 is exact where sums are exact") {
  claim_exact(kLesson, {136, 200, 264});
}

TEST_CASE("01: nothing depends on the schedule" * doctest::skip(on_gpu())) {
  claim_any_schedule(kLesson, {136, 128, 200});
}

TEST_CASE("01: every byte of a tile passes through registers and a shared store" * doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kCounted.arguments());
  const double tile_bytes = (128 + 128) * 64 * 2;
  CHECK(run.stat("shared.store.bytes") == kCtas * kTiles * tile_bytes);
  CHECK(run.stat("global.load.bytes") == kCtas * kTiles * tile_bytes);
  CHECK(run.stat("cp_async.issued") == 0);
  CHECK(run.stat("copy.issuing_threads") == 0);
}

TEST_CASE("01: the tensor core does the arithmetic of the padded problem, no more" *
          doctest::skip(on_gpu())) {
  const LessonRun run = run_lesson("solutions", kLesson, kCounted.arguments());
  CHECK(run.stat("wgmma.flop") == 2.0 * 256 * 384 * 256);
  CHECK(run.stat("wgmma.issued") == kCtas * kTiles * 2 * 4);  // two warpgroups, four steps of 16 along K
}

TEST_CASE("01: impostors are caught") {
  claim_impostors_caught(kLesson);
}
TEST_CASE("01: bad arguments are refused by name") {
  claim_bad_arguments(kLesson);
}
TEST_CASE("01: the starter fails with its first TODO") {
  claim_starter_reports_first_todo(kLesson);
}
TEST_CASE("01: each TODO alone is reported") {
  claim_each_todo_reported(kLesson);
}
