// The claims of lesson 07.
#include <doctest/doctest.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "support/folder.hpp"
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

TEST_CASE("registers move: every warp executes setmaxnreg, and the sums fit") {
  NEEDS_EMULATOR();
  const LessonRun& run = run_right({tile().tiles(1, 1, 4)});
  const double warps = run.consumer_threads() / 32 + 4;  // and those of the producer's warpgroup
  expect_stat(run, "setmaxnreg.warps", warps, "every warp of a warpgroup executes setmaxnreg");
  expect_stat(run, "setmaxnreg.registers", 1, 65536,
              "all warps of a CTA together have no more than an SM has");
  expect_stat(run, "wgmma.registers", 65536 / (32 * warps) + 1, 255,
              "the threads that multiply have more registers than they were launched with");
}

TEST_SUITE("project") {
  TEST_CASE("the larger tile reads 3/4 of lesson 06's bytes, in half the wgmma and with fewer instructions") {
    NEEDS_EMULATOR();
    const Size size = tile().tiles(2, 2, 4);
    const LessonRun& run = run_right({size});
    const LessonRun& before = run_right({size, {}, "in-order", "", "06_warp_specialization"});
    CHECK(run.stat("tensor.load.bytes") * 4 == before.stat("tensor.load.bytes") * 3);
    CHECK(run.stat("wgmma.flop") == before.stat("wgmma.flop"));
    CHECK(run.stat("wgmma.issued") * 2 == before.stat("wgmma.issued"));
    CHECK(run.stat("warp_instructions") < before.stat("warp_instructions"));
    CHECK(run.stat("mbarrier.arrivals") ==
          run.k_tiles() + (run.k_tiles() - run.ctas()) * run.consumer_threads() / 32);
  }

  TEST_CASE("beside it, 07b_spills is right with the registers moved, and with equal shares, which spill") {
    for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--registers", "equal"}})
      run_right({{392, 136, 200}, options, "in-order", "", "07b_spills"});
    const char* build = std::getenv("CHECK_BIN_DIR");
    const std::string report =
        read_file(std::string(build != nullptr ? build : "build") +
                  "/solutions/CMakeFiles/solutions.07b_spills.object.dir/07b_spills.cu.o.ptxas");
    const std::regex spills(R"((\d+) bytes spill stores)");
    std::multiset<bool> spilled;
    for (std::sregex_iterator it(report.begin(), report.end(), spills), end; it != end; ++it)
      spilled.insert((*it)[1] != "0");
    CHECK(spilled == std::multiset<bool>{false, true});
  }
}
