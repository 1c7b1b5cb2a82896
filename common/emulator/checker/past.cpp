#include "emulator/checker/past.hpp"

namespace emu::check {

bool Past::known(const Clock& clock, uint32_t cluster, uint32_t threads_per_cta, Tag tag,
                 Clock::Kind kind) const {
  const Record& r = records.of(tag);
  const Clock* knows = r.cluster == cluster ? &clock : clock.foreign(r.cluster);
  if (!knows) return false;
  const uint32_t lane = static_cast<uint32_t>(Records::lane_of(tag));
  if (r.kind == Record::Kind::threads)
    return knows->get(kind, r.rank * threads_per_cta + r.warp * 32u + lane) >=
           records.epoch(r, static_cast<int>(lane));
  const Operation& op = operations[r.detail];
  if (op.kind == AsyncOp::Kind::cp_async)
    return op.done && knows->get(kind, op.done + lane) >= op.lane_value[lane];
  // Operations of the async proxy: their completion includes the proxy fence. `again`: the reading of the source.
  const Component c = r.again ? op.read : op.done;
  return c && knows->get(Clock::order, c) >= (r.again ? op.read_value : op.done_value);
}

// Whether a lane is ordered after it because it is its own doing.
bool Past::own(const Accessor& who, int lane, Tag tag, Clock::Kind kind) const {
  const Record& r = records.of(tag);
  if (!of_warp(r, who)) return false;
  const LaneOrder& mine = who.self->lanes[static_cast<size_t>(lane)];
  if (r.kind == Record::Kind::threads)
    return Records::lane_of(tag) == lane &&
           (kind == Clock::order ||
            (kind == Clock::fenced &&
             records.epoch(r, lane) <= who.self->fence_epoch[static_cast<size_t>(lane)]));
  const Operation& op = operations[r.detail];
  if (op.kind == AsyncOp::Kind::cp_async)
    return Records::lane_of(tag) == lane && (kind == Clock::fenced ? mine.cp_fenced : mine.cp_done) >=
                                                op.lane_value[static_cast<size_t>(lane)];
  if (op.kind == AsyncOp::Kind::wgmma || !op.read || op.lane != lane) return false;
  return r.again ? mine.bulk_read >= op.read_value : mine.bulk_done >= op.done_value;
}

bool Past::ordered(const Accessor& who, Tag tag, Clock::Kind kind) const {
  const ClusterOrder& cluster = who.cluster();
  bool all = true;
  records.each(tag, [&](Tag single) {
    for (const Knowledge& k : who.self->knowledge) {
      uint32_t lanes = k.mask & who.lanes;
      if (!all || !lanes || known(k.clock, cluster.index, cluster.threads_per_cta, single, kind)) continue;
      for (; lanes; lanes &= lanes - 1) all = all && own(who, __builtin_ctz(lanes), single, kind);
    }
  });
  return all;
}

bool Past::spoken_for(const Accessor& who, Tag single) const {
  const Record& r = records.of(single);
  if (r.kind != Record::Kind::threads || (!who.op && of_warp(r, who))) return false;
  for (uint32_t others = r.lanes & ~(1u << Records::lane_of(single)); others; others &= others - 1)
    if (ordered(who, (single & ~31u) | static_cast<Tag>(__builtin_ctz(others)))) return true;
  return false;
}

uint32_t Past::landed_on_mbarrier(const Record& r) const {
  const ClusterOrder* cluster = order_.find(r.cluster);
  if (!cluster) return ~0u;
  const WarpOrder& issuer = cluster->ctas[r.rank].warps[r.warp];
  const auto& values = operations[r.detail].lane_value;
  uint32_t lanes = 0;
  for (size_t l = 0; l < 32; ++l) lanes |= uint32_t{issuer.lanes[l].cp_handed_over >= values[l]} << l;
  return lanes;
}

// All lanes are looked at together, because the others are mostly asked about next.
uint32_t Past::plain_lanes(const Accessor& who, Tag tag, bool fenced) {
  const Record& r = records.of(tag);
  if (r.base)  // lane 0 speaks for all of them
    return (plain_lanes(who, r.base << 5, fenced) & r.lanes) == r.lanes;
  const bool copies = r.kind == Record::Kind::op && operations[r.detail].kind == AsyncOp::Kind::cp_async;
  if ((r.kind != Record::Kind::threads && !copies) || r.cluster != who.cluster().index ||
      r.rank != who.cta().cluster_rank)
    return 0;
  auto& kept = known_.of(who.warp());
  KnownRecord& k = kept[(tag >> 5) % kept.size()];
  const bool same = k.record == tag >> 5 && k.group == who.group && k.fenced == fenced;
  if (same && (k.lanes == ~0u || k.changes == who.self->changes)) return k.lanes;
  k = {tag >> 5, who.group, ~0u, fenced, who.self->changes};
  const Component first = copies ? operations[r.detail].done : who.cluster().thread(r.rank, r.warp, 0);
  const auto& values = copies ? operations[r.detail].lane_value : records.epochs(r);
  who.self->each_clock(who.group, [&](const Clock& clock) {
    k.lanes &= clock.at_least(Clock::order, first, values);
    if (!fenced) return;
    uint32_t lanes = clock.at_least(Clock::fenced, first, values);
    if (copies && lanes != ~0u)
      lanes |= clock.at_least(Clock::relayed, first, values) & landed_on_mbarrier(r);
    k.lanes &= lanes;
  });
  return k.lanes;
}

bool Past::settled(const Accessor& who, Tag tag, Tag* memo) {
  if (tag == *memo || plain_lanes(who, tag, false) >> Records::lane_of(tag) & 1) return true;
  if (ordered(who.whole_group(), tag)) {
    *memo = tag;
    return true;
  }
  return who.lanes != who.group && ordered(who, tag);
}

Tag Past::first_unordered(const Accessor& who, Tag tag) const {
  Tag first = 0;
  records.each(tag, [&](Tag t) {
    if (!first && !ordered(who, t)) first = t;
  });
  return first;
}

bool Past::implied(Tag earlier, Tag later) const {
  const Record &a = records.of(earlier), &b = records.of(later);
  if (a.kind != Record::Kind::op || b.kind != a.kind || a.cluster != b.cluster) return false;
  const Operation &before = operations[a.detail], &after = operations[b.detail];
  if (before.kind == AsyncOp::Kind::cp_async) {
    const int lane = Records::lane_of(earlier);
    return after.done == before.done && lane == Records::lane_of(later) &&
           before.lane_value[static_cast<size_t>(lane)] <= after.lane_value[static_cast<size_t>(lane)];
  }
  return after.done && before.done == after.done && before.done_value <= after.done_value;
}

bool Past::reduces(Tag single) const {
  const Operation* op = operation(single);
  return op && op->reduces;
}

}  // namespace emu::check
