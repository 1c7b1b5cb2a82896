// plots/bench.py on a machine that claims a Hopper GPU, with a program that claims to be a fast kernel: the files it leaves.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/folder.hpp"
#include "support/process.hpp"

namespace fs = std::filesystem;
using check::Outcome;

namespace {

class Machine {
 public:
  Machine() {
    script("bin/nvidia-smi",
           "case $1 in *name*) echo NVIDIA H000;; *compute_cap*) echo 9.0;; *) echo 1;; esac");
    kernel("right");
  }

  // The verdict that the kernel's program gives from now on.
  void kernel(const std::string& verdict) {
    script("build/solutions/09_fast", R"(echo '{"verdict": ")" + verdict +
                                          R"(", "result_hash": "1", "m": '$2', "classification": "nan"}')");
  }

  Outcome bench(const std::string& seconds) const {
    const std::string path = (root_ / "bin").string() + ":" + std::getenv("PATH");
    return check::run({"/usr/bin/env", "python3", "-B", "plots/bench.py", "--build",
                       (root_ / "build").string(), "--out", (root_ / "data").string(), "--parts", "ladder",
                       "--processes", "1", "--seconds", seconds, "--commit", "abc"},
                      {{"PATH", path}}, 60);
  }

  // The files of the ladder, in their order by name: number of lines of each.
  std::vector<long> files() const {
    std::vector<long> lines;
    for (const char* number : {"", "-2", "-3"}) {
      for (const fs::directory_entry& entry : fs::directory_iterator(root_ / "data")) {
        const std::string stem = entry.path().stem().string();  // nvidia-h000-ladder-2026-01-31-2
        const std::string date = "nvidia-h000-ladder-0000-00-00";
        if (stem.size() < date.size() || stem.substr(date.size()) != number) continue;
        std::ifstream file(entry.path());
        lines.push_back(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
      }
    }
    return lines;
  }

 private:
  void script(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(root_ / path, fs::perms::owner_all);
  }

  check::Folder root_;
};

}  // namespace

TEST_CASE("bench.py keeps a file that is there, and numbers the next of the day") {
  const Machine machine;
  for (int i = 0; i < 3; ++i) CHECK(machine.bench("60").exit_code == 0);
  const std::vector<long> lines = machine.files();
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] > 10);  // a header, the names of the columns, ten sizes
  CHECK(lines == std::vector<long>(3, lines[0]));
}

TEST_CASE("bench.py leaves no file without rows, and says so") {
  Machine machine;
  Outcome outcome = machine.bench("0");
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.output.find("ladder: nothing was measured: the 0 s were over") != std::string::npos);
  machine.kernel("wrong");
  outcome = machine.bench("60");
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.output.find("09_fast (512, 512, 512) : nan") != std::string::npos);
  CHECK(outcome.output.find("ladder: nothing was measured\n") != std::string::npos);
  CHECK(machine.files().empty());
}
