// Words that come from outside: the environment, and names that end up in JSON.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "emulator/findings/report.hpp"
#include "emulator/runtime/environment.hpp"
#include "support/json.hpp"
#include "target.hpp"

namespace readers {
namespace {

// The length of the UTF-8 sequence at `at`; 0: there is none (The Unicode Standard, table 3-7).
size_t utf8_at(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : uint8_t{0};
  };
  const uint8_t first = byte(0), second = byte(1);
  const size_t length = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

std::string noise(Random& random) {
  std::string text;
  for (size_t i = random.below(40); i > 0; --i) {
    if (random.one_in(3))
      text += static_cast<char>(random.bits());
    else
      text += random.of(std::vector<std::string>{"\"", "\\", "\n", "\xE2\x82\xAC", "\xED\xA0\x80", "\xC0\x80",
                                                 "a", "/", "\x7F", "{}"});
  }
  return text;
}

struct Setting {
  std::string name, value;
};

std::vector<Setting> settings(Random& random) {
  static const std::vector<Setting> kGood = {{"EMU_SCHEDULE", "in-order"},
                                             {"EMU_SCHEDULE", "random:17"},
                                             {"EMU_TIME_LIMIT", "2.5"},
                                             {"EMU_CHECK", "off"},
                                             {"EMU_WINDOW", "first"},
                                             {"EMU_MHZ", "1320"},
                                             {"EMU_REGISTERS", "/dev/null"},
                                             {"EMU_STRICT", "1"},
                                             {"EMU_TRACE_CTAS", "0-3"},
                                             {"EMU_TRACE_STEPS", "1"},
                                             {"EMU_TRACE_EVENTS", "100"},
                                             {"EMU_TRACE_LAUNCH", "2"},
                                             {"EMU_PTX", "/dev/null"},
                                             {"EMU_JSON", "/dev/null"},
                                             {"EMU_TRACE", "/dev/null"},
                                             {"EMU_TRACE_PERFETTO", "/dev/null"},
                                             {"EMU_JSON", "/no/folder/x"},
                                             {"EMU_PTX", "/"},
                                             {"EMU_TRACE", ""}};
  std::vector<Setting> chosen;
  for (size_t i = 1 + random.below(3); i > 0; --i) {
    Setting s = random.of(kGood);
    static const std::set<std::string> kPaths = {"EMU_PTX", "EMU_REGISTERS", "EMU_JSON", "EMU_TRACE",
                                                 "EMU_TRACE_PERFETTO"};
    if (!kPaths.count(s.name)) {  // those stay as they are: files would be written
      if (random.one_in(2)) s.value = mutated(s.value.empty() ? " " : s.value, random).substr(0, 4000);
      if (random.one_in(3)) s.value += std::to_string(edge(random));
      s.value = s.value.c_str();  // up to the first zero byte
    }
    chosen.push_back(s);
  }
  return chosen;
}

}  // namespace

void require_json(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_at(text, at);
    if (length == 0)
      throw Broken("JSON that is not UTF-8, at byte " + std::to_string(at) + ": " + text.substr(0, 300));
    at += length;
  }
  try {
    check::Json::parse(text);
  } catch (const std::exception& error) {
    throw Broken(std::string("no JSON: ") + error.what() + ": " + text.substr(0, 300));
  }
}

void run_json(Random& random) {
  emu::Finding f(emu::Id::data_race);
  f.title = noise(random);
  f.where = noise(random);
  f.state = noise(random);
  f.why = noise(random);
  f.hint = noise(random);
  f.line.file = noise(random);
  f.line.ptx = noise(random);
  f.line.chain.push_back({noise(random), static_cast<int>(random.bits()), noise(random)});
  f.related.push_back({noise(random), f.line});
  f.also.push_back(noise(random));
  f.spread = noise(random);
  f.kernel = noise(random);
  f.count = edge(random);
  require_json(f.json());
}

std::string show_environment(Random& random) {
  std::string text;
  for (const Setting& s : settings(random)) text += s.name + "=" + s.value + "\n";
  return text;
}

void run_environment(Random& random) {
  const std::vector<Setting> chosen = settings(random);
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    for (const Setting& s : chosen) setenv(s.name.c_str(), s.value.c_str(), 1);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(ends[1], 2);
    close(ends[0]);
    execl("/proc/self/exe", "fuzz_readers", "--environment-child", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 0) return;
  if (code != 2 || said.find("bad environment: ") == std::string::npos ||
      said.find("  try    ") == std::string::npos)
    throw Broken("a bad environment ends with " + std::to_string(code) + ": " + said.substr(0, 300));
}

int environment_child() {
  require_json(emu::report_json());
  return 0;
}

}  // namespace readers
