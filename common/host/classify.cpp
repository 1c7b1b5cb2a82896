#include "host/classify.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "host/bf16.hpp"

namespace lab {
namespace {

constexpr size_t kSamples = 96;   // elements of a tile that a model is held to
constexpr size_t kFewest = 8;     // by fewer no mistake is recognised
constexpr int kTilesTried = 8;    // wrong tiles of C that are looked at
constexpr int kMostKTiles = 128;  // all pairs of K tiles are tried
constexpr int kMostLaps = 8;      // stages of a ring
constexpr int kBlock = 64;        // rows and columns of a block that moves as a whole

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

std::string about(const char* reason, const char* which) {
  std::string text = reason;
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

// What the K tiles contribute: one or several missing, one twice, one in the place of another.
class KTiles {
 public:
  explicit KTiles(const Evidence& e) : e_(e), tiles_(e.product().k_tiles()) {
    for (const Sample& at : e.samples()) {
      std::vector<double> part(static_cast<size_t>(tiles_));
      for (int t = 0; t < tiles_; ++t) part[static_cast<size_t>(t)] = e.product().part(at.row, at.col, t);
      parts_.push_back(std::move(part));
    }
  }

  Diagnosis diagnosis() const {
    for (int t = 0; t < tiles_; ++t) {
      if (fits([&](int u) { return u == t ? 0 : 1; }))
        return {"k-tile-missing", "K tile " + number(t) + place(t) + " is not in the sum: " + why_missing(t)};
      if (fits([&](int u) { return u == t ? 2 : 1; }))
        return {"k-tile-twice", "K tile " + number(t) + place(t) + " is in the sum twice."};
      if (tiles_ > 2 && fits([&](int u) { return u == t ? 1 : 0; }))
        return {"one-k-tile-only",
                "Only K tile " + number(t) + place(t) +
                    " is in the sum: every product overwrites the one before it, or the loop ends early."};
    }
    for (int t = 2; t < tiles_; ++t) {
      if (fits([&](int u) { return u >= t; })) return missing(0, t);
      if (fits([&](int u) { return u < tiles_ - t; })) return missing(tiles_ - t, tiles_);
    }
    for (int t = 0; t < tiles_; ++t)
      for (int s = 0; s < tiles_; ++s)
        if (s != t && fits([&](int u) { return u == t ? 0 : u == s ? 2 : 1; }))
          return {"k-tile-stale",
                  "K tile " + number(s) + " was used in the place of " + number(t) +
                      ": the stage was read before its new tile had landed, or refilled too early."};
    return {};
  }

 private:
  // times(u): how often K tile u is in the sum.
  bool fits(const std::function<int(int u)>& times) const {
    return e_.explained_by([&](const Sample& at) {
      const std::vector<double>& part = parts_[static_cast<size_t>(&at - e_.samples().data())];
      double sum = 0;
      for (int u = 0; u < tiles_; ++u) sum += times(u) * part[static_cast<size_t>(u)];
      return sum;
    });
  }
  std::string place(int t) const { return t == 0 ? ", the first," : t == tiles_ - 1 ? ", the last," : ""; }
  std::string why_missing(int t) const {
    return t == 0
               ? "the second product overwrites it instead of adding, the loop begins at 1, or both copies fetch tile t + 1."
           : t == tiles_ - 1
               ? "the loop ends one too early, both copies fetch tile t - 1, or the result leaves before the last product is in it."
               : "a loop bound, or a copy that was never waited for.";
  }
  Diagnosis missing(int first, int end) const {
    return {"k-tiles-missing",
            "K tiles " + number(first) + " to " + number(end - 1) + " of " + number(tiles_) +
                " are not in the sum: " +
                (first == 0 ? "a later product overwrites them, or the loop begins too late."
                            : "the loop ends too early.")};
  }

  const Evidence& e_;
  int tiles_;
  std::vector<std::vector<double>> parts_;
};

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
  const Tile at = {first.row / kBlock * kBlock, first.col / kBlock * kBlock};
  Evidence block(tile.result(), tile.work());
  block.add(at, kBlock, kBlock);
  if (block.empty()) return {};
  for (int row = 0; row < tile.work().m; row += kBlock)
    for (int col = 0; col < tile.work().n; col += kBlock)
      if ((row != at.row || col != at.col) && block.explained_by([&](const Sample& s) {
            return block.want(row + s.row - at.row, col + s.col - at.col);
          }))
        return {"blocks-moved", "The 64 x 64 elements at (" + number(at.row) + ", " + number(at.col) +
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

Diagnosis wrong_k_tiles(const Evidence& e) {
  const int tiles = e.product().k_tiles();
  return tiles > 1 && tiles <= kMostKTiles ? KTiles(e).diagnosis() : Diagnosis();
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
