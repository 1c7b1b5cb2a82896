// The claims of lesson 01.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

TEST_CASE("every byte of a tile passes through registers and a shared store") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 3, 4)});
  const double bytes = run.k_tiles() * run.tile_bytes();
  expect_stat(run, "shared.store.bytes", bytes, "the threads store each tile once");
  expect_stat(run, "global.load.bytes", bytes, "the threads load each tile once");
  expect_stat(run, "cp_async.issued", 0, "no copy of this lesson passes the registers by");
  expect_stat(run, "copy.issuing_threads", 0, "no copy of this lesson passes the registers by");
}
