#include "support/lesson.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "support/folder.hpp"

namespace check {
namespace {

constexpr int kCpuLimitS = 180;  // of processor time, for a process
constexpr int kWallLimitS =
    540;  // likewise on a machine that has no processor left for it, which decides nothing
constexpr int kGpuLimitS = 180;          // for a process on a GPU, whose kernel uses no processor time
constexpr char kLaunchLimitS[] = "120";  // for a launch on the emulator, which then says who waits for what
constexpr int kSkipped = 77, kTodoOpen = 3;  // exit codes of the programs

std::string environment_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0' ? value : otherwise;
}

Json parse_or_nothing(const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const std::runtime_error&) {
    return {};  // the program ended before it had written all
  }
}

// A JSON object on one line, for the report.
std::string one_line(const Json& json) {
  if (json.members.empty()) return "null";
  std::string text = json.text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t begin = text.find_last_of('\n', end);
  return text.substr(begin + 1, end - begin);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

double ceil_div(double a, double b) {
  return std::ceil(a / b);
}

void tell(const LessonRun& run) {
  CaseReport& report = this_case();
  report.command = run.command;
  report.environment = run.environment;
  report.json = one_line(run.emulator);
  report.program = one_line(run.program);
}

LessonRun start(const Call& call) {
  const Folder folder;
  const std::string program = folder / "program.json", emulator = folder / "emulator.json";
  LessonRun run;
  run.call = call;
  const std::string path = environment_or("CHECK_BIN_DIR", "build") + "/" + call.group + "/" + call.lesson;
  run.command = {path + (on_gpu() ? "" : ".emu"), "--m", std::to_string(call.size.m), "--n",
                 std::to_string(call.size.n),     "--k", std::to_string(call.size.k)};
  run.command.insert(run.command.end(), call.options.begin(), call.options.end());
  if (!on_gpu()) run.environment = {{"EMU_CHECK", "on"}, {"EMU_SCHEDULE", call.schedule}};
  if (!call.todo_only.empty()) run.environment["TODO_ONLY"] = call.todo_only;

  std::vector<std::string> command = run.command;
  command.insert(command.end(), {"--json", program});
  std::map<std::string, std::string> environment = run.environment;
  environment["EMU_TIME_LIMIT"] = kLaunchLimitS;
  environment["EMU_JSON"] = emulator;
  run.outcome = check::run(command, environment, {kCpuLimitS, on_gpu() ? kGpuLimitS : kWallLimitS});
  run.program = parse_or_nothing(read_file(program));
  run.emulator = parse_or_nothing(read_file(emulator));
  return run;
}

const std::string& member(const Json& json, const std::string& key, const char* whose) {
  const auto at = json.members.find(key);
  REQUIRE_MESSAGE(at != json.members.end(), whose << " reports no \"" << key << "\"");
  return at->second.text;
}

}  // namespace

bool on_gpu() {
  return environment_or("DEVICE", "emu") == "gpu";
}

const std::string& lesson() {
  static const std::string name = std::filesystem::read_symlink("/proc/self/exe").filename();
  return name;
}

const std::string& LessonRun::said(const std::string& key) const {
  return member(program, key, "the program");
}

double LessonRun::stat(const std::string& key) const {
  const auto stats = emulator.members.find("stats");
  REQUIRE_MESSAGE(stats != emulator.members.end(), "the emulator reports no counters");
  return std::stod(member(stats->second, key, "the emulator"));
}

Tile LessonRun::tile() const {
  Tile tile = {};
  const std::string& text = said("tile");
  REQUIRE_MESSAGE(std::sscanf(text.c_str(), "%dx%dx%d", &tile.bm, &tile.bn, &tile.bk) == 3,
                  "the program reports the tile " << text);
  tile.stages = std::stoi(said("stages"));
  return tile;
}

double LessonRun::ctas() const {
  return ceil_div(call.size.m, tile().bm) * ceil_div(call.size.n, tile().bn);
}
double LessonRun::k_tiles() const {
  return ctas() * ceil_div(call.size.k, tile().bk);
}
double LessonRun::tile_bytes() const {
  return (tile().bm + tile().bn) * tile().bk * 2.0;
}
double LessonRun::consumer_threads() const {
  return tile().bm / 64 * 128;
}

std::string LessonRun::where() const {
  std::string text = "M=" + std::to_string(call.size.m) + " N=" + std::to_string(call.size.n) +
                     " K=" + std::to_string(call.size.k);
  for (size_t i = 0; i < call.options.size(); ++i) text += (i == 0 ? " with " : " ") + call.options[i];
  return on_gpu() ? text : text + " under schedule " + call.schedule;
}

std::string LessonRun::trouble() const {
  const auto text = [](const Json& json, const std::string& key) {
    const auto at = json.members.find(key);
    return at == json.members.end() ? std::string() : at->second.text;
  };
  const auto found = emulator.members.find("findings");
  const std::string finding = found == emulator.members.end() || found->second.elements.empty()
                                  ? ""
                                  : text(found->second.elements[0], "id");
  const std::string verdict = text(program, "verdict"), why = text(program, "classification");
  if (outcome.timed_out)
    return "the program did not end within " + std::to_string(kCpuLimitS) + " s of processor time at " +
           where();
  if (outcome.stalled && on_gpu())
    return "the program did not end within " + std::to_string(kGpuLimitS) + " s at " + where();
  if (outcome.stalled)
    return "not judged: the program did not get " + std::to_string(kCpuLimitS) + " s of processor time in " +
           std::to_string(kWallLimitS) + " s, so the machine is busy; check it again (" + where() + ")";
  if (outcome.exit_code == kTodoOpen) return why;
  if (finding == "deadlock" || finding == "time-limit") return "the kernel did not end at " + where();
  if (verdict == "wrong") return "wrong numbers at " + where();
  if (!finding.empty() && verdict == "right")
    return "right numbers, but the checker found \"" + finding + "\" at " + where();
  if (!finding.empty()) return "the checker stopped the kernel (" + finding + ") at " + where();
  if (verdict == "error") return "the kernel failed at " + where() + ": " + why;
  if (outcome.exit_code != 0)
    return "the program ended with exit code " + std::to_string(outcome.exit_code) + " at " + where() + ": " +
           last_line(outcome.output);
  return verdict == "right" ? "" : "the program reports no result at " + where();
}

const LessonRun& run_lesson(const Call& call) {
  Call full = call;
  if (full.group.empty()) full.group = environment_or("CHECK_GROUP", "solutions");
  if (full.lesson.empty()) full.lesson = lesson();
  std::string key = full.group + " " + full.lesson + " " + full.schedule + " " + full.todo_only + " " +
                    std::to_string(full.size.m) + " " + std::to_string(full.size.n) + " " +
                    std::to_string(full.size.k);
  for (const std::string& option : full.options) key += " " + option;

  static std::map<std::string, LessonRun> earlier;
  const auto at = earlier.find(key);
  const LessonRun& run = at != earlier.end() ? at->second : earlier.emplace(key, start(full)).first->second;
  tell(run);
  if (run.outcome.timed_out || run.outcome.stalled) FAIL(run.trouble());
  if (run.outcome.exit_code == kSkipped) FAIL("no device: " << last_line(run.outcome.output));
  return run;
}

const LessonRun& run_right(const Call& call) {
  const LessonRun& run = run_lesson(call);
  const std::string trouble = run.trouble();
  if (!trouble.empty()) {
    INFO(run.outcome.output);
    FAIL(trouble);
  }
  return run;
}

Tile tile() {
  const LessonRun& run = run_lesson({});
  if (run.program.members.count("tile") == 0) FAIL(run.trouble());  // it ended before it could say so
  return run.tile();
}

void expect(const LessonRun& run, bool holds, const std::string& but) {
  if (holds) return;
  if (this_case().message.empty()) tell(run);
  FAIL_CHECK("right numbers at " << run.where() << ", but " << but);
}

void expect_stat(const LessonRun& run, const std::string& key, double low, double high,
                 const std::string& but) {
  const double got = run.stat(key);
  const std::string want = low == high ? number(low) : "between " + number(low) + " and " + number(high);
  expect(run, low <= got && got <= high, but + " (" + key + " is " + number(got) + ", wanted " + want + ")");
}

void expect_stat(const LessonRun& run, const std::string& key, double want, const std::string& but) {
  expect_stat(run, key, want, want, but);
}

std::vector<Todo> todos() {
  std::istringstream lines(read_file("solutions/" + lesson() + ".cu"));
  static const std::regex region(R"( *// \[todo (\d\d\.\d)\] (.+))");
  std::vector<Todo> found;
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, region)) found.push_back({match[1], match[2]});
  REQUIRE(!found.empty());
  std::sort(found.begin(), found.end(), [](const Todo& a, const Todo& b) { return a.number < b.number; });
  return found;
}

bool untouched(const std::vector<Todo>& todos) {
  const std::string text = read_file("lessons/" + lesson() + "/" + lesson() + ".cu");
  return std::all_of(todos.begin(), todos.end(), [&](const Todo& todo) {
    return text.find("TODO_OPEN(\"" + todo.number + "\", \"" + todo.sentence + "\");") != std::string::npos;
  });
}

}  // namespace check
