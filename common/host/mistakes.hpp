// What a tiled product gives when one thing about it is wrong: the models that a wrong result is compared with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lab {

// What the kernel worked on: bf16 bit patterns, a: m x k, b: n x k, and the sizes of its tiles.
struct Multiplication {
  const std::vector<uint16_t>& a;
  const std::vector<uint16_t>& b;
  int m, n, k;
  int bm, bn, bk;
};

// One operand as a tile of C sees it. The rows of its tile begin at `origin`; those of the other operand's at `other`.
struct Operand {
  int origin, other;
  int tile_rows, bk;
  int rows, depth;  // of the matrix
};

// Where an element of an operand's tile really comes from. Outside of the matrix: zero.
struct Place {
  int64_t row, k;
  bool other_matrix = false;
};

// The operand's element for row `local` of the tile and place `k` along the sum is taken from place(...).
struct OperandMistake {
  std::string id;      // "coordinates-swapped"; reported as "a-coordinates-swapped", "b-..." or "ab-..."
  std::string reason;  // a sentence about %s, "A" or "B" or "A and B"
  std::function<Place(const Operand& o, int local, int k)> place;
};
const std::vector<OperandMistake>& operand_mistakes();

// Another element of C stands at (row, col): the one of from(...). Outside of C: none.
struct OutputMistake {
  std::string id;
  std::string reason;
  std::function<Place(const Multiplication& work, int row, int col)> from;  // Place::k is the column
};
const std::vector<OutputMistake>& output_mistakes();

// The product of one row of A and one of B, with elements taken from elsewhere where a mistake is given.
class TiledProduct {
 public:
  explicit TiledProduct(const Multiplication& work) : work_(work) {}
  double value(int row, int col, const OperandMistake* in_a, const OperandMistake* in_b) const;
  // The part of the sum that K tile t contributes.
  double part(int row, int col, int t) const;
  // The part of K steps of 16 (one wgmma), the same one of each K tile.
  double step(int row, int col, int step) const;
  // What stands behind the end of the rows adds to the sum: the elements that follow in memory.
  double overrun(int row, int col) const;
  // In the last, ragged K tile, elements beyond K are still those of the tile `laps` K tiles before.
  double stale_tail(int row, int col, int laps) const;
  int k_tiles() const { return (work_.k + work_.bk - 1) / work_.bk; }

 private:
  double a(int64_t row, int64_t k) const;
  double b(int64_t row, int64_t k) const;
  double term(int row, int col, int64_t k) const { return a(row, k) * b(col, k); }
  const Multiplication& work_;
};

}  // namespace lab
