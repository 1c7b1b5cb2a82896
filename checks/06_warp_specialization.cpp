// The claims of lesson 06.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

TEST_CASE("one thread of a CTA issues all copies, and they land in full") {
  NEEDS_EMULATOR();
  const Tile t = tile();
  for (const Size& size : {t.tiles(2, 2, 4), Size{t.bm + 72, t.bn + 8, 3 * t.bk + 8}}) {
    const LessonRun& run = run_right({size});
    expect_stat(run, "copy.issuing_threads", 1, "one thread of a CTA issues the copies");
    expect_stat(run, "tensor.load.issued", run.k_tiles() * 2, "a K tile is two copies");
    for (const char* key : {"mbarrier.expect_tx_bytes", "mbarrier.complete_tx_bytes"})
      expect_stat(run, key, run.k_tiles() * run.tile_bytes(), "each tile lands once, as two full boxes");
  }
}

TEST_CASE("a full and an empty barrier per stage; a stage is handed back once by every consumer warp") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 2, 4)});
  // Stages that nobody fills again need not be handed back.
  const double most = run.k_tiles(), least = most - run.ctas() * run.tile().stages;
  const double warps = run.consumer_threads() / 32;
  expect_stat(run, "mbarrier.init", run.ctas() * 2 * run.tile().stages,
              "a stage has a full and an empty barrier");
  expect_stat(run, "mbarrier.arrivals", most + least * warps, most + most * warps,
              "the producer arrives once per K tile, and so does every consumer warp");
  expect_stat(run, "mbarrier.phases_completed", most + least, most + most,
              "a K tile is a phase of each barrier");
}

TEST_CASE(
    "copies run ahead of the product: kStages - 2 tiles are in flight behind the one that is waited for") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(1, 1, 3 * tile().stages), {}, "late"});
  const double tiles = run.tile().stages - 2;
  expect_stat(run, "copy.bytes_ahead", tiles * run.tile_bytes(), (tiles + 2) * run.tile_bytes(),
              "a copy is started as soon as its stage is free, and a wait leaves the others in flight");
}

TEST_CASE("the next product is issued while the one before is in flight") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(1, 1, 4)});
  expect_stat(run, "wgmma.groups_ahead", 1, 1, "one product stays in flight behind the next");
}

TEST_SUITE("project") {
  TEST_CASE("the roles do what the threads of lesson 05 did: the same copies and products") {
    NEEDS_EMULATOR();
    const Size size = tile().tiles(2, 2, 4);
    const LessonRun& run = run_right({size});
    const LessonRun& before = run_right({size, {}, "in-order", "", "05_tma_multistage"});
    for (const char* key : {"tensor.load.issued", "tensor.load.bytes", "wgmma.issued", "wgmma.flop"}) {
      CAPTURE(key);
      CHECK(run.stat(key) == before.stat(key));
    }
    CHECK(run.stat("mbarrier.arrivals") ==
          run.k_tiles() + (run.k_tiles() - run.ctas()) * run.consumer_threads() / 32);
  }
}
