// Each typical mistake, made in a tiled product on the CPU, is named, and nothing else is; a right product never is.
#include "host/classify.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "host/bf16.hpp"
#include "host/inputs.hpp"
#include "host/poison.hpp"
#include "host/reference.hpp"
#include "host/tile_map.hpp"

using namespace lab;

namespace {

constexpr int kPitch = 64;  // BK: rows of 128 bytes
constexpr int kStages = 3;

struct Shape {
  int m, n, k, bm, bn;
};
constexpr Shape kSquare = {320, 200, 232, 128, 128};  // ragged along N and K
constexpr Shape kOblong = {200, 300, 192, 128, 256};

struct World {
  Shape s;
  bool exact;
  std::vector<uint16_t> a, b;
  std::vector<float> want;
  World(Shape shape, Data data)
      : s(shape),
        exact(data == Data::kIntegers),
        a(random_matrix(s.m, s.k, 21, data)),
        b(random_matrix(s.n, s.k, 22, data)) {
    want = reference_on_cpu(a, b, s.m, s.n, s.k);
  }
};

// The kernel's decisions, as a student writes them; each mistake replaces one. Coordinates are (x, y), innermost first.
struct Kernel {
  using Coordinates = std::function<std::pair<int, int>(int k0, int row, int other)>;
  using Chunk = std::function<int(int row, int chunk)>;
  using Local = std::function<int(int row)>;
  Coordinates a_at = [](int k0, int row, int) { return std::make_pair(k0, row); };
  Coordinates b_at = a_at;
  std::function<std::pair<int, int>(int row, int col)> c_at = [](int row, int col) {
    return std::make_pair(col, row);
  };
  std::function<std::pair<int, int>(int row, int col)> tile_at = [](int row, int col) {
    return std::make_pair(row, col);
  };
  Chunk write_a = [](int row, int chunk) { return chunk ^ row % 8; };  // where a chunk of a row is written
  Chunk write_b = write_a;
  Chunk write_c = write_a;
  std::function<bool(int t, int tiles)> accumulate = [](int t, int) { return t > 0; };
  std::function<bool(int t, int tiles)> multiply = [](int, int) { return true; };
  Local read_a = [](int row) { return row; };  // the row of the tile that the descriptor names
  Local read_b = read_a;
  std::function<int(int step)> column_a = [](int step) {
    return 16 * step;
  };  // the descriptor's step along K
  bool swap_matrices = false, keep_accumulators = false, fill = true, transpose_a = false;
  bool exchange_quarters = false;  // of 16 x 16 elements of C
  bool lane_pairs = false;         // lane l stands for row l / 2 and half l % 2
  bool half_chunks = false;        // 8 of 16 bytes are copied
  double stride_a = 1;
  bool transposed_b = false;
  int more_tiles = 0;
  Local out_row = [](int row) { return row; };
};

std::vector<uint16_t> run(const World& w, const Kernel& kernel) {
  const Shape& s = w.s;
  std::vector<uint16_t> c(static_cast<size_t>(s.m) * s.n, kPoison);
  std::vector<std::vector<uint16_t>> ring_a(kStages, std::vector<uint16_t>(s.bm * kPitch)),
      ring_b(kStages, std::vector<uint16_t>(s.bn * kPitch));
  std::vector<float> acc(s.bm * s.bn), out(s.bm * s.bn);
  const auto load = [&](const std::vector<uint16_t>& from, int rows, double stride, std::pair<int, int> at,
                        int tile_rows, const Kernel::Chunk& place, bool transposed,
                        std::vector<uint16_t>& to) {
    for (int r = 0; r < tile_rows; ++r)
      for (int k = 0; k < kPitch; ++k) {
        const int row = at.second + (transposed ? k : r), col = at.first + (transposed ? r : k);
        const bool inside = row >= 0 && row < rows && col >= 0 && col < s.k;
        if (!inside && !kernel.fill) continue;
        const size_t flat = &from == &w.b && kernel.transposed_b
                                ? static_cast<size_t>(col) * rows + row
                                : static_cast<size_t>(row * stride * s.k) + col;
        to[r * kPitch + place(r, k / 8) * 8 + k % 8] =
            inside && flat < from.size() && !(kernel.half_chunks && k % 8 >= 4) ? from[flat] : uint16_t{0};
      }
  };
  // What the tensor core reads: rows and steps along K as the descriptor names them, the swizzle undone.
  const auto read = [](const std::vector<uint16_t>& tile, int rows, const Kernel::Local& row_of,
                       const std::function<int(int)>& column_of) {
    std::vector<uint16_t> out(static_cast<size_t>(rows) * kPitch);
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < kPitch; ++k) {
        const int row = row_of(r), col = column_of(k / 16) + k % 16;
        out[r * kPitch + k] = tile[row * kPitch + (col / 8 ^ row % 8) * 8 + col % 8];
      }
    return out;
  };
  const int tiles = (s.k + kPitch - 1) / kPitch + kernel.more_tiles;
  int slot = 0;
  for (int row0 = 0; row0 < s.m; row0 += s.bm)
    for (int col0 = 0; col0 < s.n; col0 += s.bn) {
      if (!kernel.keep_accumulators) std::fill(acc.begin(), acc.end(), 0.0f);
      for (int t = 0; t < tiles; ++t, ++slot) {
        std::vector<uint16_t>&a = ring_a[slot % kStages], &b = ring_b[slot % kStages];
        load(kernel.swap_matrices ? w.b : w.a, kernel.swap_matrices ? s.n : s.m, kernel.stride_a,
             kernel.a_at(t * kPitch, row0, col0), s.bm, kernel.write_a, kernel.transpose_a, a);
        load(w.b, s.n, 1, kernel.b_at(t * kPitch, col0, row0), s.bn, kernel.write_b, false, b);
        if (!kernel.multiply(t, tiles)) continue;
        const bool add = kernel.accumulate(t, tiles);
        const std::vector<float> product = reference_on_cpu(
            read(a, s.bm, kernel.read_a, kernel.column_a),
            read(b, s.bn, kernel.read_b, [](int step) { return 16 * step; }), s.bm, s.bn, kPitch);
        for (size_t i = 0; i < acc.size(); ++i) acc[i] = (add ? acc[i] : 0) + product[i];
      }
      // Through shared memory in blocks of 64 columns, swizzled, then out by coordinates.
      for (int r = 0; r < s.bm; ++r)
        for (int j = 0; j < s.bn; ++j) {
          const int block = j / 64 * 64, chunk = kernel.write_c(r, j % 64 / 8);
          const int lane = r % 16 * 2 + j / 8 % 2;
          const int up = kernel.exchange_quarters ? (r & ~8) | (j & 8)
                         : kernel.lane_pairs      ? (r & ~15) | lane % 16
                                                  : r;
          const int left = kernel.exchange_quarters ? (j & ~8) | (r & 8)
                           : kernel.lane_pairs      ? (j & ~8) | lane / 16 * 8
                                                    : j;
          out[r * s.bn + block + (chunk ^ r % 8) * 8 + j % 8] = acc[up * s.bn + left];
        }
      const std::pair<int, int> tile = kernel.tile_at(row0, col0), at = kernel.c_at(tile.first, tile.second);
      for (int r = 0; r < s.bm; ++r)
        for (int j = 0; j < s.bn; ++j) {
          const int row = at.second + kernel.out_row(r), col = at.first + j;
          if (row >= 0 && row < s.m && col >= 0 && col < s.n)
            c[row * s.n + col] = bf16_from_float(out[r * s.bn + j]);
        }
    }
  return c;
}

Diagnosis diagnose(const World& w, const std::vector<uint16_t>& got) {
  const Result result{got, w.want, w.s.m, w.s.n, tolerance_for(w.s.k, w.exact)};
  return classify(result, compare(result), {w.a, w.b, w.s.m, w.s.n, w.s.k, w.s.bm, w.s.bn, kPitch});
}

const World& world(bool square, bool exact) {
  static const World worlds[] = {
      {kOblong, Data::kBell}, {kOblong, Data::kIntegers}, {kSquare, Data::kBell}, {kSquare, Data::kIntegers}};
  return worlds[2 * square + exact];
}

struct Row {
  const char* id;
  const char* mistake;
  bool square;
  std::function<void(Kernel&)> change;
};

std::pair<int, int> at(int x, int y) {
  return {x, y};
}

const Row kMistakes[] = {
    {"a-coordinates-swapped", "row and K exchanged in the copies of A", true,
     [](Kernel& k) { k.a_at = [](int k0, int r, int) { return at(r, k0); }; }},
    {"b-coordinates-swapped", "row and K exchanged in the copies of B", false,
     [](Kernel& k) { k.b_at = [](int k0, int r, int) { return at(r, k0); }; }},
    {"c-coordinates-swapped", "row and column exchanged in the store of C", true,
     [](Kernel& k) { k.c_at = [](int r, int c) { return at(r, c); }; }},
    {"a-tile-transposed", "element (k, row) of A stored at (row, k)", true,
     [](Kernel& k) { k.transpose_a = true; }},
    {"a-row-of-the-other-operand", "tile.col for the row of A", true,
     [](Kernel& k) { k.a_at = [](int k0, int, int o) { return at(k0, o); }; }},
    {"b-row-of-the-other-operand", "tile.row for the row of B", false,
     [](Kernel& k) { k.b_at = [](int k0, int, int o) { return at(k0, o); }; }},
    {"a-other-operand", "the map of B in the copies of A", true, [](Kernel& k) { k.swap_matrices = true; }},
    {"a-row-missing", "row 0 for every tile of A", true,
     [](Kernel& k) { k.a_at = [](int k0, int, int) { return at(k0, 0); }; }},
    {"b-row-in-tiles", "the number of the tile for the row of B", true,
     [](Kernel& k) { k.b_at = [](int k0, int r, int) { return at(k0, r / 128); }; }},
    {"a-row-in-bytes", "two bytes per element in the row of A", true,
     [](Kernel& k) { k.a_at = [](int k0, int r, int) { return at(k0, 2 * r); }; }},
    {"a-k-in-bytes", "two bytes per element in the place of A along K", false,
     [](Kernel& k) { k.a_at = [](int k0, int r, int) { return at(2 * k0, r); }; }},
    {"ab-k-in-tiles", "the number of the K tile for both places along K", true,
     [](Kernel& k) { k.a_at = k.b_at = [](int k0, int r, int) { return at(k0 / kPitch, r); }; }},
    {"b-k-in-chunks", "chunks of 8 elements in the place of B along K", true,
     [](Kernel& k) { k.b_at = [](int k0, int r, int) { return at(k0 / 8, r); }; }},
    {"b-same-k-tile", "the first K tile of B every time", true,
     [](Kernel& k) { k.b_at = [](int, int r, int) { return at(0, r); }; }},
    {"a-descriptor-advanced-by-half", "16 bytes from one wgmma to the next", true,
     [](Kernel& k) { k.column_a = [](int step) { return 8 * step; }; }},
    {"b-matrix-transposed", "B read as K x N", true, [](Kernel& k) { k.transposed_b = true; }},
    {"blocks-moved", "each warp stores the rows of the next one", true,
     [](Kernel& k) { k.out_row = [](int r) { return r / 64 * 64 + (r + 16) % 64; }; }},
    {"k-tile-stale", "K tile 2 copied again in the place of 3", true,
     [](Kernel& k) {
       k.a_at = k.b_at = [](int k0, int r, int) { return at(k0 == 3 * kPitch ? 2 * kPitch : k0, r); };
     }},
    {"k-tile-stale", "the K tiles 0, 0, 2, 2", true,
     [](Kernel& k) {
       k.a_at = k.b_at = [](int k0, int r, int) { return at(k0 / (2 * kPitch) * 2 * kPitch, r); };
     }},
    {"k-tile-twice", "one product more, of the K tile before", false,
     [](Kernel& k) {
       k.a_at = k.b_at = [](int k0, int r, int) { return at(std::min(k0, 2 * kPitch), r); };
       k.more_tiles = 1;
     }},
    {"k-tile-missing", "t + 1 for t in both copies", true,
     [](Kernel& k) { k.a_at = k.b_at = [](int k0, int r, int) { return at(k0 + kPitch, r); }; }},
    {"a-one-k-tile-ahead", "t - 1 for t in the copies of B", true,
     [](Kernel& k) { k.b_at = [](int k0, int r, int) { return at(k0 - kPitch, r); }; }},
    {"a-chunks-permuted", "no swizzle in the stores of A", true,
     [](Kernel& k) { k.write_a = [](int, int c) { return c; }; }},
    {"ab-chunks-permuted", "no swizzle in the maps of A and B", false,
     [](Kernel& k) { k.write_a = k.write_b = [](int, int c) { return c; }; }},
    {"a-swizzle-of-64-bytes", "row % 4 in the stores of A", true,
     [](Kernel& k) { k.write_a = [](int r, int c) { return c ^ r % 4; }; }},
    {"b-swizzle-of-32-bytes", "row % 2 in the stores of B", true,
     [](Kernel& k) { k.write_b = [](int r, int c) { return c ^ r % 2; }; }},
    {"b-swizzle-row-shift", "rows counted from 1", true,
     [](Kernel& k) { k.write_b = [](int r, int c) { return c ^ (r + 1) % 8; }; }},
    {"ab-chunks-misplaced", "chunk (c + r) % 8 in the stores of A and B", true,
     [](Kernel& k) { k.write_a = k.write_b = [](int r, int c) { return (c + r) % 8; }; }},
    {"a-chunks-misplaced", "r / 8 % 8 for r % 8", false,
     [](Kernel& k) { k.write_a = [](int r, int c) { return c ^ r / 8 % 8; }; }},
    {"ab-rows-misplaced", "the row permuted where the chunk should be", true,
     [](Kernel& k) {
       k.write_a = k.write_b = [](int r, int c) { return (r / 8 * 8 + (r ^ c) % 8 - r) * 8 + c; };
     }},
    {"b-chunks-in-columns", "column by column", false,
     [](Kernel& k) { k.write_b = [](int r, int c) { return c * 256 + r - r * 8; }; }},
    {"a-chunk-cut", "8 bytes for 8 elements", true, [](Kernel& k) { k.half_chunks = true; }},
    {"a-rows-shifted", "64 elements for 64 rows", true,
     [](Kernel& k) { k.read_a = [](int r) { return r < 64 ? r : r - 63; }; }},
    {"output-chunks-misplaced", "chunk (c + r) % 8 in the tile of C", false,
     [](Kernel& k) { k.write_c = [](int r, int c) { return (c + r) % 8; }; }},
    {"output-rows-misplaced", "row lane / 2, half lane % 2", true, [](Kernel& k) { k.lane_pairs = true; }},
    {"output-chunks-permuted", "no swizzle in the tile of C", false,
     [](Kernel& k) { k.write_c = [](int, int c) { return c; }; }},
    {"output-swizzle-of-64-bytes", "row % 4 in the tile of C", true,
     [](Kernel& k) { k.write_c = [](int r, int c) { return c ^ r % 4; }; }},
    {"output-quarters-exchanged", "the second and the third matrix of stmatrix exchanged", false,
     [](Kernel& k) { k.exchange_quarters = true; }},
    {"output-swizzle-of-32-bytes", "row % 2 in the tile of C", true,
     [](Kernel& k) { k.write_c = [](int r, int c) { return c ^ r % 2; }; }},
    {"a-rows-repeated", "the descriptor of A without the second warpgroup's rows", true,
     [](Kernel& k) { k.read_a = [](int r) { return r % 64; }; }},
    {"b-half-repeated", "the second half of B's box from the first half's row", false,
     [](Kernel& k) { k.read_b = [](int r) { return r % 128; }; }},
    {"a-descriptor-not-advanced", "the same 16 columns of A in each wgmma", true,
     [](Kernel& k) { k.column_a = [](int) { return 0; }; }},
    {"a-stride-in-elements", "half of the row stride in the map of A", true,
     [](Kernel& k) { k.stride_a = 0.5; }},
    {"k-tile-missing", "the second product overwrites the first", true,
     [](Kernel& k) { k.accumulate = [](int t, int) { return t > 1; }; }},
    {"k-tile-missing", "the last product skipped", true,
     [](Kernel& k) { k.multiply = [](int t, int n) { return t < n - 1; }; }},
    {"k-tile-missing", "the first product skipped", false,
     [](Kernel& k) { k.multiply = [](int t, int) { return t > 0; }; }},
    {"k-tiles-missing", "the last two products skipped", true,
     [](Kernel& k) { k.multiply = [](int t, int n) { return t < n - 2; }; }},
    {"one-k-tile-only", "no product adds", true,
     [](Kernel& k) { k.accumulate = [](int, int) { return false; }; }},
    {"accumulated", "the first product of a tile adds to the last tile", true,
     [](Kernel& k) {
       k.keep_accumulators = true;
       k.accumulate = [](int, int) { return true; };
     }},
    {"tiles-moved", "the rows of tiles in another order", true,
     [](Kernel& k) { k.c_at = [](int r, int c) { return at(c, r < 256 ? 128 - r : r); }; }},
    {"no-zero-fill", "what is outside is not written", true, [](Kernel& k) { k.fill = false; }},
};

}  // namespace

TEST_CASE("each mistake in a tiled product is named") {
  for (const Row& row : kMistakes)
    for (const bool exact : {false, true}) {
      CAPTURE(std::string(row.mistake));
      CAPTURE(exact);
      const World& w = world(row.square, exact);
      Kernel kernel;
      row.change(kernel);
      const Diagnosis d = diagnose(w, run(w, kernel));
      CAPTURE(d.reason);
      CHECK(d.id == std::string(row.id));
      CHECK(d.reason.find('%') == d.reason.find("% "));  // every %s was filled in: only r % 8 remains
    }
}

TEST_CASE("a right tiled product is right") {
  for (const bool square : {false, true})
    for (const bool exact : {false, true})
      CHECK(diagnose(world(square, exact), run(world(square, exact), {})).id == "right");
}

TEST_CASE("a mistake that nobody has described is not taken for another") {
  const World& w = world(true, false);
  const std::vector<uint16_t> right = run(w, {});
  uint32_t random = 7;
  const auto noise = [&] {
    return static_cast<float>((random = random * 1664525u + 1013904223u) >> 8) / (1 << 23) - 1;
  };
  std::vector<uint16_t> got = right;
  for (uint16_t& bits : got) bits = bf16_from_float(2 * noise());
  CHECK(diagnose(w, got).id == "unexplained");
  got = right;  // two different errors in one tile: elements of neither half are explained by one model
  for (int row = 0; row < 128; ++row)
    for (int col = 0; col < 128; ++col)
      got[row * w.s.n + col] = bf16_from_float(w.want[row * w.s.n + col] * (col % 2 ? 3.0f : 1.5f));
  CHECK(diagnose(w, got).id == "unexplained");
  got = right;
  for (int i = 0; i < 5; ++i) got[i * 1000] = bf16_from_float(100.0f);
  const Diagnosis few = diagnose(w, got);
  CHECK(few.id == "unexplained");
  CHECK(few.reason.find("5 elements") != std::string::npos);
}

TEST_CASE("the map shows which tiles are wrong, in at most 8 x 8 cells") {
  const int m = 300, n = 260;
  const std::vector<float> want(m * n, 1.0f);
  std::vector<uint16_t> got(m * n, bf16_from_float(1.0f));
  const Result result{got, want, m, n, tolerance_for(64, false)};
  CHECK(tile_map(result, 128, 128).empty());
  got[0] = bf16_from_float(2.0f);
  for (int row = 128; row < 256; ++row)
    for (int col = 128; col < 256; ++col) got[row * n + col] = kPoison;
  for (int row = 256; row < m; ++row)
    for (int col = 256; col < n; ++col) got[row * n + col] = bf16_from_float(0.0f);
  got[200] = 0x7FFF;
  CHECK(
      tile_map(result, 128, 128) ==
      "    C in tiles of 128 x 128: . right, x partly wrong, X all wrong, n wrong, with NaN, - not written\n"
      "       x n .\n"
      "       . - .\n"
      "       . . X\n");
  const std::string grouped = tile_map(result, 16, 32);
  CHECK(grouped.find("cells of 3 x 2 tiles of 16 x 32") != std::string::npos);
  CHECK(std::count(grouped.begin(), grouped.end(), '\n') == 1 + 7);
}
