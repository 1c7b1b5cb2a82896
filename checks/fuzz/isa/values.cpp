#include "values.hpp"

#include <cstring>

namespace fuzz_isa {

namespace {

uint64_t low_bits(unsigned bits) {
  return bits == 64 ? ~0ull : (1ull << bits) - 1;
}

// Integers near 0, near a power of two, near the smallest and largest of a type, or any.
uint64_t integer(unsigned bits, Random& random) {
  const uint64_t near = random.below(5) - 2;
  switch (random.below(6)) {
    case 0:
      return near & low_bits(bits);
    case 1:
      return ((1ull << random.below(bits)) + near) & low_bits(bits);
    case 2:
      return (0 - (1ull << random.below(bits)) + near) & low_bits(bits);
    case 3:
      return random.bits() >> random.below(64) & low_bits(bits);
    default:
      return random.bits() & low_bits(bits);
  }
}

struct Format {
  unsigned exponent, mantissa;
};

// Zeros, infinities, NaNs, subnormal numbers, the ends of the range, halves and integers, numbers near 1, or any.
uint64_t real(Format f, Random& random) {
  const unsigned bits = 1 + f.exponent + f.mantissa;
  const uint64_t most = low_bits(f.exponent), bias = most >> 1, fraction = low_bits(f.mantissa);
  const uint64_t sign = random.bits() >> 63 << (bits - 1);
  const auto number = [&](uint64_t exponent, uint64_t mantissa) {
    return sign | exponent << f.mantissa | (mantissa & fraction);
  };
  const uint64_t any = random.bits();
  switch (random.below(18)) {
    case 0:
      return sign;
    case 1:
      return random.percent(60) ? number(most, 0) : number(most, any | 1);
    case 2:  // subnormal
      return number(0, random.percent(50) ? any : random.percent(50) ? 1 : fraction);
    case 3:  // the smallest and the largest normal ones
      return random.percent(50) ? number(1, random.below(3)) : number(most - 1, fraction - random.below(3));
    case 4:
    case 5: {  // small integers and halves of odd ones
      const unsigned up = static_cast<unsigned>(random.below(f.mantissa < 10 ? f.mantissa + 1 : 10));
      return number(bias + up, up ? any << (f.mantissa - up - (up < f.mantissa)) : any << (f.mantissa - 1));
    }
    case 6: {  // where integers of 8 to 64 bits end, and a last place beside it
      uint64_t up = 7 + (f.exponent < 8 ? random.below(9) : 8 * random.below(8));
      if (f.exponent >= 8) up += random.below(2);
      const uint64_t at = number((bias + up) % most, random.below(3) - 1);
      return at - (random.percent(30) ? 1 : 0);
    }
    case 7:  // 1, and last places beside it
      return number(bias, 0) + random.below(5) - 2;
    case 8:  // few bits: sums and products that are exact, or half-way
      return number(bias - 3 + random.below(7), any & any >> 13 & any >> 29 & any << 7);
    case 9:
    case 10:
    case 11:
      return number(bias - 4 + random.below(9), any);
    case 16: {  // the smallest normal numbers, and just below 1: products that are subnormal before they are rounded
      const uint64_t last = random.percent(40) ? 0 : random.percent(50) ? fraction : any;
      return number(1 + random.below(2), last);
    }
    case 17:
      return number(bias - 1, random.percent(60) ? fraction - random.below(3) : any);
    case 12:  // products and quotients that leave the range
      return number(random.percent(50) ? bias / 2 + random.below(4) : bias + bias / 2 + random.below(4), any);
    default:
      return any & low_bits(bits);
  }
}

uint64_t pair(Format f, Random& random) {
  const uint64_t low = real(f, random);
  return real(f, random) << 16 | low;
}

uint32_t bits_of_float(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

constexpr Format kF16 = {5, 10}, kBf16 = {8, 7}, kF32 = {8, 23}, kF64 = {11, 52};

}  // namespace

uint64_t value_of(Pool pool, Random& random) {
  static const std::vector<uint64_t> kExact = {0x00000000, 0x80000000, 0x7F800000, 0xFF800000,
                                               0x7FC00000, 0xFFC00001, 0x7F800001};
  static const std::vector<uint64_t> kExactF16 = {0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7C01};
  static const std::vector<uint64_t> kSubnormal = {0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF,
                                                   0x00400000};
  switch (pool) {
    case Pool::int16:
      return integer(16, random);
    case Pool::int32:
      return integer(32, random);
    case Pool::int64:
      return integer(64, random);
    case Pool::amount:
      return random.percent(90) ? random.below(70) : integer(32, random);
    case Pool::f16:
      return real(kF16, random);
    case Pool::bf16:
      return real(kBf16, random);
    case Pool::f16x2:
      return pair(kF16, random);
    case Pool::bf16x2:
      return pair(kBf16, random);
    case Pool::f32:
      return real(kF32, random);
    case Pool::f64:
      return real(kF64, random);
    case Pool::exact:
      return random.of(kExact);
    case Pool::exact_ftz:
      return random.of(random.percent(50) ? kExact : kSubnormal);
    case Pool::exact_f16x2: {
      const uint64_t low = random.of(kExactF16);
      return random.of(kExactF16) << 16 | low;
    }
    case Pool::exact_bf16x2: {
      const uint64_t low = random.of(kExact) >> 16;
      return (random.of(kExact) & 0xFFFF0000) | low;
    }
    case Pool::power:
      return (127 - 40 + 2 * random.below(41)) << 23;
    default:
      return bits_of_float(static_cast<float>(static_cast<int>(random.below(241)) - 120));
  }
}

std::vector<uint64_t> pools(uint64_t seed, uint64_t program) {
  Random random(seed, program, ~0ull);
  std::vector<uint64_t> values;
  for (int pool = 0; pool < static_cast<int>(Pool::count); ++pool)
    for (unsigned i = 0; i < kPoolValues; ++i) values.push_back(value_of(static_cast<Pool>(pool), random));
  return values;
}

}  // namespace fuzz_isa
