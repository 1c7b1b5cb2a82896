// Numbers that follow from a seed alone, the same with every compiler and library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuzz_isa {

class Random {  // splitmix64
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // A stream of its own for each of several numbers.
  Random(uint64_t seed, uint64_t a, uint64_t b) : Random(seed) {
    state_ = bits() ^ a * 0xD6E8FEB86659FD93ull;
    state_ = bits() ^ b * 0xA0761D6478BD642Full;
  }

  uint64_t bits() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
  }
  size_t below(size_t n) { return static_cast<size_t>((bits() >> 32) * n >> 32); }
  bool percent(unsigned chance) { return below(100) < chance; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace fuzz_isa
