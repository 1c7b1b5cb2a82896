// Comparing a result with the reference, over every element.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab {

// An element is right when |got - want| <= absolute + relative * |want|. NaN never is.
struct Tolerance {
  double absolute = 0, relative = 0;
};

// For a bf16 result of a sum of k products with float accumulation: one bf16 step of the result, and what truncation
// loses along the sum. For exact inputs (integers): the result must be the reference rounded to bf16.
Tolerance tolerance_for(int k, bool exact);

struct Mismatch {
  int row, col;
  float got, want;
};

// A result and what it should be. got: m x n bf16 bit patterns; want: m x n floats; both row-major.
struct Result {
  const std::vector<uint16_t>& got;
  const std::vector<float>& want;
  int m, n;
  Tolerance tolerance;

  // The reference as the kernel should deliver it: rounded to bf16 when no tolerance is allowed.
  float wanted(int row, int col) const;
  bool exact() const { return tolerance.absolute == 0 && tolerance.relative == 0; }
  bool right(int row, int col) const;
};

struct Comparison {
  uint64_t mismatches = 0;
  uint64_t poison = 0;                                         // elements that still hold the poison
  uint64_t nans = 0;                                           // other NaN
  uint64_t zeros = 0;                                          // mismatching elements that are zero
  double max_error = 0;                                        // |got - want| over the finite elements
  std::vector<Mismatch> first;                                 // the first mismatches in row-major order
  int row_begin = 0, row_end = 0, col_begin = 0, col_end = 0;  // bounds of the mismatches, end excluded
};

// kShown: how many mismatches `first` holds at most.
constexpr int kShown = 8;
Comparison compare(const Result& result);

// A rectangle of elements that nobody has written: the poison is in it. rows is 0 when there is none.
struct Hole {
  int row = 0, col = 0, rows = 0, cols = 0;
};
// The one that begins at the first such element; it ends where the result is written, and at the borders of its bm x bn tile
// unless it is all of that.
Hole first_hole(const Result& result, int bm, int bn);

// A sentence for the first mismatches, one a line: "(row, col) want .. got ..".
std::string describe_mismatches(const Comparison& comparison);

}  // namespace lab
