// The claims of lesson 04.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

TEST_CASE("one thread of a CTA issues all copies, two per K tile") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 3, 4)});
  expect_stat(run, "copy.issuing_threads", 1, "one thread of a CTA issues the copies");
  expect_stat(run, "tensor.load.issued", run.k_tiles() * 2, "a K tile is two copies");
  expect_stat(run, "cp_async.issued", 0, "the copy engine brings all of the tile");
  expect_stat(run, "shared.store.bytes", 0, "a thread stores nothing itself");
  expect_stat(run, "global.load.bytes", 0, "a thread loads nothing itself");
}

TEST_CASE("the bytes announced are the bytes that land, and full boxes even at the edges") {
  NEEDS_EMULATOR();
  const Tile t = tile();
  for (const Size& size : {t.tiles(2, 3, 4), Size{t.bm + 72, t.bn + 136, 3 * t.bk + 8}}) {
    const LessonRun& run = run_right({size});
    for (const char* key : {"mbarrier.expect_tx_bytes", "mbarrier.complete_tx_bytes", "tensor.load.bytes"})
      expect_stat(run, key, run.k_tiles() * run.tile_bytes(), "each tile lands once, as two full boxes");
  }
}

TEST_CASE("one mbarrier per CTA, one phase and one arrival per K tile") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 3, 4)});
  expect_stat(run, "mbarrier.init", run.ctas(), "a CTA has one barrier");
  expect_stat(run, "mbarrier.phases_completed", run.k_tiles(), "a K tile is one phase");
  expect_stat(run, "mbarrier.arrivals", run.k_tiles(), "one thread arrives for a K tile");
}

TEST_SUITE("project") {
  TEST_CASE(
      "beside it, 04b_bulk_copy is right: the same bytes, packed, by 1-D copies and without tensor maps") {
    const Tile t = tile();
    for (const Size& size : {t.tiles(2, 2, 4), Size{t.bm - 1, t.bn + 8, t.bk + 8}, Size{1, 8, 8}}) {
      const LessonRun& run = run_right({size, {}, "in-order", "", "04b_bulk_copy"});
      if (on_gpu()) continue;
      CHECK(run.stat("bulk.load.issued") == run.k_tiles() * 2);
      CHECK(run.stat("bulk.load.bytes") == run.k_tiles() * run.tile_bytes());
      CHECK(run.stat("tensor.load.issued") == 0);
      CHECK(run.stat("copy.issuing_threads") == 1);
    }
  }
}
