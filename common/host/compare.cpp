#include "host/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>

#include "host/bf16.hpp"
#include "host/parallel.hpp"
#include "host/poison.hpp"

namespace lab {

Tolerance tolerance_for(int k, bool exact) {
  if (exact) return {};
  return {1e-6 * k, 1.0 / 256};
}

float Result::wanted(int row, int col) const {
  const float value = want[static_cast<size_t>(row) * n + col];
  return exact() ? bf16_to_float(bf16_from_float(value)) : value;
}

bool Result::right(int row, int col) const {
  const float value = bf16_to_float(got[static_cast<size_t>(row) * n + col]), target = wanted(row, col);
  return std::fabs(static_cast<double>(value) - target) <=
         tolerance.absolute + tolerance.relative * std::fabs(static_cast<double>(target));
}

namespace {

Comparison compare_rows(const Result& result, int first, int last) {
  Comparison part;
  part.row_begin = result.m;
  part.col_begin = result.n;
  for (int row = first; row < last; ++row) {
    for (int col = 0; col < result.n; ++col) {
      const uint16_t bits = result.got[static_cast<size_t>(row) * result.n + col];
      const float got = bf16_to_float(bits), want = result.wanted(row, col);
      const double error = std::fabs(static_cast<double>(got) - want);
      if (std::isfinite(error)) part.max_error = std::max(part.max_error, error);
      if (result.right(row, col)) continue;
      ++part.mismatches;
      if (bits == kPoison) {
        ++part.poison;
      } else if (got != got) {
        ++part.nans;
      } else if (got == 0) {
        ++part.zeros;
      }
      if (static_cast<int>(part.first.size()) < kShown) part.first.push_back({row, col, got, want});
      part.row_begin = std::min(part.row_begin, row);
      part.row_end = std::max(part.row_end, row + 1);
      part.col_begin = std::min(part.col_begin, col);
      part.col_end = std::max(part.col_end, col + 1);
    }
  }
  return part;
}

void merge(Comparison& all, const Comparison& part) {
  if (part.mismatches > 0) {
    all.row_begin = std::min(all.row_begin, part.row_begin);
    all.row_end = std::max(all.row_end, part.row_end);
    all.col_begin = std::min(all.col_begin, part.col_begin);
    all.col_end = std::max(all.col_end, part.col_end);
  }
  all.mismatches += part.mismatches;
  all.poison += part.poison;
  all.nans += part.nans;
  all.zeros += part.zeros;
  all.max_error = std::max(all.max_error, part.max_error);
  all.first.insert(all.first.end(), part.first.begin(), part.first.end());
}

}  // namespace

Comparison compare(const Result& result) {
  Comparison all;
  all.row_begin = result.m;
  all.col_begin = result.n;
  std::mutex mutex;
  for_rows(result.m, 64, [&](int first, int last) {
    const Comparison part = compare_rows(result, first, last);
    const std::lock_guard<std::mutex> lock(mutex);
    merge(all, part);
  });
  if (all.mismatches == 0) all.row_begin = all.col_begin = 0;
  std::sort(all.first.begin(), all.first.end(), [](const Mismatch& x, const Mismatch& y) {
    return x.row != y.row ? x.row < y.row : x.col < y.col;
  });
  if (all.first.size() > kShown) all.first.resize(kShown);
  return all;
}

Hole first_hole(const Result& result, int bm, int bn) {
  const auto open = [&](int row, int col) {
    return result.got[static_cast<size_t>(row) * result.n + col] == kPoison && !result.right(row, col);
  };
  const auto open_in = [&](int row, int begin, int end) {
    for (int col = begin; col < end; ++col)
      if (!open(row, col)) return false;
    return true;
  };
  for (int row = 0; row < result.m; ++row)
    for (int col = 0; col < result.n; ++col) {
      if (!open(row, col)) continue;
      const int last_row = std::min(result.m, (row / bm + 1) * bm),
                last_col = std::min(result.n, (col / bn + 1) * bn);
      int end = col, below = row + 1;
      while (end < last_col && open(row, end)) ++end;
      while (below < last_row && open_in(below, col, end)) ++below;
      return {row, col, below - row, end - col};
    }
  return {};
}

std::string describe_mismatches(const Comparison& comparison) {
  std::string text;
  char line[128];
  for (const Mismatch& at : comparison.first) {
    std::snprintf(line, sizeof line, "    (%d, %d)  want %.6g  got %.6g\n", at.row, at.col, at.want, at.got);
    text += line;
  }
  return text;
}

}  // namespace lab
