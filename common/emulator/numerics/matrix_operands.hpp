// From operand bytes to operands: images of matrix tiles (see wgmma.hpp) taken apart for the arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/numerics/matrix_numerics.hpp"
#include "emulator/ptx/types.hpp"

namespace emu {

// 16 rows of A. `image` is [row][32 bytes], or [k][16 rows] of 16-bit elements when mn_major.
void unpack_rows(Type type, bool mn_major, bool negate, const std::vector<uint8_t>& image, MmaRows& rows);

// n columns of B. `image` is [n][32 bytes], or [k][n] of 16-bit elements when mn_major.
void unpack_columns(Type type, bool mn_major, int n, const std::vector<uint8_t>& image, MmaColumns& columns);
// The same, remembered: the four warps of a warpgroup, and other warpgroups, read the same B.
const MmaColumns& unpacked_columns(Type type, bool mn_major, int n, const std::vector<uint8_t>& image);

// Accumulators of integer types, in blocks of columns as MmaAccumulator.
using MmaIntegers = int32_t[kMmaBlocks][kMmaRows][kMmaBlock];

// d[i][j] += sum of a[i][k] * b[j][k] over 32 bytes of K, modulo 2^32 or, with `saturate`, clamped to the range of
// s32 after the whole sum (.satfinite). Types s8 or u8.
void multiply_bytes(Type a_type, Type b_type, bool saturate, const uint8_t (*a)[32], const uint8_t (*b)[32],
                    int n, MmaIntegers& d);
// d[i][j] += number of ones of a[i] & b[j], 256 bits each.
void multiply_bits(const uint8_t (*a)[32], const uint8_t (*b)[32], int n, MmaIntegers& d);

}  // namespace emu
