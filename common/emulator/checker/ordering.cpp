// Threads, barriers and fences.
#include "emulator/checker/ordering.hpp"

#include <algorithm>

namespace emu::check {

void Ordering::begin(const Program& program) {
  end();
  next_cluster_ = 1;
  snapshot_bytes = 0;
  longest_wait_ = 0;
  for (const Inst& in : program.code)
    if (in.action == Action::wait_group) longest_wait_ = std::max(longest_wait_, static_cast<size_t>(in.imm));
}

void Ordering::end() {
  clusters_.clear();
  last_cta_ = nullptr;
  global_words_.clear();
}

void Ordering::cta_started(Cta& cta) {
  ClusterOrder& c = clusters_[cta.cluster];
  if (!c.cluster) {
    c.cluster = cta.cluster;
    c.index = next_cluster_++;
    c.threads_per_cta = static_cast<uint32_t>(cta.warps.size() * 32);
    c.components = static_cast<Component>(c.threads_per_cta * cta.cluster->ctas.size());
    c.ctas.resize(cta.cluster->ctas.size());
    c.grid_wait = c.components++;
  }
  CtaOrder& s = c.ctas[cta.cluster_rank];
  s.cta = &cta;
  s.running = true;
  s.warps.resize(cta.warps.size());
  for (size_t i = 0; i < s.warps.size(); ++i) {
    WarpOrder& w = s.warps[i];
    w.warp = cta.warps[i].get();
    w.cluster = &c;
    w.knowledge.push_back({0xFFFFFFFFu, Clock()});
    w.epoch.fill(1);
  }
}

void Ordering::cta_ended(Cta& cta) {
  ClusterOrder& c = cluster(cta);
  c.ctas[cta.cluster_rank].running = false;
  for (const CtaOrder& other : c.ctas)
    if (other.running) return;
  clusters_.erase(cta.cluster);
  last_cta_ = nullptr;
}

ClusterOrder& Ordering::cluster(const Cta& cta) {
  if (&cta != last_cta_) {
    last_cta_ = &cta;
    last_cluster_ = &clusters_.at(cta.cluster);
  }
  return *last_cluster_;
}

ClusterOrder* Ordering::find(const Cluster* cluster) {
  const auto it = clusters_.find(cluster);
  return it == clusters_.end() ? nullptr : &it->second;
}

const ClusterOrder* Ordering::find(uint32_t cluster) const {
  for (auto& [key, c] : clusters_)
    if (c.index == cluster) return &c;
  return nullptr;
}

// What the lanes did themselves, up to now. step: what they do from now on is not covered.
void Ordering::add_own(WarpOrder& w, uint32_t mask, Clock& to, bool step) {
  uint32_t fences = 0;
  for (uint32_t epoch : w.fence_epoch) fences |= epoch;
  if (mask == ~0u) {
    to.raise_all(Clock::order, w.thread(0), w.epoch);
    if (fences) to.raise_all(Clock::fenced, w.thread(0), w.fence_epoch);
    if (step) w.handed_over = w.epoch;
    for (uint32_t l = 0; step && l < 32; ++l) ++w.epoch[l];
  } else {
    std::array<uint32_t, 32> order = w.epoch, fenced = w.fence_epoch;
    for (uint32_t l = 0; l < 32; ++l) {
      const bool inside = mask >> l & 1;
      order[l] = inside ? order[l] : 0;
      fenced[l] = inside ? fenced[l] : 0;
      if (!step) continue;
      w.handed_over[l] = inside ? w.epoch[l] : w.handed_over[l];
      w.epoch[l] += inside;
    }
    to.raise_all(Clock::order, w.thread(0), order);
    if (fences) to.raise_all(Clock::fenced, w.thread(0), fenced);
  }
  if (w.copies)
    for_lanes(mask, [&](int l) {
      const LaneOrder& lane = w.lanes[static_cast<size_t>(l)];
      if (lane.cp_component) {
        to.raise(Clock::order, lane.cp_component, lane.cp_done);
        to.raise(Clock::fenced, lane.cp_component, lane.cp_fenced);
      }
      if (lane.read_component) {
        to.raise(Clock::order, lane.read_component, lane.bulk_read);
        to.raise(Clock::order, lane.done_component, lane.bulk_done);
      }
    });
  if (step) ++w.steps;
}

void Ordering::publish(WarpOrder& w, uint32_t mask, Clock& to) {
  for (Knowledge& k : w.knowledge)
    if (k.mask & mask) to.join(k.clock);
  add_own(w, mask, to, true);
}

// ---- barriers

MeetingPoint& Ordering::meeting_point(const Warp& w, uint32_t barrier) {
  return barrier == 16 ? cluster(w.cta).meeting : cta(w.cta).bars[barrier];
}

// What relaxed reads have seen is not ordered yet; but threads that the reader meets may have the fence behind it in its place.
void Ordering::tell_seen(const WarpOrder& w, uint32_t mask, std::shared_ptr<Clock>* to) {
  if (!w.has_seen) return;
  for_lanes(mask, [&](int l) {
    const std::shared_ptr<Clock>& seen = w.lanes[static_cast<size_t>(l)].seen;
    if (!seen || seen == *to) return;
    if (!*to) {
      *to = seen;
      return;
    }
    if (to->use_count() > 1) *to = std::make_shared<Clock>(**to);
    (*to)->join(*seen);
  });
}

void Ordering::hear_seen(WarpOrder& w, uint32_t mask, const std::shared_ptr<Clock>& from) {
  if (!from) return;
  w.has_seen = true;
  std::shared_ptr<Clock> before, both;  // of the lane before
  for_lanes(mask, [&](int l) {
    std::shared_ptr<Clock>& seen = w.lanes[static_cast<size_t>(l)].seen;
    if (seen == from) return;
    if (seen && seen != before) {
      before = seen;
      both = std::make_shared<Clock>(*seen);
      both->join(*from);
    }
    seen = seen ? both : from;
  });
}

void Ordering::bar_arrive(Warp& w, uint32_t mask, uint32_t barrier, uint64_t generation, bool release) {
  MeetingPoint& bar = meeting_point(w, barrier);
  if (bar.generation != generation) {
    bar.complete = std::move(bar.gathering);
    bar.gathering = Clock();
    bar.seen_complete = std::move(bar.seen_gathering);
    bar.seen_gathering = nullptr;
    bar.generation = generation;
  }
  WarpOrder& order = warp(w);
  tell_seen(order, mask, &bar.seen_gathering);
  if (release) {
    publish(order, mask, bar.gathering);
    return;
  }
  for_lanes(mask, [&](int l) {
    const LaneOrder& lane = order.lanes[static_cast<size_t>(l)];
    if (lane.memory_fence)
      publish(order, 1u << l, bar.gathering);
    else
      bar.gathering.raise(Clock::order, order.thread(l), lane.init_fence_epoch);
  });
}

void Ordering::bar_leave(Warp& w, uint32_t mask, uint32_t barrier, uint64_t generation) {
  MeetingPoint& bar = meeting_point(w, barrier);
  const bool latest = bar.generation == generation;
  acquire(warp(w), mask, latest ? bar.gathering : bar.complete);
  hear_seen(warp(w), mask, latest ? bar.seen_gathering : bar.seen_complete);
}

void Ordering::warp_sync(Warp& w, uint32_t mask) {
  WarpOrder& order = warp(w);
  if (order.has_seen) {
    std::shared_ptr<Clock> seen;
    tell_seen(order, mask, &seen);
    hear_seen(order, mask, seen);
  }
  size_t clocks = 0;
  for (const Knowledge& k : order.knowledge) clocks += (k.mask & mask) != 0;
  if (clocks == 1) {  // they know the same already, but for what each did itself
    update(order, mask, [&](Clock& c) { add_own(order, mask, c, true); });
    return;
  }
  Clock all;
  publish(order, mask, all);
  acquire(order, mask, all);
}

void Ordering::grid_wait(Warp& w, uint32_t mask) {
  Clock waited;
  waited.raise(Clock::order, cluster(w.cta).grid_wait, 1);
  acquire(warp(w), mask, waited);
}

// ---- fences

void Ordering::acquire_seen(WarpOrder& w, uint32_t mask) {
  while (mask) {
    const std::shared_ptr<Clock> seen = w.lanes[static_cast<size_t>(__builtin_ctz(mask))].seen;
    uint32_t same = 0;
    for_lanes(mask, [&](int l) {
      std::shared_ptr<Clock>& mine = w.lanes[static_cast<size_t>(l)].seen;
      if (mine != seen) return;
      same |= 1u << l;
      mine = nullptr;
    });
    if (seen) acquire(w, same, *seen);
    mask &= ~same;
  }
}

void Ordering::fence(Warp& w, uint32_t mask, FenceKind kind, int32_t source) {
  WarpOrder& order = warp(w);
  if (kind == FenceKind::memory) {
    for_lanes(mask, [&](int l) { order.lanes[static_cast<size_t>(l)].memory_fence = true; });
    if (order.has_seen) acquire_seen(order, mask);
  }
  if (kind == FenceKind::mbarrier_init) {
    for_lanes(mask, [&](int l) {
      order.lanes[static_cast<size_t>(l)].init_fence_epoch = order.epoch[static_cast<size_t>(l)]++;
    });
    ++order.steps;
  }
  const bool proxy = kind == FenceKind::proxy_async || kind == FenceKind::proxy_async_shared ||
                     kind == FenceKind::proxy_async_global;
  if (!proxy) return;
  order.proxy_fence_source = source;
  for_lanes(mask, [&](int l) {
    LaneOrder& lane = order.lanes[static_cast<size_t>(l)];
    order.fence_epoch[static_cast<size_t>(l)] = order.epoch[static_cast<size_t>(l)]++;
    lane.cp_fenced = lane.cp_done;
  });
  ++order.steps;
  update(order, mask, [](Clock& c) { c.relay_all(); });
}

// ---- async-groups

void Ordering::commit(Warp& w, uint32_t mask, GroupKind kind) {
  WarpOrder& order = warp(w);
  if (kind == GroupKind::wgmma) return order.wgmma_groups.commit(order.wgmma_issued, longest_wait_);
  for_lanes(mask, [&](int l) {
    LaneOrder& lane = order.lanes[static_cast<size_t>(l)];
    if (kind == GroupKind::cp_async)
      lane.cp_groups.commit(lane.cp_issued, longest_wait_);
    else
      lane.bulk_groups.commit(lane.bulk_issued, longest_wait_);
  });
}

void Ordering::group_wait(Warp& w, uint32_t mask, GroupKind kind, uint32_t n, bool read, int32_t source) {
  WarpOrder& order = warp(w);
  // What was issued before the newest n commits: 0 when there are no more.
  const auto covered = [&](GroupLog& log) {
    log.wait(n, source);
    return log.commits.size() > n ? log.commits[log.commits.size() - n - 1] : 0;
  };
  if (kind == GroupKind::wgmma) {
    const uint32_t done = covered(order.wgmma_groups);
    if (!done) return;
    const Component c = warpgroup(w);
    order.wgmma_done = std::max(order.wgmma_done, done);
    update(order, mask, [&](Clock& clock) { clock.raise(Clock::order, c, done); });
    return;
  }
  for_lanes(mask, [&](int l) {
    LaneOrder& lane = order.lanes[static_cast<size_t>(l)];
    if (kind == GroupKind::cp_async) {
      lane.cp_done = std::max(lane.cp_done, covered(lane.cp_groups));
      return;
    }
    covered(lane.bulk_groups);
    if (lane.bulk_groups.committed <= n) return;
    const uint32_t done = lane.bulk_groups.committed - n;
    lane.bulk_read = std::max(lane.bulk_read, done);
    if (!read) lane.bulk_done = std::max(lane.bulk_done, done);
  });
}

Component Ordering::warpgroup(const Warp& w) {
  ClusterOrder& c = cluster(w.cta);
  const uint64_t key = (static_cast<uint64_t>(w.cta.cluster_rank) << 16) | static_cast<uint64_t>(w.index / 4);
  auto it = c.warpgroup_component.find(key);
  if (it == c.warpgroup_component.end()) it = c.warpgroup_component.insert({key, c.components++}).first;
  return it->second;
}

// ---- strong accesses order their threads through the word they touch

void Ordering::strong_access(Warp& w, const AccessEvent& e) {
  WarpOrder& order = warp(w);
  const uint32_t mine = order.cluster->index;
  const bool reads = e.kind != AccessKind::write, may_write = e.kind != AccessKind::read;
  for_lanes(e.mask, [&](int l) {
    const uint32_t one = 1u << l;
    LaneOrder& lane = order.lanes[static_cast<size_t>(l)];
    // A relaxed write orders only what a fence before it covers, a relaxed read only with a fence after it (PTX ISA 8.9.4).
    const bool writes = may_write && (e.release || lane.memory_fence);
    const auto read = [&](const auto& join) {
      if (e.acquire) {
        update(order, one, join);
      } else {
        order.has_seen = true;
        join(lane.own_seen());
      }
    };
    if (e.space == Space::shared) {
      auto& words = cluster(*e.owner[l]).sync_words;
      const uint64_t key = (static_cast<uint64_t>(e.owner[l]->cluster_rank) << 32) | e.addr[l];
      auto word = words.find(key);
      if (reads && word != words.end()) read([&](Clock& c) { c.join(word->second); });
      if (writes) publish(order, one, words[key]);
      return;
    }
    // Global: other clusters see a snapshot of this cluster's knowledge.
    auto found = global_words_.find(e.addr[l]);
    if (reads && found != global_words_.end()) {
      const auto seen = found->second;
      read([&](Clock& c) {
        if (const Clock* ours = seen->foreign(mine)) c.join(*ours);
        c.join_foreigners(*seen, mine);
      });
    }
    if (!writes) return;
    auto& word = global_words_[e.addr[l]];
    auto snapshot = std::make_shared<Clock>();
    publish(order, one, *snapshot);
    snapshot_bytes += snapshot->bytes();
    auto merged = std::make_shared<Clock>();
    if (word) merged->join_foreigners(*word);
    merged->join_foreigners(*snapshot);
    snapshot->forget_foreigners();
    merged->join_foreigner(mine, snapshot);
    word = merged;
  });
}

// Those that know of no other cluster any more.
void Ordering::drop_global_words() {
  for (auto word = global_words_.begin(); word != global_words_.end();)
    word = word->second->foreigners() ? std::next(word) : global_words_.erase(word);
}

}  // namespace emu::check
