// Vector clocks: what a thread knows to have happened before its next step.
//
// A clock has one entry a component. A component counts the steps of something that orders accesses: a thread's
// releases, a thread's cp.async instructions, a thread's bulk groups (sources read, and complete), a warpgroup's
// wgmmas, the phases of an mbarrier. "Access x is tagged (component, value)" means: whoever has an entry of at least
// `value` for that component is ordered after x.
//
// Each entry exists three times, because being ordered is not enough for the async proxy (PTX ISA 9.7.9.25.2):
//   order    ordered after it
//   fenced   ordered after a proxy fence that the thread which made the access executed after it
//   relayed  ordered after a proxy fence of somebody else who was ordered after it
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace emu::check {

using Component = uint32_t;

// Bit i: a[i] >= b[i], for 32 counters below 2^31. Written so that compilers use vector instructions.
inline uint32_t lanes_at_least(const uint32_t* a, const uint32_t* b) {
  uint32_t bits = 0;
  for (int group = 0; group < 32; group += 8) {
    uint8_t yes[8];
    for (int i = 0; i < 8; ++i)
      yes[i] = static_cast<int32_t>(a[group + i]) >= static_cast<int32_t>(b[group + i]);
    uint64_t bytes;
    std::memcpy(&bytes, yes, 8);
    bits |= static_cast<uint32_t>(bytes * 0x0102040810204080u >> 56) << group;
  }
  return bits;
}

// The larger one, of the same kind of counters.
inline uint32_t later(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? b : a;
}

class Clock {
 public:
  enum Kind { order, fenced, relayed };
  using Foreigner =
      std::pair<uint32_t, std::shared_ptr<const Clock>>;  // another cluster's number, and its clock
  using Foreigners = std::vector<Foreigner>;

  uint32_t get(Kind kind, Component c) const { return c < values_[kind].size() ? values_[kind][c] : 0; }
  void raise(Kind kind, Component c, uint32_t value) {
    auto& v = values_[kind];
    if (c >= v.size()) v.resize(c + 1);
    if (v[c] < value) {
      v[c] = value;
      touch();
    }
  }
  // For the 32 components from `first` on: bit i is set where the entry of first + i is at least values[i].
  uint32_t at_least(Kind kind, Component first, const std::array<uint32_t, 32>& values) const {
    const auto& v = values_[kind];
    if (first + 32 <= v.size()) return lanes_at_least(v.data() + first, values.data());
    std::array<uint32_t, 32> mine{};
    if (first < v.size()) std::copy(v.begin() + first, v.end(), mine.begin());
    return lanes_at_least(mine.data(), values.data());
  }
  // raise() for the 32 components from `first` on.
  void raise_all(Kind kind, Component first, const std::array<uint32_t, 32>& values) {
    auto& v = values_[kind];
    if (first + 32 > v.size()) v.resize(first + 32);
    uint32_t grown = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t now = later(v[first + i], values[i]);
      grown |= now ^ v[first + i];
      v[first + i] = now;
    }
    if (grown) touch();
  }
  void join(const Clock& other) {
    if (&other == this || other.version_ == version_ || other.version_ == last_joined_) return;
    for (int k = 0; k < 3; ++k) {
      auto& mine = values_[k];
      const auto& theirs = other.values_[k];
      if (mine.size() < theirs.size()) mine.resize(theirs.size());
      uint32_t* a = mine.data();
      const uint32_t* b = theirs.data();
      for (size_t i = 0, n = theirs.size(); i < n; ++i) a[i] = later(a[i], b[i]);
    }
    join_foreigners(other);
    touch();
    last_joined_ = other.version_;  // clocks only grow: joining the same contents again changes nothing
  }
  // A proxy fence by a thread that knows this clock: it vouches for everything it is ordered after.
  void relay_all() {
    auto& to = values_[relayed];
    const auto& from = values_[order];
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
    touch();
  }
  size_t bytes() const { return sizeof *this + 3 * sizeof(uint32_t) * values_[order].size(); }  // about
  // Joining `other` would add nothing.
  bool covers(const Clock& other) const {
    for (int k = 0; k < 3; ++k) {
      const auto &mine = values_[k], &theirs = other.values_[k];
      const size_t both = std::min(mine.size(), theirs.size());
      bool less = false;
      for (size_t i = 0; i < both; ++i) less |= mine[i] < theirs[i];
      for (size_t i = both; i < theirs.size(); ++i) less |= theirs[i] > 0;
      if (less) return false;
    }
    return !other.foreign_ || other.foreign_ == foreign_;
  }
  bool same_as(const Clock& other) const {
    if (version_ == other.version_) return true;
    for (int k = 0; k < 3; ++k)
      if (values_[k] != other.values_[k]) return false;
    return foreign_ == other.foreign_ || (foreign_ && other.foreign_ && *foreign_ == *other.foreign_);
  }

  // What is known of the threads of another cluster (through global memory).
  const Clock* foreign(uint32_t cluster) const {
    if (!foreign_) return nullptr;
    const auto f = std::lower_bound(foreign_->begin(), foreign_->end(), cluster,
                                    [](const Foreigner& a, uint32_t c) { return a.first < c; });
    return f != foreign_->end() && f->first == cluster ? f->second.get() : nullptr;
  }
  // Joins what the other clock knows of clusters but `self`.
  void join_foreigners(const Clock& other, uint32_t self = 0) {
    if (!other.foreign_ || other.foreign_ == foreign_) return;
    if (!foreign_ && !other.foreign(self)) {
      foreign_ = other.foreign_;
      touch();
      return;
    }
    auto all = std::make_shared<Foreigners>();
    const Foreigners none, &mine = foreign_ ? *foreign_ : none;
    auto m = mine.begin();
    bool grown = false;
    for (const Foreigner& f : *other.foreign_) {
      if (f.first == self) continue;
      while (m != mine.end() && m->first < f.first) all->push_back(*m++);
      if (m == mine.end() || m->first != f.first) {
        all->push_back(f);
        grown = true;
        continue;
      }
      all->push_back(*m++);
      if (all->back().second == f.second || all->back().second->covers(*f.second)) continue;
      if (f.second->covers(*all->back().second)) {  // shared, not copied: many warps come to know the same
        all->back().second = f.second;
        grown = true;
        continue;
      }
      auto joined = std::make_shared<Clock>(*all->back().second);
      joined->join(*f.second);
      all->back().second = std::move(joined);
      grown = true;
    }
    if (!grown) return;
    all->insert(all->end(), m, mine.end());
    foreign_ = std::move(all);
    touch();
  }
  void join_foreigner(uint32_t cluster, std::shared_ptr<const Clock> clock) {
    Clock one;
    one.foreign_ = std::make_shared<Foreigners>(1, Foreigner(cluster, std::move(clock)));
    join_foreigners(one);
  }
  void forget_foreigners() { foreign_ = nullptr; }
  const std::shared_ptr<const Foreigners>& foreigners() const { return foreign_; }
  // For those that only leave out clusters that nothing will be asked about.
  void set_foreigners(const std::shared_ptr<const Foreigners>& fewer) { foreign_ = fewer; }

 private:
  std::vector<uint32_t> values_[3];
  std::shared_ptr<const Foreigners> foreign_;        // by cluster, ascending; clocks share it
  uint64_t version_ = 0, last_joined_ = UINT64_MAX;  // equal versions: equal contents
  static inline uint64_t next_version_ = 0;
  void touch() { version_ = ++next_version_; }
};

}  // namespace emu::check
