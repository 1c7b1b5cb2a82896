// How the tensor core adds: a matrix product whose every element is one fused sum.
//
// PTX leaves order, rounding and subnormals of mma and wgmma open (PTX ISA 9.7.15.5.2: "at least single precision").
// This is the arithmetic that has been observed on Hopper, one step for an element of D and one instruction:
//   1. Terms: the old D element (or 0) and the K products a*b. A product is exact; its exponent is the sum of the two
//      operands' exponents. A subnormal has the smallest exponent of its type.
//   2. E = the largest exponent of all terms that are not zero. Each term is cut (toward zero) to a multiple of 2^(E - fraction bits).
//   3. The cut terms are added exactly, the sum is converted: cut to f32 (23 or 13 fraction bits), or rounded to the
//      nearest even f16. A zero result is +0.
//   4. A NaN, or infinities of both signs, give the canonical NaN (0x7FFFFFFF, f16: 0x7FFF).
#pragma once

#include <cstdint>
#include <cstring>

#include "emulator/ptx/types.hpp"

namespace emu {

constexpr int kMmaRows = 16;      // rows that one warp computes
constexpr int kMmaColumns = 256;  // largest N
constexpr int kMmaDepth = 32;     // largest K of a floating point instruction
constexpr int kMmaBlock = 16;     // columns computed together
constexpr int kMmaBlocks = kMmaColumns / kMmaBlock;

// One operand element, taken apart.
struct MmaElement {
  float value;       // exact
  int16_t exponent;  // of a normal number: floor(log2 |value|); see above for subnormals and zeros
  bool plain;        // finite, and zero or within 2^-40 <= |value| < 2^41: the fast sum is exact
};

// Lower than that of any product: a term that is zero never decides the alignment.
constexpr int kMmaZeroExponent = -1000;
constexpr int kMmaPlainExponent = 40;

// bf16 and tf32 are the upper bits of an f32.
inline MmaElement mma_element_of_f32(uint32_t bits) {
  const int field = static_cast<int>(bits >> 23 & 0xFF);
  const bool zero = (bits & 0x7FFFFFFF) == 0;
  MmaElement e;
  std::memcpy(&e.value, &bits, 4);
  e.exponent = static_cast<int16_t>(zero ? kMmaZeroExponent : (field ? field : 1) - 127);
  e.plain = zero || (field >= 127 - kMmaPlainExponent && field <= 127 + kMmaPlainExponent);
  return e;
}

// bits: the element as it lies in memory (low bits). type: bf16, f16, tf32 (low 13 bits are dropped), e4m3, e5m2.
MmaElement mma_element(Type type, uint32_t bits);

// The bits that elements have, all together: the highest exponent, and the lowest bit that is set in any.
struct MmaBits {
  int highest = kMmaZeroExponent, lowest = -kMmaZeroExponent;
  void add(const MmaElement& e) {
    uint32_t bits;
    std::memcpy(&bits, &e.value, 4);
    const int field = static_cast<int>(bits >> 23 & 0xFF);
    const uint32_t significand = (bits & 0x7FFFFF) | uint32_t{field != 0} << 23;
    if (significand == 0) return;
    highest = highest > e.exponent ? highest : e.exponent;
    const int low = (field ? field : 1) - 150 + __builtin_ctz(significand);
    lowest = lowest < low ? lowest : low;
  }
};

// A: kMmaRows rows of K elements.
struct MmaRows {
  alignas(64) float value[kMmaRows][kMmaDepth];
  alignas(64) int16_t exponent[kMmaRows][kMmaDepth];
  alignas(64) int32_t exponent_twice[kMmaRows][kMmaDepth];  // in both halves
  bool plain[kMmaRows];
  MmaBits bits;

  void clear() {
    for (bool& p : plain) p = true;
    bits = MmaBits();
  }
  void set(int row, int k, MmaElement e) {
    value[row][k] = e.value;
    exponent[row][k] = e.exponent;
    exponent_twice[row][k] = static_cast<int32_t>(static_cast<uint16_t>(e.exponent) * 0x10001u);
    plain[row] = plain[row] && e.plain;
    bits.add(e);
  }
};

// B: K x N elements, in blocks of kMmaBlock columns.
struct MmaColumns {
  alignas(64) float value[kMmaBlocks][kMmaDepth][kMmaBlock];
  alignas(64) int16_t exponent[kMmaBlocks][kMmaDepth][kMmaBlock];
  bool plain[kMmaBlocks];
  MmaBits bits;

  // Columns of the last block that are never set hold zeros.
  void clear(int columns);
  void set(int k, int column, MmaElement e) {
    int block = column / kMmaBlock, lane = column % kMmaBlock;
    value[block][k][lane] = e.value;
    exponent[block][k][lane] = e.exponent;
    plain[block] = plain[block] && e.plain;
    bits.add(e);
  }
};

// D (or C): kMmaRows x N. f16 values are held as the f32 of the same value.
struct MmaAccumulator {
  alignas(64) float value[kMmaBlocks][kMmaRows][kMmaBlock];
  float& at(int row, int column) { return value[column / kMmaBlock][row][column % kMmaBlock]; }
};

struct MmaFormat {
  Type a = Type::bf16, b = Type::bf16, d = Type::f32;  // d: f32 or f16
  int depth = 16;                                      // K
  int fraction_bits = 25;                              // kept of every term
  int result_bits = 23;                                // fraction bits of an f32 result
  bool negate_a = false, negate_b = false;
};

// The format of an instruction with these types; fp8 operands keep fewer bits.
MmaFormat mma_format(Type a, Type b, Type d);

// d = a * b + d for the first `columns` columns.
void mma_multiply(const MmaFormat& format, const MmaRows& a, const MmaColumns& b, int columns,
                  MmaAccumulator& d);

// One element, step by step as stated above; mma_multiply gives the same. a, b: `depth` elements.
float mma_fused_sum(const MmaFormat& format, const MmaElement* a, const MmaElement* b, float d);

// Elements of one row or column in the bytes of an operand; used to fill MmaRows and MmaColumns.
float f16_to_f32(uint16_t bits);
uint16_t f16_from_double(double value);  // nearest even; NaN gives 0x7FFF

}  // namespace emu
