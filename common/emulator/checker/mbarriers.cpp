#include "emulator/checker/mbarriers.hpp"

#include <algorithm>

namespace emu::check {

MbarrierState& Mbarriers::state(Mbarrier& bar) {
  MbarrierState& b = states_[bar.cta->cluster][&bar];
  if (!b.bar) {
    ClusterOrder& cluster = order_.cluster(*bar.cta);
    b.bar = &bar;
    b.component = cluster.components++;
    b.phase = bar.phase;
    b.waits.resize(cluster.threads_per_cta * cluster.ctas.size());
  }
  catch_up(b);
  return b;
}

MbarrierState* Mbarriers::find(const Mbarrier* bar, const Cta& cta) {
  const auto states = bar ? states_.find(cta.cluster) : states_.end();
  if (states == states_.end()) return nullptr;
  const auto it = states->second.find(bar);
  return it == states->second.end() ? nullptr : &it->second;
}

// The barrier may have completed a phase since it was looked at.
void Mbarriers::catch_up(MbarrierState& b) {
  while (b.phase < b.bar->phase) {
    b.complete[b.phase & 1] = std::move(b.gathering);
    b.gathering = Clock();
    ++b.phase;
    b.announced = 0;
    for (uint32_t index : b.in_flight) {
      Operation& op = past_.operations[index];
      if (op.landed) continue;
      tell_completed_early(b, op);
      op.done_value = static_cast<uint32_t>(b.phase) + 1;
    }
  }
}

void Mbarriers::initialised(const At& at, Mbarrier& bar) {
  MbarrierState* old = find(&bar, *bar.cta);
  if (old) {
    check_again(at, bar, *old);
    const Component component = old->component;
    const size_t threads = old->waits.size();
    *old = MbarrierState();
    old->bar = &bar;
    old->component = component;
    old->waits.resize(threads);
  }
  // Its first phase begins with this event, after it is told.
  MbarrierState& b = old ? *old : state(bar);
  b.phase = 0;
  const WarpOrder& order = order_.warp(at.warp);
  b.init_owner = order.thread(at.lane);
  b.init_epoch = order.epoch[static_cast<size_t>(at.lane)];
  b.init_source = at.inst.source;
  history_.initialised(bar);
}

void Mbarriers::operated(const At& at, Mbarrier& bar, MbarrierOp op, int64_t amount, bool release) {
  MbarrierState& b = state(bar);
  WarpOrder& order = order_.warp(at.warp);
  LaneOrder& mine = order.lanes[static_cast<size_t>(at.lane)];
  if (op == MbarrierOp::arrive || op == MbarrierOp::arrive_drop || op == MbarrierOp::cp_async_arrive)
    history_.arrived(at, bar, static_cast<uint64_t>(amount));
  if (op == MbarrierOp::cp_async_arrive) {
    const uint32_t landed = past_.operations.covered_by_landing_arrive(at.lane);
    mine.cp_handed_over = std::max(mine.cp_handed_over, landed);
    if (mine.cp_component) b.gathering.raise(Clock::order, mine.cp_component, landed);
    return;
  }
  if (op == MbarrierOp::complete_tx) return;  // the engine's: completed()
  check_initialised(at.warp, at.inst, 1u << at.lane, b);
  if (op == MbarrierOp::expect_tx) {
    b.announced += static_cast<uint64_t>(amount);
    b.expect_source = at.inst.source;
  }
  if ((op == MbarrierOp::arrive || op == MbarrierOp::arrive_drop) && (release || mine.memory_fence))
    order_.publish(order, 1u << at.lane, b.gathering);
}

void Mbarriers::waited(Warp& w, const Inst& in, uint32_t mask, Mbarrier& bar, uint64_t phase, bool result,
                       bool acquires) {
  MbarrierState& b = state(bar);
  check_initialised(w, in, mask, b);
  if (!result) return history_.refused(w, in, bar);
  WarpOrder& order = order_.warp(w);
  const uint64_t complete = phase + 1;  // phases below this are; 0 for the phase before phase 0
  history_.passed(w, in, mask, bar, complete);
  b.seen = std::max(b.seen, complete);
  if (complete > 0 && acquires)
    order_.update(order, mask, [&](Clock& c) {
      c.join(b.complete[phase & 1]);
      c.raise(Clock::order, b.component, static_cast<uint32_t>(complete));
    });
  for_lanes(mask, [&](int l) {
    LastWait& last = b.waits[order.thread(l)];
    const bool repeated = last.source >= 0 && last.complete == complete && (last.used || last.repeated);
    last = {complete, in.source, false, repeated};
  });
}

uint32_t Mbarriers::issued(Operation o, Mbarrier* barrier, const Accessor& who) {
  if (!barrier) return past_.operations.add(o);
  MbarrierState& b = state(*barrier);
  if (barrier->cta == &who.cta()) check_initialised(who.warp(), *who.inst, who.group, b);
  o.barrier = barrier;
  o.done = b.component;
  o.done_value = static_cast<uint32_t>(b.phase) + 1;
  const uint32_t index = past_.operations.add(o);
  history_.copied(who.warp(), o, *barrier);
  b.in_flight.push_back(index);
  b.last_op = index;
  return index;
}

void Mbarriers::completed(uint32_t index, const Cta& issuer) {
  for (; index; index = past_.operations[index].next_copy) {
    Operation& op = past_.operations[index];
    if (MbarrierState* b = find(op.barrier, issuer)) {
      catch_up(*b);
      op.done_value = static_cast<uint32_t>(b->phase) + 1;
      b->in_flight.erase(std::remove(b->in_flight.begin(), b->in_flight.end(), index), b->in_flight.end());
    }
    op.landed = true;
  }
}

void Mbarriers::cta_ends(Cta& cta, const std::function<void(const Operation&)>& left_behind) {
  for (auto& [bar, b] : states_[cta.cluster]) {
    if (bar->cta != &cta) continue;
    catch_up(b);
    // Whether it has landed by now is luck: what counts is that somebody has waited for it.
    if (b.last_op && past_.operations[b.last_op].done_value > b.seen)
      left_behind(past_.operations[b.last_op]);
  }
}

void Mbarriers::mark_used(const Accessor& who, Tag write) {
  const Operation* op = past_.operation(write);
  if (!op || op->cluster != who.cluster().index) return;
  MbarrierState* b = find(op->barrier, who.cta());
  if (!b) return;
  for_lanes(who.lanes, [&](int l) {
    LastWait& w = b->waits[who.self->thread(l)];
    if (w.complete == op->done_value) w.used = true;
  });
}

}  // namespace emu::check
