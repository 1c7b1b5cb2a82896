// A target takes one case, made from a seed alone, and returns when it was read or refused as it should be. It throws
// Broken where a promise does not hold; what crashes or does not end is seen by main.cpp.
#pragma once

#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace readers {

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t bits() { return engine_(); }
  size_t below(size_t n) { return n ? engine_() % n : 0; }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::mt19937_64 engine_;
};

struct Target {
  const char* name;
  void (*run)(Random& random);
  std::string (*show)(Random& random);  // the case as text, for a person; null: it has none
  unsigned cost;                        // how many cases of the cheapest target take as long
};

const std::vector<Target>& targets();

// The texts of the corpus, by file name.
const std::vector<std::string>& corpus();

// Throws unless all of them, linked, can be loaded: cases that are far from any valid text reach nothing.
void require_corpus();

// Numbers that sit at the edge of something.
uint64_t edge(Random& random);

// A text with a few changes: bytes, words, lines, nesting, numbers.
std::string mutated(std::string text, Random& random);

// Throws Broken unless the text is UTF-8 and JSON.
void require_json(const std::string& text);

void run_ptx(Random&);
std::string show_ptx(Random&);
void run_instructions(Random&);
std::string show_instructions(Random&);
void run_link(Random&);
std::string show_link(Random&);
void run_fat_binary(Random&);
void run_tensor_map(Random&);
void run_map_in_memory(Random&);
void run_environment(Random&);
std::string show_environment(Random&);
void run_json(Random&);

// What the target "environment" runs in a process of its own: it answers to the environment before main.
int environment_child();

}  // namespace readers
