// What the checker keeps of past accesses does not grow with the length of a launch: records, operations and clocks that
// nothing in the shadows, in flight or in a running CTA refers to are dropped from time to time. What is left is in
// proportion to the shared memory of the resident CTAs, their threads, and the global memory that the launch touches.
#include <set>

#include "emulator/checker/checker.hpp"

namespace emu::check {

bool Checker::running(uint32_t cluster) const {
  for (auto& [key, c] : clusters_)
    if (c.index == cluster) return true;
  return false;
}

// Replaces every tag t that somebody may still ask about by f(t).
template <class F>
void Checker::replace_all_tags(F f) {
  for (auto& [key, cluster] : clusters_)
    for (CtaState& cta : cluster.ctas)
      if (cta.shadow) cta.shadow->replace(f);
  global_.each([&](std::vector<Tag>& tags) { replace_tags(tags, f); });
  for (auto& [address, map] : maps_)
    for (Tag& user : map.users) user = f(user);
}

// Calls f(index) for the operations that are referred to by other things than records; f may change the index.
template <class F>
void Checker::each_op_in_use(F f) {
  for (auto& [key, cluster] : clusters_)
    for (auto& [bar, b] : cluster.barriers) {
      for (uint32_t& index : b.in_flight) f(index);
      if (b.last_op) f(b.last_op);
    }
  for (AsyncOp* op : machine_->engine->pending()) {
    if (op->kind == AsyncOp::Kind::cp_async_arrive || !op->observer_data) continue;
    uint32_t index = static_cast<uint32_t>(op->observer_data);
    f(index);
    op->observer_data = index;
  }
}

template <class F>
void Checker::each_clock(F f) {
  const auto bar_clocks = [&](CtaState::Bar& bar) {
    f(bar.gathering);
    f(bar.complete);
  };
  for (auto& [key, cluster] : clusters_) {
    for (CtaState& cta : cluster.ctas) {
      for (WarpState& w : cta.warps) {
        for (Knowledge& k : w.knowledge) f(k.clock);
        for (LaneState& lane : w.lanes)
          if (lane.seen) f(*lane.seen);
      }
      for (CtaState::Bar& bar : cta.bars) bar_clocks(bar);
    }
    for (auto& [bar, b] : cluster.barriers) {
      f(b.gathering);
      for (Clock& c : b.complete) f(c);
    }
    bar_clocks(cluster.cluster_bar);
    for (auto& [address, clock] : cluster.sync_words) f(clock);
  }
  for (auto& [address, clock] : global_words_) f(*clock);
  for (MapRelease& r : map_releases_) f(r.covers);
}

// After the records have been marked, and before they move.
void Checker::drop_ops() {
  std::vector<uint32_t> places(ops_.size());  // not 0 when needed; then the new index
  records_.each_marked([&](const Record& r) {
    if (r.kind == Record::Kind::op) places[r.detail] = 1;
  });
  each_op_in_use([&](uint32_t& index) { places[index] = 1; });
  uint32_t kept = 1;
  for (size_t i = 1; i < ops_.size(); ++i) {
    if (!places[i]) continue;
    if (ops_[i].next_copy) places[ops_[i].next_copy] = 1;  // it comes after this one
    if (kept != i) ops_[kept] = ops_[i];
    places[i] = kept++;
  }
  ops_.resize(kept);
  for (OpState& op : ops_) op.next_copy = places[op.next_copy];
  records_.each_marked([&](Record& r) {
    if (r.kind == Record::Kind::op) r.detail = places[r.detail];
  });
  each_op_in_use([&](uint32_t& index) { index = places[index]; });
}

// Those that no present byte depends on.
void Checker::drop_weak_arrivals() {
  for (auto& [key, cluster] : clusters_) {
    if (cluster.weak_arrivals.empty()) continue;
    std::map<Component, std::set<uint32_t>> epochs;  // of the accesses that are remembered, by thread
    records_.each_marked([&](const Record& r) {
      if (r.kind != Record::Kind::threads || r.cluster != cluster.index) return;
      for (uint32_t l = 0; l < 32; ++l)
        epochs[r.rank * cluster.threads_per_cta + r.warp * 32u + l].insert(
            records_.epoch(r, static_cast<int>(l)));
    });
    for (auto& [thread, arrivals] : cluster.weak_arrivals) {
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
  }
}

// What is known of other clusters that have ended and left nothing behind.
void Checker::drop_clocks() {
  std::set<uint32_t> matter;
  for (auto& [key, cluster] : clusters_) matter.insert(cluster.index);
  records_.each_marked([&](const Record& r) { matter.insert(r.cluster); });
  for (const MapRelease& r : map_releases_) matter.insert(r.cluster);
  std::map<std::shared_ptr<const Clock::Foreigners>, std::shared_ptr<const Clock::Foreigners>> fewer;
  each_clock([&](Clock& c) {
    if (!c.foreigners()) return;
    auto [known, is_new] = fewer.insert({c.foreigners(), nullptr});
    if (is_new) {
      Clock::Foreigners kept;
      for (const Clock::Foreigner& f : *c.foreigners())
        if (matter.count(f.first)) kept.push_back(f);
      if (!kept.empty()) known->second = std::make_shared<Clock::Foreigners>(std::move(kept));
    }
    c.set_foreigners(known->second);
  });
  for (auto word = global_words_.begin(); word != global_words_.end();)
    word = word->second->foreigners() ? std::next(word) : global_words_.erase(word);
}

size_t Checker::shadow_bytes() {
  size_t tags = 0;
  global_.each([&](std::vector<Tag>& page) { tags += page.size(); });
  for (auto& [key, cluster] : clusters_)
    for (CtaState& cta : cluster.ctas) tags += cta.shadow ? 2 * cta.shadow->size() : 0;
  return tags * sizeof(Tag);
}

void Checker::collect() {
  drop_map_users();
  drop_map_fences();
  records_.start_marking();
  replace_all_tags([&](Tag t) {
    records_.mark(t);
    return t;
  });
  drop_ops();
  drop_weak_arrivals();
  drop_clocks();
  records_.drop_unmarked();
  replace_all_tags([&](Tag t) { return records_.moved(t); });
  for (auto& [address, map] : maps_)  // all that are left are of the present contents
    for (MapState::Acquired& a : map.acquired) a.contents = map_contents(address);
  for (auto& [key, cluster] : clusters_)
    for (CtaState& cta : cluster.ctas)
      for (WarpState& w : cta.warps) {
        w.known_records.fill(KnownRecord());
        w.epoch_block_stale = true;
        for (auto& last : w.last_record) last[0] = last[1] = WarpState::LastRecord();
      }
  snapshot_bytes_ = 0;
  // Looking through the shadows must stay cheap against filling the tables.
  const size_t live = table_bytes();
  collect_at_ = live + (least_growth ? std::max({least_growth, live, shadow_bytes() / 2}) : 0);
}

}  // namespace emu::check
