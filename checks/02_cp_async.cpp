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
