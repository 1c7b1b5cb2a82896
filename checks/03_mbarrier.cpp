// The claims of lesson 03.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

TEST_CASE("the copies are those of lesson 02") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 3, 4)});
  const double bytes = run.k_tiles() * run.tile_bytes();
  expect_stat(run, "cp_async.bytes", bytes, "each tile is copied once");
  expect_stat(run, "cp_async.issued", bytes / 16, "each cp.async copies 16 bytes");
}

TEST_CASE("a full and an empty barrier per stage, a phase of each per K tile") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 3, 4)});
  expect_stat(run, "mbarrier.init", run.ctas() * 2 * run.tile().stages,
              "a stage has a full and an empty barrier");
  expect_stat(run, "mbarrier.phases_completed", run.k_tiles() * 2 - run.ctas() * run.tile().stages,
              run.k_tiles() * 2, "a stage is filled and handed back once per K tile");
}

TEST_CASE("every thread arrives for its copies, every warp for its reads; no bytes are counted") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 3, 4)});
  const double threads = run.consumer_threads(), warps = threads / 32;
  expect_stat(
      run, "mbarrier.arrivals", run.k_tiles() * (threads + warps) - run.ctas() * run.tile().stages * warps,
      run.k_tiles() * (threads + warps), "each thread arrives for its copies and each warp for its reads");
  expect_stat(run, "mbarrier.expect_tx_bytes", 0, "cp.async counts no bytes");
  expect_stat(run, "mbarrier.complete_tx_bytes", 0, "cp.async counts no bytes");
}

TEST_CASE(
    "copies run ahead of the product: kStages - 2 tiles are in flight behind the one that is waited for") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(1, 1, 3 * tile().stages), {}, "late"});
  const double tiles = run.tile().stages - 2;
  expect_stat(run, "copy.bytes_ahead", tiles * run.tile_bytes(), (tiles + 2) * run.tile_bytes(),
              "a copy is started as soon as its stage is free, and a wait leaves the others in flight");
}
