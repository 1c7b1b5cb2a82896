// Inputs are reproducible and not symmetric; the reference is the plain sum.
#include "host/reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "host/bf16.hpp"
#include "host/hash.hpp"
#include "host/inputs.hpp"
#include "host/timing.hpp"

using namespace lab;

TEST_CASE("bf16 conversion rounds to nearest, ties to even, and keeps NaN a NaN") {
  CHECK(bf16_from_float(1.0f) == 0x3F80);
  CHECK(bf16_from_float(1.0f + 1.0f / 256) == 0x3F80);  // a tie: the even neighbour is below
  CHECK(bf16_from_float(1.0f + 3.0f / 256) == 0x3F82);  // a tie: the even neighbour is above
  CHECK(bf16_from_float(-2.5f) == 0xC020);
  CHECK(bf16_from_float(INFINITY) == 0x7F80);
  CHECK(bf16_from_float(NAN) == 0x7FFF);
  CHECK(bf16_to_float(0x4049) == 3.140625f);
}

TEST_CASE("the same seed gives the same matrix, another seed another one") {
  CHECK(random_matrix(40, 24, 5, Data::kBell) == random_matrix(40, 24, 5, Data::kBell));
  CHECK(random_matrix(40, 24, 5, Data::kBell) != random_matrix(40, 24, 6, Data::kBell));
}

TEST_CASE("bell-shaped data: in [-1, 1], centred, spread, no two rows alike") {
  const auto matrix = random_matrix(256, 256, 3, Data::kBell);
  double sum = 0, squares = 0;
  for (const uint16_t bits : matrix) {
    const double value = bf16_to_float(bits);
    REQUIRE(std::fabs(value) <= 1);
    sum += value;
    squares += value * value;
  }
  CHECK(std::fabs(sum / matrix.size()) < 0.01);
  CHECK(std::sqrt(squares / matrix.size()) == doctest::Approx(0.2887).epsilon(0.02));
  for (int row = 1; row < 256; ++row) {
    CHECK(!std::equal(matrix.begin(), matrix.begin() + 256, matrix.begin() + row * 256));
  }
}

TEST_CASE("integer data takes each of -2 .. 2") {
  int count[5] = {};
  for (const uint16_t bits : random_matrix(50, 50, 3, Data::kIntegers)) {
    const float value = bf16_to_float(bits);
    REQUIRE(value == std::round(value));
    REQUIRE(std::fabs(value) <= 2);
    ++count[static_cast<int>(value) + 2];
  }
  for (const int each : count) CHECK(each > 2500 / 10);
}

TEST_CASE("the reference is the sum of products, for ragged sizes too") {
  for (const auto& size : {std::array<int, 3>{1, 8, 8}, {5, 16, 24}, {33, 40, 72}, {64, 64, 64}}) {
    const int m = size[0], n = size[1], k = size[2];
    const auto a = random_matrix(m, k, 1, Data::kBell), b = random_matrix(n, k, 2, Data::kBell);
    const auto c = reference_on_cpu(a, b, m, n, k);
    REQUIRE(c.size() == static_cast<size_t>(m) * n);
    for (int row = 0; row < m; ++row) {
      for (int col = 0; col < n; ++col) {
        double sum = 0;
        for (int i = 0; i < k; ++i) {
          sum += static_cast<double>(bf16_to_float(a[row * k + i])) * bf16_to_float(b[col * k + i]);
        }
        REQUIRE(c[row * n + col] == doctest::Approx(sum).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("statistics: median of odd and even counts, extremes") {
  CHECK(statistics({3, 1, 2}).median == 2);
  CHECK(statistics({4, 1, 2, 3}).median == 2.5);
  CHECK(statistics({4, 1, 2, 3}).min == 1);
  CHECK(statistics({4, 1, 2, 3}).max == 4);
  CHECK(statistics({4, 1, 2, 3}).samples == 4);
}

TEST_CASE("a hash depends on every element, its place, and the shape") {
  const std::vector<uint16_t> matrix = random_matrix(200, 24, 5, Data::kBell);
  const std::string hash = matrix_hash(matrix, 200, 24);
  CHECK(hash == matrix_hash(matrix, 200, 24));
  CHECK(hash != matrix_hash(matrix, 24, 200));
  for (const size_t at : {size_t{0}, size_t{25}, matrix.size() - 1}) {
    std::vector<uint16_t> changed = matrix;
    changed[at] ^= 1;
    CHECK(hash != matrix_hash(changed, 200, 24));
  }
  std::vector<uint16_t> swapped = matrix;
  std::swap_ranges(swapped.begin(), swapped.begin() + 24, swapped.begin() + 24);
  CHECK(hash != matrix_hash(swapped, 200, 24));
}

TEST_CASE("timing: samples last about a millisecond, buffers exceed the L2 cache twice") {
  CHECK(launches_per_sample(0.1) == 10);
  CHECK(launches_per_sample(5) == 1);
  CHECK(launches_per_sample(0) == 1);
  CHECK(launches_per_sample(0.0001) == 100);
  CHECK(buffer_sets(1 << 20, 50 << 20) >= 64);
  CHECK(buffer_sets(500 << 20, 50 << 20) == 1);
  CHECK(buffer_sets(25 << 20, 50 << 20) * (size_t{25} << 20) > 2 * (size_t{50} << 20));
}
