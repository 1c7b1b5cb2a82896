// A picture of C in text: which of its tiles are wrong.
#pragma once

#include <string>

#include "host/compare.hpp"

namespace lab {

// At most 8 x 8 cells, each of as many tiles (bm x bn) as that takes: '.' right, 'x' partly wrong, 'X' all wrong,
// 'n' NaN among the wrong, '-' nothing written. Several lines that end in a newline; "" when all is right.
std::string tile_map(const Result& result, int bm, int bn);

}  // namespace lab
