// The compiler's launcher: what it does with the remarks of ptxas. A shell stands in for nvcc.
#include <doctest/doctest.h>

#include <filesystem>

#include "support/folder.hpp"
#include "support/process.hpp"

using namespace check;

namespace {

struct Compiled {
  Outcome outcome;
  bool object, report;  // are there
};

// A compilation that says `remark` and writes its object.
Compiled compile(const std::string& remark) {
  const Folder folder;
  const std::string object = folder / "kernel.o";
  const Outcome outcome = run({"/bin/sh", "checks/scripts/run_nvcc.sh", "/bin/sh", "-c",
                               "echo '" + remark + "'; echo object > \"$2\"", "nvcc", "-o", object},
                              {}, 60);
  return {outcome, std::filesystem::exists(object), std::filesystem::exists(object + ".ptxas")};
}

}  // namespace

TEST_CASE("a compilation that loses registers or serialises wgmma fails, and leaves no object") {
  for (const std::string code : {"C7508", "C7510", "C7515"}) {
    CAPTURE(code);
    const Compiled compiled =
        compile("ptxas info    : (" + code + ") Potential Performance Loss: some reason");
    CAPTURE(compiled.outcome.output);
    CHECK(compiled.outcome.exit_code == 1);
    CHECK(!compiled.object);
    CHECK(compiled.outcome.output.find(code + ") Potential Performance Loss: some reason") !=
          std::string::npos);
    CHECK(compiled.outcome.output.find("error: ptxas reported") != std::string::npos);
  }
}

TEST_CASE("the resource report is kept beside the object and not shown, other lines are") {
  const Compiled quiet = compile("ptxas info    : Used 168 registers, used 1 barriers");
  CHECK(quiet.outcome.exit_code == 0);
  CHECK(quiet.object);
  CHECK(quiet.report);
  CHECK(quiet.outcome.output.empty());
  const Compiled loud = compile("warning: something else");
  CHECK(loud.outcome.exit_code == 0);
  CHECK(loud.outcome.output.find("warning: something else") != std::string::npos);
}
