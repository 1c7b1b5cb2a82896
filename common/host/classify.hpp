// Naming what went wrong: a wrong result is compared with what typical mistakes would have produced.
#pragma once

#include <string>

#include "host/compare.hpp"
#include "host/mistakes.hpp"

namespace lab {

struct Diagnosis {
  std::string id;      // "right", "not-written", "zeros", "nan", ... for machines
  std::string reason;  // one or two sentences, for people
};

// Ids: right; not-written, partly-written (poison is left); nan; zeros;
// those of output_mistakes(), and of operand_mistakes() with a-, b- or ab- in front (mistakes.hpp, formulas.hpp);
// k-tile-missing, k-tiles-missing, k-tile-twice, k-tile-stale (in the place of another), one-k-tile-only, k-step-missing: what
// is in the sum;
// accumulated (another tile's result is in the sum), tiles-moved, blocks-moved (a tile of C, or 16 x 64 elements, holds another's);
// no-zero-fill (what lies beyond K was not zero);
// scaled; imprecise (close, but outside the tolerance); unexplained.
Diagnosis classify(const Result& result, const Comparison& comparison, const Multiplication& work);

}  // namespace lab
