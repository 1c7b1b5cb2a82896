#include "emulator/checker/accesses.hpp"

namespace emu::check {

namespace {

// The bits in which the tags differ from the first of them.
inline Tag differing(const Tag* tags, size_t count) {
  Tag bits = 0;
  for (size_t i = 0; i < count; ++i) bits |= tags[i] ^ tags[0];
  return bits;
}

// The end of the run of equal tags that starts at `from`; all_same: they are all equal.
size_t run_end(const Tag* tags, size_t from, size_t count, bool all_same) {
  if (all_same) return count;
  size_t end = from + 1;
  while (end < count && tags[end] == tags[from]) ++end;
  return end;
}

// The usual number of tags by itself, for the compiler.
bool all_equal(const Tag* tags, uint32_t count) {
  return count == 1 || !differing(tags, count);
}
void fill(Tag* tags, uint32_t count, Tag value) {
  if (count == 1)
    *tags = value;
  else
    std::fill_n(tags, count, value);
}

// Whether no two lanes of the mask have the same address. May say no.
bool apart(const uint64_t* address, uint32_t mask) {
  if (mask == ~0u) {
    uint32_t banks = 0, falls = 0;
    for (int l = 0; l < 32; ++l) banks |= 1u << (address[l] >> 2 & 31);
    if (banks == ~0u) return true;  // each has a word in another bank
    for (int l = 1; l < 32; ++l) falls |= address[l] <= address[l - 1];
    return !falls;
  }
  uint64_t last = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint64_t here = address[__builtin_ctz(left)];
    if (last && here <= last) return false;
    last = here;
  }
  return true;
}

// What the writers and readers of the words of one access have in common.
struct Common {
  Tag settled = 0;  // tags below are of accesses that all lanes are ordered after
  Tag writer = 0, reader = 0;
  uint32_t unwritten = 0, open_writer = 0,
           open_reader = 0;                           // by the sign bit: some have none; some are not settled
  uint32_t writers = 0, readers = 0;                  // the bits in which they differ from the two above
  uint32_t unread = 0, own_lane = 0, other_lane = 0;  // some have no reader, the same lane as one, another
  uint32_t other_writer = 0;                          // some have another lane as their writer

  // A word of each lane. Arithmetic alone, for the compiler to use vectors.
  void add(const Tag* w, const Tag* r, const Tag* lane) {
    for (int l = 0; l < 32; ++l) {
      const Tag is_read = 0u - ((r[l] | (0u - r[l])) >> 31), apart = (r[l] ^ lane[l]) & 31;
      unwritten |= w[l] - 1;
      open_writer |= w[l] | (settled - 1 - w[l]);
      writers |= w[l] ^ writer;
      other_writer |= (w[l] ^ lane[l]) & 31;
      open_reader |= r[l] | (settled - 1 - r[l]);
      readers |= is_read & (r[l] ^ reader);
      unread |= ~is_read;
      other_lane |= is_read & apart;
      own_lane |= is_read & ((apart - 1) >> 31);
    }
  }
};

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
      if (space == Space::shared) unwritten_.read(who, address + (i << shift));
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

// ---- a warp's access

// A record of this warp's threads at this instruction; the latest one serves again while nothing was released.
uint32_t AccessRule::thread_record(const Accessor& who, bool write, Form form) {
  WarpRecords& mine = written_by_.of(who.warp());
  if (mine.steps != who.self->steps) {
    mine.block = past_.records.add_epochs(who.self->epoch);
    mine.steps = who.self->steps;
  }
  LastRecord& last = mine.last[write][static_cast<size_t>(form)];
  if (last.source == who.inst->source && last.block == mine.block) return last.record;
  Record r;
  r.kind = Record::Kind::threads;
  r.again = form == Form::again;
  r.strong = form == Form::strong;
  r.lanes = who.group;
  r.warp = static_cast<uint16_t>(who.warp().index);
  r.rank = static_cast<uint16_t>(who.cta().cluster_rank);
  r.cluster = who.cluster().index;
  r.source = who.inst->source;
  r.detail = mine.block;
  last = {who.inst->source, past_.records.add(r), mine.block};
  return last.record;
}

const AccessRule::SeenRecord& AccessRule::look_up(const Accessor& who, SeenRecord& seen, Tag tag) {
  const Record& r = past_.records.of(tag);
  seen = SeenRecord();
  seen.record = tag >> 5;
  seen.plain = past_.plain_lanes(who, tag, false);
  seen.strong = r.strong;
  const bool threads = r.kind == Record::Kind::threads;
  seen.mine = threads && Past::of_warp(r, who);
  int clocks = 0;
  who.self->each_clock(who.group, [&](const Clock&) { ++clocks; });
  seen.complete =
      threads && clocks == 1 && r.cluster == who.cluster().index && r.rank == who.cta().cluster_rank;
  if (seen.mine) seen.again = ~lanes_at_least(past_.records.epochs(r).data(), who.self->epoch.data());
  return seen;
}

// The tags of the lanes of one access, made when they are first needed.
struct AccessRule::LaneTags {
  AccessRule& rule;
  const Accessor& who;
  bool write;
  Tag records[2] = {0, 0};  // without and with `again`
  Tag of(int lane, bool again) { return record(again) | static_cast<Tag>(lane); }
  Tag record(bool again) {
    if (!records[again])
      records[again] = rule.thread_record(who, write, again ? Form::again : Form::first) << 5;
    return records[again];
  }
};

// The usual access: one thread wrote all the bytes last, at most one has read them since, and both are this thread or known
// to have come before. Then it is done. A read of bytes that others have read, whom it is not ordered after, may join them:
// that is left to be done for all lanes together.
AccessRule::Usual AccessRule::usual_access(const Accessor& who, const AccessEvent& e, Shadow& shadow,
                                           SeenRecord (&seen)[2], LaneTags& tags, bool* again) {
  const int l = who.lane();
  const uint32_t count = e.bytes >> shadow.shift();
  Tag* writes = shadow.writes(e.addr[l]);
  Tag* reads = shadow.reads(e.addr[l]);
  const Tag writer = *writes, reader = *reads;
  bool usual = (tags.write || writer) && all_equal(writes, count) && all_equal(reads, count);
  const bool joined = past_.records.joined(reader);
  const SeenRecord* r = reader && !joined ? &look(who, seen[0], reader) : nullptr;
  *again = r && !tags.write && !strong_ && r->again >> l & 1 && Records::lane_of(reader) == l;
  if (writer) {
    const SeenRecord& w = look(who, seen[1], writer);
    usual = usual && w.ordered(writer, l) && (!tags.write || w.strong == strong_);
  }
  if (!usual) return Usual::no;
  if (joined) return tags.write ? Usual::no : Usual::joins;
  if (r && !r->ordered(reader, l)) return !tags.write && r->complete ? Usual::joins : Usual::no;
  fill(tags.write ? writes : reads, count, tags.of(l, *again));
  if (tags.write && reader) fill(reads, count, 0);
  return Usual::yes;
}

// Whether lanes that read bytes with these readers come to be one of several, whatever lanes of the latest of them have read
// each of the bytes.
bool AccessRule::joins_readers(const Accessor& who, Tag readers) {
  const Join* join = past_.records.joined(readers);
  if (!join || join->depth >= Records::kDeepest) return false;
  SeenRecord seen;
  look_up(who, seen, join->record << 5);
  return seen.complete && !seen.mine && !(seen.plain & join->lanes);
}

// Whether the lanes are among those readers already, at these addresses.
bool AccessRule::among_readers(const AccessEvent& e, Tag readers, uint32_t record) const {
  for (const Join* join = past_.records.joined(readers); join;
       join = join->alike ? past_.records.joined(join->before) : nullptr) {
    if (join->record != record || join->lanes != e.mask || join->words != e.bytes / 4) continue;
    uint64_t other = 0;
    for_lanes(e.mask, [&](int l) { other |= join->first[static_cast<size_t>(l)] ^ e.addr[l] / 4; });
    if (!other) return true;
  }
  return false;
}

// The lanes `lanes` join the readers of their words. before(lane): who these are.
template <class F>
void AccessRule::join_lanes(const AccessEvent& e, Shadow& shadow, uint32_t record, uint32_t lanes, F before) {
  const auto made = past_.records.new_join();
  Join* const join = made.first;
  join->record = record;
  join->lanes = lanes;
  join->words = e.bytes / 4;
  join->before = before(__builtin_ctz(lanes));
  Tag differing = 0;
  for (int l = 0; l < 32; ++l)
    join->first[static_cast<size_t>(l)] = static_cast<uint16_t>(static_cast<uint32_t>(e.addr[l]) >> 2);
  for_lanes(lanes, [&](int l) {
    const Tag readers = join->before_of[static_cast<size_t>(l)] = before(l);
    differing |= readers ^ join->before;
  });
  join->alike = !differing;
  const Join* earlier = nullptr;
  join->each_before([&](Tag readers) {
    const Join* other = past_.records.joined(readers);
    if (other && other != earlier) join->depth = std::max(join->depth, other->depth + 1);
    earlier = other;
  });
  shadow.has_joins = true;
  const uint32_t count = e.bytes >> shadow.shift();
  for_lanes(lanes, [&](int l) { fill(shadow.reads(e.addr[l]), count, made.second); });
}

// The most frequent of all, a word for each lane of a whole warp, with as little as it takes. Nothing: look closer.
std::optional<bool> AccessRule::quick_words(const Accessor& who, const AccessEvent& e, Shadow& shadow,
                                            LaneTags& tags, Tag settled) {
  Tag* writes = shadow.writes(0);
  Tag* reads = shadow.reads(0);
  const Tag writer = writes[e.addr[0] >> 2], reader = reads[e.addr[0] >> 2];
  uint32_t low = 0, open_writer = 0, open_reader = 0, writers = 0, readers = 0;
  for (int l = 0; l < 32; ++l) {
    const uint32_t address = static_cast<uint32_t>(e.addr[l]);
    const Tag w = writes[address >> 2], r = reads[address >> 2];
    low |= address;
    writers |= w ^ writer;
    readers |= r ^ reader;
    open_writer |= w | (settled - 1 - w);
    open_reader |= r | (settled - 1 - r);
  }
  if (low & 3) return false;
  const auto one_instruction_before = [&](Tag first, uint32_t differing) {
    return first && !(differing >> 5) && !past_.records.joined(first) &&
           past_.plain_lanes(who, first, false) == ~0u;
  };
  if (open_writer >> 31 && !one_instruction_before(writer, writers)) return std::nullopt;
  if (tags.write) {
    if (open_reader >> 31 && !one_instruction_before(reader, readers)) return std::nullopt;
    const Tag me = tags.record(false);
    for (int l = 0; l < 32; ++l) {  // the last lane wins
      const size_t i = static_cast<uint32_t>(e.addr[l]) >> 2;
      writes[i] = me | static_cast<Tag>(l);
      reads[i] = 0;
    }
    return true;
  }
  if (readers) return std::nullopt;
  if (writers) {  // else all have been written when one has
    uint32_t unwritten = 0;
    for (int l = 0; l < 32; ++l) unwritten |= writes[e.addr[l] >> 2] - 1;
    if (unwritten >> 31) return false;
  } else if (!writer) {
    return false;
  }
  const Tag me = tags.record(false);
  if (reader) {
    if (!past_.records.joined(reader)) return std::nullopt;
    if (among_readers(e, reader, me >> 5)) return true;
    if (!joins_readers(who, reader)) return std::nullopt;
  } else if (apart(e.addr, ~0u)) {
    for (int l = 0; l < 32; ++l) reads[e.addr[l] >> 2] = me | static_cast<Tag>(l);
    return true;
  }
  join_lanes(e, shadow, me >> 5, ~0u, [reader](int) { return reader; });
  return true;
}

// All lanes at once, of whole words, in the usual cases: those who have used the words before are all settled with, or all of
// them are like each other.
bool AccessRule::quick_access(const Accessor& who, const AccessEvent& e, Shadow& shadow, LaneTags& tags) {
  const WarpRecords& mine = written_by_.of(who.warp());
  if (!shadow.only_threads || shadow.shift() != 2 || e.bytes % 4) return false;
  const Tag settled = (e.mask & ~mine.settled_lanes) || mine.settled >= 1u << 26 ? 1 : mine.settled << 5;
  const uint32_t words = e.bytes / 4;
  Tag* writes = shadow.writes(0);
  Tag* reads = shadow.reads(0);
  if (e.mask == ~0u && words == 1) {
    const std::optional<bool> done = quick_words(who, e, shadow, tags, settled);
    if (done) return *done;
  }
  const int first_lane = who.lane();
  uint32_t first[32], low = 0, uneven = 0;
  Tag lane[32], w[32], r[32];
  for (int l = 0; l < 32; ++l) {  // lanes that take no part do as the first one
    lane[l] = static_cast<Tag>(e.mask >> l & 1 ? l : first_lane);
    const uint32_t address = static_cast<uint32_t>(e.addr[lane[l]]);
    low |= address;
    first[l] = address >> 2;
  }
  if (low & 3) return false;
  Common all;
  all.settled = settled;
  all.writer = writes[first[first_lane]];
  for (uint32_t i = 0; i < words; ++i) {
    for (int l = 0; l < 32; ++l) {
      w[l] = writes[first[l] + i];
      r[l] = reads[first[l] + i];
      if (words > 1) uneven |= r[l] ^ reads[first[l]];
    }
    for (int l = 0; l < 32 && !all.reader; ++l) all.reader = r[l];
    all.add(w, r, lane);
  }
  const Tag reader = all.reader;
  // The writers: all before the latest barrier; or lanes of one instruction that all are ordered after, or each the same.
  if (all.open_writer >> 31) {
    SeenRecord seen;
    if (!all.writer || all.writers >> 5) return false;
    look_up(who, seen, all.writer);
    if (seen.plain != ~0u && (!seen.mine || all.other_writer)) return false;
  }
  if (!tags.write && all.unwritten >> 31) return false;
  // The readers: the same; or lanes of one instruction, each the lane that now comes again.
  SeenRecord seen;
  const Join* join = past_.records.joined(reader);
  const bool one_record = reader && !(all.readers >> 5) && !join, one_join = join && !all.readers;
  if (one_record || one_join) look_up(who, seen, join ? join->record << 5 : reader);
  const bool themselves = one_record && seen.mine && !all.other_lane;
  const bool all_before = (one_record && seen.plain == ~0u) || (one_join && join->alike && !join->before &&
                                                                (seen.plain & join->lanes) == join->lanes);
  if (tags.write) {
    if (all.open_reader >> 31 && !themselves && !all_before) return false;
    const Tag me = tags.record(false);
    for_lanes(e.mask, [&](int l) {  // the last lane wins
      for (uint32_t i = 0; i < words; ++i) {
        writes[first[l] + i] = me | lane[l];
        reads[first[l] + i] = 0;
      }
    });
    return true;
  }
  bool again = false;
  if (reader && !themselves && !all_before) {
    const Tag me = tags.record(false);
    if (one_record) {  // of which they are not ordered after any
      if (!seen.complete || seen.plain || (seen.mine && all.own_lane) || uneven) return false;
    } else {
      if (all.readers || all.unread) return false;
      if (among_readers(e, reader, me >> 5)) return true;
      if (!joins_readers(who, reader)) return false;
    }
    join_lanes(e, shadow, me >> 5, e.mask, [&](int l) { return reads[e.addr[l] >> 2]; });
    return true;
  }
  if (themselves) {
    const uint32_t released = seen.again & e.mask;
    if (released && (released != e.mask || all.unread)) return false;
    again = released;
  } else if (all_before && seen.mine && (join || all.own_lane)) {
    return false;  // some may have read before, and some not
  }
  const Tag me = tags.record(again);
  if (!apart(e.addr, e.mask)) {
    if (again) return false;
    join_lanes(e, shadow, me >> 5, e.mask, [](int) { return Tag{0}; });
    return true;
  }
  for (int l = 0; l < 32; ++l)
    for (uint32_t i = 0; i < words; ++i) reads[first[l] + i] = me | lane[l];
  return true;
}

// Whole words of global memory that nobody has written; and, of a write, that nobody has read.
bool AccessRule::quick_global(const Accessor& who, const AccessEvent& e, int lane, Tag me, GlobalPage& page) {
  const uint64_t address = e.addr[lane], offset = address % kPage;
  const bool write = e.kind != AccessKind::read;
  if ((address | e.bytes) & 3 || offset + e.bytes > kPage) return false;
  if (page.number != address / kPage) {
    page.number = address / kPage;
    page.written = write ? &global().written.at(address) : global().written.find(address);
    page.read = write ? global().read.find(address) : &global().read.at(address);
  }
  const size_t first = offset >> 2, end = first + e.bytes / 4;
  Tag* written = page.written && page.written->shift == 2 ? page.written->last.data() : nullptr;
  if ((page.written && !written) || (page.read && page.read->shift != 2)) return false;
  Tag used = 0;
  for (size_t i = first; written && i < end; ++i) used |= written[i];
  if (write) {
    for (size_t i = first; page.read && i < end; ++i)
      used |= page.read->one[i] | (page.read->other.empty() ? 0 : page.read->other[i]);
    if (used) return false;
    std::fill(written + first, written + end, me);
    return true;
  }
  if (used) return false;
  readers_.note_words(who, *page.read, first, end, me);
  return true;
}

// The same of a whole warp, whose lanes use neighbouring words.
bool AccessRule::quick_row(const AccessEvent& e, LaneTags& tags) {
  const uint64_t begin = e.addr[0], offset = begin % kPage;
  uint64_t apart = 0;
  for (uint64_t l = 0; l < 32; ++l) apart |= e.addr[l] ^ (begin + l * e.bytes);
  if (e.mask != ~0u || apart || (begin | e.bytes) & 3 || offset + 32 * e.bytes > kPage) return false;
  Writers* written = tags.write ? &global().written.at(begin) : global().written.find(begin);
  Readers* read = tags.write ? global().read.find(begin) : &global().read.at(begin);
  if ((written && written->shift != 2) || (read && read->shift != 2)) return false;
  const size_t first = offset >> 2, words = e.bytes / 4, end = first + 32 * words;
  Tag used = 0;
  for (const std::vector<Tag>* those : {written ? &written->last : nullptr, read ? &read->one : nullptr,
                                        read && !read->other.empty() ? &read->other : nullptr})
    if (those)
      for (size_t i = first; i < end; ++i) used |= (*those)[i];
  if (used) return false;
  Tag* now = (tags.write ? written->last : read->one).data() + first;
  const Tag me = tags.record(false);
  for (Tag l = 0; l < 32; ++l)
    for (size_t i = 0; i < words; ++i) *now++ = me | l;
  return true;
}

void AccessRule::access(const Accessor& warp, const AccessEvent& e, uint32_t strong) {
  Accessor who = warp;
  const bool write = e.kind != AccessKind::read;
  SeenRecord seen[2];
  LaneTags tags{*this, who, write};
  tags.records[0] = strong << 5;
  strong_ = strong != 0;
  Shadow* own = nullptr;  // where the accesses of all lanes lead
  if (e.space == Space::shared) {
    who.lanes = 1u << __builtin_ctz(e.mask);
    own = who.cta().cluster->ctas.size() == 1 ? shadow_of(who.cta()) : nullptr;
    if (own && !strong && quick_access(who, e, *own, tags)) return;
  }
  const bool may_join =
      own && !strong && !write && e.bytes % 4 == 0 && own->shift() == 2 && apart(e.addr, e.mask);
  const bool global_words = e.space == Space::global && !strong && seam_.idle();
  if (global_words && quick_row(e, tags)) return;
  GlobalPage page;
  uint32_t joining = 0;
  std::array<Tag, 32> before;  // of those
  for (uint32_t left = e.mask; left; left &= ~who.lanes) {
    const int l = __builtin_ctz(left);
    who.lanes = 1u << l;
    bool again = false;
    if (strong && e.space == Space::shared && e.addr[l] < kSharedBase) continue;  // the system's
    if (e.space == Space::shared) {
      Shadow* shadow = shadow_of(*e.owner[l]);
      if (!shadow) continue;
      shadow->divide(e.addr[l], e.bytes);
      if (strong || shadow != own) shadow->only_threads = false;
      Tag* reads = shadow->reads(e.addr[l]);
      Usual usual = usual_access(who, e, *shadow, seen, tags, &again);
      if (usual == Usual::joins && may_join &&
          (!past_.records.joined(*reads) || joins_readers(who, *reads))) {
        joining |= who.lanes;
        before[static_cast<size_t>(l)] = *reads;
        continue;
      }
      if (usual != Usual::yes && past_.records.joined(*reads)) {
        expand(*shadow, e.addr[l], e.bytes >> shadow->shift());
        usual = usual_access(who, e, *shadow, seen, tags, &again);
      }
      if (usual == Usual::yes) continue;
      // Other lanes that read the same bytes join the readers together.
      if (!write)
        for (uint32_t others = left & (left - 1); others; others &= others - 1) {
          const int other = __builtin_ctz(others);
          if (e.addr[other] == e.addr[l] && e.owner[other] == e.owner[l]) who.lanes |= 1u << other;
        }
    }
    if (global_words && quick_global(who, e, l, tags.of(l, false), page)) continue;
    const Tag me =
        who.lanes == 1u << l ? tags.of(l, again) : past_.records.lanes(tags.record(false) >> 5, who.lanes);
    check_range(who, {e.space, e.space == Space::shared ? e.owner[l] : nullptr, e.addr[l], e.bytes}, me,
                write);
  }
  if (joining)
    join_lanes(e, *own, tags.record(false) >> 5, joining,
               [&](int l) { return before[static_cast<size_t>(l)]; });
  if (strong && write) conflicts_.strong_write(warp, e);
}

}  // namespace emu::check
