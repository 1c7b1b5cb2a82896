// Shadow memory: for every byte, who wrote it last and who has read it since.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/types.hpp"

namespace emu::check {

// Who touched a byte: the lanes of one warp instruction, one engine operation, or a set of such.
// A Tag is a record number and, in the low 5 bits, the lane. Tag 0: nobody.
using Tag = uint32_t;

struct Record {
  enum class Kind : uint8_t { none, strong, threads, op, set };
  Kind kind = Kind::none;
  bool again = false;  // threads, reads: the same thread had read these bytes before and has released since
  uint16_t warp = 0;   // threads: warp of the CTA
  uint16_t rank = 0;   // CTA in the cluster
  uint32_t cluster = 0;
  int32_t source = -1;  // Program source index
  uint32_t detail = 0;  // threads: epoch block; op: index of the operation; set: index of the member list
};

class Records {
 public:
  // Of bytes that strong accesses alone have written: everybody is ordered after those.
  static constexpr Tag kStrong = 1 << 5;

  Records() { clear(); }
  const Record& of(Tag tag) const { return records_[tag >> 5]; }
  static int lane_of(Tag tag) { return static_cast<int>(tag & 31); }
  uint32_t add(const Record& r) {
    records_.push_back(r);
    return static_cast<uint32_t>(records_.size() - 1);
  }
  uint32_t add_epochs(const std::array<uint32_t, 32>& epochs) {
    epochs_.push_back(epochs);
    return static_cast<uint32_t>(epochs_.size() - 1);
  }
  const std::array<uint32_t, 32>& epochs(const Record& r) const { return epochs_[r.detail]; }
  uint32_t epoch(const Record& r, int lane) const { return epochs_[r.detail][static_cast<size_t>(lane)]; }

  // The set of a's members and b. Asked for often with the same arguments: the answers are kept.
  Tag combine(Tag a, Tag b);
  // Whether combine() has found b to be a member of that set. May say no where it has not been asked.
  bool seen_in(Tag set, Tag b) const;
  // Calls f(tag) for each single accessor of the tag.
  template <class F>
  void each(Tag tag, F f) const {
    const Record& r = of(tag);
    if (r.kind == Record::Kind::set) {
      for (Tag t : sets_[r.detail]) f(t);
    } else if (tag) {
      f(tag);
    }
  }
  void clear();

  // ---- records that nobody can ask about any more go (collect.cpp): start_marking(), mark() what must stay,
  // drop_unmarked(). Then records have other numbers: moved() gives the new tag for an old one that was marked.
  size_t bytes() const {
    return records_.size() * sizeof(Record) + epochs_.size() * sizeof(epochs_[0]) +
           sets_.size() * sizeof(sets_[0]) + set_members_ * sizeof(Tag) + combined_.size() * 64;
  }
  void start_marking() { places_.assign(records_.size(), 0); }
  void mark(Tag tag);
  void drop_unmarked();
  Tag moved(Tag tag) const { return places_[tag >> 5] << 5 | (tag & 31); }
  template <class F>
  void each_marked(F f) {  // f(Record&), before drop_unmarked()
    for (size_t i = 1; i < places_.size(); ++i)
      if (places_[i]) f(records_[i]);
  }

 private:
  std::vector<Record> records_;
  std::vector<std::array<uint32_t, 32>> epochs_;
  std::vector<std::vector<Tag>> sets_;
  size_t set_members_ = 0;  // of all sets
  std::unordered_map<uint64_t, Tag> combined_;
  std::vector<uint32_t> places_;  // by record: not 0 when marked; after drop_unmarked(), its new number
};

// A run of bytes. 8 bytes of shadow for each byte.
class Shadow {
 public:
  explicit Shadow(size_t bytes) : write_(bytes), read_(bytes) {}
  Tag* writes() { return write_.data(); }
  Tag* reads() { return read_.data(); }
  size_t size() const { return write_.size(); }
  // Replaces every tag t but 0 by f(t); f is called once for a run of equal ones.
  template <class F>
  void replace(F f) {
    for (auto* tags : {&write_, &read_})
      for (auto run = tags->begin(); run != tags->end();) {
        const Tag tag = *run;
        const auto end = std::find_if(run, tags->end(), [&](Tag t) { return t != tag; });
        if (const Tag now = tag ? f(tag) : tag; now != tag) std::fill(run, end, now);
        run = end;
      }
  }

 private:
  std::vector<Tag> write_, read_;
};

// Global memory, by pages that somebody touched.
class GlobalShadow {
 public:
  static constexpr uint64_t kPage = 4096;
  Shadow* find(uint64_t address) {
    uint64_t page = address / kPage;
    if (page == last_page_) return last_;
    auto it = pages_.find(page);
    if (it == pages_.end()) return nullptr;
    last_page_ = page;
    return last_ = it->second.get();
  }
  // Who wrote the byte last; 0 where nobody is known to have.
  Tag writer(uint64_t address) {
    Shadow* page = find(address);
    return page ? page->writes()[address % kPage] : 0;
  }
  Shadow& at(uint64_t address) {
    if (Shadow* s = find(address)) return *s;
    auto& slot = pages_[address / kPage];
    slot = std::make_unique<Shadow>(kPage);
    last_page_ = address / kPage;
    last_ = slot.get();
    return *last_;
  }
  void clear() {
    pages_.clear();
    last_page_ = UINT64_MAX;
    last_ = nullptr;
  }
  bool empty() const { return pages_.empty(); }
  size_t pages() const { return pages_.size(); }
  template <class F>
  void each_page(F f) {  // f(Shadow&)
    for (auto& page : pages_) f(*page.second);
  }

 private:
  std::unordered_map<uint64_t, std::unique_ptr<Shadow>> pages_;
  uint64_t last_page_ = UINT64_MAX;
  Shadow* last_ = nullptr;
};

}  // namespace emu::check
