// The claims of lesson 11.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

const char* const kShapes[] = {"128x256", "128x256/stream-k", "128x256/beside", "128x128",
                               "64x128",  "128x256/1",        "64x128/2"};

// A shape on few SMs: two pairs, or four.
std::vector<std::string> on_sms(const char* sms, const char* shape) {
  return {"--tile", shape, "--sms", sms};
}

// Three rounds of 256 x 256 tiles on two pairs of SMs, more of smaller ones. Two K tiles, few instructions.
const Size kManyTiles = {264, 520, 72};

}  // namespace

TEST_CASE("right for tiles of every shape, whole and ragged, with fewer and more K tiles than stages") {
  for (const char* shape : kShapes) {
    for (const Size& size : {Size{256, 256, 128}, {1, 8, 8}, {130, 136, 584}})
      run_right({size, {"--tile", shape}});
  }
}

TEST_CASE("right when every CTA computes several tiles") {
  // 3 x 1 tiles of 256 x 256 on two pairs of SMs: whole ones are two rounds, split ones one and a half.
  for (const char* shape : kShapes) {
    for (const Size& size : {kManyTiles, Size{520, 256, 328}}) run_right({size, on_sms("4", shape)});
  }
  // A main loop of one K tile hides half of the result of the tile before.
  run_right({{520, 256, 64}, on_sms("2", "128x256")});
}

TEST_CASE("right under every schedule when every CTA computes several tiles, and when they are split") {
  if (on_gpu()) SKIP("the GPU has a schedule of its own");
  for (const char* schedule : {"late", "random:1", "random:2"}) {
    run_right({{264, 776, 136}, {"--sms", "4"}, schedule});
    run_right({{264, 520, 264}, on_sms("8", "128x256/stream-k"), schedule});
  }
}

TEST_CASE("the CTAs stay: barriers are made once per CTA, not once per tile") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({kManyTiles, on_sms("4", "128x256")});
  const int tiles = 2 * 3, ctas = 4;  // tiles of 256 x 256, a cluster's
  expect_stat(run, "mbarrier.init", ctas * 2 * run.tile().stages,
              "4 SMs hold 4 CTAs, two clusters of two, and each makes its barriers once");
  expect_stat(run, "tensor.load.issued", 2 * tiles * 2 * 2,
              "each CTA of a cluster copies two boxes per K tile");
  // Two rounds of three have a next one, whose two K tiles hide a block of 16 x 64 each, or more.
  expect_stat(run, "stores.behind_product", 2 * 2 * ctas * run.consumer_threads() / 32,
              run.stat("tensor.store.issued"), "a warp stores a tile while its next product is in flight");
}

TEST_CASE("split tiles are shared evenly, and no product is made twice") {
  NEEDS_EMULATOR();
  // 3 x 3 tiles on four pairs of SMs: one whole tile for each, and the 5 * 8 K tiles of the others in four runs of ten. Three
  // of the runs end inside a tile.
  const Size size = {520, 520, 512};
  const LessonRun& run = run_right({size, on_sms("8", "128x256/stream-k")});
  expect_stat(
      run, "mbarrier.init", 8 * 2 * run.tile().stages,
      "split tiles are shared by all clusters that the SMs hold, four of two CTAs, each of which makes its barriers once");
  expect_stat(run, "tensor.load.issued", 2 * 9 * 8 * 2, "each K tile is copied once");
  const LessonRun& whole = run_right({size, on_sms("8", "128x256")});
  // Whole, they are three rounds, for which three pairs are enough.
  expect_stat(whole, "mbarrier.init", 2 * 3 * 2 * run.tile().stages,
              "whole rounds need no more clusters than the busiest one has tiles for");
  expect(run, run.said("result_hash") == whole.said("result_hash"), "the sums are not those of whole tiles");
}

TEST_SUITE("project") {
  TEST_CASE("every stage is handed back, also the last one of a tile") {
    NEEDS_EMULATOR();
    const LessonRun& run = run_right({kManyTiles, on_sms("4", "128x256")});
    const double k_tiles = 2.0 * 2 * 3 * 2;  // of both CTAs
    CHECK(run.stat("mbarrier.phases_completed") == 2 * k_tiles);
    CHECK(run.stat("mbarrier.arrivals") == k_tiles * (1 + 2 * 8));
  }

  TEST_CASE("tiles are split where that saves more than the exchange costs") {
    // 5 tiles of 256 x 256 on four pairs of SMs are 1.25 rounds instead of 2, 10 of 256 x 128 three of half the length.
    CHECK(run_right({{256, 1280, 64}, {"--sms", "8"}}).said("variant") != "--tile 128x256/stream-k");
    CHECK(run_right({{256, 1280, 4608}, {"--sms", "8"}}).said("variant") == "--tile 128x256/stream-k");
  }

  TEST_CASE("a large tile for a large problem, a small one where SMs would be idle") {
    CHECK(run_right({{2048, 2048, 64}}).said("tile") == "128x256x64");
    CHECK(run_right({{1024, 1024, 64}}).said("tile") == "64x128x64");
    CHECK(run_right({{64, 4096, 64}}).said("tile") == "64x128x64");
  }

  TEST_CASE("pairs lie side by side where that takes fewer rounds") {
    // 11 x 12 tiles of 128 x 256: 6 x 12 pairs one below the other, two rounds on 132 SMs; 11 x 6 side by side, one.
    const LessonRun& run = run_right({{1408, 3072, 64}});
    CHECK(run.said("variant") == "--tile 128x256/beside");
    if (!on_gpu()) CHECK(run.stat("mbarrier.init") == 132 * 2 * run.tile().stages);
  }

  TEST_CASE("--sms must leave a pair of SMs, and not more than there are") {
    const auto output = [](const char* sms) {
      const Outcome outcome = run_lesson({{128, 256, 64}, {"--sms", sms}}).outcome;
      CHECK(outcome.exit_code == 2);
      return outcome.output;
    };
    CHECK(output("1").find("--sms 1 is out of range: it takes 2 to") != std::string::npos);
    CHECK(output("100000").find("--sms 100000 is more than the device has: ") != std::string::npos);
  }
}
