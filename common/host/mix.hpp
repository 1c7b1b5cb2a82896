// The mixing step of splitmix64, for random numbers and for fingerprints.
#pragma once

#include <cstdint>

namespace lab {

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15u;

// A bijection of 64-bit numbers in which each bit of the input changes about half of the output.
inline uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

// splitmix64: returns 64 well-mixed bits and advances the state.
inline uint64_t next_random(uint64_t& state) {
  return mix(state += kGoldenGamma);
}

}  // namespace lab
