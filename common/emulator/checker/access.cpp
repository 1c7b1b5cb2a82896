// Every access against the last write and the reads since, byte by byte.
#include "emulator/checker/checker.hpp"
#include "emulator/wgmma.hpp"

namespace emu::check {

// Whether a clock holds what it takes to be ordered after a single access.
bool Checker::known(const Clock& clock, const Accessor& who, Tag tag, Clock::Kind kind) const {
  const Record& r = records_.of(tag);
  const Clock* knows = r.cluster == who.cluster->index ? &clock : clock.foreign(r.cluster);
  if (!knows) return false;
  const uint32_t lane = static_cast<uint32_t>(Records::lane_of(tag));
  if (r.kind == Record::Kind::threads)
    return knows->get(kind, r.rank * who.cluster->threads_per_cta + r.warp * 32u + lane) >= records_.epoch(r, static_cast<int>(lane));
  const OpState& op = ops_[r.detail];
  if (op.kind == AsyncOp::Kind::cp_async) return op.done && knows->get(kind, op.done + lane) >= op.lane_value[lane];
  // Operations of the async proxy: their completion includes the proxy fence. `again`: the reading of the source.
  const Component c = r.again ? op.read : op.done;
  return c && knows->get(Clock::order, c) >= (r.again ? op.read_value : op.done_value);
}

// Whether a lane is ordered after it because it is its own doing.
bool Checker::own(const Accessor& who, int lane, Tag tag, Clock::Kind kind) const {
  const Record& r = records_.of(tag);
  if (r.warp != who.hardware->index || r.cluster != who.cluster->index || r.rank != who.cta->cta->cluster_rank) return false;
  const LaneState& mine = who.warp->lanes[static_cast<size_t>(lane)];
  if (r.kind == Record::Kind::threads)
    return Records::lane_of(tag) == lane &&
           (kind == Clock::order || (kind == Clock::fenced && records_.epoch(r, lane) <= mine.fence_epoch));
  const OpState& op = ops_[r.detail];
  if (op.kind == AsyncOp::Kind::cp_async)
    return Records::lane_of(tag) == lane &&
           (kind == Clock::fenced ? mine.cp_fenced : mine.cp_done) >= op.lane_value[static_cast<size_t>(lane)];
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

bool Checker::same_thread(Tag a, const Accessor& who, int lane) const {
  const Record& r = records_.of(a);
  return (r.kind == Record::Kind::threads || r.kind == Record::Kind::op) && Records::lane_of(a) == lane &&
         r.warp == who.hardware->index && r.rank == who.cta->cta->cluster_rank && r.cluster == who.cluster->index;
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

void Checker::check_read(const Accessor& who, Tag* write, Tag* read, size_t bytes, Tag me, uint64_t address, Space space) {
  for (size_t i = 0; i < bytes;) {
    size_t end = i + 1;
    while (end < bytes && write[end] == write[i]) ++end;
    const Tag prior = write[i];
    if (!prior) {
      if (space == Space::shared) unwritten(who, address + i);
    } else if (!ordered_all(who, prior)) {
      conflict(who, false, prior, true, address + i, space);
    } else {
      const Record& r = records_.of(prior);
      if (r.kind == Record::Kind::op) mark_used(who, prior);
      const bool generic = r.kind == Record::Kind::threads ||
                           (r.kind == Record::Kind::op && ops_[r.detail].kind == AsyncOp::Kind::cp_async);
      if (who.async_proxy && generic && !ordered_all(who, prior, Clock::fenced)) {
        const bool relayed = ordered_all(who, prior, Clock::relayed);
        // A copy that completed on an mbarrier has no thread that could fence for it: its reader does.
        if (!relayed || r.kind == Record::Kind::threads) unfenced(who, prior, relayed, address + i, space);
      }
    }
    i = end;
  }
  if (space != Space::shared) return;
  for (size_t i = 0; i < bytes;) {
    size_t end = i + 1;
    while (end < bytes && read[end] == read[i]) ++end;
    const Tag prior = read[i];
    Tag next = me;
    if (prior && prior != me && !ordered_all(who, prior)) next = records_.combine(prior, me);
    if (next != prior) std::fill(read + i, read + end, next);
    i = end;
  }
}

void Checker::check_write(const Accessor& who, Tag* write, Tag* read, size_t bytes, Tag me, uint64_t address, Space space) {
  for (size_t i = 0; i < bytes;) {
    size_t end = i + 1;
    while (end < bytes && write[end] == write[i] && read[end] == read[i]) ++end;
    const Tag readers = read[i], writer = write[i];
    if (readers && !ordered_all(who, readers)) {
      Tag first = 0;
      records_.each(readers, [&](Tag t) {
        if (!first && !ordered_all(who, t)) first = t;
      });
      conflict(who, true, first, false, address + i, space);
    } else if (writer && !ordered_all(who, writer)) {
      // Lanes of one instruction may store to one place: the value of one of them stays.
      const Record &mine = records_.of(me), &theirs = records_.of(writer);
      if (!(mine.kind == Record::Kind::threads && theirs.kind == mine.kind && theirs.source == mine.source))
        conflict(who, true, writer, true, address + i, space);
    }
    i = end;
  }
  std::fill(write, write + bytes, me);
  std::fill(read, read + bytes, 0u);
}

void Checker::check_range(const Accessor& who, const MemoryRange& range, Tag me, bool write) {
  if (range.space == Space::shared) {
    ClusterState& cluster = cluster_of(*range.owner);
    CtaState& cta = cluster.ctas[range.owner->cluster_rank];
    if (!cta.shadow || range.address + range.bytes > cta.shadow->size()) return;
    Tag* writes = cta.shadow->writes() + range.address;
    Tag* reads = cta.shadow->reads() + range.address;
    if (write) check_write(who, writes, reads, range.bytes, me, range.address, Space::shared);
    else check_read(who, writes, reads, range.bytes, me, range.address, Space::shared);
    return;
  }
  // Global memory: writes and reads-after-writes; a read is not remembered.
  for (uint64_t address = range.address, left = range.bytes; left;) {
    const uint64_t offset = address % GlobalShadow::kPage, here = std::min(left, GlobalShadow::kPage - offset);
    Shadow* page = write ? &global_.at(address) : global_.find(address);
    if (page) {
      Tag* writes = page->writes() + offset;
      Tag* reads = page->reads() + offset;
      if (write) check_write(who, writes, reads, here, me, address, Space::global);
      else check_read(who, writes, reads, here, me, address, Space::global);
    }
    address += here;
    left -= here;
  }
}

// A record of this warp's threads at this instruction; the latest one serves again while nothing was released.
uint32_t Checker::thread_record(Warp& w, WarpState& state, const Inst& in, bool write, bool again) {
  if (state.epoch_block_stale) {
    state.epoch_block = records_.add_epochs(state.epoch);
    state.epoch_block_stale = false;
  }
  if (state.last_source[write] == in.source && state.last_block[write] == state.epoch_block &&
      records_.of(state.last_record[write] << 5).again == again)
    return state.last_record[write];
  Record r;
  r.kind = Record::Kind::threads;
  r.again = again;
  r.warp = static_cast<uint16_t>(w.index);
  r.rank = static_cast<uint16_t>(w.cta.cluster_rank);
  r.cluster = cluster_of(w.cta).index;
  r.source = in.source;
  r.detail = state.epoch_block;
  state.last_source[write] = in.source;
  state.last_block[write] = state.epoch_block;
  return state.last_record[write] = records_.add(r);
}

void Checker::on_access(Warp& w, const Inst& in, const AccessEvent& e) {
  if (e.strong) {
    strong_access(w, e);
    return;
  }
  ClusterState& cluster = cluster_of(w.cta);
  CtaState& cta = cluster.ctas[w.cta.cluster_rank];
  WarpState& state = cta.warps[static_cast<size_t>(w.index)];
  Accessor who{&cluster, &cta, &state, &w, &in, 0, nullptr, false};
  const bool write = e.kind != AccessKind::read;
  for_lanes(e.mask, [&](int l) {
    who.lanes = 1u << l;
    bool again = false;
    if (!write && e.space == Space::shared) {
      CtaState& owner = cluster_of(*e.owner[l]).ctas[e.owner[l]->cluster_rank];
      const Tag prior = owner.shadow->reads()[e.addr[l]];
      again = prior && same_thread(prior, who, l) && records_.of(prior).kind == Record::Kind::threads &&
              records_.epoch(records_.of(prior), l) < state.epoch[static_cast<size_t>(l)];
    }
    const Tag me = (thread_record(w, state, in, write, again) << 5) | static_cast<Tag>(l);
    check_range(who, {e.space, e.space == Space::shared ? e.owner[l] : nullptr, e.addr[l], e.bytes}, me, write);
  });
}

// ---- engine operations

void Checker::on_async_issue(AsyncOp& op) {
  Warp& w = *op.warp;
  ClusterState& cluster = cluster_of(w.cta);
  CtaState& cta = cluster.ctas[w.cta.cluster_rank];
  WarpState& state = cta.warps[static_cast<size_t>(w.index)];
  if (op.kind == AsyncOp::Kind::cp_async_arrive) {
    // The phase cannot complete before this arrive; what it vouches for is known now.
    if (op.barrier) {
      BarrierState& b = barrier_state(*op.barrier);
      rotate(b);
      for_lanes(op.lanes, [&](int l) {
        LaneState& lane = state.lanes[static_cast<size_t>(l)];
        if (lane.cp_component) b.gathering.raise(Clock::order, lane.cp_component, lane.cp_issued);
      });
    }
    return;
  }
  OpState s;
  s.kind = op.kind;
  s.cluster = cluster.index;
  s.rank = static_cast<uint16_t>(w.cta.cluster_rank);
  s.warp = static_cast<uint16_t>(w.index);
  s.lane = static_cast<uint8_t>(__builtin_ctz(op.lanes));
  s.source = op.inst->source;
  s.swizzle = op.swizzle;
  s.releases = state.releases;
  std::vector<MemoryRange> sources, destinations;
  op.sources(sources);
  op.destinations(destinations);
  for (auto& d : destinations) s.bytes += d.bytes;
  const uint32_t index = static_cast<uint32_t>(ops_.size());
  op.observer_data = index;
  Accessor who{&cluster, &cta, &state, &w, op.inst, op.lanes, nullptr, op.async_proxy()};

  if (op.kind == AsyncOp::Kind::cp_async) {
    // 32 components in a row, one a lane.
    if (!state.lanes[0].cp_component)
      for (LaneState& lane : state.lanes) lane.cp_component = cluster.components++;
    s.done = state.lanes[0].cp_component;
    for_lanes(op.lanes, [&](int l) {
      s.lane_value[static_cast<size_t>(l)] = ++state.lanes[static_cast<size_t>(l)].cp_issued;
    });
  } else if (op.kind == AsyncOp::Kind::wgmma) {
    s.read = warpgroup_component(w);
    s.read_value = ++state.wgmma_issued;
  } else if (op.grouped) {
    LaneState& lane = state.lanes[s.lane];
    if (!lane.read_component) {
      lane.read_component = cluster.components++;
      lane.done_component = cluster.components++;
    }
    lane.bulk_issued = lane.bulk_commits + 1;
    s.read = lane.read_component;
    s.done = lane.done_component;
    s.read_value = s.done_value = lane.bulk_issued;
  }
  ops_.push_back(s);
  if (op.barrier) {
    BarrierState& b = barrier_state(*op.barrier);
    rotate(b);
    check_initialised(w, *op.inst, op.lanes, b);
    OpState& stored = ops_[index];
    stored.barrier = op.barrier;
    stored.done = b.component;
    stored.done_value = static_cast<uint32_t>(b.phase) + 1;
    b.in_flight.push_back(index);
    b.issued_bytes += s.bytes;
  }
  who.op = &ops_[index];

  Record r;
  r.kind = Record::Kind::op;
  r.warp = s.warp;
  r.rank = s.rank;
  r.cluster = s.cluster;
  r.source = s.source;
  r.detail = index;
  const Tag writes = records_.add(r) << 5;
  Tag reads = writes;
  if (s.read) {  // "again" of an op record: the tag stands for the reading of its source
    r.again = true;
    reads = records_.add(r) << 5;
  }
  if (op.kind == AsyncOp::Kind::cp_async) {
    size_t i = 0;
    for_lanes(op.lanes, [&](int l) {
      who.lanes = 1u << l;
      if (i < sources.size() && sources.size() == destinations.size()) check_range(who, sources[i], reads | static_cast<Tag>(l), false);
      check_range(who, destinations[i++], writes | static_cast<Tag>(l), true);
    });
    return;
  }
  if (op.kind == AsyncOp::Kind::wgmma) check_wgmma_swizzle(op, who);
  for (auto& range : sources) check_range(who, range, reads, false);
  for (auto& range : destinations) check_range(who, range, writes, true);
}

void Checker::on_async_write(AsyncOp&) {}

void Checker::on_async_complete(AsyncOp& op) {
  if (!op.observer_data || op.kind == AsyncOp::Kind::cp_async_arrive) return;
  OpState& s = ops_[op.observer_data];
  s.landed = s.finished = true;
  if (!s.barrier || !clusters_.count(op.warp->cta.cluster)) return;
  auto& barriers = cluster_of(op.warp->cta).barriers;
  auto it = barriers.find(s.barrier);
  if (it == barriers.end()) return;
  BarrierState& b = it->second;
  s.landed = false;
  rotate(b);
  s.landed = true;
  s.done_value = static_cast<uint32_t>(b.phase) + 1;
  for (size_t i = 0; i < b.in_flight.size(); ++i)
    if (b.in_flight[i] == op.observer_data) {
      b.in_flight.erase(b.in_flight.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
}

// ---- the end of threads and CTAs

void Checker::on_exit(Warp& w, const Inst&, uint32_t mask) {
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  for_lanes(mask, [&](int l) {
    const LaneState& lane = state.lanes[static_cast<size_t>(l)];
    if (lane.bulk_issued <= lane.bulk_read) return;
    for (const OpState& op : ops_)
      if (op.read == lane.read_component && op.read && op.read_value > lane.bulk_read) {
        left_behind(op, w.cta, true);
        return;
      }
  });
}

void Checker::on_cta_end(Cta& cta) {
  ClusterState& cluster = cluster_of(cta);
  for (auto& [bar, b] : cluster.barriers) {
    if (bar->cta != &cta) continue;
    rotate(b);
    for (uint32_t index : b.in_flight)
      if (ops_[index].done_value > b.seen) {
        left_behind(ops_[index], cta, false);
        break;
      }
  }
  for (auto it = unwritten_.begin(); it != unwritten_.end();) {
    if (it->second.cluster == cluster.index) {
      Finding f = it->second.finding;
      it = unwritten_.erase(it);
      Accessor nobody;
      report(f, nobody, -1);
    } else {
      ++it;
    }
  }
  cluster.ctas[cta.cluster_rank].shadow.reset();
  bool all = true;
  for (auto& c : cluster.ctas) all = all && !c.shadow;
  if (all) {
    clusters_.erase(cta.cluster);
    last_cta_ = nullptr;
  }
}

// The pattern in the operand's descriptor against the pattern of the map that brought its bytes.
void Checker::check_wgmma_swizzle(AsyncOp& op, const Accessor& who) {
  auto& mma = static_cast<WgmmaOp&>(op);
  auto check = [&](const MatrixDescriptor& d, const char* name) {
    Shadow& shadow = *who.cta->shadow;
    if (d.start >= shadow.size()) return;
    const Record& r = records_.of(shadow.writes()[d.start]);
    if (r.kind != Record::Kind::op || ops_[r.detail].kind != AsyncOp::Kind::tensor_load) return;
    const OpState& copy = ops_[r.detail];
    if (copy.swizzle == d.swizzle) return;
    Finding f;
    f.id = "swizzle-mismatch";
    f.title = std::string("wgmma reads ") + name + " with the " + name_of(d.swizzle) +
              " pattern, but the tensor map that brought it has " + name_of(copy.swizzle);
    f.state = "descriptor: " + d.text() + "; " + program_->shared_name(d.start);
    f.why = "The copy engine permutes the 16-byte chunks of the tile as the map says; a reader that undoes another pattern "
            "finds other elements.";
    f.hint = "give the map and the descriptor the same swizzle; mind that their codes differ (map 3 is descriptor 1: 128B)";
    report(f, who, copy.source);
  };
  if (!mma.shape.a_in_registers) check(mma.a, "A");
  check(mma.b, "B");
}

}  // namespace emu::check
