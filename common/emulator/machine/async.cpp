#include "emulator/machine/async.hpp"

#include <algorithm>
#include <atomic>

#include "emulator/machine/machine.hpp"

namespace emu {

// ---- groups

void CopyGroups::join(AsyncOp& op) {
  op.open_lanes = op.lanes;
  ops_.push_back(&op);
}

void CopyGroups::leave(AsyncOp& op) {
  ops_.erase(std::find(ops_.begin(), ops_.end(), &op));
}

void CopyGroups::commit(uint32_t mask) {
  for (AsyncOp* op : ops_) {
    const uint32_t closing = op->open_lanes & mask;
    for_lanes(closing, [&](int lane) { op->group_of[lane] = committed_[lane]; });
    op->open_lanes &= ~closing;
  }
  for_lanes(mask, [&](int lane) { ++committed_[lane]; });
}

uint32_t CopyGroups::blocking(uint32_t mask, uint32_t newest, bool read_only) const {
  uint32_t blocked = 0;
  for (const AsyncOp* op : ops_) {
    if (read_only && op->state != AsyncOp::State::issued) continue;
    const uint32_t candidates = op->lanes & mask & ~op->open_lanes & ~blocked;
    for (uint32_t m = candidates; m; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      if (committed_[lane] - op->group_of[lane] > newest) blocked |= 1u << lane;
    }
  }
  return blocked;
}

bool CopyGroups::done(uint32_t mask, uint32_t newest, bool read_only) const {
  return blocking(mask, newest, read_only) == 0;
}

bool CopyGroups::unfinished(uint32_t mask, uint64_t before) const {
  for (const AsyncOp* op : ops_) {
    if (op->number >= before) return false;
    if (op->lanes & mask) return true;
  }
  return false;
}

// ---- engine

AsyncEngine::AsyncEngine(Machine& machine) : machine_(machine) {}

size_t AsyncEngine::next_pool_slot() {
  static std::atomic<size_t> slots{0};
  return slots++;
}

void AsyncEngine::prepare(AsyncOp& op, size_t slot) {
  op.state = AsyncOp::State::issued;
  op.swizzle = Swizzle::none;
  op.map = nullptr;
  op.grouped = false;
  op.barrier = nullptr;
  op.bytes = 0;
  op.observer_data = 0;
  op.pool = slot;
  op.open_lanes = 0;
}

void AsyncEngine::recycle(AsyncOp& op) {
  pools_[op.pool].push_back(&op);
}

void AsyncEngine::issue(AsyncOp& op) {
  op.number = ++issued_;
  pending_.push_back(&op);
  if (op.grouped) groups(*op.warp, op.group).join(op);
  machine_.observers.tell(&Observer::on_async_issue, op);
}

void AsyncEngine::advance(AsyncOp& op) {
  const Observers& observers = machine_.observers;
  switch (op.state) {
    case AsyncOp::State::issued:
      observers.tell(&Observer::on_async_read, op);
      op.read();
      op.state = AsyncOp::State::read;
      break;
    case AsyncOp::State::read:
      observers.tell(&Observer::on_async_write, op);
      op.write();
      op.state = AsyncOp::State::landed;
      break;
    case AsyncOp::State::landed:
      observers.tell(&Observer::on_async_complete, op);
      op.complete();
      op.state = AsyncOp::State::complete;
      if (op.grouped) groups(*op.warp, op.group).leave(op);
      break;
    case AsyncOp::State::complete:
      return;
  }
  ++machine_.effects;
}

void AsyncEngine::finish(AsyncOp& op) {
  while (op.state != AsyncOp::State::complete) advance(op);
}

void AsyncEngine::complete(AsyncOp& op) {
  finish(op);
  // They complete in any order, of hundreds of thousands: those that have leave together.
  if (2 * ++finished_ < pending_.size()) return;
  finished_ = 0;
  const auto in_flight = [](const AsyncOp* each) { return each->state != AsyncOp::State::complete; };
  const auto end = std::stable_partition(pending_.begin(), pending_.end(), in_flight);
  std::for_each(end, pending_.end(), [&](AsyncOp* each) { recycle(*each); });
  pending_.erase(end, pending_.end());
}

void AsyncEngine::retire(size_t index) {
  AsyncOp* op = pending_[index];
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  recycle(*op);
}

bool AsyncEngine::step(bool quiescent) {
  if (pending_.empty()) return false;
  switch (machine_.schedule.kind) {
    case Schedule::Kind::in_order:
      return step_in_order();
    case Schedule::Kind::late:
      return quiescent && step_late();
    case Schedule::Kind::random:
      return step_random(quiescent);
    case Schedule::Kind::timed:
      return quiescent && machine_.timekeeper->step();
  }
  return false;
}

bool AsyncEngine::step_in_order() {
  for (AsyncOp* op : pending_) finish(*op);
  for (AsyncOp* op : pending_) recycle(*op);
  pending_.clear();
  return true;
}

bool AsyncEngine::step_late() {
  // A waiter for the source alone (wait_group.read) may go on between the two halves of a store.
  AsyncOp& oldest = *pending_.front();
  if (oldest.state == AsyncOp::State::issued && oldest.grouped && oldest.group == GroupKind::bulk) {
    advance(oldest);
  } else {
    finish(oldest);
    retire(0);
  }
  return true;
}

bool AsyncEngine::step_random(bool quiescent) {
  const uint64_t dice = machine_.random();
  if (!quiescent && (dice & 3) != 0) return false;
  const uint64_t steps = 1 + ((dice >> 2) & 3);
  for (uint64_t i = 0; i < steps && !pending_.empty(); ++i) {
    // The oldest operation may always start, so the search ends.
    size_t index = machine_.random() % pending_.size();
    while (pending_[index]->state == AsyncOp::State::issued && !pending_[index]->may_start())
      index = (index + 1) % pending_.size();
    advance(*pending_[index]);
    if (pending_[index]->state == AsyncOp::State::complete) retire(index);
  }
  return true;
}

void AsyncEngine::drain() {
  while (!pending_.empty()) step(true);
}

void AsyncEngine::abandon() {
  for (AsyncOp* op : pending_) recycle(*op);
  pending_.clear();
  finished_ = 0;
  groups_.clear();
  last_warp_ = nullptr;
  last_groups_ = nullptr;
}

bool AsyncEngine::holds(const Cta& cta) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const AsyncOp* op) {
    return op->state != AsyncOp::State::complete && (&op->warp->cta == &cta || op->touches(cta));
  });
}

void AsyncEngine::cta_ended(Cta& cta) {
  for (auto& warp : cta.warps) groups_.erase(warp.get());
  last_warp_ = nullptr;
  last_groups_ = nullptr;
}

AsyncEngine::WarpGroups& AsyncEngine::of(Warp& warp) {
  if (last_warp_ != &warp) {
    auto& entry = groups_[&warp];
    if (!entry) entry = std::make_unique<WarpGroups>();
    last_warp_ = &warp;
    last_groups_ = entry.get();
  }
  return *last_groups_;
}

CopyGroups& AsyncEngine::groups(Warp& warp, GroupKind kind) {
  return of(warp).kind[static_cast<unsigned>(kind)];
}

AsyncEngine::Poll& AsyncEngine::last_poll(Warp& warp) {
  return of(warp).poll;
}

}  // namespace emu
