// The claims of lesson 08.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

TEST_CASE("no thread stores to global memory: the result leaves by tensor copies, from shared memory") {
  NEEDS_EMULATOR();
  const Tile t = tile();
  for (const Size& size : {t.tiles(2, 2, 4), Size{t.bm + 72, t.bn + 8, 3 * t.bk + 8}}) {
    const LessonRun& run = run_right({size});
    expect_stat(run, "global.store.bytes", 0, "a thread stores nothing to global memory");
    expect_stat(run, "shared.store.bytes", run.ctas() * t.bm * t.bn * 2, "the tile of C is staged once");
  }
}

TEST_CASE("a store is read from one place while the next block is staged in the other") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 2, 4)});
  expect_stat(run, "stores.groups_ahead", 1,
              "one store stays in flight behind the next: a warp waits for the one before last only");
}

TEST_SUITE("project") {
  TEST_CASE("one thread loads, and one of each consumer warp stores boxes of 16 x 64") {
    NEEDS_EMULATOR();
    const LessonRun& run = run_right({tile().tiles(2, 2, 4)});
    const double warps = run.consumer_threads() / 32;
    CHECK(run.stat("copy.issuing_threads") == 1 + warps);
    CHECK(run.stat("tensor.store.issued") == run.ctas() * warps * run.tile().bn / 64);
  }

  TEST_CASE("the way in is that of lesson 07") {
    NEEDS_EMULATOR();
    const Size size = tile().tiles(2, 2, 4);
    const LessonRun& run = run_right({size});
    const LessonRun& before = run_right({size, {}, "in-order", "", "07_registers"});
    for (const char* key :
         {"tensor.load.bytes", "mbarrier.phases_completed", "mbarrier.arrivals", "wgmma.issued"}) {
      CAPTURE(key);
      CHECK(run.stat(key) == before.stat(key));
    }
    CHECK(run.stat("warp_instructions") < before.stat("warp_instructions"));
  }
}
