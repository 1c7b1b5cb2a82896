#include "host/tile_map.hpp"

#include <algorithm>

#include "host/bf16.hpp"
#include "host/poison.hpp"

namespace lab {
namespace {

constexpr int kMostCells = 8;

// How C is divided along one dimension: `cells` of `step` elements, the last may be smaller.
struct Axis {
  int tiles_a_cell, step, cells;
};
Axis divide(int size, int tile) {
  const int tiles = (size + tile - 1) / tile, each = (tiles + kMostCells - 1) / kMostCells;
  return {each, each * tile, (tiles + each - 1) / each};
}

char cell(const Result& result, int row0, int col0, int rows, int cols) {
  uint64_t wrong = 0, poison = 0, nans = 0, all = 0;
  for (int row = row0; row < std::min(result.m, row0 + rows); ++row)
    for (int col = col0; col < std::min(result.n, col0 + cols); ++col, ++all) {
      if (result.right(row, col)) continue;
      ++wrong;
      const uint16_t bits = result.got[static_cast<size_t>(row) * result.n + col];
      if (bits == kPoison)
        ++poison;
      else if (bf16_to_float(bits) != bf16_to_float(bits))
        ++nans;
    }
  return wrong == 0 ? '.' : poison == all ? '-' : nans > 0 ? 'n' : wrong == all ? 'X' : 'x';
}

}  // namespace

std::string tile_map(const Result& result, int bm, int bn) {
  const Axis rows = divide(result.m, bm), cols = divide(result.n, bn);
  std::string picture, seen;
  for (int i = 0; i < rows.cells; ++i) {
    picture += "      ";
    for (int j = 0; j < cols.cells; ++j) {
      const char c = cell(result, i * rows.step, j * cols.step, rows.step, cols.step);
      if (seen.find(c) == std::string::npos) seen += c;
      picture += std::string(" ") + c;
    }
    picture += "\n";
  }
  if (seen == ".") return "";
  const auto sizes = [&](int row, int col) { return std::to_string(row) + " x " + std::to_string(col); };
  std::string title = "    C in " +
                      (rows.tiles_a_cell * cols.tiles_a_cell > 1
                           ? "cells of " + sizes(rows.tiles_a_cell, cols.tiles_a_cell) + " tiles"
                           : std::string("tiles")) +
                      " of " + sizes(bm, bn) + ":";
  const struct {
    char sign;
    const char* meaning;
  } signs[] = {{'.', "right"},
               {'x', "partly wrong"},
               {'X', "all wrong"},
               {'n', "wrong, with NaN"},
               {'-', "not written"}};
  std::string legend;
  for (const auto& s : signs)
    if (seen.find(s.sign) != std::string::npos)
      legend += (legend.empty() ? std::string(" ") : std::string(", ")) + s.sign + " " + s.meaning;
  return title + legend + "\n" + picture;
}

}  // namespace lab
