// Naming what went wrong: a wrong result is compared with what typical mistakes would have produced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/compare.hpp"

namespace lab {

struct Diagnosis {
  std::string id;      // "right", "not-written", "zeros", "nan", ... for machines
  std::string reason;  // one or two sentences, for people
};

// What the kernel worked on: bf16 bit patterns, a: m x k, b: n x k, and the sizes of its tiles.
struct Multiplication {
  const std::vector<uint16_t>& a;
  const std::vector<uint16_t>& b;
  int m, n, k;
  int bm, bn, bk;
};

// Ids: right; not-written, partly-written (poison is left); nan; zeros; transposed; output-chunks-permuted;
// a-chunks-permuted, b-chunks-permuted, ab-chunks-permuted (16-byte chunks of the operand's rows are in another order
// than the reader assumed); k-tile-missing, k-tile-stale (one K tile was left out, or another stood in its place);
// scaled; imprecise (close, but outside the tolerance); unexplained.
Diagnosis classify(const Result& result, const Comparison& comparison, const Multiplication& work);

}  // namespace lab
