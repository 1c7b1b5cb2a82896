#include "host/classify.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "host/bf16.hpp"

namespace lab {
namespace {

constexpr size_t kSamples = 96;                  // elements of a tile that a model is held to
constexpr size_t kFewest = 8;                    // by fewer no mistake is recognised
constexpr int kTilesTried = 8;                   // wrong tiles of C that are looked at
constexpr int kMostKTiles = 64;                  // whose counts are solved for
constexpr int kMostLaps = 8;                     // stages of a ring
constexpr int kBlockRows = 16, kBlockCols = 64;  // what a warp stores at a time

struct Sample {
  int row, col;
  double got;
};

struct Tile {
  int row, col;  // of its first element
};

std::string number(int n) {
  return std::to_string(n);
}

// Wrong elements of some tiles of C, and how the models compare with them.
class Evidence {
 public:
  Evidence(const Result& result, const Multiplication& work) : result_(result), work_(work), product_(work) {}

  // Adds up to kSamples wrong elements of the tile; fewer than kFewest are no evidence.
  void add(Tile tile, int rows, int cols) {
    std::vector<Sample> wrong;
    for (int row = tile.row; row < std::min(work_.m, tile.row + rows); ++row)
      for (int col = tile.col; col < std::min(work_.n, tile.col + cols); ++col)
        if (!result_.right(row, col) && std::isfinite(got(row, col)))
          wrong.push_back({row, col, got(row, col)});
    if (wrong.size() < kFewest) return;
    if (samples_.empty()) tile_ = tile;
    // Rows and columns must not be related, or two mistakes look the same.
    uint32_t random = 1;
    for (size_t i = 0; i < std::min(kSamples, wrong.size()); ++i) {
      random = random * 1664525u + 1013904223u;
      std::swap(wrong[i], wrong[i + (random >> 8) % (wrong.size() - i)]);
      samples_.push_back(wrong[i]);
    }
  }

  bool empty() const { return samples_.empty(); }

  // True when `model`, the value that a mistake would have given, agrees with all samples (one outlier in 16 allowed).
  bool explained_by(const std::function<double(const Sample& at)>& model) const {
    size_t outliers = 0;
    for (const Sample& at : samples_) {
      outliers += !near(at.got, model(at));
      if (outliers * 16 > samples_.size()) return false;
    }
    return true;
  }

  // The reference at another place. Beyond C a tile holds zeros: products with what is filled outside of A and B.
  double want(int64_t row, int64_t col) const {
    if (row < 0 || row >= work_.m || col < 0 || col >= work_.n) return 0;
    return result_.want[static_cast<size_t>(row) * work_.n + static_cast<size_t>(col)];
  }
  const TiledProduct& product() const { return product_; }
  const Multiplication& work() const { return work_; }
  const Result& result() const { return result_; }
  const std::vector<Sample>& samples() const { return samples_; }
  Tile tile() const { return tile_; }  // the first that was added

 private:
  double got(int row, int col) const {
    return bf16_to_float(result_.got[static_cast<size_t>(row) * work_.n + col]);
  }
  bool near(double value, double guess) const {
    if (result_.exact()) return value == bf16_to_float(bf16_from_float(static_cast<float>(guess)));
    constexpr double kSlack = 1.0 / 64;  // a guess meets a value that was rounded to bf16
    return std::fabs(value - guess) <= 2e-6 * work_.k + kSlack * std::fabs(guess);
  }

  const Result& result_;
  const Multiplication& work_;
  TiledProduct product_;
  Tile tile_ = {};
  std::vector<Sample> samples_;
};

std::string about(std::string text, const char* which) {
  if (const size_t at = text.find("%s"); at != std::string::npos) text.replace(at, 2, which);
  return text;
}

Diagnosis wrong_output(const Evidence& e) {
  for (const OutputMistake& mistake : output_mistakes()) {
    if (e.explained_by([&](const Sample& at) {
          const Place from = mistake.from(e.work(), at.row, at.col);
          return e.want(from.row, from.k);
        }))
      return {mistake.id, mistake.reason};
  }
  return {};
}

Diagnosis wrong_operand(const Evidence& e) {
  const struct {
    const char *id, *name;
    bool a, b;
  } cases[] = {{"a-", "A", true, false}, {"b-", "B", false, true}, {"ab-", "A and B", true, true}};
  for (const OperandMistake& mistake : operand_mistakes()) {
    for (const auto& c : cases) {
      if (e.explained_by([&](const Sample& at) {
            return e.product().value(at.row, at.col, c.a ? &mistake : nullptr, c.b ? &mistake : nullptr);
          }))
        return {std::string(c.id) + mistake.id, about(mistake.reason, c.name)};
    }
  }
  return {};
}

// Solves x * a = b for a symmetric positive definite a, in place; false where it is not.
bool solve(std::vector<std::vector<double>>& a, std::vector<double>& b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    if (std::fabs(a[i][i]) < 1e-9) return false;
    for (size_t r = i + 1; r < n; ++r) {
      const double f = a[r][i] / a[i][i];
      for (size_t c = i; c < n; ++c) a[r][c] -= f * a[i][c];
      b[r] -= f * b[i];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t c = i + 1; c < n; ++c) b[i] -= a[i][c] * b[c];
    b[i] /= a[i][i];
  }
  return true;
}

// How often each K tile is in the sum: whole numbers that explain all samples, found by least squares. Empty when there are none.
std::vector<int> k_tile_counts(const Evidence& e) {
  const int tiles = e.product().k_tiles();
  const size_t n = static_cast<size_t>(tiles);
  if (tiles < 2 || tiles > kMostKTiles || e.samples().size() < 2 * n) return {};
  std::vector<std::vector<double>> parts, a(n, std::vector<double>(n));
  std::vector<double> b(n);
  for (const Sample& at : e.samples()) {
    std::vector<double> part(n);
    for (size_t t = 0; t < n; ++t) part[t] = e.product().part(at.row, at.col, static_cast<int>(t));
    for (size_t t = 0; t < n; ++t) {
      b[t] += part[t] * at.got;
      for (size_t u = 0; u < n; ++u) a[t][u] += part[t] * part[u];
    }
    parts.push_back(std::move(part));
  }
  if (!solve(a, b)) return {};
  std::vector<int> counts;
  for (double count : b) counts.push_back(static_cast<int>(std::lround(count)));
  const bool explained = e.explained_by([&](const Sample& at) {
    const std::vector<double>& part = parts[static_cast<size_t>(&at - e.samples().data())];
    double sum = 0;
    for (size_t t = 0; t < n; ++t) sum += counts[t] * part[t];
    return sum;
  });
  return explained ? counts : std::vector<int>();
}

// "0", "2 to 4", "0, 3".
std::string listed(const std::vector<int>& numbers) {
  if (numbers.size() > 1 && numbers.back() - numbers.front() + 1 == static_cast<int>(numbers.size()))
    return number(numbers.front()) + " to " + number(numbers.back());
  std::string out;
  for (int n : numbers) out += (out.empty() ? "" : ", ") + number(n);
  return out;
}

// Some K tiles missing, several times in the sum, or in the place of others.
Diagnosis wrong_k_tiles(const Evidence& e) {
  const std::vector<int> counts = k_tile_counts(e);
  std::vector<int> missing, repeated, once;
  for (int t = 0; t < static_cast<int>(counts.size()); ++t)
    (counts[static_cast<size_t>(t)] == 0   ? missing
     : counts[static_cast<size_t>(t)] == 1 ? once
                                           : repeated)
        .push_back(t);
  const int tiles = static_cast<int>(counts.size()), last = tiles - 1;
  if (counts.empty() || static_cast<int>(missing.size()) == tiles) return {};
  const std::string sum_of = " of the " + number(tiles) + " K tiles";
  if (missing.empty() && once.empty()) return {};  // every tile as often as the others: scaled
  if (missing.empty() && repeated.empty()) return {};
  if (repeated.empty() && once.size() == 1 && tiles > 2)
    return {"one-k-tile-only",
            "Only K tile " + number(once[0]) + " of " + number(tiles) +
                " is in the sum: every product overwrites the one before it, or the loop ends early."};
  if (repeated.empty()) {
    const bool first = missing.front() == 0, end = missing.back() == last;
    const std::string reason =
        first && !end
            ? "a later product overwrites it instead of adding, the loop begins too late, or both copies run ahead."
        : end && !first
            ? "the loop ends too early, both copies lag behind, or the result leaves before its last product."
            : "a loop bound, or a copy that was never waited for.";
    return missing.size() == 1
               ? Diagnosis{"k-tile-missing",
                           "K tile " + listed(missing) + sum_of + " is not in the sum: " + reason}
               : Diagnosis{"k-tiles-missing", "K tiles " + listed(missing) + " of " + number(tiles) +
                                                  " are not in the sum: " + reason};
  }
  if (missing.empty())
    return {"k-tile-twice", "K tile " + listed(repeated) + sum_of + " is in the sum more than once."};
  return {
      "k-tile-stale",
      "K tile " + listed(missing) + " is not in the sum, and K tile " + listed(repeated) +
          " is in it more than once: copied twice, or the stage was read before its new tile had landed."};
}

// One wgmma of each K tile: 16 of its BK columns.
Diagnosis wrong_k_step(const Evidence& e) {
  for (int step = 0; step < e.work().bk / 16; ++step)
    if (e.explained_by([&](const Sample& at) {
          return e.want(at.row, at.col) - e.product().step(at.row, at.col, step);
        }))
      return {"k-step-missing", "Of every K tile, columns " + number(16 * step) + " to " +
                                    number(16 * step + 15) +
                                    " are not in the sum: one wgmma per tile is missing."};
  return {};
}

Diagnosis wrong_tail(const Evidence& e) {
  constexpr char kId[] = "no-zero-fill";
  if (e.work().k % e.work().bk == 0) return {};
  if (e.explained_by(
          [&](const Sample& at) { return e.want(at.row, at.col) + e.product().overrun(at.row, at.col); }))
    return {
        kId,
        "The last K tile reaches beyond K, and the elements behind the end of each row, those of the next row, are in the "
        "sum: outside of the matrix a tile must be filled with zeros."};
  for (int laps = 1; laps <= std::min(kMostLaps, e.product().k_tiles() - 1); ++laps)
    if (e.explained_by([&](const Sample& at) {
          return e.want(at.row, at.col) + e.product().stale_tail(at.row, at.col, laps);
        }))
      return {
          kId,
          "The last K tile reaches beyond K, and what an earlier tile (" + number(laps) +
              " before) left there is in the sum: outside of the matrix a tile must be filled with zeros."};
  return {};
}

// What stands in this tile, or in blocks of it, belongs to another tile, or was added to it.
Diagnosis wrong_place(const Evidence& e) {
  const Multiplication& w = e.work();
  const auto name_of = [&](Tile tile) {
    return "the tile at (" + number(tile.row) + ", " + number(tile.col) + ")";
  };
  for (int row = 0; row < w.m; row += w.bm)
    for (int col = 0; col < w.n; col += w.bn) {
      if (row == e.tile().row && col == e.tile().col) continue;
      const auto there = [&](const Sample& at) {
        return e.want(row + at.row - e.tile().row, col + at.col - e.tile().col);
      };
      if (e.explained_by(there))
        return {"tiles-moved", "What stands in " + name_of(e.tile()) + " belongs to " + name_of({row, col}) +
                                   ": the tiles of C are computed, or stored, in another order."};
      if (e.explained_by([&](const Sample& at) { return e.want(at.row, at.col) + there(at); }))
        return {"accumulated",
                "The result of " + name_of({row, col}) + " is in the sum of " + name_of(e.tile()) +
                    ": the first product of a tile must overwrite the accumulators, not add to them."};
    }
  return {};
}

Diagnosis moved_blocks(const Evidence& tile) {
  const Sample& first = tile.samples()[0];
  const Tile at = {first.row / kBlockRows * kBlockRows, first.col / kBlockCols * kBlockCols};
  Evidence block(tile.result(), tile.work());
  block.add(at, kBlockRows, kBlockCols);
  if (block.empty()) return {};
  for (int row = 0; row < tile.work().m; row += kBlockRows)
    for (int col = 0; col < tile.work().n; col += kBlockCols)
      if ((row != at.row || col != at.col) && block.explained_by([&](const Sample& s) {
            return block.want(row + s.row - at.row, col + s.col - at.col);
          }))
        return {"blocks-moved", "The 16 x 64 elements at (" + number(at.row) + ", " + number(at.col) +
                                    ") of C are those of (" + number(row) + ", " + number(col) +
                                    "): a row or column offset inside the tile is wrong."};
  return {};
}

Diagnosis scaled(const Evidence& e) {
  const Sample& at = e.samples()[0];
  const double scale = at.got / e.want(at.row, at.col);
  if (!std::isfinite(scale) || std::fabs(scale) < 0.01 ||
      !e.explained_by([&](const Sample& s) { return scale * e.want(s.row, s.col); }))
    return {};
  return {"scaled", "Every wrong element is about " + std::to_string(scale) + " times the right value." +
                        (std::fabs(scale - 2) < 0.02 ? " A whole sum was added twice." : "")};
}

Diagnosis imprecise(const Evidence& e) {
  if (!e.explained_by([&](const Sample& at) { return e.want(at.row, at.col); })) return {};
  return {"imprecise", "The values are close but outside the tolerance: precision was lost along the sum."};
}

using Look = Diagnosis (*)(const Evidence& e);
// What is wrong in the same way in every tile, and what may be another tile's or another K tile's in each.
constexpr Look kEverywhere[] = {imprecise,    wrong_output, wrong_k_tiles, wrong_operand,
                                wrong_k_step, wrong_tail,   scaled};
constexpr Look kInOneTile[] = {wrong_output, wrong_k_tiles, wrong_operand,
                               wrong_tail,   wrong_place,   moved_blocks};

// The tiles of C that have wrong elements, from the first mismatch on, at most kTilesTried.
std::vector<Tile> wrong_tiles(const Result& result, const Comparison& comparison,
                              const Multiplication& work) {
  std::vector<Tile> tiles;
  const auto is_wrong = [&](Tile t) {
    for (int row = t.row; row < std::min(work.m, t.row + work.bm); ++row)
      for (int col = t.col; col < std::min(work.n, t.col + work.bn); ++col)
        if (!result.right(row, col)) return true;
    return false;
  };
  for (int row = comparison.first[0].row / work.bm * work.bm; row < work.m; row += work.bm)
    for (int col = 0; col < work.n; col += work.bn) {
      if (is_wrong({row, col})) tiles.push_back({row, col});
      if (tiles.size() == kTilesTried) return tiles;
    }
  return tiles;
}

Diagnosis recognise(const Result& result, const Comparison& comparison, const Multiplication& work) {
  const std::vector<Tile> tiles = wrong_tiles(result, comparison, work);
  Evidence all(result, work);
  for (const Tile& tile : tiles) all.add(tile, work.bm, work.bn);
  if (all.empty())
    return {"unexplained", "Only " + std::to_string(comparison.mismatches) +
                               " elements are wrong, too few to recognise a mistake by."};
  for (const Look look : kEverywhere) {
    if (Diagnosis d = look(all); !d.id.empty()) return d;
  }
  for (const Tile& tile : tiles) {
    Evidence one(result, work);
    one.add(tile, work.bm, work.bn);
    if (one.empty()) continue;
    for (const Look look : kInOneTile) {
      if (Diagnosis d = look(one); !d.id.empty()) return d;
    }
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
    const bool ragged = work.m % work.bm || work.n % work.bn || work.k % work.bk;
    return {
        "nan",
        std::to_string(comparison.nans) +
            " elements are NaN: shared memory was read that nobody had written (it is poisoned with NaN), or the copy "
            "had not landed" +
            (ragged
                 ? ", or a tensor map fills what lies outside of the matrix with NaN (FLOAT_OOB_FILL_NAN...), not "
                   "with zeros."
                 : ".")};
  }
  if (comparison.zeros == comparison.mismatches) {
    // Zeros agree with many mistakes; where other elements are right, with few.
    const Diagnosis known =
        comparison.zeros < all / 10 * 9 ? recognise(result, comparison, work) : Diagnosis();
    if (known.id.find("dimensions-exchanged") != std::string::npos) return known;
    const bool single = work.k <= work.bk;
    return {"zeros",
            std::string(
                "The wrong elements are all zero: nothing was accumulated, or the operand tiles were zeros") +
                (single ? ", as those behind the last K tile are (there is one here: t + 1 for t?)." : ".")};
  }
  Diagnosis diagnosis = recognise(result, comparison, work);
  if (comparison.poison > 0) {
    diagnosis.reason +=
        " " + std::to_string(comparison.poison) + " further elements of C were never written.";
  }
  return diagnosis;
}

}  // namespace lab
