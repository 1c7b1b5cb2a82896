// Who is ordered after whom: barriers, mbarriers, groups, fences and warp-level instructions move knowledge.
#include "emulator/checker/checker.hpp"

#include <algorithm>

#include "emulator/isa/access.hpp"

namespace emu::check {

void Checker::on_launch(Machine& machine, const Program& program, const LaunchConfig& config) {
  machine_ = &machine;
  program_ = &program;
  records_.clear();
  global_.clear();
  ops_.assign(1, OpState());
  copy_arrives_.clear();
  collect_at_ = least_growth;
  snapshot_bytes_ = 0;
  longest_wait_ = 0;
  for (const Instruction* text : program.sources)
    if (std::count(text->modifiers.begin(), text->modifiers.end(), "wait_group") &&
        text->operands[0].kind == Operand::Kind::constant)
      longest_wait_ = std::max<size_t>(longest_wait_, text->operands[0].constant.bits);
  clusters_.clear();
  last_cta_ = nullptr;
  global_words_.clear();
  unwritten_.clear();
  if (!config.early) in_front_.clear();
  dependents_launched_ = false;
  maps_.clear();
  map_releases_.clear();
  map_used_by_ = nullptr;
  roles_.assign(program.sources.size(), Role::unknown);
  next_cluster_ = 1;
}

void Checker::on_launch_end(Machine&) {
  keep_for_dependents();
  records_.clear();
  global_.clear();
  clusters_.clear();
  last_cta_ = nullptr;
  global_words_.clear();
}

void Checker::on_cta_start(Cta& cta) {
  ClusterState& c = clusters_[cta.cluster];
  if (!c.cluster) {
    c.cluster = cta.cluster;
    c.index = next_cluster_++;
    c.threads_per_cta = static_cast<uint32_t>(cta.warps.size() * 32);
    c.components = static_cast<Component>(c.threads_per_cta * cta.cluster->ctas.size());
    c.ctas.resize(cta.cluster->ctas.size());
    c.grid_wait = c.components++;
  }
  CtaState& s = c.ctas[cta.cluster_rank];
  s.cta = &cta;
  s.shadow = std::make_unique<Shadow>(cta.shared.size());
  s.warps.resize(cta.warps.size());
  for (WarpState& w : s.warps) {
    w.knowledge.push_back({0xFFFFFFFFu, Clock()});
    w.epoch.fill(1);
  }
}

ClusterState& Checker::cluster_of(const Cta& cta) {
  if (&cta != last_cta_) {
    last_cta_ = &cta;
    last_cluster_ = &clusters_.at(cta.cluster);
  }
  return *last_cluster_;
}

Component Checker::thread_component(const Cta& cta, int warp, int lane) const {
  return static_cast<Component>(cta.cluster_rank * cta.warps.size() * 32 +
                                static_cast<size_t>(warp * 32 + lane));
}

// Applies f to the clock of exactly these lanes; lanes that know the same share a clock.
template <class F>
void Checker::update(WarpState& w, uint32_t mask, F f) {
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

// What the lanes did themselves, up to now. step: what they do from now on is not covered.
void Checker::add_own(const Cta& cta, int warp, uint32_t mask, Clock& to, bool step) {
  WarpState& w = cta_of(cta).warps[static_cast<size_t>(warp)];
  std::array<uint32_t, 32> order = w.epoch, fenced = w.fence_epoch;
  for (uint32_t l = 0; l < 32; ++l) {
    const bool inside = mask >> l & 1;
    order[l] = inside ? order[l] : 0;
    fenced[l] = inside ? fenced[l] : 0;
    if (!step) continue;
    w.handed_over[l] = inside ? w.epoch[l] : w.handed_over[l];
    w.epoch[l] += inside;
  }
  const Component first = thread_component(cta, warp, 0);
  to.raise_all(Clock::order, first, order);
  to.raise_all(Clock::fenced, first, fenced);
  if (w.copies)
    for_lanes(mask, [&](int l) {
      const LaneState& lane = w.lanes[static_cast<size_t>(l)];
      if (lane.cp_component) {
        to.raise(Clock::order, lane.cp_component, lane.cp_done);
        to.raise(Clock::fenced, lane.cp_component, lane.cp_fenced);
      }
      if (lane.read_component) {
        to.raise(Clock::order, lane.read_component, lane.bulk_read);
        to.raise(Clock::order, lane.done_component, lane.bulk_done);
      }
    });
  if (step) w.epoch_block_stale = true;
}

void Checker::publish(const Cta& cta, int warp, uint32_t mask, Clock& to) {
  WarpState& w = cta_of(cta).warps[static_cast<size_t>(warp)];
  for (Knowledge& k : w.knowledge)
    if (k.mask & mask) to.join(k.clock);
  add_own(cta, warp, mask, to, true);
}

void Checker::acquire(WarpState& w, uint32_t mask, const Clock& from) {
  update(w, mask, [&](Clock& c) { c.join(from); });
}

// ---- barriers

void Checker::on_bar_arrive(Warp& w, const Inst&, uint32_t mask, uint32_t barrier, uint64_t generation,
                            bool release) {
  ClusterState& cluster = cluster_of(w.cta);
  CtaState::Bar& bar = barrier == 16 ? cluster.cluster_bar : cta_of(w.cta).bars[barrier];
  if (bar.generation != generation) {
    bar.complete = std::move(bar.gathering);
    bar.gathering = Clock();
    bar.generation = generation;
  }
  if (release) {
    publish(w.cta, w.index, mask, bar.gathering);
    return;
  }
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  for_lanes(mask, [&](int l) {
    const LaneState& lane = state.lanes[static_cast<size_t>(l)];
    if (lane.memory_fence)
      publish(w.cta, w.index, 1u << l, bar.gathering);
    else
      bar.gathering.raise(Clock::order, thread_component(w.cta, w.index, l), lane.init_fence_epoch);
  });
}

void Checker::on_bar_leave(Warp& w, const Inst&, uint32_t mask, uint32_t barrier, uint64_t generation) {
  ClusterState& cluster = cluster_of(w.cta);
  CtaState::Bar& bar = barrier == 16 ? cluster.cluster_bar : cta_of(w.cta).bars[barrier];
  acquire(cta_of(w.cta).warps[static_cast<size_t>(w.index)], mask,
          bar.generation == generation ? bar.gathering : bar.complete);
}

void Checker::on_warp_sync(Warp& w, const Inst&, uint32_t mask) {
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  size_t clocks = 0;
  for (const Knowledge& k : state.knowledge) clocks += (k.mask & mask) != 0;
  if (clocks == 1) {  // they know the same already, but for what each did itself
    update(state, mask, [&](Clock& c) { add_own(w.cta, w.index, mask, c, true); });
    return;
  }
  Clock all;
  publish(w.cta, w.index, mask, all);
  acquire(state, mask, all);
}

// ---- fences

void Checker::on_fence(Warp& w, const Inst& in, uint32_t mask, FenceKind kind, bool) {
  start_event();
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  if (kind == FenceKind::memory)
    for_lanes(mask, [&](int l) {
      LaneState& lane = state.lanes[static_cast<size_t>(l)];
      lane.memory_fence = true;
      if (lane.seen) acquire(state, 1u << l, *lane.seen);
      lane.seen = nullptr;
    });
  if (kind == FenceKind::mbarrier_init) {
    for_lanes(mask, [&](int l) {
      state.lanes[static_cast<size_t>(l)].init_fence_epoch = state.epoch[static_cast<size_t>(l)]++;
    });
    state.epoch_block_stale = true;
  }
  if (kind == FenceKind::tensormap_release) map_released(w, mask);
  if (kind == FenceKind::tensormap_acquire)
    for_lanes(mask, [&](int l) { map_acquired(w, l, lane_address(w, in, l)); });
  if (kind == FenceKind::wgmma) {
    state.fenced_step = ++state.steps;
    ++state.wgmma_fences;
    state.fence_since_wgmma = true;
  }
  const bool proxy = kind == FenceKind::proxy_async || kind == FenceKind::proxy_async_shared ||
                     kind == FenceKind::proxy_async_global;
  if (!proxy) return;
  for_lanes(mask, [&](int l) {
    LaneState& lane = state.lanes[static_cast<size_t>(l)];
    state.fence_epoch[static_cast<size_t>(l)] = state.epoch[static_cast<size_t>(l)]++;
    lane.cp_fenced = lane.cp_done;
  });
  state.epoch_block_stale = true;
  update(state, mask, [](Clock& c) { c.relay_all(); });
}

// ---- mbarriers

BarrierState& Checker::barrier_state(Mbarrier& bar) {
  ClusterState& cluster = cluster_of(*bar.cta);
  BarrierState& b = cluster.barriers[&bar];
  if (!b.bar) {
    b.bar = &bar;
    b.component = cluster.components++;
    b.phase = bar.phase;
    b.waits.resize(cluster.threads_per_cta * cluster.ctas.size());
  }
  return b;
}

// The barrier may have completed a phase since it was looked at.
void Checker::rotate(BarrierState& b) {
  while (b.phase < b.bar->phase) {
    b.complete[b.phase & 1] = std::move(b.gathering);
    b.gathering = Clock();
    ++b.phase;
    b.announced = 0;
    for (uint32_t index : b.in_flight)
      if (!ops_[index].landed) {
        completed_early(b, ops_[index]);
        ops_[index].done_value = static_cast<uint32_t>(b.phase) + 1;
      }
  }
}

void Checker::on_mbarrier(Warp& w, const Inst& in, int lane, Mbarrier& bar, MbarrierOp op, int64_t amount,
                          bool release) {
  start_event();
  if (op == MbarrierOp::init) {
    ClusterState& cluster = cluster_of(*bar.cta);
    auto old = cluster.barriers.find(&bar);
    if (old != cluster.barriers.end()) {
      initialised_again(w, in, lane, bar, old->second);
      const Component component = old->second.component;
      old->second = BarrierState();
      old->second.bar = &bar;
      old->second.component = component;
      old->second.waits.resize(cluster.threads_per_cta * cluster.ctas.size());
    }
    BarrierState& b = barrier_state(bar);
    b.phase = 0;
    WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
    b.init_owner = thread_component(w.cta, w.index, lane);
    b.init_epoch = state.epoch[static_cast<size_t>(lane)];
    b.init_source = in.source;
    return;
  }
  if (!clusters_.count(bar.cta->cluster)) return;  // a copy that lands after its CTA has ended: reported then
  BarrierState& b = barrier_state(bar);
  rotate(b);
  if (op == MbarrierOp::cp_async_arrive) {
    const LaneState& arrives =
        cta_of(w.cta).warps[static_cast<size_t>(w.index)].lanes[static_cast<size_t>(lane)];
    if (arrives.cp_component)
      b.gathering.raise(Clock::order, arrives.cp_component, landing_copies_[static_cast<size_t>(lane)]);
    return;
  }
  if (op == MbarrierOp::complete_tx) return;  // the engine's: on_async_complete
  check_initialised(w, in, 1u << lane, b);
  if (op == MbarrierOp::expect_tx) {
    b.announced += static_cast<uint64_t>(amount);
    b.expect_source = in.source;
  }
  if ((op == MbarrierOp::arrive || op == MbarrierOp::arrive_drop) && bar.cta != &w.cta)
    cta_of(*bar.cta).remote[thread_component(w.cta, w.index, lane)] = {
        cta_of(w.cta).warps[static_cast<size_t>(w.index)].epoch[static_cast<size_t>(lane)], in.source};
  if (op != MbarrierOp::arrive && op != MbarrierOp::arrive_drop) return;
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  const LaneState& mine = state.lanes[static_cast<size_t>(lane)];
  uint32_t& handed_over = state.handed_over[static_cast<size_t>(lane)];
  if (!release && !mine.memory_fence) return;
  const uint32_t before = handed_over;
  publish(w.cta, w.index, 1u << lane, b.gathering);
  const auto& qualifiers = program_->sources[static_cast<size_t>(in.source)]->modifiers;
  if (bar.cta == &w.cta || mine.memory_fence ||
      std::find(qualifiers.begin(), qualifiers.end(), "cluster") != qualifiers.end())
    return;
  auto& weak = cluster_of(w.cta).weak_arrivals[thread_component(w.cta, w.index, lane)];
  if (weak.empty() || weak.back().released != before) weak.push_back({handed_over, 0, before, in.source});
  weak.back().last = handed_over;
  handed_over = before;
}

void Checker::on_mbarrier_wait(Warp& w, const Inst& in, uint32_t mask, Mbarrier& bar, uint64_t phase,
                               bool result, bool acquires) {
  start_event();
  BarrierState& b = barrier_state(bar);
  rotate(b);
  check_initialised(w, in, mask, b);
  if (!result) return;
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  const uint64_t complete = phase + 1;  // phases below this are; 0 for the phase before phase 0
  b.seen = std::max(b.seen, complete);
  if (complete > 0 && acquires)
    update(state, mask, [&](Clock& c) {
      c.join(b.complete[phase & 1]);
      c.raise(Clock::order, b.component, static_cast<uint32_t>(complete));
    });
  for_lanes(mask, [&](int l) {
    LastWait& last = b.waits[thread_component(w.cta, w.index, l)];
    const bool repeated = last.source >= 0 && last.complete == complete && (last.used || last.repeated);
    last = {complete, in.source, false, repeated};
  });
}

// ---- async-groups

// A wait looks no further back than the longest one of the program.
void Checker::keep_commit(std::vector<uint32_t>& commits, uint32_t issued) {
  if (commits.size() > 2 * longest_wait_ + 64)
    commits.erase(commits.begin(), commits.end() - static_cast<std::ptrdiff_t>(longest_wait_ + 1));
  commits.push_back(issued);
}

void Checker::on_commit(Warp& w, const Inst&, uint32_t mask, GroupKind kind) {
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  if (kind == GroupKind::wgmma) {
    keep_commit(state.wgmma_commits, state.wgmma_issued);
    return;
  }
  for_lanes(mask, [&](int l) {
    LaneState& lane = state.lanes[static_cast<size_t>(l)];
    if (kind == GroupKind::cp_async)
      keep_commit(lane.cp_commits, lane.cp_issued);
    else
      ++lane.bulk_commits;
  });
}

void Checker::on_group_wait(Warp& w, const Inst&, uint32_t mask, GroupKind kind, uint32_t n, bool read) {
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  if (kind == GroupKind::wgmma) {
    // What is written from now on needs a fence of its own, unless there was one since the last wgmma: the compiler may
    // have moved the writes here that stood before that one.
    if (!state.fence_since_wgmma) ++state.steps;
    const size_t commits = state.wgmma_commits.size();
    if (commits > n) {
      const uint32_t done = state.wgmma_commits[commits - n - 1];
      const Component c = warpgroup_component(w);
      state.wgmma_done = std::max(state.wgmma_done, done);
      update(state, mask, [&](Clock& clock) { clock.raise(Clock::order, c, done); });
    }
    return;
  }
  for_lanes(mask, [&](int l) {
    LaneState& lane = state.lanes[static_cast<size_t>(l)];
    if (kind == GroupKind::cp_async) {
      const size_t commits = lane.cp_commits.size();
      if (commits > n) lane.cp_done = std::max(lane.cp_done, lane.cp_commits[commits - n - 1]);
    } else if (lane.bulk_commits > n) {
      const uint32_t done = lane.bulk_commits - n;
      lane.bulk_read = std::max(lane.bulk_read, done);
      auto& unread = lane.bulk_unread;
      while (!unread.empty() && unread.front().first <= lane.bulk_read) unread.erase(unread.begin());
      if (!read) lane.bulk_done = std::max(lane.bulk_done, done);
    }
  });
}

Component Checker::warpgroup_component(Warp& w) {
  ClusterState& cluster = cluster_of(w.cta);
  const uint64_t key = (static_cast<uint64_t>(w.cta.cluster_rank) << 16) | static_cast<uint64_t>(w.index / 4);
  auto it = cluster.warpgroup_component.find(key);
  if (it == cluster.warpgroup_component.end())
    it = cluster.warpgroup_component.insert({key, cluster.components++}).first;
  return it->second;
}

// ---- strong accesses (atomics, volatile, relaxed, acquire, release) order their threads through the word they touch

void Checker::strong_access(Warp& w, const AccessEvent& e) {
  CtaState& cta = cta_of(w.cta);
  WarpState& state = cta.warps[static_cast<size_t>(w.index)];
  const bool reads = e.kind != AccessKind::write, may_write = e.kind != AccessKind::read;
  for_lanes(e.mask, [&](int l) {
    const uint32_t one = 1u << l;
    LaneState& lane = state.lanes[static_cast<size_t>(l)];
    // A relaxed write orders only what a fence before it covers, a relaxed read only with a fence after it (PTX ISA 8.9.4).
    const bool writes = may_write && (e.release || lane.memory_fence);
    const auto read = [&](const auto& join) {
      if (e.acquire) {
        update(state, one, join);
      } else {
        if (!lane.seen) lane.seen = std::make_shared<Clock>();
        join(*lane.seen);
      }
    };
    if (e.space == Space::shared) {
      const Cta& owner = *e.owner[l];
      Shadow* shadow = cta_of(owner).shadow.get();
      if (may_write && shadow)  // no weak access has written them so far: now they are not uninitialised
        std::replace(shadow->writes() + e.addr[l], shadow->writes() + e.addr[l] + e.bytes, Tag{0},
                     Records::kStrong);
      auto& words = cluster_of(owner).sync_words;
      const uint64_t key = (static_cast<uint64_t>(owner.cluster_rank) << 32) | e.addr[l];
      auto word = words.find(key);
      if (reads && word != words.end()) read([&](Clock& c) { c.join(word->second); });
      if (writes) publish(w.cta, w.index, one, words[key]);
      return;
    }
    // Global: other clusters see a snapshot of this cluster's knowledge.
    const uint32_t cluster = cluster_of(w.cta).index;
    auto found = global_words_.find(e.addr[l]);
    if (reads && found != global_words_.end()) {
      const auto seen = found->second;
      read([&](Clock& c) {
        if (const Clock* ours = seen->foreign(cluster)) c.join(*ours);
        c.join_foreigners(*seen, cluster);
      });
    }
    if (writes) {
      auto& word = global_words_[e.addr[l]];
      auto mine = std::make_shared<Clock>();
      publish(w.cta, w.index, one, *mine);
      snapshot_bytes_ += mine->bytes();
      auto merged = std::make_shared<Clock>();
      if (word) merged->join_foreigners(*word);
      merged->join_foreigners(*mine);
      mine->forget_foreigners();
      merged->join_foreigner(cluster, mine);
      word = merged;
    }
  });
}

}  // namespace emu::check
