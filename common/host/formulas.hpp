// Wrong formulas for a place in shared memory: families of mistakes in which a tile is there as a whole, in another order.
#pragma once

#include <vector>

#include "host/mistakes.hpp"

namespace lab {

// Ids: chunks-misplaced (the chunks of each row), rows-misplaced (the rows of each column of chunks), chunks-in-columns;
// chunk-cut (a part of each chunk is zero), rows-shifted (those of the second warpgroup); k-of-the-stage (the
// coordinate along K).
std::vector<OperandMistake> operand_formulas();
// Ids: output-chunks-misplaced, output-rows-misplaced.
std::vector<OutputMistake> output_formulas();

}  // namespace lab
