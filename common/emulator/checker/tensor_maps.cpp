#include "emulator/checker/tensor_maps.hpp"

#include <set>

#include "emulator/machine/tensor_map.hpp"

namespace emu::check {

void TensorMapRule::clear() {
  maps_.clear();
  releases_.clear();
  used_by_ = nullptr;
  snapshot_bytes = 0;
}

// Who wrote the bytes of the map in this launch: one tag for every run of bytes.
std::vector<Tag> TensorMapRule::writers(uint64_t address) {
  std::vector<Tag> tags;
  for (uint64_t a = address; a < address + kTensorMapBytes; ++a) {
    const Tag t = global_.writer(a);
    if (t && (tags.empty() || tags.back() != t)) tags.push_back(t);
  }
  return tags;
}

uint64_t TensorMapRule::contents(uint64_t address) {
  uint64_t hash = 0;
  for (Tag t : writers(address)) hash = (hash ^ t) * 0x100000001b3ull;
  return hash;
}

// ---- fences

// The release fence comes after the write and all that was known of it.
bool TensorMapRule::covers(const Release& r, Tag write) const {
  bool all = true;
  past_.records.each(write, [&](Tag single) {
    all = all && past_.known(r.covers, r.cluster, r.threads_per_cta, single, Clock::order);
  });
  return all;
}

void TensorMapRule::released(Warp& w, uint32_t mask) {
  WarpOrder& order = order_.warp(w);
  const int lane = __builtin_ctz(mask);
  Release r;
  r.cluster = order.cluster->index;
  r.threads_per_cta = order.cluster->threads_per_cta;
  r.thread = order.thread(lane);
  r.epoch = order.epoch[static_cast<size_t>(lane)];
  order_.publish(order, mask, r.covers);
  snapshot_bytes += r.covers.bytes();
  releases_.push_back(std::move(r));
}

// A release fence covers the write, and the accessor is ordered after that fence.
bool TensorMapRule::released_before(const Accessor& who, Tag write) const {
  const uint32_t mine = who.cluster().index;
  for (const Release& r : releases_) {
    if (!covers(r, write)) continue;
    bool known = r.cluster == mine && r.thread == who.self->thread(who.lane());
    who.self->each_clock(who.lanes, [&](const Clock& own) {
      const Clock* clock = r.cluster == mine ? &own : own.foreign(r.cluster);
      known = known || (clock && clock->get(Clock::order, r.thread) >= r.epoch);
    });
    if (known) return true;
  }
  return false;
}

void TensorMapRule::acquired(Warp& w, int lane, uint64_t address) {
  WarpOrder& order = order_.warp(w);
  const Accessor who{&order, nullptr, 1u << lane, 1u << lane, nullptr};
  const std::vector<Tag> written = writers(address);
  for (Tag t : written)
    if (!past_.ordered(who, t)) return;
  Acquired a;
  a.cluster = order.cluster->index;
  a.rank = static_cast<uint16_t>(w.cta.cluster_rank);
  a.thread = order.thread(lane);
  a.epoch = order.epoch[static_cast<size_t>(lane)];
  a.contents = contents(address);
  a.released = true;
  for (Tag t : written) a.released = a.released && released_before(who, t);
  maps_[address].acquired.push_back(a);
}

// ---- use

// The CTA's acquisition of the present contents that the accessor is ordered after, behind a release if there is one such.
const TensorMapRule::Acquired* TensorMapRule::acquisition(const Accessor& who, uint64_t address) {
  const Acquired* found = nullptr;
  const uint64_t now = contents(address);
  for (const Acquired& a : maps_[address].acquired) {
    if (a.contents != now || a.cluster != who.cluster().index || a.rank != who.cta().cluster_rank) continue;
    bool knows = a.thread == who.self->thread(who.lane());
    who.self->each_clock(who.lanes, [&](const Clock& clock) {
      knows = knows || clock.get(Clock::order, a.thread) >= a.epoch;
    });
    if (knows && (!found || a.released)) found = &a;
  }
  return found;
}

void TensorMapRule::used(const Accessor& who, uint64_t address) {
  in_use_ = address;
  used_by_ = who.inst;
  const std::vector<Tag> written = writers(address);
  const int32_t written_at = written.empty() ? -1 : past_.records.of(written.back()).source;
  const std::string state = "the tensor map is " + tell_.place(Space::global, address) +
                            (written.empty() ? ", and was there before the launch"
                                             : ": written by " + tell_.describe(written.back()));
  for (Tag t : written) {
    if (past_.ordered(who, t)) continue;
    Finding f(Id::data_race);
    f.state = state;
    f.title = "a copy uses a tensor map that a thread writes, with nothing to order the two";
    f.why = "Neither a barrier nor a flag orders the write before the thread that issues the copy.";
    f.hint = "write the map, release it, meet at a barrier, acquire it, then copy";
    return tell_.tell(std::move(f), who, written_at);
  }
  const Acquired* found = acquisition(who, address);
  if (found && found->released) return;
  Finding f(Id::missing_tensormap_fence);
  f.state = state;
  tell_missing_fence(who, std::move(f), !written.empty(), found != nullptr, written_at);
}

void TensorMapRule::tell_missing_fence(const Accessor& who, Finding f, bool written, bool acquired,
                                       int32_t written_at) {
  f.why =
      "The copy engine keeps tensor maps in a cache of their own, which it reads through the tensormap proxy: "
      "barriers and kernel boundaries do not reach it.";
  if (!written) {
    f.make_milder();
    f.title = "a copy uses a tensor map in global memory that its CTA has not acquired";
    f.hint =
        "fence.proxy.tensormap::generic.acquire.sys [map], 128 in the thread that issues the copy; or pass the "
        "map as a const __grid_constant__ parameter, which needs no fence";
  } else if (!acquired) {
    f.title = "a copy uses a tensor map that a thread has changed and its CTA has not acquired since";
    f.hint = "fence.proxy.tensormap::generic.acquire.gpu [map], 128 in the thread that issues the copy";
  } else {
    f.title = "a copy uses a tensor map whose changes were not released to the tensormap proxy";
    f.hint =
        "fence.proxy.tensormap::generic.release.gpu (or tensormap.cp_fenceproxy) in the thread that changes the "
        "map, after its last write";
  }
  tell_.tell(std::move(f), who, written_at);
}

void TensorMapRule::copy_issued(const Inst& inst, Tag copy) {
  if (used_by_ == &inst) maps_[in_use_].users.push_back(copy);
  used_by_ = nullptr;
}

void TensorMapRule::check_edit(const Accessor& who, uint64_t address, uint64_t bytes) {
  auto it = maps_.lower_bound(address >= kTensorMapBytes ? address - kTensorMapBytes + 1 : 0);
  for (; it != maps_.end() && it->first < address + bytes; ++it) {
    for (Tag t : it->second.users) {
      if (past_.ordered(who, t)) continue;
      const Operation& op = *past_.operation(t);
      Finding f(Id::map_edited_in_flight);
      f.title = "a tensor map is changed while a copy that uses it may still be under way";
      f.state = "used by " + tell_.describe(t);
      f.why =
          op.barrier
              ? text("The thread is not ordered after the completion of the copy: the phase of ",
                     tell_.barrier_of(op), " that its bytes complete.")
              : "The store is complete after cp.async.bulk.wait_group; .read covers the shared memory only.";
      f.hint = op.barrier ? "wait for the copy's mbarrier first, or change a second map in turn"
                          : "cp.async.bulk.wait_group 0 without .read first, or change a second map in turn";
      tell_.tell(std::move(f), who, op.source);
      break;
    }
    it->second.users.clear();
  }
}

// ---- what nobody can ask about any more

// Of the copies that complete on one component the latest stands for all. Of CTAs that have ended, the latest
// kEndedUsers copies are kept: an edit by a later CTA is compared with no more.
void TensorMapRule::drop_users() {
  constexpr size_t kEndedUsers = 256;
  for (auto& [address, map] : maps_) {
    std::map<std::pair<uint32_t, Component>, uint32_t> latest;  // value by cluster and component
    std::vector<Tag> kept;
    size_t ended = 0;
    for (auto user = map.users.rbegin(); user != map.users.rend(); ++user) {
      const Operation& op = *past_.operation(*user);
      if (op.done) {
        uint32_t& value = latest[{op.cluster, op.done}];
        if (op.landed && value >= op.done_value) continue;
        value = std::max(value, op.done_value);
      }
      if (order_.running(op.cluster) || ++ended <= kEndedUsers) kept.push_back(*user);
    }
    map.users.assign(kept.rbegin(), kept.rend());
  }
}

// Acquisitions of other contents than those of now, or by CTAs that have ended; and of the releases of a thread, those
// that cover no present byte of global memory which an earlier one does not.
void TensorMapRule::drop_fences() {
  for (auto& [address, map] : maps_) {
    const uint64_t now = contents(address);
    std::vector<Acquired> kept;
    for (const Acquired& a : map.acquired) {
      bool needed = a.contents == now && order_.running(a.cluster);
      for (const Acquired& k : kept)
        needed = needed && !(k.cluster == a.cluster && k.thread == a.thread && k.released == a.released);
      if (needed) kept.push_back(a);
    }
    map.acquired = std::move(kept);
  }
  if (releases_.empty()) return;
  std::set<Tag> written;
  global_.written.each([&](Writers& page) {
    for (size_t i = 0; i < page.last.size(); ++i)
      if (page.last[i] && (!i || page.last[i] != page.last[i - 1])) written.insert(page.last[i]);
  });
  std::vector<Release> kept;
  for (Release& r : releases_) {
    bool needed = false;
    for (Tag t : written) {
      bool covered = !covers(r, t);
      for (const Release& k : kept)
        covered = covered || (k.cluster == r.cluster && k.thread == r.thread && covers(k, t));
      needed = needed || !covered;
    }
    if (needed) kept.push_back(std::move(r));
  }
  releases_ = std::move(kept);
}

void TensorMapRule::records_moved() {
  for (auto& [address, map] : maps_)
    for (Acquired& a : map.acquired) a.contents = contents(address);
}

}  // namespace emu::check
