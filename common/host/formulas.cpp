#include "host/formulas.hpp"

#include <algorithm>
#include <array>

namespace lab {
namespace {

constexpr int kChunk = 8;  // elements of 16 bytes, and chunks of a row of 128 bytes
constexpr int kWarpgroupRows = 64;
constexpr int kBlockRows = 16, kBlockCols = 64;  // what a warp stages at a time

// What a formula for the place of chunk c of row r takes of r, or of c for the place of the row.
struct Term {
  const char* of_row;
  int (*of)(int r);
};
constexpr Term kTerms[] = {
    {"r % 8", [](int r) { return r % 8; }},           {"r / 8 % 8", [](int r) { return r / 8 % 8; }},
    {"r % 4", [](int r) { return r % 4; }},           {"r % 2", [](int r) { return r % 2; }},
    {"r / 2 % 8", [](int r) { return r / 2 % 8; }},   {"r / 2 % 4", [](int r) { return r / 2 % 4; }},
    {"r / 4 % 8", [](int r) { return r / 4 % 8; }},   {"r / 4 % 2", [](int r) { return r / 4 % 2; }},
    {"r / 16 % 8", [](int r) { return r / 16 % 8; }}, {"2 * r % 8", [](int r) { return 2 * r % 8; }},
    {"(7 - r % 8)", [](int r) { return 7 - r % 8; }}};

struct Step {
  const char* sign;
  int (*there)(int c, int x);  // the place of chunk c
  int (*back)(int p, int x);   // which chunk is at place p
};
constexpr Step kSteps[] = {{" XOR ", [](int c, int x) { return c ^ x; }, [](int p, int x) { return p ^ x; }},
                           {" + ", [](int c, int x) { return (c + x) % kChunk; },
                            [](int p, int x) { return (p - x) & (kChunk - 1); }},
                           {" - ", [](int c, int x) { return (c - x) & (kChunk - 1); },
                            [](int p, int x) { return (p + x) % kChunk; }}};

// "c XOR r % 4", "(c + r % 8) % 8".
std::string formula(const Step& step, const std::string& of, const char* term) {
  const std::string sum = of + step.sign + term;
  return step.sign[1] == 'X' ? sum : "(" + sum + ") % 8";
}

// "row 1: chunk 0 is at place 1, and belongs at 1", the first that is elsewhere.
std::string example(const Term& term, const Step& step) {
  for (int r = 0; r < 128; ++r)
    for (int c = 0; c < kChunk; ++c)
      if (const int at = step.there(c, term.of(r)); at != (c ^ r % 8))
        return "row " + std::to_string(r) + "'s chunk " + std::to_string(c) + " lies at place " +
               std::to_string(at) + " and belongs at " + std::to_string(c ^ r % 8);
  return "";
}

// Which chunk the reader of chunk c of row r gets, when chunks were written by a formula.
int chunk_got(const Term& term, const Step& step, int r, int c) {
  return step.back(c ^ r % 8, term.of(r));
}

// Likewise which row of eight, when the formula has moved the rows and left the chunks: place p of row r.
int row_got(const Step& step, int r, int p) {
  return r / 8 * 8 + step.back(r % 8, p);
}

std::string chunks_reason(const char* of, const Term& term, const Step& step) {
  return std::string("The 16-byte chunks of the rows of ") + of +
         " are in another order than that of the 128-byte swizzle. They lie "
         "as chunk c of row r written at " +
         formula(step, "c", term.of_row) + "; it belongs at c XOR r % 8 (" + example(term, step) + ").";
}

std::string rows_reason(const char* of, const Step& step) {
  return std::string("The rows of ") + of +
         " are permuted where their chunks should be: what is in chunk c of row r was written to row " +
         formula(step, "r", "c") +
         " of its eight, at place c. The 128-byte swizzle leaves the row and puts chunk c at c XOR r % 8.";
}

void add_orders(std::vector<OperandMistake>& all) {
  for (const Step& step : kSteps)
    for (const Term& term : kTerms)
      if (const Step* s = &step; !example(term, step).empty())
        all.push_back({"chunks-misplaced", chunks_reason("%s", term, step),
                       [s, &term](const Operand& o, int local, int k) {
                         const int c = k % o.bk / kChunk;
                         return Place{o.origin + local, k + (chunk_got(term, *s, local, c) - c) * kChunk};
                       }});
  for (const Step& step : kSteps)
    all.push_back({"rows-misplaced", rows_reason("%s", step), [&step](const Operand& o, int local, int k) {
                     const int c = k % o.bk / kChunk, place = c ^ local % 8;
                     return Place{o.origin + row_got(step, local, place), k + (place - c) * kChunk};
                   }});
  all.push_back(
      {"chunks-in-columns",
       "The tiles of %s lie column by column: chunk c of row r was written at c * rows + r. They are read row by row, with "
       "chunk c of row r at r * 8 + (c XOR r % 8).",
       [](const Operand& o, int local, int k) {
         const int c = k % o.bk / kChunk, place = local * kChunk + (c ^ local % 8);
         return Place{o.origin + place % o.tile_rows, k + (place / o.tile_rows - c) * kChunk};
       }});
}

void add_cuts(std::vector<OperandMistake>& all) {
  for (int bytes = 2; bytes < 16; bytes += 2)
    all.push_back(
        {"chunk-cut",
         "Of every 16 bytes of the tiles of A, of B or of both only the first " + std::to_string(bytes) +
             " are there, the others are zeros: a size counts bytes, 2 for an element (16 for 8 of them).",
         [bytes](const Operand& o, int local, int k) {
           return k % kChunk < bytes / 2 ? Place{o.origin + local, k} : Place{-1, 0};
         }});
}

void add_shifts(std::vector<OperandMistake>& all) {
  for (int row = 1; row < 256; ++row)
    if (row != kWarpgroupRows)
      all.push_back(
          {"rows-shifted",
           "Rows 64 and on of each tile of %s, those of the second warpgroup, are what lies " +
               std::to_string(row) + (row == 1 ? " row" : " rows") +
               " behind its beginning: the offset of the operand is " + std::to_string(row) +
               (row == 1 ? " row" : " rows") + " (of 64 elements), not 64.",
           [row](const Operand& o, int local, int k) {
             const int at = local < kWarpgroupRows ? local : local - kWarpgroupRows + row;
             return at < o.tile_rows ? Place{o.origin + at, k} : Place{o.other + at - o.tile_rows, k, true};
           }});
}

void add_stages(std::vector<OperandMistake>& all) {
  for (int stages = 2; stages <= 8; ++stages)
    all.push_back({"k-of-the-stage",
                   "The place of %s along K goes round with the ring: K tile t begins at (t % " +
                       std::to_string(stages) + ") * BK, the number of its stage, where t * BK belongs.",
                   [stages](const Operand& o, int local, int k) {
                     return Place{o.origin + local, k % o.bk + k / o.bk % stages * o.bk};
                   }});
}

// Lane l of a warp stands for row l % 16 of 16 and for the left or right 8 columns: l / 16. bits[i]: which bit of the lane was
// used as bit i of the row, bits[4]: as the half.
std::string lanes_reason(const std::array<int, 5>& bits) {
  for (int lane = 1; lane < 32; ++lane) {
    int row = 0;
    for (size_t i = 0; i < 4; ++i) row |= (lane >> bits[i] & 1) << i;
    const int half = lane >> bits[4] & 1;
    if (row == lane % 16 && half == lane / 16) continue;
    const auto name = [](int r, int h) { return "row " + std::to_string(r) + (h ? ", right" : ", left"); };
    return "In every 16 x 16 elements of C the rows of 8 are in another order: what belongs to " +
           name(lane % 16, lane / 16) + " half, stands in " + name(row, half) +
           " half. Lane l of stmatrix.x4 addresses row l % 16 and half l / 16.";
  }
  return "";
}

}  // namespace

std::vector<OperandMistake> operand_formulas() {
  std::vector<OperandMistake> all;
  add_orders(all);
  add_cuts(all);
  add_shifts(all);
  add_stages(all);
  return all;
}

std::vector<OutputMistake> output_formulas() {
  std::vector<OutputMistake> all;
  for (const Step& step : kSteps)
    for (const Term& term : kTerms)
      if (const Step* s = &step; !example(term, step).empty())
        all.push_back({"output-chunks-misplaced", chunks_reason("C's blocks", term, step),
                       [s, &term](const Multiplication&, int row, int col) {
                         const int r = row % kBlockRows, c = col % kBlockCols / kChunk;
                         return Place{row, col + (chunk_got(term, *s, r, c) - c) * kChunk};
                       }});
  for (const Step& step : kSteps)
    all.push_back({"output-rows-misplaced", rows_reason("C's blocks", step),
                   [&step](const Multiplication&, int row, int col) {
                     const int c = col % kBlockCols / kChunk, place = c ^ row % 8;
                     return Place{row_got(step, row, place), col + (place - c) * kChunk};
                   }});
  std::array<int, 5> bits = {0, 1, 2, 3, 4};
  while (std::next_permutation(bits.begin(), bits.end()))
    all.push_back(
        {"output-rows-misplaced", lanes_reason(bits), [bits](const Multiplication&, int row, int col) {
           int lane = (col >> 3 & 1) << bits[4];
           for (size_t i = 0; i < 4; ++i) lane |= (row >> i & 1) << bits[i];
           return Place{row / 16 * 16 + lane % 16, col / 16 * 16 + lane / 16 * 8 + col % 8};
         }});
  return all;
}

}  // namespace lab
