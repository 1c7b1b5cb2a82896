#include "emulator/checker/cluster_memory.hpp"

#include <algorithm>

namespace emu::check {

void ClusterRule::used(const At& at, const Cta& owner) {
  if (!order_.cta(owner).running) return;  // it is too late for cta_ends()
  const WarpOrder& order = order_.warp(at.warp);
  remote_[&owner][order.thread(at.lane)] = {order.epoch[static_cast<size_t>(at.lane)], at.inst.source};
}

// Whoever has heard of any step of a thread of the owner, in whatever way, knows that it has begun.
void ClusterRule::entered(const Accessor& who, const Cta& owner) {
  const Warp& w = who.warp();
  if (met_.count(&w.cta) || !begun_.insert({&w, &owner}).second) return;
  const uint32_t threads = who.cluster().threads_per_cta,
                 first = who.cluster().thread(owner.cluster_rank, 0, 0);
  bool known = false;
  who.self->each_clock(who.lanes, [&](const Clock& clock) {
    for (uint32_t t = 0; t < threads && !known; ++t) known = clock.get(Clock::order, first + t) > 0;
  });
  if (known) return;
  Finding f(Id::cluster_entry);
  f.title = text(who.op ? who.op->words() : "a thread", " uses the shared memory of ", owner.text(),
                 ", which may not have begun");
  f.why =
      "The CTAs of a cluster run at the same time, and do not begin at the same time: until a CTA has begun, its shared memory may "
      "still belong to another.";
  f.hint =
      "a cluster barrier (barrier.cluster.arrive, barrier.cluster.wait; .relaxed will do) in front of the first access";
  tell_.tell(std::move(f), who);
}

ClusterRule::Relay* ClusterRule::relay_of(const WarpOrder& w) {
  const auto found = relays_.find(w.cluster->index);
  return found == relays_.end() ? nullptr : &found->second;
}

void ClusterRule::hand_to(Relay& relay, const Cta& owner, const WarpOrder& from, uint32_t mask) {
  Clock& known = relay.known[&owner];
  for (const Knowledge& k : from.knowledge)
    if (k.mask & mask) known.join(k.clock);
  for_lanes(mask, [&](int l) {
    const LaneOrder& lane = from.lanes[static_cast<size_t>(l)];
    known.raise(Clock::order, from.thread(l), from.handed_over[static_cast<size_t>(l)]);
    if (lane.cp_component) known.raise(Clock::order, lane.cp_component, lane.cp_done);
  });
}

void ClusterRule::told(const Warp& w, uint32_t mask) {
  const WarpOrder& order = order_.warp(w);
  if (Relay* relay = relay_of(order)) hand_to(*relay, w.cta, order, mask);
}

void ClusterRule::arrived(const At& at, uint32_t before, const Cta& owner) {
  WarpOrder& order = order_.warp(at.warp);
  uint32_t& handed_over = order.handed_over[static_cast<size_t>(at.lane)];
  if (handed_over == before) return;  // relaxed: nothing was published
  Relay* relay = relay_of(order);
  if (order.lanes[static_cast<size_t>(at.lane)].memory_fence || at.inst.cluster_scope) {
    if (relay) hand_to(*relay, owner, order, 1u << at.lane);
    return;
  }
  if (!relay) {  // the first of them: all that is known so far came another way
    relay = &relays_[order.cluster->index];
    for (const CtaOrder& cta : order.cluster->ctas)
      for (const WarpOrder& other : cta.warps) hand_to(*relay, *cta.cta, other, 0xFFFFFFFFu);
  }
  const int32_t source = at.inst.source;
  relay->weak[&owner] = {&at.warp, source};
  auto& weak = weak_[order.cluster->index][order.thread(at.lane)];
  if (weak.empty() || weak.back().released != before) weak.push_back({handed_over, 0, before, source});
  weak.back().last = handed_over;
  handed_over = before;
}

// The release that handed it over must have had the scope of the cluster.
void ClusterRule::check_read(const Accessor& who, Tag writer, uint64_t address) {
  const Record& r = past_.records.of(writer);
  if (r.cluster != who.cluster().index || r.rank == who.cta().cluster_rank) return;
  const int lane = Records::lane_of(writer);
  const Component thread = who.cluster().thread(r.rank, r.warp, lane);
  const auto arrivals = weak_.find(r.cluster);
  if (arrivals == weak_.end()) return;
  const auto found = arrivals->second.find(thread);
  if (found == arrivals->second.end()) return;
  for (const Knowledge& k : who.self->knowledge) {
    const uint32_t known = k.clock.get(Clock::order, thread);
    for (const WeakArrivals& weak : found->second)
      if ((k.mask & who.lanes) && known >= weak.first && known <= weak.last &&
          past_.records.epoch(r, lane) > weak.released)
        return tell_scope(who, writer, weak.source, *who.cluster().ctas[r.rank].warps[r.warp].warp, address);
  }
}

// The thread that arrived knew of the write, and no order that is wide enough leads from the write to the reader's CTA.
void ClusterRule::check_relayed(const Accessor& who, Tag writer, uint64_t address) {
  const Relay* relay = relay_of(*who.self);
  if (!relay) return;
  const auto weak = relay->weak.find(&who.cta());
  const auto known = relay->known.find(&who.cta());
  if (weak == relay->weak.end() || known == relay->known.end()) return;
  past_.records.each(writer, [&](Tag single) {
    const Record& r = past_.records.of(single);
    if (r.cluster != who.cluster().index || r.rank == who.cta().cluster_rank) return;
    if (!past_.known(known->second, r.cluster, who.cluster().threads_per_cta, single, Clock::order))
      tell_scope(who, single, weak->second.second, *weak->second.first, address);
  });
}

void ClusterRule::tell_scope(const Accessor& who, Tag writer, int32_t arrival, const Warp& arriving,
                             uint64_t address) {
  const Record& r = past_.records.of(writer);
  const bool own = r.warp == arriving.index && r.rank == arriving.cta.cluster_rank;
  Finding f(Id::arrive_scope);
  f.title = text("an arrive in another CTA hands over what ", own ? "its thread" : "others of its CTA",
                 " wrote, with a release for its own CTA only");
  f.other_line = tell_.line(*who.inst);
  f.state = text("shared memory at ", tell_.program().shared_name(static_cast<uint32_t>(address)),
                 ": written at ", tell_.line(r.source).text(), ", read at ", f.other_line.text());
  f.why =
      "Without qualifiers mbarrier.arrive is .release.cta: writes before it are visible to the CTA of the "
      "thread, not to the CTA that the mbarrier lies in.";
  f.hint = "mbarrier.arrive.release.cluster.shared::cluster, and a wait with .acquire.cluster";
  tell_.tell_at(std::move(f), arrival, arriving.cta, arriving.index,
                text(arriving.cta.text(), " warp ", arriving.index));
}

// A CTA must not end while others of its cluster may still use its memory: some thread of it must know that they are
// through.
void ClusterRule::cta_ends(const Cta& cta) {
  met_.erase(&cta);
  for (auto it = begun_.begin(); it != begun_.end();)
    it = &it->first->cta == &cta || it->second == &cta ? begun_.erase(it) : std::next(it);
  const auto uses = remote_.find(&cta);
  if (uses == remote_.end()) return;
  const std::map<Component, Use> mine = std::move(uses->second);
  remote_.erase(uses);
  for (auto& [thread, use] : mine) {
    bool known_here = false;
    for (const WarpOrder& w : order_.cta(cta).warps)
      for (const Knowledge& k : w.knowledge)
        known_here = known_here || k.clock.get(Clock::order, thread) >= use.epoch;
    if (known_here) continue;
    Finding f(Id::cluster_exit);
    f.title = "a thread uses the shared memory of another CTA of its cluster, which may have ended by then";
    f.why =
        "The shared memory of a CTA is gone when its threads have exited; nothing makes this one wait for the "
        "access or arrival.";
    f.hint =
        "end with a cluster barrier (barrier.cluster.arrive, barrier.cluster.wait), or wait for the last "
        "arrivals before the CTA ends";
    tell_.tell_at(std::move(f), use.source, cta, -1, "into " + cta.text());
    return;
  }
}

void ClusterRule::drop_arrivals() {
  for (auto cluster = weak_.begin(); cluster != weak_.end();) {
    const ClusterOrder* running = order_.find(cluster->first);
    if (!running) {
      relays_.erase(cluster->first);
      cluster = weak_.erase(cluster);
      continue;
    }
    std::map<Component, std::set<uint32_t>> epochs;  // of the accesses that are remembered, by thread
    past_.records.each_marked([&](const Record& r) {
      if (r.kind != Record::Kind::threads || r.cluster != cluster->first) return;
      for (uint32_t l = 0; l < 32; ++l)
        epochs[running->thread(r.rank, r.warp, static_cast<int>(l))].insert(
            past_.records.epoch(r, static_cast<int>(l)));
    });
    for (auto& [thread, arrivals] : cluster->second) {
      const auto& mine = epochs[thread];
      const uint32_t now = arrivals.empty() ? 0 : arrivals.back().released;
      arrivals.erase(std::remove_if(arrivals.begin(), arrivals.end(),
                                    [&](const WeakArrivals& weak) {
                                      const auto next = mine.upper_bound(weak.released);
                                      return weak.released != now &&
                                             (next == mine.end() || *next > weak.last);
                                    }),
                     arrivals.end());
    }
    ++cluster;
  }
}

}  // namespace emu::check
