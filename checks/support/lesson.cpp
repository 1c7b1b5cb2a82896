#include "support/lesson.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "support/json.hpp"

namespace check {
namespace {

constexpr int kLimitS = 120;

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0' ? value : otherwise;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A file name of this process's own, removed at the end of the scope.
struct ScratchFile {
  std::string path;
  explicit ScratchFile(const char* suffix)
      : path(environment("TMPDIR", "/tmp") + "/check." + std::to_string(getpid()) + suffix) {
    unlink(path.c_str());
  }
  ~ScratchFile() { unlink(path.c_str()); }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

struct Todo {
  std::string number, sentence;
  std::string message() const { return "TODO " + number + " is still open: " + sentence; }
};

std::string exercise_script(const std::string& option, const std::string& lesson, int* exit_code) {
  const Outcome outcome =
      run({"/usr/bin/env", "python3", "-B", "checks/scripts/exercise.py", option, lesson.substr(0, 2)}, {},
          kLimitS);
  *exit_code = outcome.exit_code;
  return outcome.output;
}

// The blanks of a lesson, in order.
std::vector<Todo> todos(const std::string& lesson) {
  int exit_code = -1;
  std::istringstream lines(exercise_script("--sentences", lesson, &exit_code));
  REQUIRE(exit_code == 0);
  std::vector<Todo> found;
  for (std::string line; std::getline(lines, line);) found.push_back({line.substr(0, 4), line.substr(5)});
  REQUIRE(found.size() >= 3);
  return found;
}

void check_right(const LessonRun& run) {
  CHECK(run.outcome.exit_code == 0);
  REQUIRE(!run.json.empty());
  CHECK(run.json.at("verdict") == "right");
  CHECK(run.json.at("mismatches") == "0");
  CHECK(run.findings.empty());
  std::istringstream text(run.json.at("ms_samples"));
  std::vector<double> samples(std::istream_iterator<double>(text), {});
  REQUIRE(samples.size() == std::stoul(run.json.at("samples")));
  std::sort(samples.begin(), samples.end());
  const double middle = (samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2;
  CHECK(std::stod(run.json.at("ms_median")) == doctest::Approx(middle).epsilon(1e-5));
}

}  // namespace

bool on_gpu() {
  return environment("DEVICE", "emu") == "gpu";
}

double LessonRun::stat(const std::string& key) const {
  const auto at = stats.find(key);
  REQUIRE_MESSAGE(at != stats.end(), "the emulator has no counter named " << key);
  return at->second;
}

std::string program_path(const std::string& group, const std::string& lesson) {
  return environment("CHECK_BIN_DIR", "build") + "/" + group + "/" + lesson + (on_gpu() ? "" : ".emu");
}

LessonRun run_lesson(const std::string& group, const std::string& lesson, std::vector<std::string> arguments,
                     std::map<std::string, std::string> environment) {
  const ScratchFile json(".json"), counters(".emu.json");
  arguments.insert(arguments.begin(), program_path(group, lesson));
  arguments.insert(arguments.end(), {"--json", json.path});
  environment["EMU_JSON"] = counters.path;
  CAPTURE(command_line(arguments));

  LessonRun result;
  result.outcome = run(arguments, environment, kLimitS);
  CAPTURE(result.outcome.output);
  REQUIRE_MESSAGE(!result.outcome.timed_out, "ran past " << kLimitS << " s");
  REQUIRE_MESSAGE(result.outcome.exit_code != 77, "skipped: " << result.outcome.output);
  if (const std::string text = read_file(json.path); !text.empty()) result.json = json_object(text);
  if (const std::string text = read_file(counters.path); !text.empty()) {
    for (const auto& [key, value] : json_object(text, "stats")) result.stats[key] = std::stod(value);
    result.findings = json_array(text, "findings");
  }
  return result;
}

std::vector<std::string> Size::arguments() const {
  return {"--m", std::to_string(m), "--n", std::to_string(n), "--k", std::to_string(k)};
}

void claim_right(const std::string& lesson, const std::vector<Size>& sizes,
                 const std::vector<std::string>& more) {
  for (const Size& size : sizes) {
    std::vector<std::string> arguments = size.arguments();
    arguments.insert(arguments.end(), more.begin(), more.end());
    CAPTURE(command_line(arguments));
    const LessonRun run = run_lesson("solutions", lesson, arguments);
    CAPTURE(run.outcome.output);
    check_right(run);
    CHECK(run.json.at("m") == std::to_string(size.m));
    CHECK(run.json.at("lesson") == lesson);
  }
}

void claim_exact(const std::string& lesson, const Size& size) {
  std::vector<std::string> arguments = size.arguments();
  arguments.insert(arguments.end(), {"--data", "integers", "--seed", "42"});
  const LessonRun run = run_lesson("solutions", lesson, arguments);
  CAPTURE(run.outcome.output);
  check_right(run);
  CHECK(std::stod(run.json.at("max_error")) == 0);
}

void claim_any_schedule(const std::string& lesson, const Size& size, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = size.arguments();
  arguments.insert(arguments.end(), more.begin(), more.end());
  const LessonRun in_order = run_lesson("solutions", lesson, arguments, {{"EMU_SCHEDULE", "in-order"}});
  check_right(in_order);
  for (const char* schedule : {"late", "random:1", "random:2"}) {
    CAPTURE(schedule);
    const LessonRun run = run_lesson("solutions", lesson, arguments, {{"EMU_SCHEDULE", schedule}});
    CAPTURE(run.outcome.output);
    check_right(run);
    for (const char* key : {"wgmma.issued", "cp_async.issued", "tensor.load.bytes",
                            "mbarrier.phases_completed", "shared.store.bytes", "global.store.bytes"}) {
      CAPTURE(key);
      CHECK(run.stat(key) == in_order.stat(key));
    }
  }
}

void claim_impostors_caught(const std::string& lesson) {
  const std::map<std::string, std::string> expected = {
      {"none", "not-written"}, {"zeros", "zeros"}, {"nan", "nan"}};
  for (const auto& [impostor, classification] : expected) {
    CAPTURE(impostor);
    std::vector<std::string> arguments = Size{136, 72, 64}.arguments();
    arguments.insert(arguments.end(), {"--impostor", impostor});
    const LessonRun run = run_lesson("solutions", lesson, arguments);
    CAPTURE(run.outcome.output);
    CHECK(run.outcome.exit_code == 1);
    REQUIRE(!run.json.empty());
    CHECK(run.json.at("verdict") == "wrong");
    CHECK(run.json.at("classification") == classification);
    CHECK(contains(run.outcome.output, "(0, 0)  want"));
  }
}

void claim_bad_arguments(const std::string& lesson) {
  struct Case {
    std::vector<std::string> arguments;
    const char* sentence;
  };
  const std::vector<Case> cases = {
      {{"--m", "0"}, "--m 0 is out of range"},
      {{"--n", "-8"}, "--n -8 is out of range"},
      {{"--k", "100"}, "--k 100 is not a multiple of 8"},
      {{"--n", "12"}, "--n 12 is not a multiple of 8"},
      {{"--m", "12345678901234567890"}, "out of range"},
      {{"--m", "1000000", "--k", "1000000"}, "matrix A"},
      {{"--k", "ten"}, "whole number"},
      {{"--seed"}, "needs a value"},
      {{"--fast"}, "unknown option"},
      {{"--json", "/no/such/folder/results.json"}, "--json cannot write /no/such/folder/results.json"},
  };
  for (const Case& bad : cases) {
    CAPTURE(bad.sentence);
    std::vector<std::string> command = bad.arguments;
    command.insert(command.begin(), program_path("solutions", lesson));
    const Outcome outcome = run(command, {}, kLimitS);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.output, bad.sentence));
    CHECK(contains(outcome.output, "--help"));
  }
  const Outcome help = run({program_path("solutions", lesson), "--help"}, {}, kLimitS);
  CHECK(help.exit_code == 0);
  CHECK(contains(help.output, "--repeat"));
}

void claim_starter_reports_first_todo(const std::string& lesson) {
  int edited = -1;
  exercise_script("--pristine", lesson, &edited);
  if (edited == 1) {
    MESSAGE("not checked: the exercise has been worked on (a blank is filled)");
    return;
  }
  REQUIRE(edited == 0);
  const Todo first = todos(lesson)[0];
  const LessonRun run = run_lesson("lessons", lesson, Size{128, 128, 64}.arguments());
  CAPTURE(run.outcome.output);
  CHECK(run.outcome.exit_code == 3);
  CHECK(contains(run.outcome.output, first.message()));
  REQUIRE(!run.json.empty());
  CHECK(run.json.at("verdict") == "todo");
  CHECK(run.json.at("classification") == first.message());
}

void claim_each_todo_reported(const std::string& lesson) {
  const std::vector<Todo> all = todos(lesson);
  const std::vector<std::string> size = Size{136, 128, 128}.arguments();
  for (size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].number);
    const LessonRun run = run_lesson("todos", lesson, size, {{"TODO_ONLY", std::to_string(i + 1)}});
    CAPTURE(run.outcome.output);
    CHECK(run.outcome.exit_code == 3);
    CHECK(contains(run.outcome.output, all[i].message()));
  }
  const LessonRun complete = run_lesson("todos", lesson, size, {{"TODO_ONLY", "0"}});
  CAPTURE(complete.outcome.output);
  CHECK(complete.outcome.exit_code == 0);
}

}  // namespace check
