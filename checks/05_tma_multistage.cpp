// The claims of lesson 05.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

const char* const kStageCounts[] = {"2", "3", "4", "5", "6"};

}  // namespace

TEST_CASE("right for fewer and more K tiles than stages, whatever their number") {
  for (const char* stages : kStageCounts) {
    for (const int k_tiles : {1, 3, 5, 13}) run_right({tile().tiles(1, 1, k_tiles), {"--stages", stages}});
  }
}

TEST_CASE("one thread of a CTA issues all copies, two per K tile") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(2, 3, 4)});
  expect_stat(run, "copy.issuing_threads", 1, "one thread of a CTA issues the copies");
  expect_stat(run, "tensor.load.issued", run.k_tiles() * 2, "a K tile is two copies");
  expect_stat(run, "shared.store.bytes", 0, "a thread stores nothing itself");
  expect_stat(run, "global.load.bytes", 0, "a thread loads nothing itself");
}

TEST_CASE("a barrier per stage; all of them together complete a phase per K tile") {
  NEEDS_EMULATOR();
  for (const char* stages : kStageCounts) {
    const LessonRun& run = run_right({tile().tiles(2, 3, 4), {"--stages", stages}});
    expect_stat(run, "mbarrier.init", run.ctas() * std::stod(stages), "a stage has one barrier");
    expect_stat(run, "mbarrier.phases_completed", run.k_tiles(), "a K tile is one phase of one barrier");
    expect_stat(run, "mbarrier.arrivals", run.k_tiles(), "one thread arrives for a K tile");
  }
}

TEST_CASE("the bytes announced are the bytes that land, and full boxes even at the edges") {
  NEEDS_EMULATOR();
  const Tile t = tile();
  for (const Size& size : {t.tiles(2, 3, 4), Size{t.bm + 72, t.bn + 136, 3 * t.bk + 8}}) {
    const LessonRun& run = run_right({size});
    for (const char* key : {"mbarrier.expect_tx_bytes", "mbarrier.complete_tx_bytes"})
      expect_stat(run, key, run.k_tiles() * run.tile_bytes(), "each tile lands once, as two full boxes");
  }
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
