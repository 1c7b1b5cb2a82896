// What holds for every lesson. Linked with the lesson's own claims into a program that has the lesson's name; the cases of
// the suite "project" are about the workbook, not about a student's kernel.
#include <doctest/doctest.h>

#include <set>

#include "support/lesson.hpp"

using namespace check;

TEST_CASE("right for whole tiles") {
  for (const Size& size : {tile().tiles(1, 1, 1), tile().tiles(2, 2, 4)}) run_right({size});
}

TEST_CASE("right for fewer, as many and more K tiles than stages") {
  const int stages = tile().stages;
  for (const int k_tiles : std::set<int>{1, std::max(1, stages - 1), stages, stages + 1, 3 * stages + 1})
    run_right({tile().tiles(1, 1, k_tiles)});
}

TEST_CASE("right for ragged M, N and K") {
  const Tile t = tile();
  for (const Size& size : {Size{1, 8, 8},
                           {t.bm - 1, t.bn + 8, t.bk + 8},
                           {t.bm + 72, t.bn + 136, t.bk + 40},
                           {t.bm + 2, 8, 8 * t.bk}})
    run_right({size});
}

TEST_CASE("exact where sums are exact") {
  const Tile t = tile();
  const LessonRun& run =
      run_right({{t.bm + 8, t.bn + 72, 4 * t.bk + 8}, {"--data", "integers", "--seed", "42"}});
  expect(run, run.said("max_error") == "0",
         "sums of small integers must be exact, and the largest error is " + run.said("max_error"));
}

TEST_CASE("right when it is launched again at once") {
  run_right({tile().tiles(2, 2, 2), {"--repeat", "3"}});
}

TEST_CASE("nothing depends on the schedule") {
  if (on_gpu()) SKIP("the GPU has a schedule of its own");
  const Tile t = tile();
  const Size size = {t.bm + 8, t.bn, (2 * t.stages + 1) * t.bk + 8};
  const LessonRun& in_order = run_right({size});
  for (const char* schedule : {"late", "random:1", "random:2"}) {
    const LessonRun& run = run_right({size, {}, schedule});
    for (const char* key : {"wgmma.issued", "cp_async.issued", "tensor.load.bytes",
                            "mbarrier.phases_completed", "shared.store.bytes", "global.store.bytes"})
      expect_stat(run, key, in_order.stat(key), "the kernel does other work than under schedule in-order");
  }
}

TEST_SUITE("project") {
  TEST_CASE("the starter fails with its first TODO") {
    const std::vector<Todo> all = todos();
    if (!untouched(all)) SKIP("the exercise has been worked on: a blank is filled");
    const LessonRun& run = run_lesson({{128, 128, 64}, {}, "in-order", "lessons"});
    CHECK(run.outcome.exit_code == 3);
    CHECK(run.outcome.output.find(all[0].message()) != std::string::npos);
    CHECK(run.said("verdict") == "todo");
    CHECK(run.said("classification") == all[0].message());
  }

  TEST_CASE("each TODO alone is reported, and none open is right") {
    const std::vector<Todo> all = todos();
    for (size_t i = 0; i < all.size(); ++i) {
      const LessonRun& run =
          run_lesson({{136, 128, 128}, {}, "in-order", "todos", "", std::to_string(i + 1)});
      CAPTURE(run.outcome.output);
      CHECK(run.outcome.exit_code == 3);
      CHECK(run.said("classification") == all[i].message());
    }
    run_right({{136, 128, 128}, {}, "in-order", "todos", "", "0"});
  }
}
