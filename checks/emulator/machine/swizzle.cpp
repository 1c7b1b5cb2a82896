// The swizzle patterns against the examples and tables of the manual (PTX ISA 5.5.7).
#include "emulator/machine/swizzle.hpp"
#include <initializer_list>

#include <doctest/doctest.h>

using emu::Swizzle;
using emu::swizzled;

TEST_CASE("swizzle: worked examples") {
  CHECK(swizzled(Swizzle::span128, 0x5A8) == 0x598);  // base 0x400, row 3, column 20 of bf16
  CHECK(swizzled(Swizzle::span128, 0x628) == 0x668);  // base 0x480: one line into the pattern
  CHECK(swizzled(Swizzle::span64, 0x352) == 0x372);   // base 0x200, row 5 of 64 bytes, column 9
  CHECK(swizzled(Swizzle::span32, 0x198) == 0x188);   // base 0x100, row 4 of 32 bytes, column 6 of f32
  CHECK(swizzled(Swizzle::none, 0x1234) == 0x1234);
}

TEST_CASE("swizzle: line r of the pattern holds chunk ^ (r mod 8, 4, 2)") {
  for (uint32_t line = 0; line < 32; ++line)
    for (uint32_t chunk = 0; chunk < 8; ++chunk) {
      const uint32_t at = line * 128 + chunk * 16;
      CHECK(swizzled(Swizzle::span128, at) == line * 128 + (chunk ^ (line % 8)) * 16);
      CHECK(swizzled(Swizzle::span64, at) == line * 128 + (chunk ^ (line % 4)) * 16);
      CHECK(swizzled(Swizzle::span32, at) == line * 128 + (chunk ^ (line % 2)) * 16);
    }
}

TEST_CASE("swizzle: every pattern is its own inverse, stays in its span and repeats after its period") {
  for (Swizzle s : {Swizzle::span32, Swizzle::span64, Swizzle::span128}) {
    for (uint32_t at = 0; at < 4096; ++at) {
      CHECK(swizzled(s, swizzled(s, at)) == at);
      CHECK(swizzled(s, at) / emu::swizzle_span(s) == at / emu::swizzle_span(s));
      CHECK(swizzled(s, at) % 16 == at % 16);
      CHECK(swizzled(s, at + emu::swizzle_period(s)) == swizzled(s, at) + emu::swizzle_period(s));
    }
  }
}
