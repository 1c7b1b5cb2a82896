// Shadow memory: for every byte, who wrote it last and who has read it since.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/ptx/types.hpp"

namespace emu::check {

// Who touched a byte: the lanes of one warp instruction, one engine operation, or a set of such.
// A Tag is a record number and, in the low 5 bits, the lane. Tag 0: nobody.
using Tag = uint32_t;

// The bits in which tags differ from the first of them.
inline Tag differing(const Tag* tags, size_t count) {
  Tag bits = 0;
  for (size_t i = 0; i < count; ++i) bits |= tags[i] ^ tags[0];
  return bits;
}

struct Record {
  enum class Kind : uint8_t { none, threads, op, set, joined };
  Kind kind = Kind::none;
  bool again = false;   // threads, reads: the same thread had read these bytes before and has released since
  bool strong = false;  // threads: atomic, volatile or relaxed accesses, which do not race with each other
  bool reset = false;   // threads, ordinary writes: over what strong accesses had written
  uint16_t warp = 0;    // threads: warp of the CTA
  uint16_t rank = 0;    // CTA in the cluster
  uint32_t cluster = 0;
  int32_t source = -1;  // Program source index
  uint32_t detail =
      0;  // threads: epoch block; op: index of the operation; set, joined: index of the member list, of the join
  // set: instead of a list, a record of threads and some of its lanes. threads: lanes that executed the instruction.
  uint32_t base = 0, lanes = 0;
};

// Lanes of a warp that read shared memory, each its own bytes, while earlier readers of the same bytes stay: one tag for all
// these bytes. Who has read one of them is worked out when somebody asks (Records::expand); mostly nobody does.
struct Join {
  uint32_t record = 0, lanes = 0;  // of threads
  uint32_t words = 0, depth = 1;   // of a lane; joins on top of each other
  bool alike = true;               // the same had read the bytes of all lanes before:
  Tag before = 0;                  // 0: nobody; when they are not alike,
  std::array<Tag, 32> before_of;   // by lane
  std::array<uint16_t, 32> first;  // word of a lane: its address / 4
  Join() {}                        // the arrays are filled in as they are needed
  Tag before_lane(int l) const { return alike ? before : before_of[static_cast<size_t>(l)]; }
  template <class F>
  void each_before(F f) {  // f(Tag&) where there was somebody
    if (alike && before) f(before);
    for (uint32_t left = alike ? 0 : lanes; left; left &= left - 1)
      if (Tag& tag = before_of[static_cast<size_t>(__builtin_ctz(left))]) f(tag);
  }
};

class Records {
 public:
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

  void mark_reset(Tag of_threads) { records_[of_threads >> 5].reset = true; }

  // These lanes of a record of threads, two or more.
  Tag lanes(uint32_t record, uint32_t mask);
  // The set of a's and b's members. Asked for often with the same arguments: the answers are kept.
  Tag combine(Tag a, Tag b);
  // Whether combine() has found b's members to be in that set. May say no where it has not been asked.
  bool seen_in(Tag set, Tag b) const;
  // ---- joins
  static constexpr uint32_t kDeepest = 64;
  // A new one, for the caller to fill in before it is asked for; its tag.
  std::pair<Join*, Tag> new_join() {
    Record r;
    r.kind = Record::Kind::joined;
    r.detail = static_cast<uint32_t>(joins_.size());
    joins_.emplace_back();
    return {&joins_.back(), add(r) << 5};
  }
  const Join* joined(Tag tag) const {
    const Record& r = of(tag);
    return r.kind == Record::Kind::joined ? &joins_[r.detail] : nullptr;
  }
  // The readers of that byte, as combine() and lanes() make them up.
  Tag expand(Tag tag, uint32_t address);
  uint32_t count() const { return static_cast<uint32_t>(records_.size()); }

  // Calls f(tag) for each single accessor of the tag.
  template <class F>
  void each(Tag tag, F f) const {
    const Record& r = of(tag);
    if (r.base) {
      for (uint32_t left = r.lanes; left; left &= left - 1)
        f(r.base << 5 | static_cast<Tag>(__builtin_ctz(left)));
    } else if (r.kind == Record::Kind::set) {
      for (Tag t : sets_[r.detail]) f(t);
    } else if (tag) {
      f(tag);
    }
  }
  template <class F>
  void each_record(F f) const {  // f(const Record&)
    for (size_t i = 1; i < records_.size(); ++i) f(records_[i]);
  }
  void clear();

  // ---- records that nobody can ask about any more go (collect.cpp): start_marking(), mark() what must stay,
  // drop_unmarked(). Then records have other numbers: moved() gives the new tag for an old one that was marked.
  size_t bytes() const {
    return records_.size() * sizeof(Record) + epochs_.size() * sizeof(epochs_[0]) +
           sets_.size() * sizeof(sets_[0]) + set_members_ * sizeof(Tag) + joins_.size() * sizeof(Join) +
           (combined_.size() + lanes_.size()) * 64;
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
  // The record of threads that all members of the tag are lanes of, or 0; and which lanes.
  uint32_t threads_of(Tag tag) const {
    return of(tag).kind == Record::Kind::threads ? tag >> 5 : of(tag).base;
  }
  uint32_t lanes_in(Tag tag) const { return of(tag).base ? of(tag).lanes : 1u << lane_of(tag); }

  std::vector<Record> records_;
  std::vector<std::array<uint32_t, 32>> epochs_;
  std::vector<std::vector<Tag>> sets_;
  size_t set_members_ = 0;  // of all sets
  std::vector<Join> joins_;
  std::unordered_map<uint64_t, Tag> combined_;
  std::unordered_map<uint64_t, Tag> lanes_;  // by record and mask
  std::vector<uint32_t> places_;  // by record: not 0 when marked; after drop_unmarked(), its new number
};

// Replaces every tag t but 0 by f(t); f is called once for a run of equal ones.
template <class F>
void replace_tags(std::vector<Tag>& tags, F f) {
  for (auto run = tags.begin(); run != tags.end();) {
    const Tag tag = *run;
    const auto end = std::find_if(run, tags.end(), [&](Tag t) { return t != tag; });
    if (const Tag now = tag ? f(tag) : tag; now != tag) std::fill(run, end, now);
    run = end;
  }
}

// The shared memory of a CTA: two tags for a word, for half of one or for a byte, as small as what has been accessed.
class Shadow {
 public:
  explicit Shadow(size_t bytes) : bytes_(bytes), write_((bytes + 3) / 4), read_(write_.size()) {}
  // From here on, tags of the bytes at that address.
  Tag* writes(uint64_t address) { return write_.data() + (address >> shift_); }
  Tag* reads(uint64_t address) { return read_.data() + (address >> shift_); }
  size_t size() const { return bytes_; }
  size_t tags() const { return write_.size() + read_.size(); }
  unsigned shift() const { return shift_; }  // a tag stands for 1 << shift bytes
  // From now on no tag stands for bytes both inside and outside of these.
  void divide(uint64_t address, uint64_t bytes) {
    while ((address | bytes) & ((uint64_t{1} << shift_) - 1)) halve();
  }
  bool only_threads = true;  // no operation, strong access or other CTA has used it
  bool has_joins = false;    // some of its readers may be joins
  template <class F>
  void replace(F f) {
    replace_tags(write_, f);
    replace_tags(read_, f);
  }

 private:
  size_t bytes_;
  unsigned shift_ = 2;
  std::vector<Tag> write_, read_;
  void halve();
};

// Global memory is looked at by pages of this many bytes.
constexpr uint64_t kPage = 4096;

// Calls f(address, offset in its page, bytes) for what lies on each page.
template <class F>
void each_page_of(uint64_t address, uint64_t bytes, F f) {
  while (bytes) {
    const uint64_t offset = address % kPage, here = std::min(bytes, kPage - offset);
    f(address, offset, here);
    address += here;
    bytes -= here;
  }
}

// Something for each page that somebody touched.
template <class Page>
class Pages {
 public:
  Page* find(uint64_t address) {
    Recent& r = recent_[address / kPage % recent_.size()];
    if (r.number == address / kPage) return r.page;
    const auto it = pages_.find(address / kPage);
    r = {address / kPage, it == pages_.end() ? nullptr : it->second.get()};
    return r.page;
  }
  Page& at(uint64_t address) {
    if (Page* page = find(address)) return *page;
    auto& slot = pages_[address / kPage];
    slot = std::make_unique<Page>();
    recent_[address / kPage % recent_.size()].page = slot.get();
    return *slot;
  }
  void clear() {
    pages_.clear();
    recent_.fill(Recent());
  }
  bool empty() const { return pages_.empty(); }
  template <class F>
  void each(F f) {  // f(Page&)
    for (auto& page : pages_) f(*page.second);
  }

 private:
  struct Recent {
    uint64_t number = UINT64_MAX;
    Page* page = nullptr;
  };
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::array<Recent, 256> recent_;
};

// Who wrote each word of a page last; or each half of one, or each byte, once somebody has written so little.
struct Writers {
  unsigned shift = 2;  // tag i stands for the bytes from i << shift on
  std::vector<Tag> last = std::vector<Tag>(kPage / 4);
  // From now on no tag stands for bytes both inside and outside of these.
  void divide(uint64_t address, uint64_t bytes);
};

// Who has read a page since it was written, for each word; for each byte once somebody has read less than a word. Most
// of what is read is never written, so of many readers two are kept (global.cpp says which); `other` is empty until
// somebody is a second one.
struct Readers {
  uint32_t shift = 2;  // tag i stands for the bytes from i << shift on
  std::vector<Tag> one = std::vector<Tag>(kPage / 4), other;
  void by_bytes();  // from now on
};

struct GlobalShadow {
  Pages<Writers> written;
  Pages<Readers> read;
  // Who wrote the byte last; 0 where nobody is known to have.
  Tag writer(uint64_t address) {
    Writers* page = written.find(address);
    return page ? page->last[address % kPage >> page->shift] : 0;
  }
  // Somebody who has read it since.
  Tag reader(uint64_t address) {
    Readers* page = read.find(address);
    return page ? page->one[address % kPage >> page->shift] : 0;
  }
  bool empty() const { return written.empty() && read.empty(); }
  void clear() {
    written.clear();
    read.clear();
  }
  template <class F>
  void each(F f) {  // f(std::vector<Tag>&)
    written.each([&](Writers& page) { f(page.last); });
    read.each([&](Readers& page) {
      f(page.one);
      f(page.other);
    });
  }
};

}  // namespace emu::check
