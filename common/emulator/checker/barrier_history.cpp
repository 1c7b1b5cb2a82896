#include "emulator/checker/barrier_history.hpp"

#include "emulator/machine/machine.hpp"
#include "emulator/machine/mbarrier.hpp"
#include "emulator/machine/warp.hpp"

namespace emu::check {

namespace {

// The entry of that warp and line.
template <class T>
T& entry(std::vector<T>& list, const Warp& w, int32_t source) {
  for (T& e : list)
    if (e.warp == &w && e.source == source) return e;
  list.emplace_back();
  list.back().warp = &w;
  list.back().source = source;
  return list.back();
}

}  // namespace

void BarrierHistory::clear() {
  logs_.clear();
  latest_.clear();
  refused_.clear();
}

void BarrierHistory::forget(const Cluster& cluster) {
  logs_.erase(&cluster);
  for (auto* latest : {&latest_, &refused_})
    for (auto it = latest->begin(); it != latest->end();)
      it = it->first->cta.cluster == &cluster ? latest->erase(it) : std::next(it);
}

BarrierLog& BarrierHistory::log(const Mbarrier& bar) {
  return logs_[bar.cta->cluster][&bar];
}

const BarrierLog& BarrierHistory::of(const Mbarrier& bar) const {
  static const BarrierLog kNothing;
  const auto logs = logs_.find(bar.cta->cluster);
  if (logs == logs_.end()) return kNothing;
  const auto found = logs->second.find(&bar);
  return found == logs->second.end() ? kNothing : found->second;
}

const LatestWait* BarrierHistory::latest_wait(const Warp& w) const {
  const auto found = latest_.find(&w);
  return found == latest_.end() ? nullptr : &found->second;
}

const LatestWait* BarrierHistory::latest_refusal(const Warp& w) const {
  const auto found = refused_.find(&w);
  return found == refused_.end() ? nullptr : &found->second;
}

void BarrierHistory::initialised(const Mbarrier& bar) {
  log(bar) = BarrierLog();
}

void BarrierHistory::arrived(const At& at, const Mbarrier& bar, uint64_t count) {
  BarrierLog& b = log(bar);
  for (PhaseLog* where : {&b.ever, &b.running}) {
    Arrivals& arrivals = entry(where->arrivals, at.warp, at.inst.source);
    arrivals.count += count;
    arrivals.lanes |= 1u << at.lane;
    arrivals.later = at.inst.action == Action::arrive_later;
  }
  if (b.seen != bar.seen_phases) {
    b.seen = bar.seen_phases;
    b.arrivals_since = 0;
  }
  b.arrivals_since += count;
}

void BarrierHistory::tied(const Mbarrier& bar) {
  log(bar).tells_of_copies = true;
}

void BarrierHistory::copied(const Warp& w, const Operation& op, const Mbarrier& bar) {
  BarrierLog& b = log(bar);
  const LatestWait* latest = latest_wait(w);
  b.tells_of_copies = true;
  for (PhaseLog* where : {&b.ever, &b.running}) {
    NamingCopies& copies = entry(where->copies, w, op.source);
    ++copies.count;
    copies.bytes += op.bytes;
    copies.waited_for = latest ? latest->bar : nullptr;
  }
}

void BarrierHistory::passed(const Warp& w, const Inst& in, uint32_t mask, const Mbarrier& bar,
                            uint64_t complete) {
  PassedWaits& waits = entry(log(bar).waits, w, in.source);
  if (waits.count++ == 0 || waits.complete != complete) waits.lanes = 0;
  waits.again = (waits.lanes & mask) != 0;
  waits.lanes |= mask;
  waits.complete = complete;
  latest_[&w] = {&bar, in.source, complete};
  refused_.erase(&w);
}

void BarrierHistory::refused(const Warp& w, const Inst& in, const Mbarrier& bar) {
  refused_[&w] = {&bar, in.source, bar.phase};
}

void BarrierHistory::completed(const Mbarrier& bar) {
  BarrierLog& b = log(bar);
  b.before = std::move(b.running);
  b.running = PhaseLog();
  const uint64_t unseen = bar.phase - bar.seen_phases;
  if (unseen < b.unseen_phases || unseen < 2) return;
  b.unseen_phases = unseen;
  b.unseen_arrivals = b.arrivals_since;
}

}  // namespace emu::check
