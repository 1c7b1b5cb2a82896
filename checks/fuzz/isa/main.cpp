// fuzz_isa: random programs of arithmetic and control flow, on the device that this is linked with. It prints a hash of every
// result, or compares with those of another device.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "device.hpp"

namespace fuzz_isa {
namespace {

struct Options {
  uint64_t seed = 1, from = 0, count = 0;
  std::string against, keep;
  std::set<unsigned> without;
  unsigned optimise = 3, step = 1;
  bool show = false, values = false;
};

constexpr uint64_t kOfModule = 16;  // programs that are loaded together

// A hash of what all threads have in a slot.
uint16_t hash_of(const Results& results, unsigned slot) {
  uint64_t hash = slot + 1;
  for (unsigned t = 0; t < kThreads; ++t) {
    hash = (hash ^ results[slot * kThreads + t]) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
  }
  return static_cast<uint16_t>(hash >> 16);
}

std::string line_of(const Program& program, const Results& results) {
  std::string line;
  char text[8];
  for (unsigned slot = 0; slot < program.slots; ++slot) {
    std::snprintf(text, sizeof text, "%04x", hash_of(results, slot));
    line += text;
  }
  return line;
}

constexpr unsigned kDigits = 4;        // of a hash
constexpr const char* kOpen = "----";  // a result on which the other device does not agree with itself

// The results that differ, of those that are no more than kOpen.
std::vector<unsigned> different(const std::string& want, const std::string& got) {
  std::vector<unsigned> slots;
  for (unsigned slot = 0; slot < got.size() / kDigits; ++slot) {
    const std::string hash = want.substr(slot * kDigits, kDigits);
    if (hash != kOpen && hash != got.substr(slot * kDigits, kDigits)) slots.push_back(slot);
  }
  return slots;
}

// The record of another device: a line for each program, "number hashes". Lines that begin with # are for people.
std::map<uint64_t, std::string> read_record(const Options& o) {
  std::ifstream in(o.against);
  if (!in) throw std::runtime_error("cannot read " + o.against);
  std::map<uint64_t, std::string> lines;
  std::string line;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    uint64_t number;
    std::string hashes;
    if (words >> number >> hashes) lines[number] = hashes;
  }
  return lines;
}

// The instructions that made a slot: from the beginning of its statement to where it is kept.
std::string source_of(const Program& program, unsigned slot) {
  const size_t end = program.text.find(";  // " + std::to_string(slot) + "\n");
  if (end == std::string::npos) return "";
  const size_t begin = program.text.rfind("// statement", end);
  return program.text.substr(begin, program.text.find('\n', end) - begin);
}

void tell(const Options& o, const Program& program, uint64_t number, const std::string& want,
          const std::string& got, const Results& results) {
  if (want.size() != got.size()) {
    std::printf("program %llu: %zu results here, %zu recorded: it was made by another generator\n",
                static_cast<unsigned long long>(number), got.size() / kDigits, want.size() / kDigits);
    return;
  }
  const std::vector<unsigned> slots = different(want, got);
  const unsigned first = slots.front();
  std::printf("program %llu: %zu of %u results differ, result %u first\n",
              static_cast<unsigned long long>(number), slots.size(), program.slots, first);
  std::printf("%s\n  here:", source_of(program, first).c_str());
  for (unsigned t = 0; t < 8; ++t)
    std::printf(" %llx", static_cast<unsigned long long>(results[first * kThreads + t]));
  std::printf(" ... (threads 0 to 7)\n");
  if (o.keep.empty()) return;
  const std::string path = o.keep + "/" + name_of_program(number) + ".ptx";
  std::ofstream(path) << module_header() << program.text;
  std::printf("  the whole program: %s\n", path.c_str());
}

void show_values(const Program& program, const Results& results) {
  for (unsigned slot = 0; slot < program.slots; ++slot) {
    std::printf("%u", slot);
    for (unsigned t = 0; t < kThreads; ++t)
      std::printf(" %llx", static_cast<unsigned long long>(results[slot * kThreads + t]));
    std::printf("\n");
  }
}

int fuzz(Options o) {
  const bool compares = !o.against.empty();
  const std::map<uint64_t, std::string> record =
      compares ? read_record(o) : std::map<uint64_t, std::string>();
  if (compares && record.empty()) throw std::runtime_error(o.against + " has no programs");
  if (o.count == 0) o.count = compares ? record.rbegin()->first + 1 - o.from : 1;
  uint64_t cases = 0, results_seen = 0, wrong = 0, done = 0;
  std::vector<uint64_t> numbers;
  for (uint64_t n = o.from; n < o.from + o.count; n += o.step)
    if (!compares || record.count(n)) numbers.push_back(n);
  for (size_t begin = 0; begin < numbers.size(); begin += kOfModule) {
    std::string text = module_header();
    std::vector<Task> tasks;
    std::vector<Program> programs;
    for (size_t i = begin; i < numbers.size() && i < begin + kOfModule; ++i) {
      programs.push_back(make_program(o.seed, numbers[i], o.without));
      text += programs.back().text;
      tasks.push_back({numbers[i], pools(o.seed, numbers[i])});
    }
    if (o.show) {
      std::printf("%s", text.c_str());
      if (!o.values) continue;
    }
    run(text, tasks, o.optimise, [&](size_t i, const Results& results) {
      const std::string line = line_of(programs[i], results);
      ++done;
      cases += kThreads;
      results_seen += programs[i].slots * kThreads;
      if (o.values) return show_values(programs[i], results);
      if (!compares) {
        std::printf("%llu %s\n", static_cast<unsigned long long>(tasks[i].number), line.c_str());
        return;
      }
      const std::string& want = record.at(tasks[i].number);
      if (line.size() == want.size() && different(want, line).empty()) return;
      if (++wrong <= 20) tell(o, programs[i], tasks[i].number, want, line, results);
    });
    std::fflush(stdout);
  }
  if (compares)
    std::printf("%llu programs, %llu threads, %llu results: %llu programs differ from %s\n",
                static_cast<unsigned long long>(done), static_cast<unsigned long long>(cases),
                static_cast<unsigned long long>(results_seen), static_cast<unsigned long long>(wrong),
                o.against.c_str());
  return wrong ? 1 : 0;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc) throw std::runtime_error(word + " needs a value");
      return argv[++i];
    };
    if (word == "--seed")
      o.seed = std::stoull(value());
    else if (word == "--from")
      o.from = std::stoull(value());
    else if (word == "--count")
      o.count = std::stoull(value());
    else if (word == "--step")
      o.step = static_cast<unsigned>(std::stoul(value()));
    else if (word == "--against")
      o.against = value();
    else if (word == "--keep")
      o.keep = value();
    else if (word == "--optimise")
      o.optimise = static_cast<unsigned>(std::stoul(value()));
    else if (word == "--show")
      o.show = true;
    else if (word == "--values")
      o.values = true;
    else if (word == "--without") {
      std::istringstream list(value());
      std::string number;
      while (std::getline(list, number, ',')) o.without.insert(static_cast<unsigned>(std::stoul(number)));
    } else
      throw std::runtime_error("unknown option " + word);
  }
  return o;
}

}  // namespace
}  // namespace fuzz_isa

int main(int argc, char** argv) try {
  return fuzz_isa::fuzz(fuzz_isa::parse(argc, argv));
} catch (const fuzz_isa::Broken& broken) {
  std::printf("%llu !\n", static_cast<unsigned long long>(broken.number));
  std::fflush(stdout);
  std::fprintf(stderr, "fuzz_isa: program %llu: %s\n", static_cast<unsigned long long>(broken.number),
               broken.what());
  std::_Exit(3);  // a kernel that runs for ever would be waited for
} catch (const std::exception& e) {
  std::fprintf(stderr, "fuzz_isa: %s\n", e.what());
  return 2;
}
