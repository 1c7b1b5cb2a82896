#include "emulator/checker/global_readers.hpp"

namespace emu::check {

// What the accessor has to do with the readers of a tag's record; kept while neighbouring words meet the same record.
const GlobalReaders::Seen& GlobalReaders::look(const Accessor& who, Seen& seen, Tag tag) {
  if (seen.record == tag >> 5) return seen;
  const Record& r = past_.records.of(tag);
  seen = Seen();
  seen.record = tag >> 5;
  seen.place = static_cast<uint64_t>(r.cluster) << 32 | static_cast<uint64_t>(r.rank) << 16 |
               static_cast<uint64_t>(r.warp) << 5;
  seen.mine = r.kind == Record::Kind::threads && !who.op && Past::of_warp(r, who);
  seen.before = past_.plain_lanes(who, tag, false);
  // past_.plain_lanes() says all there is to say of the threads of this CTA, when the lanes know the same; and where another
  // cluster is not known of, there is nothing to say.
  int clocks = 0;
  bool heard_of = r.cluster == who.cluster().index;
  who.self->each_clock(who.group, [&](const Clock& clock) {
    ++clocks;
    heard_of = heard_of || clock.foreign(r.cluster);
  });
  const bool of_cta = r.cluster == who.cluster().index && r.rank == who.cta().cluster_rank;
  seen.open = heard_of && !(r.kind == Record::Kind::threads && of_cta && clocks == 1);
  return seen;
}

// Whoever is ordered after `me`, the accessor's read, is ordered after the earlier read.
bool GlobalReaders::stands_for(const Accessor& who, const Seen& r, Tag earlier, Tag me) const {
  const int lane = Records::lane_of(earlier);
  return r.before >> lane & 1 || (r.mine && lane == Records::lane_of(me)) ||
         (r.open && (past_.implied(earlier, me) || past_.ordered(who, earlier)));
}

// A multicast copy has read its source when it has landed in any of its CTAs.
bool GlobalReaders::landed_somewhere(const Accessor& who, Tag read) const {
  const Record& r = past_.records.of(read);
  const Operation* op = past_.operation(read);
  if (!op) return false;
  for (uint32_t copy = op->next_copy; copy; copy = past_.operations[copy].next_copy) {
    const Operation& other = past_.operations[copy];
    bool all = true;
    who.self->each_clock(who.lanes, [&](const Clock& clock) {
      const Clock* knows = r.cluster == who.cluster().index ? &clock : clock.foreign(r.cluster);
      all = all && knows && knows->get(Clock::order, other.done) >= other.done_value;
    });
    if (all) return true;
  }
  return false;
}

// The two readers to keep; seen: what is known of `one`, of `other`, and of `me`.
std::pair<Tag, Tag> GlobalReaders::two_readers(const Accessor& who, Tag one, Tag other, Tag me) {
  const Seen& a = look(who, seen_[0], one);
  if (stands_for(who, a, one, me))
    return {me, other && stands_for(who, look(who, seen_[1], other), other, me) ? 0 : other};
  if (!other) return {one, me};
  const Seen& b = look(who, seen_[1], other);
  if (stands_for(who, b, other, me)) return {one, me};
  const auto place = [](const Seen& r, Tag t) {
    return r.place | static_cast<uint64_t>(Records::lane_of(t));
  };
  const uint64_t first = place(a, one), second = place(b, other), mine = place(look(who, seen_[2], me), me);
  if (mine < std::min(first, second)) return {me, first > second ? one : other};
  if (mine > std::max(first, second)) return {first < second ? one : other, me};
  return {one, other};
}

void GlobalReaders::note_read(const Accessor& who, uint64_t address, uint64_t bytes, Tag me) {
  each_page_of(address, bytes, [&](uint64_t at, uint64_t offset, uint64_t here) {
    Readers& page = shadow_.read.at(at);
    if (page.shift && (offset | here) & 3) page.by_bytes();
    note_words(who, page, offset >> page.shift, (offset + here) >> page.shift, me);
  });
}

void GlobalReaders::note_words(const Accessor& who, Readers& page, size_t first, size_t end, Tag me) {
  Tag before[2] = {0, 0};  // the latest pair of readers, and what became of it
  std::pair<Tag, Tag> kept;
  Tag* ones = page.one.data();
  Tag* others = page.other.empty() ? nullptr : page.other.data();
  for (size_t i = first; i < end;) {
    const Tag one = ones[i], other = others ? others[i] : 0;
    const size_t start = i++;
    while (i < end && ones[i] == one && (!others || others[i] == other)) ++i;
    if (one == me || other == me) continue;
    if (one != before[0] || other != before[1] || !one) {
      kept = one ? two_readers(who, one, other, me) : std::make_pair(me, Tag(0));
      before[0] = one;
      before[1] = other;
    }
    std::fill(ones + start, ones + i, kept.first);
    if (kept.second == other) continue;
    if (!others) {
      page.other.resize(page.one.size());
      others = page.other.data();
    }
    std::fill(others + start, others + i, kept.second);
  }
}

void GlobalReaders::forget(uint64_t address, uint64_t bytes) {
  each_page_of(address, bytes, [&](uint64_t at, uint64_t offset, uint64_t here) {
    const auto clear = [&](std::vector<Tag>& tags, uint32_t shift) {
      const size_t first = offset >> shift, end = ((offset + here - 1) >> shift) + 1;
      if (!tags.empty()) std::fill(tags.data() + first, tags.data() + end, 0u);
    };
    if (Writers* page = shadow_.written.find(at)) clear(page->last, page->shift);
    if (Readers* page = shadow_.read.find(at)) {
      clear(page->one, page->shift);
      clear(page->other, page->shift);
    }
  });
}

// Bytes are about to be written: is everybody done who has read them?
// strong: by an atomic or the like, which does not race with others of its kind.
void GlobalReaders::check_write(const Accessor& who, uint64_t address, uint64_t bytes, bool strong) {
  each_page_of(address, bytes, [&](uint64_t at, uint64_t offset, uint64_t here) {
    Readers* page = shadow_.read.find(at);
    if (!page) return;
    for (size_t i = offset >> page->shift; i << page->shift < offset + here; ++i) {
      const size_t first = i << page->shift, end = (i + 1) << page->shift;  // bytes of the page
      Tag* readers[2] = {&page->one[i], page->other.empty() ? nullptr : &page->other[i]};
      for (Tag* reader : readers) {
        if (!reader || !*reader) continue;
        const bool both_strong = strong && past_.records.of(*reader).strong;
        if (!both_strong && !past_.settled(who, *reader, &good_readers_) && !landed_somewhere(who, *reader)) {
          const uint64_t byte = at - offset + std::max<uint64_t>(first, offset);
          const Tag writer = shadow_.writer(byte);
          conflicts_.meet({who, true, *reader, false, byte, Space::global, strong,
                           writer && past_.records.of(writer).strong});
        }
        // What is left of a word that is written in part may still meet a writer.
        if (first >= offset && end <= offset + here) *reader = 0;
      }
    }
  });
}

}  // namespace emu::check
