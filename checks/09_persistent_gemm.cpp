// The claims of lesson 09.
#include <doctest/doctest.h>

#include "support/lesson.hpp"

using namespace check;

namespace {

constexpr char kLesson[] = "09_persistent_gemm";
const char* const kShapes[] = {"128x256", "128x256/split", "128x256/beside", "128x128",
                               "64x128",  "128x256/1",     "64x128/2"};

// A shape on few SMs: four pairs.
std::vector<std::string> on_few_sms(const char* shape) {
  return {"--tile", shape, "--sms", "8"};
}

LessonRun run_with(const Size& size, const std::vector<std::string>& options) {
  std::vector<std::string> arguments = size.arguments();
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_lesson("solutions", kLesson, arguments);
}

// Three rounds of 256 x 256 tiles on four pairs of SMs, more of smaller ones. Two K tiles, few instructions.
const Size kManyTiles = {776, 520, 72};

}  // namespace

TEST_CASE("09 is right for whole and ragged tiles of every shape") {
  for (const char* shape : kShapes) {
    CAPTURE(shape);
    claim_right(kLesson, {{256, 512, 256}, {1, 8, 8}, {127, 136, 72}, {200, 264, 104}}, {"--tile", shape});
  }
}

TEST_CASE("09 is right for fewer and more K tiles than stages") {
  for (const char* shape : kShapes) {
    CAPTURE(shape);
    claim_right(kLesson, {{128, 256, 64}, {128, 256, 832}}, {"--tile", shape});
  }
}

TEST_CASE("09 is right when every CTA computes several tiles") {
  for (const char* shape : kShapes) {
    CAPTURE(shape);
    claim_right(kLesson, {kManyTiles, {264, 520, 328}}, on_few_sms(shape));
  }
}

TEST_CASE("09 is exact where sums are exact") {
  claim_exact(kLesson, {136, 264, 264});
}

TEST_CASE("09: nothing depends on the schedule" * doctest::skip(on_gpu())) {
  claim_any_schedule(kLesson, {136, 264, 456});
  claim_any_schedule(kLesson, {520, 776, 136}, {"--sms", "8"});
  claim_any_schedule(kLesson, {264, 520, 264}, on_few_sms("128x256/split"));
}

TEST_CASE("09: the CTAs stay: barriers are made once a CTA, not once a tile" * doctest::skip(on_gpu())) {
  const LessonRun run = run_with(kManyTiles, on_few_sms("128x256"));
  const int tiles = 4 * 3, ctas = 8;  // tiles of 256 x 256, a cluster's
  const int stages = 4;
  CHECK(run.stat("mbarrier.init") == ctas * 2 * stages);
  CHECK(run.stat("tensor.load.issued") == 2 * tiles * 2 * 2);  // CTAs of a cluster, tiles, K tiles, operands
}

TEST_CASE("09: no more CTAs start than the rounds need" * doctest::skip(on_gpu())) {
  // 3 x 3 tiles on four pairs of SMs are three rounds, for which three pairs are enough.
  const LessonRun run = run_with({520, 520, 72}, on_few_sms("128x256"));
  CHECK(run.stat("mbarrier.init") == 2 * 3 * 2 * 4);
}

TEST_CASE("09: split tiles are shared evenly, and no product is made twice" * doctest::skip(on_gpu())) {
  // 3 x 3 tiles on four pairs of SMs: one whole tile for each, and the 5 * 8 K tiles of the others in four runs of ten. Three
  // of the runs end inside a tile.
  const Size size = {520, 520, 512};
  const LessonRun run = run_with(size, on_few_sms("128x256/split"));
  CHECK(run.stat("mbarrier.init") == 8 * 2 * 4);
  CHECK(run.stat("tensor.load.issued") == 2 * 9 * 8 * 2);
  CHECK(run.json.at("result_hash") == run_with(size, on_few_sms("128x256")).json.at("result_hash"));
}

TEST_CASE("09: tiles are split where that saves more than the exchange costs") {
  const auto variant = [](const Size& size) {
    const LessonRun run = run_with(size, {"--sms", "8"});
    CAPTURE(run.outcome.output);
    CHECK(run.outcome.exit_code == 0);
    return run.json.at("variant");
  };
  // 5 tiles of 256 x 256 on four pairs of SMs are 1.25 rounds instead of 2, 10 of 256 x 128 three of half the length.
  CHECK(variant({256, 1280, 64}) != "--tile 128x256/split");
  CHECK(variant({256, 1280, 4608}) == "--tile 128x256/split");
}

TEST_CASE("09: --sms must leave a pair of SMs, and not more than there are") {
  const auto output = [](const char* sms) {
    const Outcome outcome = run({program_path("solutions", kLesson), "--sms", sms}, {}, 60);
    CHECK(outcome.exit_code == 2);
    return outcome.output;
  };
  CHECK(output("1").find("--sms 1 is out of range: it takes 2 to") != std::string::npos);
  CHECK(output("100000").find("--sms 100000 is more than the device has: ") != std::string::npos);
}

TEST_CASE("09: every stage is handed back, also the last one of a tile" * doctest::skip(on_gpu())) {
  const LessonRun run = run_with(kManyTiles, on_few_sms("128x256"));
  const double k_tiles = 2.0 * 4 * 3 * 2;  // of both CTAs
  CHECK(run.stat("mbarrier.phases_completed") == 2 * k_tiles);
  CHECK(run.stat("mbarrier.arrivals") == k_tiles * (1 + 2 * 8));
}

TEST_CASE("09: a large tile for a large problem, a small one where SMs would be idle") {
  const auto tile = [](const Size& size) {
    const LessonRun run = run_lesson("solutions", kLesson, size.arguments());
    CAPTURE(run.outcome.output);
    CHECK(run.outcome.exit_code == 0);
    return run.json.at("tile");
  };
  CHECK(tile({2048, 2048, 64}) == "128x256x64");
  CHECK(tile({1024, 1024, 64}) == "64x128x64");
  CHECK(tile({64, 4096, 64}) == "64x128x64");
}

TEST_CASE("09: pairs lie side by side where that takes fewer rounds") {
  // 11 x 12 tiles of 128 x 256: 6 x 12 pairs one below the other, two rounds on 132 SMs; 11 x 6 side by side, one.
  const LessonRun run = run_lesson("solutions", kLesson, Size{1408, 3072, 64}.arguments());
  CAPTURE(run.outcome.output);
  CHECK(run.outcome.exit_code == 0);
  CHECK(run.json.at("variant") == "--tile 128x256/beside");
  if (!on_gpu()) CHECK(run.stat("mbarrier.init") == 132 * 2 * 4);
}

TEST_CASE("09: a shape that is not built is refused with those that are") {
  const Outcome outcome = run({program_path("solutions", kLesson), "--tile", "1x1/1"}, {}, 60);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output.find("--tile takes one of 128x256, 128x256/split, 128x256/beside, 128x128") !=
        std::string::npos);
}

TEST_CASE("09: impostors are caught") {
  claim_impostors_caught(kLesson);
}
TEST_CASE("09: bad arguments are refused by name") {
  claim_bad_arguments(kLesson);
}
TEST_CASE("09: the starter fails with its first TODO") {
  claim_starter_reports_first_todo(kLesson);
}
TEST_CASE("09: each TODO alone is reported") {
  claim_each_todo_reported(kLesson);
}
