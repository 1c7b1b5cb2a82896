// std::function, as far as the lessons need it: <functional> takes nvcc a fifth of the time of a whole lesson.
#pragma once

#include <type_traits>
#include <utility>

namespace lab {

template <class Signature>
class Function;

// Holds anything that can be copied and called. An empty one must not be called.
template <class Result, class... Arguments>
class Function<Result(Arguments...)> {
 public:
  Function() = default;
  template <class F, class = std::enable_if_t<!std::is_same_v<F, Function>>>
  Function(F f) : held_(new Holder<F>(std::move(f))) {}
  Function(const Function& other) : held_(other.held_ ? other.held_->copy() : nullptr) {}
  Function(Function&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  Function& operator=(Function other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Function() { delete held_; }

  explicit operator bool() const { return held_ != nullptr; }
  Result operator()(Arguments... arguments) const {
    return held_->call(static_cast<Arguments>(arguments)...);
  }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual Held* copy() const = 0;
    virtual Result call(Arguments... arguments) = 0;
  };
  template <class F>
  struct Holder : Held {
    F f;
    explicit Holder(F given) : f(std::move(given)) {}
    Held* copy() const override { return new Holder(f); }
    Result call(Arguments... arguments) override { return f(static_cast<Arguments>(arguments)...); }
  };
  Held* held_ = nullptr;
};

}  // namespace lab
