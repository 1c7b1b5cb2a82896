// The claims of lesson 10.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

// 4 x 3 tiles of a cluster on four pairs of SMs: three rounds. Two K tiles, few instructions.
const Size kManyTiles = {776, 520, 72};
const std::vector<std::string> kFewSms = {"--sms", "8"};

}  // namespace

TEST_CASE("right when every CTA computes several tiles") {
  for (const Size& size : {kManyTiles, Size{264, 520, 328}}) run_right({size, kFewSms});
  // A main loop of one K tile hides half of the result of the tile before.
  run_right({{520, 256, 64}, {"--sms", "2"}});
}

TEST_CASE("right under every schedule when every CTA computes several tiles") {
  if (on_gpu()) SKIP("the GPU has a schedule of its own");
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"})
    run_right({{520, 776, 136}, kFewSms, schedule});
}

TEST_CASE("the CTAs stay: barriers are made once per CTA, not once per tile") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({kManyTiles, kFewSms});
  const int tiles = 4 * 3, ctas = 8;
  expect_stat(run, "mbarrier.init", ctas * 2 * run.tile().stages, "a CTA makes its barriers once");
  expect_stat(run, "tensor.load.issued", 2 * tiles * 2 * 2,
              "each CTA of a cluster copies two boxes per K tile");
}

TEST_CASE("every stage is handed back, also the last one of a tile") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({kManyTiles, kFewSms});
  const double k_tiles = 2.0 * 4 * 3 * 2;  // of both CTAs
  expect_stat(run, "mbarrier.phases_completed", 2 * k_tiles, "a K tile is a phase of each barrier");
  expect_stat(run, "mbarrier.arrivals", k_tiles * (1 + 2 * run.consumer_threads() / 32),
              "the producer arrives once per K tile, and every consumer warp in both CTAs");
}

TEST_CASE("the result of a tile leaves behind the products of the next") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({kManyTiles, kFewSms});
  // Two rounds of three have a next one, whose two K tiles hide a block of 16 x 64 each, or more.
  const double warps = 8 * run.consumer_threads() / 32;
  expect_stat(run, "stores.behind_product", 2 * 2 * warps, run.stat("tensor.store.issued"),
              "a warp stores a tile while its next product is in flight");
}

TEST_SUITE("project") {
  TEST_CASE("no more CTAs start than the rounds need") {
    NEEDS_EMULATOR();
    // 3 x 3 tiles on four pairs of SMs are three rounds, for which three pairs are enough.
    const LessonRun& run = run_right({{520, 520, 72}, kFewSms});
    CHECK(run.stat("mbarrier.init") == 2 * 3 * 2 * run.tile().stages);
  }

  TEST_CASE("the copies and products of a tile are those of lesson 09") {
    NEEDS_EMULATOR();
    const LessonRun& run = run_right({kManyTiles, kFewSms});
    const LessonRun& before = run_right({kManyTiles, {}, "in-order", "", "09_cluster_multicast"});
    for (const char* key : {"tensor.load.bytes", "tensor.store.issued", "wgmma.issued"}) {
      CAPTURE(key);
      CHECK(run.stat(key) == before.stat(key));
    }
  }
}
