// fuzz_readers: what a program or a person hands over, changed at random, until something breaks or the time is up. A case is
// made from its target and its seed alone, and the line that repeats it is printed.
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "target.hpp"

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
constexpr int kCaseLimitS = 30;
#else
constexpr int kCaseLimitS = 10;
#endif

namespace readers {

const std::vector<Target>& targets() {
  static const std::vector<Target> kTargets = {
      {"ptx", run_ptx, show_ptx, 1},
      {"instructions", run_instructions, show_instructions, 1},
      {"link", run_link, show_link, 2},
      {"fat-binary", run_fat_binary, nullptr, 1},
      {"tensor-map", run_tensor_map, nullptr, 1},
      {"map-in-memory", run_map_in_memory, nullptr, 4},
      {"json", run_json, nullptr, 1},
      {"environment", run_environment, show_environment, 100},
  };
  return kTargets;
}

const std::vector<std::string>& corpus() {
  static const std::vector<std::string> kTexts = [] {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(READERS_CORPUS))
      if (entry.path().extension() == ".ptx") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<std::string> texts;
    for (const auto& file : files) {
      std::ifstream in(file);
      texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    if (texts.empty()) throw std::runtime_error("no PTX in " READERS_CORPUS);
    return texts;
  }();
  return kTexts;
}

namespace {

constexpr long kMostMemoryKib = 3 << 20;  // the variables of a module alone may take 2 GiB

char now[200];  // the command that repeats the case under way

void tell() {
  const char* begin = "\nthe case: ";
  if (write(2, begin, std::strlen(begin)) < 0 || write(2, now, std::strlen(now)) < 0) _exit(1);
}

void broken_off(int signal) {
  tell();
  const char* why = signal == SIGPROF ? "it does not end\n" : "it crashed\n";
  if (write(2, why, std::strlen(why)) < 0) _exit(1);
  _exit(1);
}

void watch() {
  static char stack[1 << 16];  // also where the ordinary one has overflown
  stack_t own = {};
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  sigaltstack(&own, nullptr);
  struct sigaction action = {};
  action.sa_handler = broken_off;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGPROF, &action, nullptr);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(tell);
#else
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
#endif
}

void limit_case(int seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);  // of this process's own time: others may use the machine
}

long most_memory_kib() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

// One case; false, with a message, where a promise is broken.
bool one(const Target& target, uint64_t seed) {
  std::snprintf(now, sizeof now, "fuzz_readers --target %s --seed %llu --count 1 --show; ", target.name,
                static_cast<unsigned long long>(seed));
  const long before = most_memory_kib();
  limit_case(kCaseLimitS);
  std::string said;
  try {
    Random random(seed);
    target.run(random);
  } catch (const Broken& broken) {
    said = broken.what();
  } catch (const std::exception& error) {
    said = std::string("it threw ") + error.what();
  }
  limit_case(0);
  if (said.empty() && most_memory_kib() - before > kMostMemoryKib) said = "it took more than 3 GiB";
  if (said.empty()) return true;
  tell();
  std::fprintf(stderr, "%s\n", said.c_str());
  return false;
}

struct Options {
  std::string target;
  uint64_t seed = 1, count = 0;
  double seconds = 0;
  bool show = false;
};

int fuzz(const Options& o) {
  std::vector<const Target*> chosen;
  for (const Target& t : targets())
    if (o.target.empty() || o.target == t.name) chosen.push_back(&t);
  if (chosen.empty()) {
    std::fprintf(stderr, "fuzz_readers: there is no target %s\n", o.target.c_str());
    return 2;
  }
  if (o.show && chosen.size() == 1 && chosen[0]->show) {
    Random random(o.seed);
    std::printf("%s\n", chosen[0]->show(random).c_str());
  }
  require_corpus();
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  uint64_t cases = 0, bad = 0;
  for (uint64_t i = 0; (o.count == 0 || i < o.count) && (o.seconds == 0 || seconds() < o.seconds); ++i)
    for (const Target* t : chosen) {
      if (i % t->cost) continue;
      ++cases;
      if (!one(*t, o.seed + i) && ++bad == 20) {
        std::fprintf(stderr, "fuzz_readers: 20 broken; the rest is left\n");
        return 1;
      }
    }
  std::printf("%llu cases of %zu targets, from seed %llu: %llu broken; %.0f s\n",
              static_cast<unsigned long long>(cases), chosen.size(), static_cast<unsigned long long>(o.seed),
              static_cast<unsigned long long>(bad), seconds());
  return bad ? 1 : 0;
}

}  // namespace
}  // namespace readers

int main(int argc, char** argv) {
  readers::Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    char* end = nullptr;
    if (option == "--environment-child") return readers::environment_child();
    if (option == "--show") {
      o.show = true;
      continue;
    }
    if (option == "--target")
      o.target = value;
    else if (option == "--seed")
      o.seed = std::strtoull(value, &end, 10);
    else if (option == "--count")
      o.count = std::strtoull(value, &end, 10);
    else if (option == "--seconds")
      o.seconds = std::strtod(value, &end);
    if (i + 1 >= argc || (end && (end == value || *end)) || (!end && option != "--target")) {
      std::fprintf(
          stderr,
          "fuzz_readers: what is %s %s?\n  try    fuzz_readers [--target NAME] [--seed S] [--count N] [--seconds T] "
          "[--show]\n",
          option.c_str(), value);
      return 2;
    }
    ++i;
  }
  if (o.count == 0 && o.seconds == 0) o.count = 2000;
  readers::watch();
  try {
    return readers::fuzz(o);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz_readers: %s\n", error.what());
    return 1;
  }
}
