#include "host/classify.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "host/bf16.hpp"

namespace lab {
namespace {

constexpr int kChunk = 8;  // elements of 16 bytes

struct Sample {
  int row, col;
  double got;
};

// Mistakes are recognised on samples: elements of the output tile that holds the first mismatch.
class Detective {
 public:
  Detective(const Result& result, const Comparison& comparison, const Multiplication& work)
      : result_(result), work_(work) {
    const int row0 = comparison.first[0].row / work.bm * work.bm,
              col0 = comparison.first[0].col / work.bn * work.bn;
    const int rows = std::min(work.bm, work.m - row0), cols = std::min(work.bn, work.n - col0);
    constexpr int kTries = 96;
    uint32_t random = 1;
    const auto below =
        [&](int limit) {  // rows and columns must not be related, or two mistakes look the same
          random = random * 1664525u + 1013904223u;
          return static_cast<int>((random >> 8) % static_cast<uint32_t>(limit));
        };
    for (int i = 0; i < kTries; ++i) {
      const int row = row0 + below(rows), col = col0 + below(cols);
      if (!result.right(row, col)) samples_.push_back({row, col, got(row, col)});
    }
    if (samples_.empty()) {
      for (const Mismatch& at : comparison.first) samples_.push_back({at.row, at.col, at.got});
    }
  }

  // True when `mistake`, the value the mistake would have given, agrees with all samples (one outlier in 16 allowed).
  bool explains(const std::function<double(int row, int col)>& mistake) const {
    size_t agree = 0;
    for (const Sample& at : samples_) agree += near(at.got, mistake(at.row, at.col));
    return agree * 16 >= samples_.size() * 15;
  }

  // The sum of products when the reader takes chunk c of A from chunk_a(row, c), and of B from chunk_b(row, c).
  double product(int row, int col, bool permute_a, bool permute_b) const {
    double sum = 0;
    for (int k = 0; k < work_.k; ++k) {
      const int ka = permute_a ? permuted(k, row % work_.bm) : k,
                kb = permute_b ? permuted(k, col % work_.bn) : k;
      if (ka < work_.k && kb < work_.k) sum += term(row, ka, col, kb);
    }
    return sum;
  }

  // Products of each K tile for each sample: parts()[sample][tile].
  std::vector<std::vector<double>> parts() const {
    const int tiles = (work_.k + work_.bk - 1) / work_.bk;
    std::vector<std::vector<double>> all;
    for (const Sample& at : samples_) {
      std::vector<double> part(tiles, 0.0);
      for (int k = 0; k < work_.k; ++k) part[k / work_.bk] += term(at.row, k, at.col, k);
      all.push_back(std::move(part));
    }
    return all;
  }

  double got(int row, int col) const {
    return bf16_to_float(result_.got[static_cast<size_t>(row) * work_.n + col]);
  }
  double want(int row, int col) const { return result_.want[static_cast<size_t>(row) * work_.n + col]; }
  bool near(double value, double guess) const {
    constexpr double kSlack = 1.0 / 64;  // a guess meets a value that was rounded to bf16
    return std::fabs(value - guess) <= 2e-6 * work_.k + kSlack * std::fabs(guess);
  }
  const std::vector<Sample>& samples() const { return samples_; }

 private:
  // Where element k of a row lies when its 16-byte chunks were written by the 128-byte swizzle and read without, or
  // the other way round.
  static int permuted(int k, int row) { return k ^ (row % 8 * kChunk); }
  double term(int row, int ka, int col, int kb) const {
    return static_cast<double>(bf16_to_float(work_.a[static_cast<size_t>(row) * work_.k + ka])) *
           bf16_to_float(work_.b[static_cast<size_t>(col) * work_.k + kb]);
  }

  const Result& result_;
  const Multiplication& work_;
  std::vector<Sample> samples_;
};

Diagnosis permuted_operand(const char* id, const std::string& which) {
  return {
      id,
      "The 16-byte chunks of " + which +
          " are in another order than wgmma reads: writer and descriptor disagree about the 128-byte swizzle "
          "(chunk c of row r belongs at c XOR r % 8)."};
}

// One K tile t missing, or replaced by a second helping of tile s. Returns an empty id when no pair fits.
Diagnosis wrong_k_tile(const Detective& detective) {
  const auto parts = detective.parts();
  const int tiles = static_cast<int>(parts[0].size());
  constexpr int kMostTiles = 128;  // all pairs are tried
  if (tiles > kMostTiles) return {};
  const auto fits = [&](int missing, int instead) {
    size_t agree = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Sample& at = detective.samples()[i];
      const double extra = instead < 0 ? 0 : parts[i][instead];
      agree += detective.near(at.got, detective.want(at.row, at.col) - parts[i][missing] + extra);
    }
    return agree * 16 >= parts.size() * 15;
  };
  for (int t = 0; t < tiles; ++t) {
    const std::string tile = "K tile " + std::to_string(t);
    if (fits(t, -1)) {
      return {"k-tile-missing",
              tile + " is not in the sum: a loop bound, or a copy that was never waited for."};
    }
    for (int s = 0; s < tiles; ++s) {
      if (s != t && fits(t, s)) {
        return {"k-tile-stale",
                "K tile " + std::to_string(s) + " was used in the place of " + tile +
                    ": the stage was read before its new tile had landed, or refilled too early."};
      }
    }
  }
  return {};
}

Diagnosis recognise(const Result& result, const Comparison& comparison, const Multiplication& work) {
  const Detective detective(result, comparison, work);
  if (detective.explains([&](int row, int col) { return detective.want(row, col); })) {
    return {"imprecise", "The values are close but outside the tolerance: precision was lost along the sum."};
  }
  if (work.m == work.n && detective.explains([&](int row, int col) { return detective.want(col, row); })) {
    return {"transposed", "The result is the transpose of C: rows and columns are exchanged."};
  }
  if (detective.explains([&](int row, int col) {
        const int other = col ^ (row % 8 * kChunk);
        return other < work.n ? detective.want(row, other) : NAN;
      })) {
    return {"output-chunks-permuted",
            "Whole rows of C hold the right values with their 16-byte chunks permuted: the output tile was "
            "swizzled by one side only."};
  }
  if (detective.explains([&](int row, int col) { return detective.product(row, col, true, true); })) {
    return permuted_operand("ab-chunks-permuted", "both operands' rows");
  }
  if (detective.explains([&](int row, int col) { return detective.product(row, col, true, false); })) {
    return permuted_operand("a-chunks-permuted", "A's rows");
  }
  if (detective.explains([&](int row, int col) { return detective.product(row, col, false, true); })) {
    return permuted_operand("b-chunks-permuted", "B's rows");
  }
  if (Diagnosis tile = wrong_k_tile(detective); !tile.id.empty()) return tile;

  const Sample& at = detective.samples()[0];
  const double scale = at.got / detective.want(at.row, at.col);
  if (std::isfinite(scale) &&
      detective.explains([&](int row, int col) { return scale * detective.want(row, col); })) {
    return {"scaled", "Every wrong element is about " + std::to_string(scale) + " times the right value."};
  }
  return {"unexplained", "No typical mistake gives these values."};
}

}  // namespace

Diagnosis classify(const Result& result, const Comparison& comparison, const Multiplication& work) {
  if (comparison.mismatches == 0) return {"right", ""};
  const uint64_t all = static_cast<uint64_t>(work.m) * work.n;
  if (comparison.poison == all) return {"not-written", "No element of C was written."};
  if (comparison.poison == comparison.mismatches) {
    return {"partly-written", std::to_string(comparison.poison) + " elements of C were never written."};
  }
  if (comparison.nans > 0) {
    return {
        "nan",
        std::to_string(comparison.nans) +
            " elements are NaN: shared memory was read that nobody had written (it is poisoned with NaN), or "
            "the copy had not landed."};
  }
  if (comparison.zeros == comparison.mismatches) {
    return {"zeros",
            "The wrong elements are all zero: nothing was accumulated, or the operand tiles were zeros."};
  }
  Diagnosis diagnosis = recognise(result, comparison, work);
  if (comparison.poison > 0) {
    diagnosis.reason +=
        " " + std::to_string(comparison.poison) + " further elements of C were never written.";
  }
  return diagnosis;
}

}  // namespace lab
