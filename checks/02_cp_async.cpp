// The claims of lesson 02.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

TEST_CASE("every 16 bytes of a tile are one cp.async, and none passes through registers") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 3, 4)});
  const double bytes = run.k_tiles() * run.tile_bytes();
  expect_stat(run, "cp_async.bytes", bytes, "each tile is copied once");
  expect_stat(run, "cp_async.issued", bytes / 16, "each cp.async copies 16 bytes");
  expect_stat(run, "shared.store.bytes", 0, "a thread stores nothing itself");
  expect_stat(run, "global.load.bytes", 0, "a thread loads nothing itself");
}

TEST_CASE("a tile is one group of copies, also the empty ones behind the last tile") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(1, 1, 8), {}, "late"});
  const double tiles = run.k_tiles() + run.tile().stages - 1;
  expect_stat(run, "cp_async.groups", tiles * run.consumer_threads() / 32,
              "wait_group counts groups, and so a warp commits one for each tile, A and B together");
}

TEST_CASE("copies run ahead of the product: kStages - 2 tiles behind the one that is waited for") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(1, 1, 8), {}, "late"});
  // Every thread waits for its own groups; the copies of a warp are counted together.
  const double bytes = (run.tile().stages - 2) * run.tile_bytes() / (run.consumer_threads() / 32);
  expect_stat(run, "copy.bytes_ahead", bytes, 2 * bytes,
              "a thread waits for no more than the oldest of its copies, and the others stay in flight");
}
