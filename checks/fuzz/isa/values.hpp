// What programs compute with: for every kind of operand a pool of values, half of them at an edge, half random.
#pragma once

#include <string>

#include "random.hpp"

namespace fuzz_isa {

enum class Pool {
  int16,
  int32,
  int64,
  amount,  // of a shift, a position, a length
  f16,
  bf16,
  f16x2,
  bf16x2,
  f32,
  f64,
  exact,        // f32 for .approx: zeros, infinities, NaN, whose results the manual gives
  exact_ftz,    // and subnormal numbers, which .ftz makes zeros
  exact_f16x2,  // the same in pairs
  exact_bf16x2,
  power,  // of 4, as f32: reciprocals, roots and logarithms are exact
  small,  // whole numbers, as f32: powers of 2 with this exponent are exact
  count
};

constexpr unsigned kThreads = 128;     // of a program
constexpr unsigned kPoolValues = 256;  // thread t reads value t + c with a constant c below 128

uint64_t value_of(Pool pool, Random& random);

// The input of one program: kPoolValues values of 8 bytes for each pool.
std::vector<uint64_t> pools(uint64_t seed, uint64_t program);

}  // namespace fuzz_isa
