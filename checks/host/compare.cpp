// The comparison accepts what rounding explains and nothing else, and names typical mistakes.
#include "host/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "host/bf16.hpp"
#include "host/classify.hpp"
#include "host/inputs.hpp"
#include "host/poison.hpp"
#include "host/reference.hpp"

using namespace lab;

namespace {

constexpr int M = 72, N = 72, K = 192;  // 3 K tiles of 64
constexpr int kTile = 64;

struct World {
  std::vector<uint16_t> a, b;
  std::vector<float> want;
  explicit World(Data data) : a(random_matrix(M, K, 11, data)), b(random_matrix(N, K, 12, data)) {
    want = reference_on_cpu(a, b, M, N, K);
  }
  float at_a(int row, int k) const { return bf16_to_float(a[row * K + k]); }
  float at_b(int row, int k) const { return bf16_to_float(b[row * K + k]); }
};

const World& world(Data data = Data::kBell) {
  static const World bell(Data::kBell), integers(Data::kIntegers);
  return data == Data::kBell ? bell : integers;
}

using Value = std::function<double(int row, int col)>;

std::vector<uint16_t> make(const Value& value) {
  std::vector<uint16_t> bits(M * N);
  for (int i = 0; i < M * N; ++i) bits[i] = bf16_from_float(static_cast<float>(value(i / N, i % N)));
  return bits;
}

double dot(int row, int col, const std::function<int(int)>& ka, const std::function<int(int)>& kb) {
  double sum = 0;
  for (int k = 0; k < K; ++k) sum += static_cast<double>(world().at_a(row, ka(k))) * world().at_b(col, kb(k));
  return sum;
}

double right_value(int row, int col) {
  return world().want[row * N + col];
}

std::string classified(const std::vector<uint16_t>& got, Data data = Data::kBell) {
  const World& w = world(data);
  const Result result{got, w.want, M, N, tolerance_for(K, data == Data::kIntegers)};
  return classify(result, compare(result), {w.a, w.b, M, N, K, kTile, kTile, kTile}).id;
}

int same(int k) {
  return k;
}

}  // namespace

TEST_CASE("the right result is right, in both kinds of data") {
  CHECK(classified(make(right_value)) == "right");
  CHECK(classified(make([](int r, int c) { return world(Data::kIntegers).want[r * N + c]; }),
                   Data::kIntegers) == "right");
}

TEST_CASE("one wrong element is found, wherever it is, with its place and values") {
  for (const int at : {0, N - 1, 37 * N + 5, M * N - 1}) {
    std::vector<uint16_t> got = make(right_value);
    got[at] = bf16_from_float(static_cast<float>(right_value(at / N, at % N) + 0.5));
    const Result result{got, world().want, M, N, tolerance_for(K, false)};
    const Comparison comparison = compare(result);
    REQUIRE(comparison.mismatches == 1);
    CHECK(comparison.first[0].row == at / N);
    CHECK(comparison.first[0].col == at % N);
    CHECK(comparison.max_error > 0.45);
    CHECK(describe_mismatches(comparison).find("want") != std::string::npos);
  }
}

TEST_CASE("NaN, infinity and poison are never right, even where NaN or infinity is wanted") {
  const std::vector<float> want = {NAN, INFINITY, 1.0f, 1.0f};
  const std::vector<uint16_t> got = {0x7FFF, 0x7F80, 0x7FC0, kPoison};
  const Comparison comparison = compare({got, want, 2, 2, {1e9, 1e9}});
  CHECK(comparison.mismatches == 4);
  CHECK(comparison.poison == 1);
}

TEST_CASE("integers leave no tolerance: one bf16 step is wrong") {
  std::vector<uint16_t> got = make([](int r, int c) { return world(Data::kIntegers).want[r * N + c]; });
  got[100] ^= 1;
  const Result result{got, world(Data::kIntegers).want, M, N, tolerance_for(K, true)};
  CHECK(compare(result).mismatches == 1);
}

TEST_CASE("the impostors are named") {
  CHECK(classified(std::vector<uint16_t>(M * N, kPoison)) == "not-written");
  CHECK(classified(std::vector<uint16_t>(M * N, 0)) == "zeros");
  CHECK(classified(std::vector<uint16_t>(M * N, 0x7FFF)) == "nan");
  std::vector<uint16_t> half = make(right_value);
  std::fill(half.begin() + M * N / 2, half.end(), kPoison);
  CHECK(classified(half) == "partly-written");
}

TEST_CASE("a box that nobody has written is named: its rows and columns, inside of its tile") {
  std::vector<uint16_t> got = make(right_value);
  const auto hole = [&] {
    const Result result{got, world().want, M, N, tolerance_for(K, false)};
    const Hole h = first_hole(result, kTile, kTile);
    return std::vector<int>{h.row, h.col, h.rows, h.cols};
  };
  CHECK(hole() == std::vector<int>{0, 0, 0, 0});
  for (int row = 3; row < 7; ++row)
    for (int col = 8; col < kTile; ++col) got[row * N + col] = kPoison;
  CHECK(hole() == std::vector<int>{3, 8, 4, kTile - 8});
  for (int row = 3; row < M; ++row) std::fill_n(got.begin() + row * N, N, kPoison);
  CHECK(hole() == std::vector<int>{3, 0, kTile - 3, kTile});
}

TEST_CASE("a wrong order of 16-byte chunks is named, for each operand and for the output") {
  const auto swizzled = [](int k, int row) { return k ^ (row % 8 * 8); };
  CHECK(classified(make([&](int r, int c) {
          return dot(
              r, c, [&](int k) { return swizzled(k, r); }, same);
        })) == "a-chunks-permuted");
  CHECK(classified(make([&](int r, int c) {
          return dot(r, c, same, [&](int k) { return swizzled(k, c); });
        })) == "b-chunks-permuted");
  CHECK(classified(make([&](int r, int c) {
          return dot(
              r, c, [&](int k) { return swizzled(k, r % kTile); },
              [&](int k) { return swizzled(k, c % kTile); });
        })) == "ab-chunks-permuted");
  CHECK(classified(make([](int r, int c) { return right_value(r, (c ^ (r % 8 * 8)) % N); })) ==
        "output-chunks-permuted");
}

TEST_CASE("a missing or stale K tile is named") {
  const auto tile = [](int r, int c, int t) {
    double sum = 0;
    for (int k = t * kTile; k < (t + 1) * kTile; ++k)
      sum += static_cast<double>(world().at_a(r, k)) * world().at_b(c, k);
    return sum;
  };
  CHECK(classified(make([&](int r, int c) { return right_value(r, c) - tile(r, c, 2); })) ==
        "k-tile-missing");
  CHECK(classified(make([&](int r, int c) { return right_value(r, c) - tile(r, c, 1) + tile(r, c, 0); })) ==
        "k-tile-stale");
}

TEST_CASE("transposed, scaled, imprecise and unexplained results are told apart") {
  CHECK(classified(make([](int r, int c) { return right_value(c, r); })) == "transposed");
  CHECK(classified(make([](int r, int c) { return 2 * right_value(r, c); })) == "scaled");
  CHECK(classified(make([](int r, int c) { return right_value(r, c) * (1 + (r + c) % 2 * 0.006); })) ==
        "imprecise");
  CHECK(classified(make([](int r, int c) { return (r * 31 + c * 17) % 13 - 6.0; })) == "unexplained");
}
