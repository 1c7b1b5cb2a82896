#include "emulator/checker/accesses.hpp"

namespace emu::check {

namespace {

// The end of the run of equal tags that starts at `from`; all_same: they are all equal.
size_t run_end(const Tag* tags, size_t from, size_t count, bool all_same) {
  if (all_same) return count;
  size_t end = from + 1;
  while (end < count && tags[end] == tags[from]) ++end;
  return end;
}

}  // namespace

void AccessRule::clear() {
  same_place_.clear();
  shared_.clear();
  last_cta_ = nullptr;
  written_by_.clear();
  barriers_.clear();
  global().clear();
}

void AccessRule::cta_started(const Cta& cta) {
  shared_[&cta] = std::make_unique<Shadow>(cta.shared.size());
  last_cta_ = nullptr;
}

void AccessRule::cta_ended(const Cta& cta) {
  tell_same_place();
  shared_.erase(&cta);
  barriers_.erase(&cta);
  written_by_.forget(cta);
  last_cta_ = nullptr;
}

Shadow* AccessRule::shadow_of(const Cta& cta) {
  if (&cta == last_cta_) return last_shadow_;
  const auto it = shared_.find(&cta);
  last_cta_ = &cta;
  return last_shadow_ = it == shared_.end() ? nullptr : it->second.get();
}

Tag AccessRule::writer(const Cta& cta, uint64_t address) {
  Shadow* shadow = shadow_of(cta);
  return shadow && address < shadow->size() ? *shadow->writes(address) : 0;
}

size_t AccessRule::shadow_bytes() {
  size_t tags = 0;
  global().each([&](std::vector<Tag>& page) { tags += page.size(); });
  for (auto& [cta, shadow] : shared_) tags += shadow->tags();
  return tags * sizeof(Tag);
}

// ---- barriers of the whole CTA, after which everything before it is ordered, and need not be looked up

void AccessRule::arrives(const Warp& w, const Inst& in, uint32_t mask, uint32_t barrier,
                         uint64_t generation) {
  if (barrier >= 16 || w.cta.cluster->ctas.size() > 1) return;
  Barrier& b = barriers_[&w.cta][barrier];
  if (b.lanes.empty() || b.generation != generation) {
    b.generation = generation;
    b.lanes.assign(w.cta.warps.size(), 0);
    b.warps_missing = w.cta.warps.size();
  }
  // Who arrives and goes on makes accesses that the barrier does not order.
  if (in.action == Action::barrier_arrive) return;
  uint32_t& lanes = b.lanes[static_cast<size_t>(w.index)];
  const bool whole = lanes == w.initial;
  lanes |= mask;
  if (whole || lanes != w.initial || --b.warps_missing) return;
  b.complete = generation;
  b.records_before = past_.records.count();
}

void AccessRule::leaves(const Warp& w, uint32_t mask, uint32_t barrier, uint64_t generation) {
  const auto cta = barriers_.find(&w.cta);
  if (barrier >= 16 || cta == barriers_.end()) return;
  const Barrier& b = cta->second[barrier];
  if (!b.records_before || b.complete != generation) return;
  WarpRecords& mine = written_by_.of(w);
  mine.settled_lanes = mine.settled == b.records_before ? mine.settled_lanes | mask : mask;
  mine.settled = b.records_before;
}

void AccessRule::forget_records() {
  written_by_.clear();
  barriers_.clear();
}

void AccessRule::start() {
  tell_same_place();
  tell_.next_event();
  strong_ = false;
  good_write_ = good_read_ = good_writer_ = good_readers_ = combined_from_ = good_record_ = good_lanes_ = 0;
  readers_.start();
}

// ---- reads

// One byte's writer, which is neither nobody nor one whom all is plain with.
void AccessRule::check_writer(const Accessor& who, Tag writer, uint64_t address, Space space) {
  if (!past_.ordered(who, writer)) {
    const Tag other = rival(who, writer);
    if (other && !(is_strong(other) && seen_by(who, address)))
      meet({who, false, other, true, address, space, strong_}, other);
    return;
  }
  const Accessor all = who.whole_group();
  const bool same_for_all = past_.ordered(all, writer);
  const Record::Kind kind = past_.records.of(writer).kind;
  if (kind == Record::Kind::op) mbarriers_.mark_used(same_for_all ? all : who, writer);
  if (strong_) return;
  if (kind == Record::Kind::threads) cluster_.check_read(who, writer, address);
  const Operation* op = past_.operation(writer);
  if (kind == Record::Kind::threads || (op && op->kind == AsyncOp::Kind::cp_async))
    cluster_.check_relayed(who, writer, address);
  proxies_.check(who, writer, address, space);
  if (same_for_all) good_write_ = writer;
}

// A part of the object has been written, and the rest has not.
void AccessRule::explain_hole(const Accessor& who, uint64_t address, uint32_t begin, uint32_t bytes,
                              Finding& f) {
  constexpr uint32_t kStep = 16;
  uint32_t written = 0;
  Tag first = 0;
  for (uint32_t at = begin; at < begin + bytes; at += kStep)
    if (const Tag tag = writer(who.cta(), at)) {
      written += kStep;
      if (!first) first = tag;
    }
  if (!first) return;
  f.title += text(": of the ", bytes, " bytes of ", tell_.program().names.shared(begin), " about ", written,
                  " have been written, and those from ", address - begin, " on have not");
  f.hint =
      "write all of it: does each address reach a place of its own, in the right units (bytes, elements, pieces of 16 bytes)?";
  f.related.push_back({"writes the other part", tell_.line(past_.records.of(first).source)});
}

// Of an array of stages, those that have been written at the same place: the wrong one may be read, or have been written.
void AccessRule::explain_unwritten(const Accessor& who, uint64_t address, Finding& f) {
  const Names& names = tell_.program().names;
  const SharedVariable* v = names.object(static_cast<uint32_t>(address));
  if (!v) return;
  if (v->element_bytes < 8 || v->bytes <= v->element_bytes)
    return explain_hole(who, address, v->address, v->bytes, f);
  const uint32_t offset = (static_cast<uint32_t>(address) - v->address) % v->element_bytes;
  std::string written;
  for (uint32_t at = 0; at + v->element_bytes <= v->bytes; at += v->element_bytes) {
    const Tag tag = writer(who.cta(), v->address + at + offset);
    if (!tag) continue;
    const std::string name = names.shared(v->address + at);
    if (written.empty()) f.related.push_back({"writes " + name, tell_.line(past_.records.of(tag).source)});
    written += (written.empty() ? "" : ", ") + name;
  }
  const uint32_t begin = static_cast<uint32_t>(address) - offset;
  if (written.empty()) return explain_hole(who, address, begin, v->element_bytes, f);
  f.title += text(": ", names.shared(begin), ", while ", written,
                  written.find(',') == std::string::npos ? " has" : " have", " been");
  f.hint = "write what is read: one index for both, or a copy into this stage as well";
}

void AccessRule::check_written(const Accessor& who, const Tag* write, size_t count, unsigned shift,
                               uint64_t address, Space space) {
  uint32_t &record = good_record_, &lanes = good_lanes_;
  const bool all_same = !differing(write, count);
  for (size_t i = 0; i < count;) {
    const Tag writer = write[i];
    if (writer >> 5 == record && lanes >> Records::lane_of(writer) & 1) {
      ++i;
      continue;
    }
    const size_t end = run_end(write, i, count, all_same);
    if (!writer) {
      Finding* const f = space == Space::shared ? unwritten_.read(who, address + (i << shift)) : nullptr;
      if (f) explain_unwritten(who, address + (i << shift), *f);
    } else if (writer != good_write_) {
      const uint32_t plain = past_.plain_lanes(who, writer, who.async_proxy());
      if (plain >> Records::lane_of(writer) & 1) {
        record = writer >> 5;
        lanes = plain;
        if (lanes == ~0u && differing(write + i, count - i) < 32) return;  // the same warp wrote all the rest
      } else {
        check_writer(who, writer, address + (i << shift), space);
      }
    }
    i = end;
  }
}

// The readers of a byte when another joins them. What an operation is ordered after, it stands for.
Tag AccessRule::with_reader(const Accessor& who, Tag readers, Tag me) {
  if (!who.op) return past_.records.combine(readers, me);
  Tag kept = 0;
  past_.records.each(readers, [&](Tag t) {
    if (!past_.ordered(who, t)) kept = past_.records.combine(kept, t);
  });
  return past_.records.combine(kept, me);
}

void AccessRule::join_readers(const Accessor& who, Tag* read, size_t count, Tag me) {
  const bool all_same = !differing(read, count);
  for (size_t i = 0; i < count;) {
    const size_t end = run_end(read, i, count, all_same);
    const Tag prior = read[i];
    Tag next = me;
    if (prior && prior == combined_from_) {
      next = combined_to_;
    } else if (prior && past_.records.seen_in(prior, me)) {
      next = prior;  // whoever writes later must know of them all in any case
    } else if (prior && prior != me && !past_.settled(who, prior, &good_read_)) {
      next = with_reader(who, prior, me);
      if (who.op) combined_from_ = prior, combined_to_ = next;
    }
    if (next != prior) std::fill(read + i, read + end, next);
    i = end;
  }
}

// read: null for global memory, whose readers are kept by words.
void AccessRule::check_read(const Accessor& who, Tag* write, Tag* read, size_t count, unsigned shift, Tag me,
                            uint64_t address, Space space) {
  check_written(who, write, count, shift, address, space);
  if (read) join_readers(who, read, count, me);
}

// ---- ordinary and strong accesses

// The first access of the tag that the accessor is not ordered after and races with; 0: none. Strong ones race with ordinary
// ones only, and the copy engine's reductions are strong. A lane for which another has spoken comes last.
Tag AccessRule::rival(const Accessor& who, Tag tag) const {
  Tag first = 0, spoken_for = 0;
  past_.records.each(tag, [&](Tag t) {
    if (first || past_.ordered(who, t)) return;
    if (strong_ && (is_strong(t) || past_.reduces(t))) return;
    if (!past_.spoken_for(who, t))
      first = t;
    else if (!spoken_for)
      spoken_for = t;
  });
  return first ? first : spoken_for;
}

// The accessor, or somebody before it, has read the byte since it was written. Accesses to one word happen one after the
// other: whoever has seen the word comes after those that had changed it, by atomics without any fence, too.
bool AccessRule::seen_by(const Accessor& who, uint64_t address) {
  const auto has_seen = [&](Tag readers) {
    bool seen = false;
    past_.records.each(readers, [&](Tag t) { seen = seen || past_.ordered(who, t); });
    return seen;
  };
  if (range_->space == Space::shared) {
    Shadow* shadow = shadow_of(*range_->owner);
    if (!shadow) return false;
    expand(*shadow, address, 1);
    return has_seen(*shadow->reads(address));
  }
  Readers* page = global().read.find(address);
  if (!page) return false;
  const size_t i = address % kPage >> page->shift;
  return has_seen(page->one[i]) || (!page->other.empty() && has_seen(page->other[i]));
}

// ---- conflicts

bool AccessRule::same_line(Tag a, int32_t source) const {
  const int32_t mine = past_.records.of(a).source;
  return mine == source || tell_.line(mine).text() == tell_.line(source).text();
}

void AccessRule::meet(Conflict c, Tag held) {
  const Operation* mma = c.write ? past_.operation(c.prior) : c.who.op;
  if (!mma || mma->kind != AsyncOp::Kind::wgmma || range_->space != Space::shared) return conflicts_.meet(c);
  // The operand that starts next below the bytes.
  const bool is_a = mma->a_start <= c.address && (mma->b_start > c.address || mma->a_start > mma->b_start);
  const uint32_t start = is_a ? mma->a_start : mma->b_start;
  const Tag first = start && start < c.address ? writer(*range_->owner, start) : 0;
  const bool other_tile = first && past_.records.of(first).source >= 0 &&
                          (!held || !same_line(first, past_.records.of(held).source)) &&
                          !(c.write && same_line(first, c.who.inst->source));
  if (other_tile && (c.write || past_.ordered(c.who, first))) {
    c.operand = is_a ? "A" : "B";
    c.tile = start;
    c.tile_writer = first;
  }
  conflicts_.meet(c);
}

// One line of the program.
bool AccessRule::same_statement(Tag writer, Tag me) const {
  return past_.records.of(writer).kind == Record::Kind::threads &&
         past_.records.of(me).kind == Record::Kind::threads && same_line(writer, past_.records.of(me).source);
}

void AccessRule::note_same_place(const Accessor& who, Tag prior, uint64_t address, Space space,
                                 size_t bytes) {
  SamePlace place{who, prior, address, space, nullptr, 0, {}};
  place.bytes = std::min(bytes, place.before.size());
  place.at = space == Space::shared ? range_->owner->shared_at(address, place.bytes)
                                    : tell_.machine().memory.at(address, place.bytes);
  if (!place.at) return;
  std::copy_n(place.at, place.bytes, place.before.data());
  same_place_.push_back(place);
}

// Now the values are there.
void AccessRule::tell_same_place() {
  if (same_place_.empty()) return;
  const auto differs = [](const SamePlace& p) { return !std::equal(p.at, p.at + p.bytes, p.before.data()); };
  auto told = std::find_if(same_place_.begin(), same_place_.end(), differs);
  const bool equal = told == same_place_.end();
  if (equal) told = same_place_.begin();
  Conflict c{told->who, true, told->prior, true, told->address, told->space};
  c.same_statement = true;
  c.equal_values = equal;
  conflicts_.meet(c);
  same_place_.clear();
}

// ---- writes

// The lanes of a warp that execute a store of the copy engine together, of the same bytes to the same place, store what one
// of them stores.
bool AccessRule::same_store(const Accessor& who, Tag writers) const {
  if (!who.op || (who.op->kind != AsyncOp::Kind::bulk_store && who.op->kind != AsyncOp::Kind::tensor_store))
    return false;
  bool all = true;
  past_.records.each(writers, [&](Tag t) {
    const Operation* other = past_.operation(t);
    const bool same = other && other->turn == who.op->turn && other->kind == who.op->kind &&
                      other->from == who.op->from && other->to == who.op->to && other->bytes == who.op->bytes;
    all = all && (same || past_.ordered(who, t));
  });
  return all;
}

// The writers of a byte when a reduction joins them: whoever reads must know of all that it is not ordered after, and
// other reductions must know of the ordinary write before.
Tag AccessRule::with_reduction(const Accessor& who, Tag writers, Tag me, uint64_t address, Space space) {
  Tag kept = 0, race = 0;
  past_.records.each(writers, [&](Tag t) {
    const bool ordered = past_.ordered(who, t), reduces = past_.reduces(t);
    if (!ordered && !reduces) race = t;
    if (!reduces || !(ordered || past_.implied(t, me))) kept = past_.records.combine(kept, t);
  });
  if (race) conflicts_.meet({who, true, race, true, address, space});
  return past_.records.combine(kept, me);
}

// The writers after an atomic or the like. An ordinary store that the same thread has made before is kept beside it: others, whose
// atomics do not race with this one, must know of the store.
Tag AccessRule::with_own_store(const Accessor& who, Tag writers, Tag me) {
  Tag own = 0;
  past_.records.each(writers, [&](Tag t) {
    const Record& r = past_.records.of(t);
    if (r.kind == Record::Kind::threads && !r.strong && Past::of_warp(r, who) &&
        Records::lane_of(t) == Records::lane_of(me))
      own = t;
  });
  return own ? past_.records.combine(own, me) : me;
}

// The writers of a byte after this write to it.
Tag AccessRule::over_writer(const Accessor& who, Tag writer, Tag me, uint64_t address, size_t bytes,
                            Space space) {
  if (!who.op && !strong_ && any_strong(writer)) past_.records.mark_reset(me);
  if (who.op && past_.reduces(me)) return with_reduction(who, writer, me, address, space);
  if (past_.settled(who, writer, &good_writer_)) return strong_ ? with_own_store(who, writer, me) : me;
  if (same_store(who, writer)) return past_.records.combine(writer, me);  // a reader must know of all
  const Tag other = rival(who, writer);
  const bool mixed = other && strong_ != is_strong(other);
  if (!other || (mixed && seen_by(who, address))) return me;
  if (strong_ || mixed || !same_statement(other, me))
    conflicts_.meet({who, true, other, true, address, space, strong_});
  else if (!Past::of_warp(past_.records.of(other), who))  // of lanes of a warp the value of one stays
    note_same_place(who, other, address, space, bytes);
  return me;
}

void AccessRule::check_write(const Accessor& who, Tag* write, Tag* read, size_t count, unsigned shift, Tag me,
                             uint64_t address, Space space) {
  const bool one_writer = !differing(write, count), one_reader = !read || !differing(read, count);
  for (size_t i = 0; i < count;) {
    const size_t writes_end = run_end(write, i, count, one_writer);
    const size_t end = read ? std::min(writes_end, run_end(read, i, count, one_reader)) : writes_end;
    const Tag readers = read ? read[i] : 0, writer = write[i];
    Tag now = me;
    const bool met = readers && !past_.settled(who, readers, &good_readers_);
    const uint64_t here = address + (i << shift);
    if (const Tag other = met ? rival(who, readers) : 0)
      meet({who, true, other, false, here, space, strong_, any_strong(writer)}, writer);
    else if (writer)
      now = over_writer(who, writer, me, here, (end - i) << shift, space);
    std::fill(write + i, write + end, now);
    i = end;
  }
  if (read) std::fill(read, read + count, 0u);
}

// Works out the readers that have been left to be worked out.
void AccessRule::expand(Shadow& shadow, uint64_t address, size_t count) {
  if (!shadow.has_joins) return;
  const unsigned shift = shadow.shift();
  Tag* reads = shadow.reads(address);
  for (size_t i = 0; i < count; ++i)
    if (past_.records.joined(reads[i]))
      reads[i] = past_.records.expand(reads[i], static_cast<uint32_t>(address + (i << shift)));
}

// What an engine reads of the shared memory of its CTA is many short ranges, and mostly one answer holds for all of them.
void AccessRule::check_sources(const Accessor& who, const std::vector<MemoryRange>& ranges, Tag me) {
  Shadow* shadow = shadow_of(who.cta());
  for (const MemoryRange& range : ranges) {
    if (range.owner != &who.cta() || !shadow || shadow->has_joins || shadow->only_threads || !good_write_ ||
        range.address + range.bytes > shadow->size()) {
      check_range(who, range, me, false);
      continue;
    }
    shadow->divide(range.address, range.bytes);
    const size_t count = range.bytes >> shadow->shift();
    const Tag* writes = shadow->writes(range.address);
    Tag* reads = shadow->reads(range.address);
    Tag other_writer = 0, other_reader = 0, read = 0;
    for (size_t i = 0; i < count; ++i) {
      other_writer |= writes[i] ^ good_write_;
      other_reader |= reads[i] ^ combined_from_;
      read |= reads[i];
    }
    if (other_writer || (read && other_reader))
      check_range(who, range, me, false);
    else
      std::fill_n(reads, count, read ? combined_to_ : me);
  }
}

void AccessRule::check_range(const Accessor& who, const MemoryRange& range, Tag me, bool write) {
  range_ = &range;
  if (range.space == Space::shared) {
    Shadow* shadow = shadow_of(*range.owner);
    if (!shadow || range.address + range.bytes > shadow->size()) return;
    tell_.in_memory_of(range.owner == &who.cta() ? nullptr : range.owner);
    shadow->divide(range.address, range.bytes);
    if (who.op) shadow->only_threads = false;
    const unsigned shift = shadow->shift();
    const size_t count = range.bytes >> shift;
    Tag* writes = shadow->writes(range.address);
    Tag* reads = shadow->reads(range.address);
    expand(*shadow, range.address, count);
    if (write)
      check_write(who, writes, reads, count, shift, me, range.address, Space::shared);
    else
      check_read(who, writes, reads, count, shift, me, range.address, Space::shared);
    return;
  }
  if (!strong_) seam_.check(who, range.address, range.bytes, write);
  if (write) readers_.check_write(who, range.address, range.bytes, strong_);
  each_page_of(range.address, range.bytes, [&](uint64_t address, uint64_t offset, uint64_t here) {
    Writers* page = write ? &global().written.at(address) : global().written.find(address);
    if (!page) return;
    page->divide(offset, here);
    Tag* writers = &page->last[offset >> page->shift];
    if (write)
      check_write(who, writers, nullptr, here >> page->shift, page->shift, me, address, Space::global);
    else
      check_read(who, writers, nullptr, here >> page->shift, page->shift, me, address, Space::global);
  });
  if (!write) readers_.note_read(who, range.address, range.bytes, me);
}

}  // namespace emu::check
