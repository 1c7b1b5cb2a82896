// Who is ordered after whom: what each thread knows (clocks), and how barriers, groups, fences and flags hand it on.
// What mbarriers hand on is in mbarriers.hpp.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/checker/clock.hpp"
#include "emulator/checker/groups.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/machine/observer.hpp"
#include "emulator/machine/warp.hpp"

namespace emu::check {

// What one thread has done and waited for by itself; what it knows of others is shared by lanes (WarpOrder::knowledge).
struct LaneOrder {
  uint32_t cp_issued = 0, cp_done = 0, cp_fenced = 0;  // cp.async instructions
  uint32_t cp_handed_over = 0;  // those for which the hardware arrives on an mbarrier when they have landed
  GroupLog cp_groups, bulk_groups;
  uint32_t bulk_issued = 0;
  uint32_t bulk_read = 0, bulk_done = 0;  // bulk groups: sources read, complete
  uint32_t init_fence_epoch = 0;  // its mbarrier.inits up to this epoch are behind fence.mbarrier_init
  bool memory_fence = false;      // has executed fence.acq_rel/sc: its relaxed atomics may carry order
  // What its relaxed reads have seen since then, or those of threads that it has met, which the next such fence acquires; null:
  // nothing. Lanes may share it.
  std::shared_ptr<Clock> seen;
  Clock& own_seen() {
    if (!seen)
      seen = std::make_shared<Clock>();
    else if (seen.use_count() > 1)
      seen = std::make_shared<Clock>(*seen);
    return *seen;
  }
  Component cp_component = 0, read_component = 0, done_component = 0;  // 0: not yet needed
};

struct Knowledge {
  uint32_t mask = 0;
  Clock clock;
};

struct ClusterOrder;

struct WarpOrder {
  Warp* warp = nullptr;
  ClusterOrder* cluster = nullptr;
  std::vector<Knowledge> knowledge;  // disjoint masks
  uint64_t changes = 0;              // of `knowledge`
  // By lane: its steps, from 1; the step up to which its accesses are behind a proxy fence of its own; and the step up to
  // which they were released, but for arrivals that reach its own CTA only (cluster_memory.hpp).
  std::array<uint32_t, 32> epoch, fence_epoch{}, handed_over{};
  uint64_t steps = 1;  // grows with every change of `epoch`
  std::array<LaneOrder, 32> lanes;
  bool has_seen = false;            // LaneOrder::seen is in use
  bool copies = false;              // has issued cp.async or bulk operations: their components are in use
  int32_t proxy_fence_source = -1;  // of its latest proxy fence
  uint32_t wgmma_issued = 0, wgmma_done = 0;
  GroupLog wgmma_groups;

  Cta& cta() const { return warp->cta; }
  Component thread(int lane) const;
  // Calls f(clock) for what the lanes know.
  template <class F>
  void each_clock(uint32_t mask, F f) const {
    for (const Knowledge& k : knowledge)
      if (k.mask & mask) f(k.clock);
  }
  // All these lanes are ordered after that step of a component of their cluster.
  bool know(uint32_t mask, Component c, uint32_t value) const {
    bool all = true;
    each_clock(mask, [&](const Clock& clock) { all = all && clock.get(Clock::order, c) >= value; });
    return all;
  }
};

// A barrier of all threads of a CTA or cluster: what its arrivals hand over.
struct MeetingPoint {
  uint64_t generation = 0;
  Clock gathering, complete;
  std::shared_ptr<Clock> seen_gathering, seen_complete;  // of LaneOrder::seen; null: nothing
};

struct CtaOrder {
  Cta* cta = nullptr;
  bool running = false;
  std::vector<WarpOrder> warps;
  std::array<MeetingPoint, 16> bars;
};

struct ClusterOrder {
  uint32_t index = 0;
  Cluster* cluster = nullptr;
  uint32_t threads_per_cta = 0;
  Component components = 0;  // used so far; threads come first
  Component grid_wait = 0;   // whoever holds 1 of it is ordered after a griddepcontrol.wait
  std::vector<CtaOrder> ctas;
  MeetingPoint meeting;                  // barrier.cluster
  std::map<uint64_t, Clock> sync_words;  // strong accesses to shared words, by rank << 32 | address
  std::map<uint64_t, Component> warpgroup_component;  // by rank << 16 | warpgroup

  Component thread(uint32_t rank, int warp, int lane) const {
    return rank * threads_per_cta + static_cast<Component>(warp) * 32u + static_cast<Component>(lane);
  }
};

inline Component WarpOrder::thread(int lane) const {
  return cluster->thread(warp->cta.cluster_rank, warp->index, lane);
}

class Ordering {
 public:
  void begin(const Program& program);
  void end();
  void cta_started(Cta& cta);
  void cta_ended(Cta& cta);  // the cluster is forgotten with its last CTA

  ClusterOrder& cluster(const Cta& cta);
  ClusterOrder* find(const Cluster* cluster);  // null: it has ended
  CtaOrder& cta(const Cta& c) { return cluster(c).ctas[c.cluster_rank]; }
  WarpOrder& warp(const Warp& w) { return cta(w.cta).warps[static_cast<size_t>(w.index)]; }
  const ClusterOrder* find(uint32_t cluster) const;
  bool running(uint32_t cluster) const { return find(cluster) != nullptr; }
  template <class F>
  void each_cluster(F f) {  // f(ClusterOrder&)
    for (auto& [key, cluster] : clusters_) f(cluster);
  }

  // ---- moving knowledge
  template <class F>
  void update(WarpOrder& w, uint32_t mask, F f);  // f(Clock&) on the knowledge of exactly these lanes
  void publish(WarpOrder& w, uint32_t mask, Clock& to);
  void acquire(WarpOrder& w, uint32_t mask, const Clock& from) {
    update(w, mask, [&](Clock& c) { c.join(from); });
  }

  // ---- events
  void bar_arrive(Warp& w, uint32_t mask, uint32_t barrier, uint64_t generation, bool release);
  void bar_leave(Warp& w, uint32_t mask, uint32_t barrier, uint64_t generation);
  void warp_sync(Warp& w, uint32_t mask);
  void fence(Warp& w, uint32_t mask, FenceKind kind, int32_t source);
  void commit(Warp& w, uint32_t mask, GroupKind kind);
  void group_wait(Warp& w, uint32_t mask, GroupKind kind, uint32_t n, bool read, int32_t source);
  void strong_access(Warp& w, const AccessEvent& e);  // atomics, volatile, relaxed, acquire, release
  void grid_wait(Warp& w, uint32_t mask);

  Component warpgroup(const Warp& w);

  // ---- what nobody can ask about any more (collect.cpp)
  template <class F>
  void each_clock(F f);
  void drop_global_words();
  size_t snapshot_bytes = 0;  // of the clocks kept for other clusters since the last time, about

 private:
  std::map<const Cluster*, ClusterOrder> clusters_;
  const Cta* last_cta_ = nullptr;
  ClusterOrder* last_cluster_ = nullptr;
  uint32_t next_cluster_ = 1;
  std::unordered_map<uint64_t, std::shared_ptr<Clock>> global_words_;  // strong accesses, by address
  size_t longest_wait_ = 0;  // the largest N of the program's wait_group N: older commits are settled

  MeetingPoint& meeting_point(const Warp& w, uint32_t barrier);
  void acquire_seen(WarpOrder& w, uint32_t mask);
  static void tell_seen(const WarpOrder& w, uint32_t mask, std::shared_ptr<Clock>* to);
  static void hear_seen(WarpOrder& w, uint32_t mask, const std::shared_ptr<Clock>& from);
  void add_own(WarpOrder& w, uint32_t mask, Clock& to, bool step);
};

// Applies f to the clock of exactly these lanes; lanes that know the same share a clock.
template <class F>
void Ordering::update(WarpOrder& w, uint32_t mask, F f) {
  const size_t count = w.knowledge.size();
  for (size_t i = 0; i < count; ++i) {
    const uint32_t inside = w.knowledge[i].mask & mask;
    if (!inside || inside == w.knowledge[i].mask) continue;
    Knowledge rest{w.knowledge[i].mask & ~mask, w.knowledge[i].clock};
    w.knowledge[i].mask = inside;
    w.knowledge.push_back(std::move(rest));
  }
  for (Knowledge& k : w.knowledge)
    if (k.mask & mask) f(k.clock);
  ++w.changes;
  for (size_t i = 0; i < w.knowledge.size(); ++i)
    for (size_t k = w.knowledge.size() - 1; k > i; --k)
      if (w.knowledge[i].clock.same_as(w.knowledge[k].clock)) {
        w.knowledge[i].mask |= w.knowledge[k].mask;
        w.knowledge.erase(w.knowledge.begin() + static_cast<std::ptrdiff_t>(k));
      }
}

template <class F>
void Ordering::each_clock(F f) {
  const auto meeting = [&](MeetingPoint& m) {
    f(m.gathering);
    f(m.complete);
    if (m.seen_gathering) f(*m.seen_gathering);
    if (m.seen_complete) f(*m.seen_complete);
  };
  for (auto& [key, cluster] : clusters_) {
    for (CtaOrder& cta : cluster.ctas) {
      for (WarpOrder& w : cta.warps) {
        for (Knowledge& k : w.knowledge) f(k.clock);
        for (LaneOrder& lane : w.lanes)
          if (lane.seen) f(*lane.seen);
      }
      for (MeetingPoint& bar : cta.bars) meeting(bar);
    }
    meeting(cluster.meeting);
    for (auto& [address, clock] : cluster.sync_words) f(clock);
  }
  for (auto& [address, clock] : global_words_) f(*clock);
}

}  // namespace emu::check
