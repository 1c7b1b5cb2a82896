// Tensor maps in global memory. A copy reads its map through the tensormap proxy: what threads, or the host, wrote there
// is seen only after a release fence behind the writes and an acquire fence in the CTA of the copy (PTX ISA 9.7.13.4);
// and a map must not be changed while a copy that uses it is under way.
#include <set>

#include "emulator/checker/checker.hpp"
#include "emulator/machine/tensor_map.hpp"

namespace emu::check {

// Who wrote the bytes of the map in this launch: one tag for every run of bytes.
std::vector<Tag> Checker::map_writers(uint64_t address) {
  std::vector<Tag> tags;
  for (uint64_t a = address; a < address + kTensorMapBytes; ++a) {
    const Tag t = global_.writer(a);
    if (t && (tags.empty() || tags.back() != t)) tags.push_back(t);
  }
  return tags;
}

// The release fence comes after the write and all that was known of it.
bool Checker::covers(const MapRelease& r, Tag write) const {
  ClusterState there;
  there.index = r.cluster;
  there.threads_per_cta = r.threads_per_cta;
  Accessor releaser;
  releaser.cluster = &there;
  bool all = true;
  records_.each(write, [&](Tag single) { all = all && known(r.covers, releaser, single, Clock::order); });
  return all;
}

uint64_t Checker::map_contents(uint64_t address) {
  uint64_t hash = 0;
  for (Tag t : map_writers(address)) hash = (hash ^ t) * 0x100000001b3ull;
  return hash;
}

void Checker::map_released(Warp& w, uint32_t mask) {
  ClusterState& cluster = cluster_of(w.cta);
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  const int lane = __builtin_ctz(mask);
  MapRelease r;
  r.cluster = cluster.index;
  r.threads_per_cta = cluster.threads_per_cta;
  r.thread = thread_component(w.cta, w.index, lane);
  r.epoch = state.epoch[static_cast<size_t>(lane)];
  publish(w.cta, w.index, mask, r.covers);
  snapshot_bytes_ += r.covers.bytes();
  map_releases_.push_back(std::move(r));
}

void Checker::map_acquired(Warp& w, int lane, uint64_t address) {
  ClusterState& cluster = cluster_of(w.cta);
  CtaState& cta = cluster.ctas[w.cta.cluster_rank];
  WarpState& state = cta.warps[static_cast<size_t>(w.index)];
  Accessor who{&cluster, &cta, &state, &w, nullptr, 1u << lane, 1u << lane, nullptr, false};
  const std::vector<Tag> writers = map_writers(address);
  for (Tag t : writers)
    if (!ordered_all(who, t)) return;
  MapState::Acquired a;
  a.cluster = cluster.index;
  a.rank = static_cast<uint16_t>(w.cta.cluster_rank);
  a.thread = thread_component(w.cta, w.index, lane);
  a.epoch = state.epoch[static_cast<size_t>(lane)];
  a.contents = map_contents(address);
  a.released = true;
  for (Tag t : writers) {
    bool covered = false;
    for (const MapRelease& r : map_releases_) {
      if (!covers(r, t)) continue;
      covered = covered || (r.cluster == cluster.index && r.thread == a.thread);
      for (const Knowledge& k : state.knowledge) {
        const Clock* clock = r.cluster == cluster.index ? &k.clock : k.clock.foreign(r.cluster);
        covered = covered || ((k.mask >> lane & 1) && clock && clock->get(Clock::order, r.thread) >= r.epoch);
      }
    }
    a.released = a.released && covered;
  }
  maps_[address].acquired.push_back(a);
}

void Checker::on_map_use(Warp& w, const Inst& in, int lane, uint64_t address) {
  start_event();
  ClusterState& cluster = cluster_of(w.cta);
  CtaState& cta = cluster.ctas[w.cta.cluster_rank];
  WarpState& state = cta.warps[static_cast<size_t>(w.index)];
  Accessor who{&cluster, &cta, &state, &w, &in, 1u << lane, 1u << lane, nullptr, false};
  map_in_use_ = address;
  map_used_by_ = &in;
  const std::vector<Tag> writers = map_writers(address);
  const int32_t written_at = writers.empty() ? -1 : records_.of(writers.back()).source;
  Finding f(Id::none);
  f.state =
      "the tensor map is global memory " + machine_->memory.describe(address) +
      (writers.empty() ? ", and was there before the launch" : ": written by " + describe(writers.back()));
  for (Tag t : writers)
    if (!ordered_all(who, t)) {
      f.id = Id::data_race;
      f.title = "a copy uses a tensor map that a thread writes, with nothing to order the two";
      f.why = "Neither a barrier nor a flag orders the write before the thread that issues the copy.";
      f.hint = "write the map, release it, meet at a barrier, acquire it, then copy";
      report(f, who, written_at);
      return;
    }
  const MapState::Acquired* found = nullptr;
  const uint64_t contents = map_contents(address);
  const Component me = thread_component(w.cta, w.index, lane);
  for (const MapState::Acquired& a : maps_[address].acquired) {
    if (a.contents != contents || a.cluster != cluster.index || a.rank != w.cta.cluster_rank) continue;
    bool knows = a.thread == me;
    for (const Knowledge& k : state.knowledge)
      knows = knows || ((k.mask >> lane & 1) && k.clock.get(Clock::order, a.thread) >= a.epoch);
    if (knows && (!found || a.released)) found = &a;
  }
  if (found && found->released) return;
  f.id = Id::missing_tensormap_fence;
  f.why =
      "The copy engine keeps tensor maps in a cache of their own, which it reads through the tensormap "
      "proxy: barriers and kernel boundaries do not reach it.";
  if (writers.empty()) {
    f.severity = Severity::advice;
    f.title = "a copy uses a tensor map in global memory that its CTA has not acquired";
    f.hint =
        "fence.proxy.tensormap::generic.acquire.sys [map], 128 in the thread that issues the copy; or pass "
        "the map as a const __grid_constant__ parameter, which needs no fence";
  } else if (!found) {
    f.title = "a copy uses a tensor map that a thread has changed and its CTA has not acquired since";
    f.hint = "fence.proxy.tensormap::generic.acquire.gpu [map], 128 in the thread that issues the copy";
  } else {
    f.title = "a copy uses a tensor map whose changes were not released to the tensormap proxy";
    f.hint =
        "fence.proxy.tensormap::generic.release.gpu (or tensormap.cp_fenceproxy) in the thread that changes "
        "the map, after its last write";
  }
  report(f, who, written_at);
}

// A thread writes global memory: is a map there that a copy may still be using?
void Checker::check_map_edit(const Accessor& who, uint64_t address, uint64_t bytes) {
  auto it = maps_.lower_bound(address >= kTensorMapBytes ? address - kTensorMapBytes + 1 : 0);
  for (; it != maps_.end() && it->first < address + bytes; ++it) {
    for (Tag t : it->second.users) {
      if (ordered_all(who, t)) continue;
      const OpState& op = ops_[records_.of(t).detail];
      Finding f(Id::map_edited_in_flight);
      f.title = "a tensor map is changed while a copy that uses it may still be under way";
      f.state = "used by " + describe(t);
      f.why =
          op.barrier
              ? "The thread is not ordered after the completion of the copy: the phase of " +
                    barrier_name(op) + " that its bytes complete."
              : "The store is complete after cp.async.bulk.wait_group; .read covers the shared memory only.";
      f.hint = op.barrier ? "wait for the copy's mbarrier first, or change a second map in turn"
                          : "cp.async.bulk.wait_group 0 without .read first, or change a second map in turn";
      report(f, who, op.source);
      break;
    }
    it->second.users.clear();
  }
}

// ---- what nobody can ask about any more (collect.cpp)

// Of the copies that complete on one component the latest stands for all. Of CTAs that have ended, the latest
// kEndedUsers copies are kept: an edit by a later CTA is compared with no more.
void Checker::drop_map_users() {
  constexpr size_t kEndedUsers = 256;
  for (auto& [address, map] : maps_) {
    std::map<std::pair<uint32_t, Component>, uint32_t> latest;  // value by cluster and component
    std::vector<Tag> kept;
    size_t ended = 0;
    for (auto user = map.users.rbegin(); user != map.users.rend(); ++user) {
      const OpState& op = ops_[records_.of(*user).detail];
      if (op.done) {
        uint32_t& value = latest[{op.cluster, op.done}];
        if (op.landed && value >= op.done_value) continue;
        value = std::max(value, op.done_value);
      }
      if (running(op.cluster) || ++ended <= kEndedUsers) kept.push_back(*user);
    }
    map.users.assign(kept.rbegin(), kept.rend());
  }
}

// Acquisitions of other contents than those of now, or by CTAs that have ended; and of the releases of a thread, those
// that cover no present byte of global memory which an earlier one does not.
void Checker::drop_map_fences() {
  for (auto& [address, map] : maps_) {
    const uint64_t now = map_contents(address);
    std::vector<MapState::Acquired> kept;
    for (const MapState::Acquired& a : map.acquired) {
      bool needed = a.contents == now && running(a.cluster);
      for (const MapState::Acquired& k : kept)
        needed = needed && !(k.cluster == a.cluster && k.thread == a.thread && k.released == a.released);
      if (needed) kept.push_back(a);
    }
    map.acquired = std::move(kept);
  }
  if (map_releases_.empty()) return;
  std::set<Tag> written;
  global_.written.each([&](Writers& page) {
    for (size_t i = 0; i < page.last.size(); ++i)
      if (page.last[i] && (!i || page.last[i] != page.last[i - 1])) written.insert(page.last[i]);
  });
  std::vector<MapRelease> kept;
  for (MapRelease& r : map_releases_) {
    bool needed = false;
    for (Tag t : written) {
      bool covered = !covers(r, t);
      for (const MapRelease& k : kept)
        covered = covered || (k.cluster == r.cluster && k.thread == r.thread && covers(k, t));
      needed = needed || !covered;
    }
    if (needed) kept.push_back(std::move(r));
  }
  map_releases_ = std::move(kept);
}

}  // namespace emu::check
