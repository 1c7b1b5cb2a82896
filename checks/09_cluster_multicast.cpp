// The claims of lesson 09.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

TEST_CASE("right where the lower tile of a pair lies outside the matrix") {
  const Tile t = tile();
  for (const Size& size : {t.tiles(1, 1, 2), Size{2 * t.bm + 8, t.bn + 8, 2 * t.bk}, t.tiles(3, 1, 1)})
    run_right({size});
}

TEST_CASE("each CTA announces all that lands in it, whoever fetches it") {
  NEEDS_EMULATOR();
  const Tile t = tile();
  for (const Size& size : {t.tiles(2, 2, 4), Size{t.bm + 72, t.bn + 8, 3 * t.bk + 8}}) {
    const LessonRun& run = run_right({size});
    for (const char* key : {"mbarrier.expect_tx_bytes", "mbarrier.complete_tx_bytes"})
      expect_stat(run, key, run.k_tiles() * run.tile_bytes(), "each tile lands once in each CTA");
  }
}

TEST_CASE("B is read once for two CTAs") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 2, 4)});
  const Tile t = run.tile();
  expect_stat(run, "tensor.load.bytes", 0, run.k_tiles() * (t.bm + t.bn / 2) * t.bk * 2,
              "a CTA reads its tile of A and half of the tile of B");
}

TEST_SUITE("project") {
  TEST_CASE("2/3 of lesson 08's bytes are read, by as many copies, and as many land") {
    NEEDS_EMULATOR();
    const Size size = tile().tiles(2, 2, 4);
    const LessonRun& run = run_right({size});
    const LessonRun& before = run_right({size, {}, "in-order", "", "08_tma_store"});
    CHECK(run.stat("tensor.load.bytes") * 3 == before.stat("tensor.load.bytes") * 2);
    CHECK(run.stat("tensor.load.issued") == before.stat("tensor.load.issued"));
    CHECK(run.stat("mbarrier.complete_tx_bytes") == before.stat("mbarrier.complete_tx_bytes"));
  }

  TEST_CASE("every consumer warp hands a stage back to both CTAs") {
    NEEDS_EMULATOR();
    const LessonRun& run = run_right({tile().tiles(2, 2, 4)});
    const double k_tiles = run.k_tiles(), handed_back = k_tiles - run.ctas();
    CHECK(run.stat("mbarrier.init") == run.ctas() * 2 * run.tile().stages);
    CHECK(run.stat("mbarrier.arrivals") == k_tiles + handed_back * 2 * run.consumer_threads() / 32);
    CHECK(run.stat("mbarrier.phases_completed") == k_tiles + handed_back);
  }
}
