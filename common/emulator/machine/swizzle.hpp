// Shared-memory swizzles of the copy engine and of wgmma (PTX ISA 5.5.7, 9.7.15.5.1.2).
//
// A swizzle permutes the 16-byte chunks of a line of 128 bytes. It works on the absolute address in the shared
// window: the line number is address / 128, whatever the row of the tile. Every pattern is its own inverse.
#pragma once

#include <cstdint>

namespace emu {

// Values of CUtensorMapSwizzle.
enum class Swizzle : uint8_t { none = 0, span32 = 1, span64 = 2, span128 = 3 };

// Bytes that the pattern permutes; 0 when there is none.
constexpr uint32_t swizzle_span(Swizzle s) {
  return s == Swizzle::none ? 0 : 16u << static_cast<unsigned>(s);
}

// Bytes after which the pattern repeats: a tile that starts at a multiple of it starts at the pattern's first line.
constexpr uint32_t swizzle_period(Swizzle s) {
  return swizzle_span(s) * 8;
}

// Where the byte that belongs at `address` (shared window) is stored.
constexpr uint32_t swizzled(Swizzle s, uint32_t address) {
  switch (s) {
    case Swizzle::none:
      return address;
    case Swizzle::span32:
      return address ^ ((address >> 3) & 0x10);
    case Swizzle::span64:
      return address ^ ((address >> 3) & 0x30);
    case Swizzle::span128:
      return address ^ ((address >> 3) & 0x70);
  }
  return address;
}

constexpr const char* name_of(Swizzle s) {
  switch (s) {
    case Swizzle::none:
      return "none";
    case Swizzle::span32:
      return "32B";
    case Swizzle::span64:
      return "64B";
    case Swizzle::span128:
      return "128B";
  }
  return "?";
}

}  // namespace emu
