// A warp's access as a whole: where all is as usual, its lanes need not be looked at one by one.
#include "emulator/checker/accesses.hpp"

namespace emu::check {

namespace {

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
