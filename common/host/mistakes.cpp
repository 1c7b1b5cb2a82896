#include "host/mistakes.hpp"

#include "host/bf16.hpp"
#include "host/formulas.hpp"

namespace lab {
namespace {

constexpr int kChunk = 8;  // elements of 16 bytes
constexpr int kStep = 16;  // elements along K of one wgmma
constexpr int kWgmmaRows = 64;

// Element k of a row when its 16-byte chunks lie elsewhere by `bits` (of the row's number) than the reader looks.
int permuted(int k, int bits) {
  return k ^ bits * kChunk;
}
Place in_row(const Operand& o, int local, int64_t k) {
  return {o.origin + local, k};
}
int tile_of(const Operand& o, int k) {
  return k / o.bk;
}
// By how much the 128-byte pattern differs between a row counted from here and from `off` rows further up.
int phase(int local, int off) {
  return local % 8 ^ (local + off) % 8;
}

// Those that can be told in words first, then the formulas.
template <class Mistake>
std::vector<Mistake> with(std::vector<Mistake> formulas, std::vector<Mistake> first) {
  first.insert(first.end(), formulas.begin(), formulas.end());
  return first;
}

double element(const std::vector<uint16_t>& matrix, int rows, int columns, int64_t row, int64_t column) {
  if (row < 0 || row >= rows || column < 0 || column >= columns) return 0;
  return bf16_to_float(matrix[static_cast<size_t>(row) * columns + column]);
}

}  // namespace

const std::vector<OperandMistake>& operand_mistakes() {
  static const std::vector<OperandMistake> kMistakes = with(
      operand_formulas(),
      {
          {"chunks-permuted",
           "The 16-byte chunks of the rows of %s are in another order than wgmma reads: writer and descriptor disagree about the "
           "128-byte swizzle (chunk c of row r belongs at c XOR r % 8).",
           [](const Operand& o, int local, int k) { return in_row(o, local, permuted(k, local % 8)); }},
          {"swizzle-of-64-bytes",
           "The rows of %s were written with the pattern of the 64-byte swizzle (chunk XOR r % 4) and are read with that of 128 "
           "bytes (chunk XOR r % 8).",
           [](const Operand& o, int local, int k) { return in_row(o, local, permuted(k, local & 4)); }},
          {"swizzle-of-32-bytes",
           "The rows of %s were written with the pattern of the 32-byte swizzle (chunk XOR r % 2) and are read with that of 128 "
           "bytes (chunk XOR r % 8).",
           [](const Operand& o, int local, int k) { return in_row(o, local, permuted(k, local & 6)); }},
          {"swizzle-row-shift",
           "The swizzle of %s counts its rows from another place than the tensor core: the tile does not start at a multiple of "
           "1024 bytes, or the rows are numbered from another start.",
           [](const Operand& o, int local, int k) { return in_row(o, local, permuted(k, phase(local, 1))); }},
          {"coordinates-swapped",
           "The coordinates of the copies of %s are exchanged: the row stands where the place along K belongs. Innermost first: K, "
           "then the row.",
           [](const Operand& o, int local, int k) {
             const int k0 = tile_of(o, k) * o.bk;
             return Place{k0 + local, o.origin + k - k0};
           }},
          {"dimensions-exchanged",
           "The dimensions of %s are exchanged in the tensor map: what lies beyond them is filled with zeros. Innermost first: K, "
           "then the rows.",
           [](const Operand& o, int local, int k) {
             return k < o.rows && o.origin + local < o.depth ? in_row(o, local, k) : Place{-1, 0};
           }},
          {"tile-transposed",
           "Rows and columns are exchanged inside the tiles of %s: element (row, k) was taken from (k, row).",
           [](const Operand& o, int local, int k) {
             const int k0 = tile_of(o, k) * o.bk;
             return Place{o.origin + k - k0, k0 + local};
           }},
          {"row-of-the-other-operand",
           "The tiles of %s begin at the row that belongs to the other operand (tile.row for A, tile.col for B).",
           [](const Operand& o, int local, int k) {
             return Place{o.other + local, k};
           }},
          {"other-operand",
           "The tiles of %s were filled from the other operand's matrix: a pointer or tensor map stands for the wrong one.",
           [](const Operand& o, int local, int k) {
             return Place{o.origin + local, k, true};
           }},
          {"row-missing", "Every tile of %s begins at row 0: the tile's row is not in the coordinates.",
           [](const Operand&, int local, int k) {
             return Place{local, k};
           }},
          {"row-in-tiles",
           "The row of %s is counted in tiles, not in elements: tile number i begins at row i times the tile's height.",
           [](const Operand& o, int local, int k) {
             return Place{o.origin / o.tile_rows + local, k};
           }},
          {"row-in-bytes",
           "The row of %s is twice as large as it should be: coordinates count elements, not bytes.",
           [](const Operand& o, int local, int k) {
             return Place{2 * int64_t{o.origin} + local, k};
           }},
          {"same-k-tile",
           "The same K tile of %s is used in every iteration: the place along K does not move.",
           [](const Operand& o, int local, int k) { return in_row(o, local, k % o.bk); }},
          {"k-in-bytes",
           "The place of %s along K is twice as large as it should be: coordinates count elements, not bytes.",
           [](const Operand& o, int local, int k) { return in_row(o, local, k + tile_of(o, k) * o.bk); }},
          {"k-in-tiles",
           "The place of %s along K is counted in tiles, not in elements: K tile t begins at t * BK.",
           [](const Operand& o, int local, int k) { return in_row(o, local, k % o.bk + tile_of(o, k)); }},
          {"k-in-chunks",
           "The place of %s along K is counted in chunks of 8 elements, not in elements: K tile t begins at t * BK.",
           [](const Operand& o, int local, int k) {
             return in_row(o, local, k % o.bk + tile_of(o, k) * o.bk / kChunk);
           }},
          {"one-k-tile-ahead",
           "Each product takes K tile t + 1 of %s with K tile t of the other operand: one of the two is off by one.",
           [](const Operand& o, int local, int k) { return in_row(o, local, k + o.bk); }},
          {"descriptor-not-advanced",
           "Each wgmma of a K tile reads the same 16 columns of %s: the descriptor's address does not move on along K.",
           [](const Operand& o, int local, int k) { return in_row(o, local, k - k % o.bk + k % kStep); }},
          {"descriptor-advanced-by-half",
           "From one wgmma of a K tile to the next the descriptor of %s moves by 16 bytes, not by the 32 of 16 elements.",
           [](const Operand& o, int local, int k) {
             const int in_tile = k % o.bk;
             return in_row(o, local, k - in_tile + in_tile / kStep * (kStep / 2) + in_tile % kStep);
           }},
          {"rows-repeated",
           "Rows 64 and on of each tile of %s are the first 64 again: a descriptor, a coordinate or an address lacks the offset of "
           "the second half, or the same part of the accumulator was stored for every part of C.",
           [](const Operand& o, int local, int k) { return in_row(o, local % kWgmmaRows, k); }},
          {"half-repeated",
           "The second half of each tile of %s is the first again: a coordinate lacks the offset of the second half.",
           [](const Operand& o, int local, int k) { return in_row(o, local % (o.tile_rows / 2), k); }},
          {"stride-in-elements",
           "The rows of %s were found at half their distance: the stride is in elements where it counts bytes.",
           [](const Operand& o, int local, int k) {
             const int64_t flat = int64_t{o.origin + local} * o.depth / 2 + k;
             return k < o.depth ? Place{flat / o.depth, flat % o.depth} : Place{-1, 0};
           }},
          {"matrix-transposed",
           "The matrix %s was read as if its columns were its rows: element (row, k) lies at row * K + k, not at k * rows + row.",
           [](const Operand& o, int local, int k) {
             const int64_t flat = int64_t{k} * o.rows + o.origin + local;
             return k < o.depth && o.origin + local < o.rows ? Place{flat / o.depth, flat % o.depth}
                                                             : Place{-1, 0};
           }},
          {"stride-of-the-tile",
           "The rows of %s were taken as far apart as those of its tile in shared memory (BK elements): in the matrix they are K "
           "elements apart.",
           [](const Operand& o, int local, int k) {
             const int64_t flat = int64_t{o.origin + local} * o.bk + k;
             return k < o.depth && o.origin + local < o.rows ? Place{flat / o.depth, flat % o.depth}
                                                             : Place{-1, 0};
           }},
          {"outside-not-zero",
           "What lies outside of %s is the beginning of the matrix, not zeros: a copy of no bytes writes zeros, this one has read the "
           "valid address that stands in its place.",
           [](const Operand& o, int local, int k) {
             return k < o.depth && o.origin + local < o.rows ? in_row(o, local, k) : Place{0, k % kChunk};
           }},
      });
  return kMistakes;
}

const std::vector<OutputMistake>& output_mistakes() {
  static const std::vector<OutputMistake> kMistakes = with(
      output_formulas(),
      {
          {"transposed", "The result is the transpose of C: rows and columns are exchanged.",
           [](const Multiplication&, int row, int col) {
             return Place{col, row};
           }},
          {"c-coordinates-swapped",
           "The tiles of C are right and stand in each other's place: the row of a tile was used as its column.",
           [](const Multiplication& w, int row, int col) {
             const int col0 = row / w.bn * w.bn,
                       row0 = col / w.bm * w.bm;  // of the tile that was stored here
             return row - col0 < w.bm && col - row0 < w.bn ? Place{row0 + row - col0, col0 + col - row0}
                                                           : Place{-1, 0};
           }},
          {"c-tile-transposed",
           "Rows and columns are exchanged inside the tiles of C; the tiles are in their places.",
           [](const Multiplication& w, int row, int col) {
             const int row0 = row / w.bm * w.bm, col0 = col / w.bn * w.bn;
             return col - col0 < w.bm && row - row0 < w.bn ? Place{row0 + col - col0, col0 + row - row0}
                                                           : Place{-1, 0};
           }},
          {"c-row-stride",
           "The rows of C are K elements apart, not N: the row stride of another matrix was used for the result.",
           [](const Multiplication& w, int row, int col) {
             const int64_t flat = int64_t{row} * w.n + col;
             return flat % w.k < w.n ? Place{flat / w.k, flat % w.k} : Place{-1, 0};
           }},
          {"output-chunks-permuted",
           "Whole rows of C hold the right values with their 16-byte chunks permuted: the output tile was swizzled by one side only.",
           [](const Multiplication&, int row, int col) {
             return Place{row, permuted(col, row % 8)};
           }},
          {"output-quarters-exchanged",
           "In every 16 x 16 elements of C the upper right and the lower left 8 x 8 are exchanged: the lanes of stmatrix address its "
           "four matrices in another order than the registers hold them.",
           [](const Multiplication&, int row, int col) {
             return Place{(row & ~8) | (col & 8), (col & ~8) | (row & 8)};
           }},
          {"output-swizzle-of-64-bytes",
           "Whole rows of C hold the right values with their 16-byte chunks permuted: the output tile was written with the 64-byte "
           "swizzle (chunk XOR r % 4) and stored with that of 128 bytes (chunk XOR r % 8).",
           [](const Multiplication&, int row, int col) {
             return Place{row, permuted(col, row & 4)};
           }},
          {"output-swizzle-of-32-bytes",
           "Whole rows of C hold the right values with their 16-byte chunks permuted: the output tile was written with the 32-byte "
           "swizzle (chunk XOR r % 2) and stored with that of 128 bytes (chunk XOR r % 8).",
           [](const Multiplication&, int row, int col) {
             return Place{row, permuted(col, row & 6)};
           }},
          {"block-repeated",
           "Every 64 columns of a tile of C are its first 64 again: the accumulators that are packed do not depend on the block.",
           [](const Multiplication& w, int row, int col) {
             return Place{row, col / w.bn * w.bn + col % w.bn % 64};
           }},
      });
  return kMistakes;
}

double TiledProduct::a(int64_t row, int64_t k) const {
  return element(work_.a, work_.m, work_.k, row, k);
}
double TiledProduct::b(int64_t row, int64_t k) const {
  return element(work_.b, work_.n, work_.k, row, k);
}

double TiledProduct::value(int row, int col, const OperandMistake* in_a, const OperandMistake* in_b) const {
  const int row0 = row / work_.bm * work_.bm, col0 = col / work_.bn * work_.bn;
  const Operand for_a = {row0, col0, work_.bm, work_.bk, work_.m, work_.k};
  const Operand for_b = {col0, row0, work_.bn, work_.bk, work_.n, work_.k};
  double sum = 0;
  // The last tile is walked to its end: what a mistake takes from inside the matrix counts there, too.
  for (int k = 0; k < k_tiles() * work_.bk; ++k) {
    const Place pa = in_a ? in_a->place(for_a, row - row0, k) : Place{row, k};
    const Place pb = in_b ? in_b->place(for_b, col - col0, k) : Place{col, k};
    const double x = pa.other_matrix ? b(pa.row, pa.k) : a(pa.row, pa.k);
    const double y = pb.other_matrix ? a(pb.row, pb.k) : b(pb.row, pb.k);
    sum += x * y;
  }
  return sum;
}

double TiledProduct::part(int row, int col, int t) const {
  double sum = 0;
  for (int k = t * work_.bk; k < (t + 1) * work_.bk; ++k) sum += term(row, col, k);
  return sum;
}

double TiledProduct::step(int row, int col, int step) const {
  double sum = 0;
  for (int k0 = step * kStep; k0 < work_.k; k0 += work_.bk)
    for (int k = k0; k < k0 + kStep; ++k) sum += term(row, col, k);
  return sum;
}

double TiledProduct::overrun(int row, int col) const {
  const auto behind = [&](const std::vector<uint16_t>& matrix, int at, int k) -> double {
    const size_t flat = static_cast<size_t>(at) * work_.k + k;
    return flat < matrix.size() ? bf16_to_float(matrix[flat]) : 0;
  };
  double sum = 0;
  for (int k = work_.k; k < k_tiles() * work_.bk; ++k)
    sum += behind(work_.a, row, k) * behind(work_.b, col, k);
  return sum;
}

double TiledProduct::stale_tail(int row, int col, int laps) const {
  double sum = 0;
  for (int k = work_.k; k < k_tiles() * work_.bk; ++k)
    sum += term(row, col, int64_t{k} - int64_t{laps} * work_.bk);
  return sum;
}

}  // namespace lab
