// fuzz: random correct pipelines, and the same with one mistake in them, on the emulator under its checker.
//
//   fuzz [--count N] [--seed S]          N correct pipelines and N mutations, from seed S on; both rates, a table of kinds
//   fuzz --seed S --only KIND [--show]   one pipeline with one mistake (KIND "correct": none) under every schedule;
//                                        --show prints its description and its PTX
//
// Exit: 0 when no correct pipeline was accused or gave wrong numbers and every mistake was found, 1 otherwise, 2 for bad
// arguments. README.md says what is generated and how to read the table.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "emit.hpp"
#include "emulator/findings/report.hpp"
#include "mutate.hpp"
#include "pipeline.hpp"
#include "run.hpp"

namespace {

using namespace fuzz;

struct Tally {
  uint64_t made = 0, named = 0, numbers = 0, later = 0, missed = 0;
  std::map<std::string, uint64_t> ids;
};

std::string random_schedule(Dice& dice) {
  return "random:" + std::to_string(dice.between(1, 1000));
}

// One to three of: in order, late, random.
std::vector<std::string> schedules(Dice& dice) {
  std::vector<std::string> list;
  const unsigned which = dice.between(1, 7);
  if (which & 1) list.push_back("in-order");
  if (which & 2) list.push_back("late");
  if (which & 4) list.push_back(random_schedule(dice));
  return list;
}

std::string one_schedule(Dice& dice, const Mutation& m) {
  // Whether the first answer is False is a matter of time: it is when the copies take their time.
  if (m.change == Change::full_wait_once) return "late";
  const unsigned which = dice.below(3);
  return which == 0 ? "in-order" : which == 1 ? "late" : random_schedule(dice);
}

// The dice of a mutation depend on the pipeline's seed and the kind only, so that it can be made again.
Dice dice_of(uint64_t seed, const Kind& kind) {
  return Dice(seed * 1000 + static_cast<uint64_t>(kind.change));
}

// Of the mistakes that this pipeline can have, the one of the kind that has been made least often.
const Kind* choose_kind(const Pipeline& p, const std::map<Change, Tally>& tallies, Mutation* m) {
  const Kind* chosen = nullptr;
  uint64_t least = 0;
  for (const Kind& kind : kinds()) {
    const auto found = tallies.find(kind.change);
    const uint64_t made = found == tallies.end() ? 0 : found->second.made;
    if (chosen && made >= least) continue;
    Dice dice = dice_of(p.seed, kind);
    if (auto mutation = mutate(p, kind, dice)) {
      *m = *mutation;
      chosen = &kind;
      least = made;
    }
  }
  return chosen;
}

int single(uint64_t seed, const std::string& only, bool show) {
  const Pipeline p = random_pipeline(seed);
  Mutation m;
  if (only != "correct") {
    const Kind* kind = nullptr;
    for (const Kind& k : kinds())
      if (only == k.name) kind = &k;
    if (!kind) {
      std::fprintf(stderr, "fuzz: there is no mistake called %s\n  try   one of: correct", only.c_str());
      for (const Kind& k : kinds()) std::fprintf(stderr, " %s", k.name);
      std::fprintf(stderr, "\n");
      return 2;
    }
    Dice dice = dice_of(seed, *kind);
    const auto made = mutate(p, *kind, dice);
    if (!made) {
      std::printf("%scannot have %s, or it would do no harm: %s\n", describe(p).c_str(), kind->name,
                  kind->what);
      return 2;
    }
    m = *made;
    std::printf("mistake: %s%s\n", kind->what,
                m.round < 0 ? "" : (", in round " + std::to_string(m.round)).c_str());
    if (kind->change == Change::reader_swizzle || kind->change == Change::map_swizzle)
      std::printf("  the wrong swizzle: %s\n", emu::name_of(m.swizzle));
  }
  if (show) {
    const std::string text = emit(p, m);
    std::printf("%s", describe(p).c_str());
    int line = 1;
    for (size_t at = 0; at < text.size(); ++line) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::printf("%4d  %s\n", line, text.substr(at, end - at).c_str());
      at = end + 1;
    }
  }
  bool as_meant = true;
  for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3"}) {
    const Outcome o = run(p, m, schedule);
    std::printf("-- %s: %s, numbers %s\n", schedule, o.named.empty() ? "nothing named" : o.named.c_str(),
                o.numbers ? "right" : "wrong");
    for (const emu::Finding& f : o.findings)
      std::printf("%s%s", f.severity == emu::Severity::advice ? "(advice) " : "", f.text().c_str());
    as_meant = as_meant && o.right() == (m.change == Change::none);
  }
  return as_meant ? 0 : 1;
}

int many(uint64_t seed, uint64_t count) {
  const auto begin = std::chrono::steady_clock::now();
  std::map<Change, Tally> tallies;
  std::map<std::string, uint64_t> advice;
  uint64_t correct = 0, runs = 0, accused = 0, wrong = 0, mutated = 0;
  for (uint64_t s = seed; correct < count || mutated < count; ++s) {
    const Pipeline p = random_pipeline(s);
    Dice dice(s ^ 0xD1CE);
    if (correct < count) {
      ++correct;
      bool clean = true, right = true;
      for (const std::string& schedule : schedules(dice)) {
        ++runs;
        const Outcome o = run(p, Mutation(), schedule);
        for (const emu::Finding& f : o.findings)
          if (f.severity == emu::Severity::advice) ++advice[emu::name_of(f.id)];
        if (!o.named.empty() && clean)
          std::printf("accused: a correct pipeline, of %s under %s: fuzz --seed %llu --only correct --show\n",
                      o.named.c_str(), schedule.c_str(), static_cast<unsigned long long>(s));
        else if (!o.numbers && right)
          std::printf(
              "wrong numbers: of a correct pipeline under %s: fuzz --seed %llu --only correct --show\n",
              schedule.c_str(), static_cast<unsigned long long>(s));
        clean = clean && o.named.empty();
        right = right && (o.numbers || !o.named.empty());
      }
      accused += !clean;
      wrong += !right;
    }
    Mutation m;
    const Kind* kind = mutated < count ? choose_kind(p, tallies, &m) : nullptr;
    if (!kind) continue;
    ++mutated;
    std::string schedule = one_schedule(dice, m);
    Outcome o = run(p, m, schedule);
    Tally& t = tallies[kind->change];
    ++t.made;
    // A mistake whose harm depends on who comes last may leave a run in which all is ordered: then others are tried.
    if (o.right()) {
      std::vector<std::string> more = {"in-order", "late"};
      for (int i = 1; i <= 10; ++i) more.push_back("random:" + std::to_string(i));
      for (size_t i = 0; i < more.size() && o.right(); ++i) o = run(p, m, more[i]);
      t.later += !o.right();
    }
    if (!o.named.empty()) {
      ++t.named;
      ++t.ids[o.named];
    } else if (!o.numbers) {
      ++t.numbers;
    } else {
      ++t.missed;
      std::printf("missed: %s: fuzz --seed %llu --only %s --show\n", kind->what,
                  static_cast<unsigned long long>(s), kind->name);
    }
  }

  std::printf("\n%-22s %6s %6s %8s %6s %6s  %s\n", "mistake", "made", "named", "numbers", "later", "missed",
              "named as");
  Tally all;
  for (const Kind& kind : kinds()) {
    const Tally& t = tallies[kind.change];
    std::string ids;
    for (auto& [id, n] : t.ids) ids += (ids.empty() ? "" : ", ") + id + " " + std::to_string(n);
    std::printf("%-22s %6llu %6llu %8llu %6llu %6llu  %s\n", kind.name,
                static_cast<unsigned long long>(t.made), static_cast<unsigned long long>(t.named),
                static_cast<unsigned long long>(t.numbers), static_cast<unsigned long long>(t.later),
                static_cast<unsigned long long>(t.missed), ids.c_str());
    all.made += t.made;
    all.named += t.named;
    all.numbers += t.numbers;
    all.later += t.later;
    all.missed += t.missed;
  }
  auto percent = [](uint64_t part, uint64_t whole) {
    return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  };
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("\ncorrect pipelines   %llu (%llu runs): %llu accused (%.2f %%), %llu with wrong numbers\n",
              static_cast<unsigned long long>(correct), static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(accused), percent(accused, correct),
              static_cast<unsigned long long>(wrong));
  for (auto& [id, n] : advice)
    std::printf("  advice            %s, in %llu runs\n", id.c_str(), static_cast<unsigned long long>(n));
  std::printf("mistakes            %llu: %llu named (%.2f %%), %llu seen in the numbers only, %llu missed\n",
              static_cast<unsigned long long>(all.made), static_cast<unsigned long long>(all.named),
              percent(all.named, all.made), static_cast<unsigned long long>(all.numbers),
              static_cast<unsigned long long>(all.missed));
  std::printf("found               %.2f %% of the mistakes, %.2f %% in the first run; %.1f s\n",
              percent(all.named + all.numbers, all.made),
              percent(all.named + all.numbers - all.later, all.made), seconds);
  // In so many, each kind has had its turn, or its rules leave no pipeline to it.
  bool idle = false;
  for (const Kind& kind : kinds())
    if (mutated >= 20 * kinds().size() && tallies[kind.change].made == 0) {
      std::printf("never made: %s: see its rules in checks/fuzz/mutate.cpp\n", kind.name);
      idle = true;
    }
  return accused || wrong || all.missed || idle ? 1 : 0;
}

uint64_t number(const char* text, const char* option) {
  char* end = nullptr;
  const uint64_t value = text ? std::strtoull(text, &end, 10) : 0;
  if (text && end != text && *end == 0) return value;
  std::fprintf(stderr, "fuzz: %s wants a number, not %s\n", option, text ? text : "nothing");
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1, count = 1000;
  std::string only;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--show") {
      show = true;
      continue;
    }
    if (option == "--seed")
      seed = number(value, "--seed");
    else if (option == "--count")
      count = number(value, "--count");
    else if (option == "--only" && value)
      only = value;
    else {
      std::fprintf(stderr, "fuzz: what is %s?\n  try   fuzz [--count N] [--seed S] [--only KIND [--show]]\n",
                   option.c_str());
      return 2;
    }
    ++i;
  }
  if (show && only.empty()) only = "correct";
  try {
    return only.empty() ? many(seed, count) : single(seed, only, show);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fuzz: %s\n", e.what());
    return 1;
  }
}
