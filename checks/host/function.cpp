// lab::Function: what it holds is copied with it, moved out of it, and freed with it.
#include "host/function.hpp"

#include <doctest/doctest.h>

#include <memory>

TEST_CASE("a function calls what it holds, with its arguments and captures") {
  const int base = 10;
  const lab::Function<int(int, int)> sum = [=](int a, int b) { return base + a + b; };
  CHECK(static_cast<bool>(sum));
  CHECK(sum(1, 2) == 13);
  CHECK_FALSE(static_cast<bool>(lab::Function<void()>()));
}

TEST_CASE("copies of a function are independent, a moved one is empty, and all that is held is freed") {
  const auto held = std::make_shared<int>(0);
  {
    lab::Function<int()> count = [held, calls = 0]() mutable { return ++calls; };
    lab::Function<int()> copy = count;
    CHECK(held.use_count() == 3);
    CHECK(count() == 1);
    CHECK(count() == 2);
    CHECK(copy() == 1);
    lab::Function<int()> moved = std::move(count);
    CHECK(held.use_count() == 3);
    CHECK_FALSE(static_cast<bool>(count));
    CHECK(moved() == 3);
    copy = moved;
    CHECK(copy() == 4);
    CHECK(moved() == 4);
  }
  CHECK(held.use_count() == 1);
}
