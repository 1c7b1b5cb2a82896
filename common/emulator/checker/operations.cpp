// The engines' operations: a copy or product is issued, reads and writes its ranges, and completes.
#include <algorithm>

#include "emulator/checker/checker.hpp"

namespace emu::check {

void Checker::on_async_issue(AsyncOp& op) {
  collect_when_due();
  Warp& w = *op.warp;
  ClusterState& cluster = cluster_of(w.cta);
  CtaState& cta = cluster.ctas[w.cta.cluster_rank];
  WarpState& state = cta.warps[static_cast<size_t>(w.index)];
  if (op.kind == AsyncOp::Kind::cp_async_arrive) {
    // Each lane's arrive vouches, when it lands, for the copies that its lane has issued by now.
    std::array<uint32_t, 32> issued{};
    for_lanes(op.lanes,
              [&](int l) { issued[static_cast<size_t>(l)] = state.lanes[static_cast<size_t>(l)].cp_issued; });
    copy_arrives_[op.number] = issued;
    op.observer_data = op.number;
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
  std::vector<MemoryRange> sources, destinations;
  op.sources(sources);
  op.destinations(destinations);
  for (auto& d : destinations) s.bytes += d.bytes;
  if (!sources.empty()) s.from = sources[0].address;
  if (!destinations.empty()) s.to = destinations[0].address;
  Accessor who{&cluster, &cta, &state, &w, op.inst, op.lanes, op.lanes, nullptr, op.async_proxy()};
  start_access();
  const Turn before = turn_;
  turn_ = {machine_->findings.event(), machine_->findings.event(), &w, op.inst, s.lane};
  if (before.event + 1 == turn_.event && before.warp == &w && before.inst == op.inst && before.lane < s.lane)
    turn_.first = before.first;  // nothing has happened since the lane before
  s.turn = turn_.first;

  if (op.kind == AsyncOp::Kind::cp_async) {
    // 32 components in a row, one a lane.
    state.copies = true;
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
    state.copies = true;
    if (!lane.read_component) {
      lane.read_component = cluster.components++;
      lane.done_component = cluster.components++;
    }
    s.read = lane.read_component;
    s.done = lane.done_component;
    s.read_value = s.done_value = lane.bulk_commits + 1;
    if (lane.bulk_unread.empty() || lane.bulk_unread.back().first != s.read_value)
      lane.bulk_unread.push_back({s.read_value, s.source});
  }
  const uint32_t index = add_op(op, s, op.barrier, who);
  op.observer_data = index;
  who.op = &ops_[index];
  Record r;
  r.kind = Record::Kind::op;
  r.warp = s.warp;
  r.rank = s.rank;
  r.cluster = s.cluster;
  r.source = s.source;
  r.detail = index;
  const Tag writes = records_.add(r) << 5;
  if (map_used_by_ == op.inst) maps_[map_in_use_].users.push_back(writes);
  map_used_by_ = nullptr;
  Tag reads = writes;
  if (s.read) {  // "again" of an op record: the tag stands for the reading of its source
    r.again = true;
    reads = records_.add(r) << 5;
    r.again = false;
  }
  if (op.kind == AsyncOp::Kind::cp_async) {
    size_t i = 0;
    for_lanes(op.lanes, [&](int l) {
      who.lanes = 1u << l;
      check_range(who, sources[i], reads | static_cast<Tag>(l), false);
      check_range(who, destinations[i++], writes | static_cast<Tag>(l), true);
    });
    return;
  }
  if (op.kind == AsyncOp::Kind::wgmma) {
    registers_issued(op, state, who);
    check_wgmma_swizzle(op, who);
  }
  if (op.kind == AsyncOp::Kind::tensor_load) check_tile_alignment(destinations, index, who);
  for (auto& range : sources) check_range(who, range, reads, false);
  // A multicast copy is one operation in each CTA: its bytes complete on that CTA's barrier.
  uint32_t last = index;
  Tag here = writes;
  const Cta* owner = destinations.empty() ? nullptr : destinations[0].owner;
  for (auto& range : destinations) {
    if (range.owner != owner) {
      owner = range.owner;
      Mbarrier* barrier = op.barrier ? find_mbarrier(*range.owner, op.barrier->address) : nullptr;
      const uint32_t next = add_op(op, s, barrier, who);
      ops_[last].next_copy = next;
      ops_[next].tile = ops_[last].tile;
      ops_[next].dense = ops_[last].dense;
      last = r.detail = next;
      here = records_.add(r) << 5;
    }
    who.op = &ops_[last];
    check_range(who, range, here, true);
  }
}

// Keeps what is known of the operation, and its barrier.
uint32_t Checker::add_op(AsyncOp& op, OpState s, Mbarrier* barrier, const Accessor& who) {
  const uint32_t index = static_cast<uint32_t>(ops_.size());
  if (barrier) {
    BarrierState& b = barrier_state(*barrier);
    rotate(b);
    if (barrier->cta == &who.hardware->cta) check_initialised(*who.hardware, *op.inst, op.lanes, b);
    s.barrier = barrier;
    s.done = b.component;
    s.done_value = static_cast<uint32_t>(b.phase) + 1;
    b.in_flight.push_back(index);
    b.last_op = index;
  }
  ops_.push_back(s);
  return index;
}

void Checker::on_async_complete(AsyncOp& op) {
  start_event();
  if (op.kind == AsyncOp::Kind::cp_async_arrive) {
    landing_copies_ = copy_arrives_[op.observer_data];
    copy_arrives_.erase(op.observer_data);
    return;
  }
  if (!op.observer_data) return;
  if (!clusters_.count(op.warp->cta.cluster)) return;
  auto& barriers = cluster_of(op.warp->cta).barriers;
  for (uint32_t index = static_cast<uint32_t>(op.observer_data); index; index = ops_[index].next_copy) {
    auto it = ops_[index].barrier ? barriers.find(ops_[index].barrier) : barriers.end();
    if (it != barriers.end()) {
      BarrierState& b = it->second;
      rotate(b);
      ops_[index].done_value = static_cast<uint32_t>(b.phase) + 1;
      b.in_flight.erase(std::remove(b.in_flight.begin(), b.in_flight.end(), index), b.in_flight.end());
    }
    ops_[index].landed = true;
  }
}

}  // namespace emu::check
