// What a rule keeps for each warp that is running.
#pragma once

#include <memory>
#include <unordered_map>

#include "emulator/machine/machine.hpp"
#include "emulator/machine/warp.hpp"

namespace emu::check {

template <class T>
class PerWarp {
 public:
  T& of(const Warp& w) {
    if (&w == last_warp_) return *last_;
    std::unique_ptr<T>& slot = all_[&w];
    if (!slot) slot = std::make_unique<T>();
    last_warp_ = &w;
    return *(last_ = slot.get());
  }
  void forget(const Cta& cta) {
    for (auto& warp : cta.warps) all_.erase(warp.get());
    last_warp_ = nullptr;
  }
  void clear() {
    all_.clear();
    last_warp_ = nullptr;
  }
  template <class F>
  void each(F f) {  // f(T&)
    for (auto& [warp, mine] : all_) f(*mine);
  }

 private:
  std::unordered_map<const Warp*, std::unique_ptr<T>> all_;
  const Warp* last_warp_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace emu::check
