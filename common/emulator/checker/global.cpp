// Global memory that is read and then written. Most of what is read is never written, so its readers are kept by words,
// and of many only two: a reader takes the place of those that it is ordered after; of others that nothing orders, the
// lowest and the highest stay, by cluster, CTA, warp and lane. So what is found does not depend on the schedule, and a
// writer that has read the word itself meets another reader if there is one.
#include "emulator/checker/checker.hpp"

namespace emu::check {

// What the accessor has to do with the readers of a tag's record; kept while neighbouring words meet the same record.
const Checker::EarlierReader& Checker::earlier_reader(const Accessor& who, EarlierReader& seen, Tag tag) {
  if (seen.record == tag >> 5) return seen;
  const Record& r = records_.of(tag);
  seen = EarlierReader();
  seen.record = tag >> 5;
  seen.place = static_cast<uint64_t>(r.cluster) << 32 | static_cast<uint64_t>(r.rank) << 16 |
               static_cast<uint64_t>(r.warp) << 5;
  seen.mine = r.kind == Record::Kind::threads && !who.op && of_warp(r, who);
  seen.before = plain_lanes(who, tag, false);
  // plain_lanes() says all there is to say of the threads of this CTA, when the lanes know the same; and where another
  // cluster is not known of, there is nothing to say.
  int clocks = 0;
  bool heard_of = r.cluster == who.cluster->index;
  for (const Knowledge& k : who.warp->knowledge) {
    if (!(k.mask & who.group)) continue;
    ++clocks;
    heard_of = heard_of || k.clock.foreign(r.cluster);
  }
  const bool of_cta = r.cluster == who.cluster->index && r.rank == who.cta->cta->cluster_rank;
  seen.open = heard_of && !(r.kind == Record::Kind::threads && of_cta && clocks == 1);
  return seen;
}

// Whoever is ordered after `me`, the accessor's read, is ordered after the earlier read.
bool Checker::stands_for(const Accessor& who, const EarlierReader& r, Tag earlier, Tag me) const {
  const int lane = Records::lane_of(earlier);
  return r.before >> lane & 1 || (r.mine && lane == Records::lane_of(me)) ||
         (r.open && (implied(earlier, me) || ordered_all(who, earlier)));
}

// A multicast copy has read its source when it has landed in any of its CTAs.
bool Checker::landed_somewhere(const Accessor& who, Tag read) const {
  const Record& r = records_.of(read);
  if (r.kind != Record::Kind::op) return false;
  for (uint32_t copy = ops_[r.detail].next_copy; copy; copy = ops_[copy].next_copy) {
    bool all = true;
    for (const Knowledge& k : who.warp->knowledge) {
      const Clock* knows = r.cluster == who.cluster->index ? &k.clock : k.clock.foreign(r.cluster);
      if (k.mask & who.lanes)
        all = all && knows && knows->get(Clock::order, ops_[copy].done) >= ops_[copy].done_value;
    }
    if (all) return true;
  }
  return false;
}

// The two readers to keep; seen: what is known of `one`, of `other`, and of `me`.
std::pair<Tag, Tag> Checker::two_readers(const Accessor& who, Tag one, Tag other, Tag me) {
  const EarlierReader& a = earlier_reader(who, seen_readers_[0], one);
  if (stands_for(who, a, one, me))
    return {me,
            other && stands_for(who, earlier_reader(who, seen_readers_[1], other), other, me) ? 0 : other};
  if (!other) return {one, me};
  const EarlierReader& b = earlier_reader(who, seen_readers_[1], other);
  if (stands_for(who, b, other, me)) return {one, me};
  const auto place = [](const EarlierReader& r, Tag t) {
    return r.place | static_cast<uint64_t>(Records::lane_of(t));
  };
  const uint64_t first = place(a, one), second = place(b, other),
                 mine = place(earlier_reader(who, seen_readers_[2], me), me);
  if (mine < std::min(first, second)) return {me, first > second ? one : other};
  if (mine > std::max(first, second)) return {first < second ? one : other, me};
  return {one, other};
}

void Checker::note_read(const Accessor& who, uint64_t address, uint64_t bytes, Tag me) {
  Tag before[2] = {0, 0};  // the latest pair of readers, and what became of it
  std::pair<Tag, Tag> kept;
  each_page_of(address, bytes, [&](uint64_t at, uint64_t offset, uint64_t here) {
    Readers& page = global_.read.at(at);
    if (page.shift && (offset | here) & 3) page.by_bytes();
    Tag* ones = page.one.data();
    Tag* others = page.other.empty() ? nullptr : page.other.data();
    const size_t end = (offset + here) >> page.shift;
    for (size_t i = offset >> page.shift; i < end;) {
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
  });
}

// Whoever used the memory before has freed it.
void Checker::on_malloc(Warp&, uint64_t address, uint64_t bytes) {
  each_page_of(address, bytes, [&](uint64_t at, uint64_t offset, uint64_t here) {
    const auto forget = [&](std::vector<Tag>& tags, uint32_t shift) {
      const size_t first = offset >> shift, end = ((offset + here - 1) >> shift) + 1;
      if (!tags.empty()) std::fill(tags.data() + first, tags.data() + end, 0u);
    };
    if (Writers* page = global_.written.find(at)) forget(page->last, 0);
    if (Readers* page = global_.read.find(at)) {
      forget(page->one, page->shift);
      forget(page->other, page->shift);
    }
  });
}

// Bytes are about to be written: is everybody done who has read them?
void Checker::check_overwritten(const Accessor& who, uint64_t address, uint64_t bytes) {
  each_page_of(address, bytes, [&](uint64_t at, uint64_t offset, uint64_t here) {
    Readers* page = global_.read.find(at);
    if (!page) return;
    for (size_t i = offset >> page->shift; i << page->shift < offset + here; ++i) {
      const size_t first = i << page->shift, end = (i + 1) << page->shift;  // bytes of the page
      Tag* readers[2] = {&page->one[i], page->other.empty() ? nullptr : &page->other[i]};
      for (Tag* reader : readers) {
        if (!reader || !*reader) continue;
        if (!settled(who, *reader, &good_readers_) && !landed_somewhere(who, *reader))
          conflict(who, true, *reader, false, at - offset + std::max<uint64_t>(first, offset), Space::global);
        // What is left of a word that is written in part may still meet a writer.
        if (first >= offset && end <= offset + here) *reader = 0;
      }
    }
  });
}

}  // namespace emu::check
