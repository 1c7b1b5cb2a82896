// Every access against the last write and the reads since, byte by byte.
#include <cstring>

#include "emulator/checker/checker.hpp"

namespace emu::check {

// Whether a clock holds what it takes to be ordered after a single access.
bool Checker::known(const Clock& clock, const Accessor& who, Tag tag, Clock::Kind kind) const {
  const Record& r = records_.of(tag);
  if (r.kind == Record::Kind::strong) return true;
  const Clock* knows = r.cluster == who.cluster->index ? &clock : clock.foreign(r.cluster);
  if (!knows) return false;
  const uint32_t lane = static_cast<uint32_t>(Records::lane_of(tag));
  if (r.kind == Record::Kind::threads)
    return knows->get(kind, r.rank * who.cluster->threads_per_cta + r.warp * 32u + lane) >=
           records_.epoch(r, static_cast<int>(lane));
  const OpState& op = ops_[r.detail];
  if (op.kind == AsyncOp::Kind::cp_async)
    return op.done && knows->get(kind, op.done + lane) >= op.lane_value[lane];
  // Operations of the async proxy: their completion includes the proxy fence. `again`: the reading of the source.
  const Component c = r.again ? op.read : op.done;
  return c && knows->get(Clock::order, c) >= (r.again ? op.read_value : op.done_value);
}

// Whether the accesses of a record were made by the accessor's warp.
bool Checker::of_warp(const Record& r, const Accessor& who) {
  return r.warp == who.hardware->index && r.rank == who.cta->cta->cluster_rank &&
         r.cluster == who.cluster->index;
}

// Whether a lane is ordered after it because it is its own doing.
bool Checker::own(const Accessor& who, int lane, Tag tag, Clock::Kind kind) const {
  const Record& r = records_.of(tag);
  if (!of_warp(r, who)) return false;
  const LaneState& mine = who.warp->lanes[static_cast<size_t>(lane)];
  if (r.kind == Record::Kind::threads)
    return Records::lane_of(tag) == lane &&
           (kind == Clock::order ||
            (kind == Clock::fenced &&
             records_.epoch(r, lane) <= who.warp->fence_epoch[static_cast<size_t>(lane)]));
  const OpState& op = ops_[r.detail];
  if (op.kind == AsyncOp::Kind::cp_async)
    return Records::lane_of(tag) == lane && (kind == Clock::fenced ? mine.cp_fenced : mine.cp_done) >=
                                                op.lane_value[static_cast<size_t>(lane)];
  if (op.kind == AsyncOp::Kind::wgmma || !op.read || op.lane != lane) return false;
  return r.again ? mine.bulk_read >= op.read_value : mine.bulk_done >= op.done_value;
}

// All lanes of the accessor are ordered after all accesses of the tag.
bool Checker::ordered_all(const Accessor& who, Tag tag, Clock::Kind kind) const {
  bool all = true;
  records_.each(tag, [&](Tag single) {
    for (const Knowledge& k : who.warp->knowledge) {
      uint32_t lanes = k.mask & who.lanes;
      if (!all || !lanes || known(k.clock, who, single, kind)) continue;
      for (; lanes; lanes &= lanes - 1) all = all && own(who, __builtin_ctz(lanes), single, kind);
    }
  });
  return all;
}

// Of a tag's record, the lanes whose access all lanes of the instruction are ordered after, if they are of this CTA and
// there is nothing else to be said about it. fenced: and it is behind a proxy fence. For the others: look closer.
// All lanes are looked at together, because the others are mostly asked about next.
uint32_t Checker::plain_lanes(const Accessor& who, Tag tag, bool fenced) {
  const Record& r = records_.of(tag);
  if (r.kind == Record::Kind::strong) return ~0u;
  if (r.base)  // lane 0 speaks for all of them
    return (plain_lanes(who, r.base << 5, fenced) & r.lanes) == r.lanes;
  const bool copies = r.kind == Record::Kind::op && ops_[r.detail].kind == AsyncOp::Kind::cp_async;
  if ((r.kind != Record::Kind::threads && !copies) || r.cluster != who.cluster->index ||
      r.rank != who.cta->cta->cluster_rank)
    return 0;
  auto& kept = who.warp->known_records;
  KnownRecord& k = kept[(tag >> 5) % kept.size()];
  const bool same = k.record == tag >> 5 && k.group == who.group && k.fenced == fenced;
  if (same && (k.lanes == ~0u || k.changes == who.warp->changes)) return k.lanes;
  k = {tag >> 5, who.group, ~0u, fenced, who.warp->changes};
  const Component first = copies ? ops_[r.detail].done : r.rank * who.cluster->threads_per_cta + r.warp * 32u;
  const auto& values = copies ? ops_[r.detail].lane_value : records_.epochs(r);
  for (const Knowledge& knowledge : who.warp->knowledge) {
    if (!(knowledge.mask & who.group)) continue;
    k.lanes &= knowledge.clock.at_least(Clock::order, first, values);
    if (!fenced) continue;
    uint32_t lanes = knowledge.clock.at_least(Clock::fenced, first, values);
    if (copies) lanes |= knowledge.clock.at_least(Clock::relayed, first, values);  // as check_read says
    k.lanes &= lanes;
  }
  return k.lanes;
}

// ordered_all(), remembering the last tag for which it held for all lanes of the instruction.
bool Checker::settled(const Accessor& who, Tag tag, Tag* memo) {
  if (tag == *memo || plain_lanes(who, tag, false) >> Records::lane_of(tag) & 1) return true;
  Accessor all = who;
  all.lanes = who.group;
  if (ordered_all(all, tag)) {
    *memo = tag;
    return true;
  }
  return who.lanes != who.group && ordered_all(who, tag);
}

// Remembers that the accessor has used the phase it waited for.
void Checker::mark_used(const Accessor& who, Tag write) {
  const Record& r = records_.of(write);
  if (r.kind != Record::Kind::op || r.cluster != who.cluster->index) return;
  const OpState& op = ops_[r.detail];
  if (!op.barrier) return;
  auto it = who.cluster->barriers.find(op.barrier);
  if (it == who.cluster->barriers.end()) return;
  for_lanes(who.lanes, [&](int l) {
    LastWait& w = it->second.waits[thread_component(*who.cta->cta, who.hardware->index, l)];
    if (w.complete == op.done_value) w.used = true;
  });
}

// The first access of the tag that not all lanes of the accessor are ordered after; 0 when there is none.
Tag Checker::first_unordered(const Accessor& who, Tag tag) const {
  Tag first = 0;
  records_.each(tag, [&](Tag t) {
    if (!first && !ordered_all(who, t)) first = t;
  });
  return first;
}

// Reductions of the copy engine are relaxed atomics (PTX ISA 9.7.9.25.5.1): they need no order among themselves.
bool Checker::reduces(Tag single) const {
  const Record& r = records_.of(single);
  if (r.kind != Record::Kind::op || r.source < 0) return false;
  const auto& text = program_->sources[static_cast<size_t>(r.source)];
  return (text->opcode == "cp" && text->modifiers[0] == "reduce") || text->opcode == "red";
}

// The lanes of a warp that execute a store of the copy engine together, of the same bytes to the same place, store what one
// of them stores.
bool Checker::same_store(const Accessor& who, Tag writers) const {
  if (!who.op || (who.op->kind != AsyncOp::Kind::bulk_store && who.op->kind != AsyncOp::Kind::tensor_store))
    return false;
  bool all = true;
  records_.each(writers, [&](Tag t) {
    const Record& r = records_.of(t);
    const OpState& other = ops_[r.kind == Record::Kind::op ? r.detail : 0];
    all = all && ((other.turn == who.op->turn && other.kind == who.op->kind && other.from == who.op->from &&
                   other.to == who.op->to && other.bytes == who.op->bytes) ||
                  ordered_all(who, t));
  });
  return all;
}

// Whoever is ordered after the operation `later` is ordered after `earlier`: they count on one component.
bool Checker::implied(Tag earlier, Tag later) const {
  const Record &a = records_.of(earlier), &b = records_.of(later);
  if (a.kind != Record::Kind::op || b.kind != a.kind || a.cluster != b.cluster) return false;
  const OpState &before = ops_[a.detail], &after = ops_[b.detail];
  if (before.kind == AsyncOp::Kind::cp_async) {
    const int lane = Records::lane_of(earlier);
    return after.done == before.done && lane == Records::lane_of(later) &&
           before.lane_value[static_cast<size_t>(lane)] <= after.lane_value[static_cast<size_t>(lane)];
  }
  return after.done && before.done == after.done && before.done_value <= after.done_value;
}

// The readers of a byte when another joins them. What an operation is ordered after, it stands for.
Tag Checker::with_reader(const Accessor& who, Tag readers, Tag me) {
  if (!who.op) return records_.combine(readers, me);
  Tag kept = 0;
  records_.each(readers, [&](Tag t) {
    if (!ordered_all(who, t)) kept = records_.combine(kept, t);
  });
  return records_.combine(kept, me);
}

// The writers of a byte when a reduction joins them: whoever reads must know of all that it is not ordered after, and
// other reductions must know of the ordinary write before.
Tag Checker::with_reduction(const Accessor& who, Tag writers, Tag me, uint64_t address, Space space) {
  Tag kept = 0, race = 0;
  records_.each(writers, [&](Tag t) {
    const bool ordered = ordered_all(who, t);
    if (!ordered && !reduces(t)) race = t;
    if (!reduces(t) || !(ordered || implied(t, me))) kept = records_.combine(kept, t);
  });
  if (race) conflict(who, true, race, true, address, space);
  return records_.combine(kept, me);
}

// The bits in which the tags differ from the first of them.
static inline Tag differing(const Tag* tags, size_t count) {
  Tag bits = 0;
  for (size_t i = 0; i < count; ++i) bits |= tags[i] ^ tags[0];
  return bits;
}

// The end of the run of equal tags that starts at `from`; all_same: they are all equal.
static size_t run_end(const Tag* tags, size_t from, size_t count, bool all_same) {
  if (all_same) return count;
  size_t end = from + 1;
  while (end < count && tags[end] == tags[from]) ++end;
  return end;
}

void Checker::check_read(const Accessor& who, Tag* write, Tag* read, size_t bytes, Tag me, uint64_t address,
                         Space space) {
  uint32_t record = 0, lanes = 0;  // of the latest record of threads, the lanes that all is well with
  bool all_same = !differing(write, bytes);
  for (size_t i = 0; i < bytes;) {
    const Tag prior = write[i];
    if (prior >> 5 == record && lanes >> Records::lane_of(prior) & 1) {
      ++i;
      continue;
    }
    const size_t end = run_end(write, i, bytes, all_same);
    if (prior && prior == good_write_) {  // looked at for the bytes before
    } else if (const uint32_t plain = prior ? plain_lanes(who, prior, who.async_proxy) : 0;
               plain >> Records::lane_of(prior) & 1) {
      record = prior >> 5;
      lanes = plain;
      if (lanes == ~0u && differing(write + i, bytes - i) < 32) break;  // the same warp wrote all the rest
    } else if (!prior) {
      if (space == Space::shared) unwritten(who, address + i);
    } else if (!ordered_all(who, prior)) {
      conflict(who, false, first_unordered(who, prior), true, address + i, space);
    } else {
      const Record& r = records_.of(prior);
      Accessor all = who;
      all.lanes = who.group;
      const bool same_for_all = ordered_all(all, prior);
      if (r.kind == Record::Kind::op) mark_used(same_for_all ? all : who, prior);
      if (r.kind == Record::Kind::threads && r.rank != who.cta->cta->cluster_rank)
        check_arrive_scope(who, prior, address + i);
      const bool generic = r.kind == Record::Kind::threads ||
                           (r.kind == Record::Kind::op && ops_[r.detail].kind == AsyncOp::Kind::cp_async);
      if (who.async_proxy && generic && !ordered_all(who, prior, Clock::fenced)) {
        const bool relayed = ordered_all(who, prior, Clock::relayed);
        // A copy that completed on an mbarrier has no thread that could fence for it: its reader does.
        if (!relayed || r.kind == Record::Kind::threads) unfenced(who, prior, relayed, address + i, space);
      }
      if (same_for_all) good_write_ = prior;
    }
    i = end;
  }
  if (!read) return;
  all_same = !differing(read, bytes);
  for (size_t i = 0; i < bytes;) {
    const size_t end = run_end(read, i, bytes, all_same);
    const Tag prior = read[i];
    Tag next = me;
    if (prior && prior == combined_from_) {
      next = combined_to_;
    } else if (prior && records_.seen_in(prior, me)) {
      next = prior;  // whoever writes later must know of them all in any case
    } else if (prior && prior != me && !settled(who, prior, &good_read_)) {
      next = with_reader(who, prior, me);
      if (who.op) combined_from_ = prior, combined_to_ = next;
    }
    if (next != prior) std::fill(read + i, read + end, next);
    i = end;
  }
}

// read: null for global memory, whose readers are kept by words (global.cpp).
void Checker::check_write(const Accessor& who, Tag* write, Tag* read, size_t bytes, Tag me, uint64_t address,
                          Space space) {
  const bool reducing = who.op && reduces(me);
  const bool one_writer = !differing(write, bytes), one_reader = !read || !differing(read, bytes);
  for (size_t i = 0; i < bytes;) {
    const size_t end = std::min(run_end(write, i, bytes, one_writer), run_end(read, i, bytes, one_reader));
    const Tag readers = read ? read[i] : 0, writer = write[i];
    Tag now = me;
    if (readers && !settled(who, readers, &good_readers_)) {
      conflict(who, true, first_unordered(who, readers), false, address + i, space);
    } else if (writer && reducing) {
      now = with_reduction(who, writer, me, address + i, space);
    } else if (writer && !settled(who, writer, &good_writer_)) {
      // Lanes of one instruction may store to one place: the value of one of them stays.
      const Record &mine = records_.of(me), &theirs = records_.of(writer);
      if (same_store(who, writer)) {
        now = records_.combine(writer, me);  // a reader must know of all
      } else if (!(mine.kind == Record::Kind::threads && theirs.kind == mine.kind &&
                   theirs.source == mine.source)) {
        conflict(who, true, first_unordered(who, writer), true, address + i, space);
      }
    }
    std::fill(write + i, write + end, now);
    i = end;
  }
  if (read) std::fill(read, read + bytes, 0u);
}

void Checker::check_range(const Accessor& who, const MemoryRange& range, Tag me, bool write) {
  if (range.space == Space::shared) {
    ClusterState& cluster = cluster_of(*range.owner);
    CtaState& cta = cluster.ctas[range.owner->cluster_rank];
    if (!cta.shadow || range.address + range.bytes > cta.shadow->size()) return;
    Tag* writes = cta.shadow->writes() + range.address;
    Tag* reads = cta.shadow->reads() + range.address;
    if (write)
      check_write(who, writes, reads, range.bytes, me, range.address, Space::shared);
    else
      check_read(who, writes, reads, range.bytes, me, range.address, Space::shared);
    return;
  }
  if (!in_front_.empty()) check_grid_dependency(who, range.address, range.bytes, write);
  if (write)
    check_overwritten(who, range.address, range.bytes);
  else
    note_read(who, range.address, range.bytes, me);
  each_page_of(range.address, range.bytes, [&](uint64_t address, uint64_t offset, uint64_t here) {
    if (write)
      check_write(who, &global_.written.at(address).last[offset], nullptr, here, me, address, Space::global);
    else if (Writers* page = global_.written.find(address))
      check_read(who, &page->last[offset], nullptr, here, me, address, Space::global);
  });
}

// A record of this warp's threads at this instruction; the latest one serves again while nothing was released.
uint32_t Checker::thread_record(Warp& w, WarpState& state, const Inst& in, bool write, bool again) {
  if (state.epoch_block_stale) {
    state.epoch_block = records_.add_epochs(state.epoch);
    state.epoch_block_stale = false;
  }
  WarpState::LastRecord& last = state.last_record[write][again];
  if (last.source == in.source && last.block == state.epoch_block) return last.record;
  Record r;
  r.kind = Record::Kind::threads;
  r.again = again;
  r.warp = static_cast<uint16_t>(w.index);
  r.rank = static_cast<uint16_t>(w.cta.cluster_rank);
  r.cluster = cluster_of(w.cta).index;
  r.source = in.source;
  r.detail = state.epoch_block;
  last = {in.source, records_.add(r), state.epoch_block};
  return last.record;
}

// What `who` has to do with the record of a tag; kept in `seen` while neighbouring lanes meet the same record.
inline const Checker::SeenRecord& Checker::look(const Accessor& who, SeenRecord& seen, Tag tag) {
  return tag >> 5 == seen.record ? seen : look_up(who, seen, tag);
}
const Checker::SeenRecord& Checker::look_up(const Accessor& who, SeenRecord& seen, Tag tag) {
  const Record& r = records_.of(tag);
  seen = {tag >> 5, plain_lanes(who, tag, false), 0, false};
  seen.mine = r.kind == Record::Kind::threads && of_warp(r, who);
  if (seen.mine) seen.again = ~lanes_at_least(records_.epochs(r).data(), who.warp->epoch.data());
  return seen;
}

// The usual size of an access by itself, for the compiler.
static bool all_equal(const Tag* tags, uint32_t bytes) {
  return !(bytes == 4 ? differing(tags, 4) : differing(tags, bytes));
}
static void fill(Tag* tags, uint32_t bytes, Tag value) {
  if (bytes == 4)
    std::fill_n(tags, 4, value);
  else
    std::fill_n(tags, bytes, value);
}

void Checker::on_access(Warp& w, const Inst& in, const AccessEvent& e) {
  collect_when_due();
  if (e.space == Space::shared && w.cta.cluster->ctas.size() > 1)
    for_lanes(e.mask, [&](int l) {
      if (e.owner[l] != &w.cta)
        cta_of(*e.owner[l]).remote[thread_component(w.cta, w.index, l)] = {
            cta_of(w.cta).warps[static_cast<size_t>(w.index)].epoch[static_cast<size_t>(l)], in.source};
    });
  if (e.strong) {
    strong_access(w, e);
    return;
  }
  ClusterState& cluster = cluster_of(w.cta);
  CtaState& cta = cluster.ctas[w.cta.cluster_rank];
  WarpState& state = cta.warps[static_cast<size_t>(w.index)];
  Accessor who{&cluster, &cta, &state, &w, &in, 0, e.mask, nullptr, false};
  start_access();
  const bool write = e.kind != AccessKind::read;
  if (!write && e.space == Space::shared) {
    who.lanes = e.mask;
    check_reader_swizzle(w, e, who);
  }
  SeenRecord seen[2];
  Tag records[2] = {0, 0};  // without and with `again`
  const auto tag_of = [&](int l, bool again) {
    if (!records[again]) records[again] = thread_record(w, state, in, write, again) << 5;
    return records[again] | static_cast<Tag>(l);
  };
  for (uint32_t left = e.mask; left; left &= ~who.lanes) {
    const int l = __builtin_ctz(left);
    who.lanes = 1u << l;
    bool again = false;
    if (e.space == Space::shared) {
      const CtaState& owner = e.owner[l] == &w.cta ? cta : cta_of(*e.owner[l]);
      if (!owner.shadow) continue;
      Tag* writes = owner.shadow->writes() + e.addr[l];
      Tag* reads = owner.shadow->reads() + e.addr[l];
      // The usual access: one thread wrote all the bytes last, at most one has read them since, and both are this thread
      // or known to have come before.
      const Tag writer = *writes, reader = *reads;
      bool usual = (write || writer) && all_equal(writes, e.bytes) && all_equal(reads, e.bytes);
      if (reader) {
        const SeenRecord& r = look(who, seen[0], reader);
        again = !write && r.again >> l & 1 && Records::lane_of(reader) == l;
        usual = usual && r.ordered(reader, l);
      }
      if (writer) usual = usual && look(who, seen[1], writer).ordered(writer, l);
      if (usual) {
        fill(write ? writes : reads, e.bytes, tag_of(l, again));
        if (write && reader) fill(reads, e.bytes, 0);
        continue;
      }
      // Other lanes that read the same bytes join the readers together.
      if (!write)
        for (uint32_t others = left & (left - 1); others; others &= others - 1) {
          const int other = __builtin_ctz(others);
          if (e.addr[other] == e.addr[l] && e.owner[other] == e.owner[l]) who.lanes |= 1u << other;
        }
    }
    if (write && e.space == Space::global && !maps_.empty()) check_map_edit(who, e.addr[l], e.bytes);
    const Tag me = who.lanes == 1u << l ? tag_of(l, again) : records_.lanes(tag_of(0, false) >> 5, who.lanes);
    check_range(who, {e.space, e.space == Space::shared ? e.owner[l] : nullptr, e.addr[l], e.bytes}, me,
                write);
  }
}

// ---- the end of threads and CTAs

void Checker::on_exit(Warp& w, const Inst&, uint32_t mask) {
  start_event();
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  for_lanes(mask, [&](int l) {
    const auto& unread = state.lanes[static_cast<size_t>(l)].bulk_unread;
    if (!unread.empty()) store_left_behind(unread.front().second, w);
  });
}

void Checker::on_cta_end(Cta& cta) {
  start_event();
  ClusterState& cluster = cluster_of(cta);
  for (auto& [bar, b] : cluster.barriers) {
    if (bar->cta != &cta) continue;
    rotate(b);
    // Whether it has landed by now is luck: what counts is that somebody has waited for it.
    if (b.last_op && ops_[b.last_op].done_value > b.seen) copy_left_behind(ops_[b.last_op], cta);
  }
  check_cluster_exit(cluster.ctas[cta.cluster_rank]);
  for (auto it = unwritten_.lower_bound({cluster.index, INT32_MIN});
       it != unwritten_.end() && it->first.first == cluster.index; it = unwritten_.erase(it))
    machine_->findings.add(it->second.finding, it->second.seen);
  cluster.ctas[cta.cluster_rank].shadow.reset();
  bool all = true;
  for (auto& c : cluster.ctas) all = all && !c.shadow;
  if (all) {
    clusters_.erase(cta.cluster);
    last_cta_ = nullptr;
  }
}

}  // namespace emu::check
