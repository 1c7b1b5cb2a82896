// The scripts that hold exercises and documents to their sources: each can fail, and says where.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/folder.hpp"
#include "support/process.hpp"

namespace fs = std::filesystem;
using check::Outcome;

namespace {

constexpr int kLimitS = 60;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A copy of the files that the scripts look at, in a folder of its own, without built programs.
class Copy {
 public:
  Copy() {
    fs::create_directories(root_ / "checks/scripts");
    fs::create_directories(root_ / "common");
    for (const char* folder : {"lessons", "solutions", "common/kernel"})
      fs::copy(folder, root_ / folder, fs::copy_options::recursive);
    for (const char* script : {"exercise.py", "quotes.py"}) {
      fs::copy(fs::path("checks/scripts") / script, root_ / "checks/scripts" / script);
    }
  }

  // Replaces the first `from` in a file by `to`.
  void edit(const std::string& path, const std::string& from, const std::string& to) {
    std::string text = read(root_ / path);
    const size_t at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, path << " does not contain: " << from);
    std::ofstream(root_ / path) << text.replace(at, from.size(), to);
  }

  Outcome run(const std::string& script, const std::string& option) const {
    return check::run({"/usr/bin/env", "python3", "-B", (root_ / "checks/scripts" / script).string(), option},
                      {{"BUILD_DIR", "build"}}, kLimitS);
  }

 private:
  check::Folder root_;
};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

const char kExercise[] = "lessons/04_tma_single_stage/04_tma_single_stage.cu";
const char kSolution[] = "solutions/04_tma_single_stage.cu";
const char kReadme[] = "lessons/04_tma_single_stage/README.md";

}  // namespace

TEST_CASE("exercise.py accepts the tree, and a filled blank") {
  Copy copy;
  CHECK(copy.run("exercise.py", "--check").exit_code == 0);
  copy.edit(kExercise, "TODO_OPEN(\"04.1\"", "my_answer(\"04.1\"");
  CHECK(copy.run("exercise.py", "--check").exit_code == 0);
}

TEST_CASE("exercise.py names the first line outside the blanks that differs") {
  Copy copy;
  copy.edit(kExercise, "constexpr int kThreads = 256;", "constexpr int kThreads = 128;");
  const Outcome outcome = copy.run("exercise.py", "--check");
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.output, "04_tma_single_stage.cu differs from the solution outside the regions"));
  CHECK(contains(outcome.output, "kThreads = 128;"));
}

TEST_CASE("exercise.py refuses regions that are not closed, misnumbered, or too few") {
  const char* const kBroken[][3] = {
      {"// [end]\n", "", "opens inside another"},
      {"// [todo 04.5]", "// [todo 04.7]", "number them 04.1"},
      {"// [todo 04.1] Initialise full_bar for one arrival a phase: the producer's own.",
       "// [todo 04.1] Initialise it. Then fence.", "one sentence"},
  };
  for (const auto& broken : kBroken) {
    CAPTURE(broken[2]);
    Copy copy;
    copy.edit(kSolution, broken[0], broken[1]);
    const Outcome outcome = copy.run("exercise.py", "--check");
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.output, broken[2]));
  }
}

TEST_CASE("quotes.py finds a quotation that its source no longer holds") {
  Copy copy;
  copy.edit(kReadme, "ptx::wgmma_commit_group();", "ptx::wgmma_commit();");
  const Outcome outcome = copy.run("quotes.py", "--check");
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.output, "04_tma_single_stage/README.md"));
  CHECK(contains(outcome.output, "-  ptx::wgmma_commit();"));
}

TEST_CASE("quotes.py names a region or a program that is not there") {
  Copy copy;
  copy.edit(kReadme, "quote solutions/04_tma_single_stage.cu loop",
            "quote solutions/04_tma_single_stage.cu hoop");
  const Outcome outcome = copy.run("quotes.py", "--check");
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.output, "has no region hoop"));
  CHECK(contains(outcome.output, "is not built"));
}
