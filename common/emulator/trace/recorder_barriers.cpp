// What is recorded of barriers and of waiting.
#include <algorithm>

#include "emulator/machine/mbarrier.hpp"
#include "emulator/trace/recorder.hpp"

namespace emu::trace {
namespace {

// The counters of a barrier as an operation leaves them.
void put_counters(Event& e, const Mbarrier& bar, int64_t arrivals, int64_t bytes) {
  e["pending"] = static_cast<int64_t>(bar.pending) - arrivals;
  e["bytes"] = bar.tx_count + bytes;
  e["phase"] = static_cast<int64_t>(bar.phase);
}

}  // namespace

const char* name_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::cp_async:
      return "cp.async";
    case GroupKind::bulk:
      return "cp.async.bulk";
    case GroupKind::wgmma:
      return "wgmma";
  }
  return "";
}

int64_t Recorder::barrier_of(const Mbarrier& bar, const Inst* init) {
  const auto next = static_cast<int64_t>(current_->barriers.size());
  const auto [place, fresh] = barriers_.emplace(std::make_pair(bar.cta, bar.address), next);
  if (fresh) {
    RecordedBarrier recorded;
    recorded.cta = number_of(*bar.cta);
    recorded.address = bar.address;
    recorded.name = bar.name();
    current_->barriers.push_back(recorded);
    counts_bytes_.push_back(false);
  }
  if (init) current_->barriers[static_cast<size_t>(place->second)].line = line_of(*init);
  return place->second;
}

// ---- mbarriers

void Recorder::on_mbarrier(const At& at, Mbarrier& bar, MbarrierOp op, int64_t amount, bool) {
  CtaState* owner = state_of(*bar.cta);
  if (!owner) return;
  const int64_t id = barrier_of(bar, op == MbarrierOp::init ? &at.inst : nullptr);
  const bool arrives =
      op == MbarrierOp::arrive || op == MbarrierOp::arrive_drop || op == MbarrierOp::cp_async_arrive;
  if (op == MbarrierOp::complete_tx) counts_bytes_[static_cast<size_t>(id)] = true;
  // Lanes of one instruction that arrive one after the other are one event.
  if (arrives && !current_->events.empty()) {
    Event& last = current_->events.back();
    if (std::string(last.what) == "arrive" && last.warp == at.warp.index &&
        last.cta == number_of(at.warp.cta) && last.line == line_of(at.inst) &&
        last.get("barrier", -1) == id && in_window(*owner)) {
      ++last.lanes;
      last["count"] += amount;
      put_counters(last, bar, amount, 0);
      return;
    }
  }
  const char* what = arrives                       ? "arrive"
                     : op == MbarrierOp::init      ? "init"
                     : op == MbarrierOp::inval     ? "inval"
                     : op == MbarrierOp::expect_tx ? "expect_tx"
                                                   : "complete_tx";
  Event* e = add(what, at.warp, at.inst, 1u << at.lane);
  if (!e) return;
  (*e)["barrier"] = id;
  switch (op) {
    case MbarrierOp::init:
      (*e)["count"] = (*e)["pending"] = amount;
      (*e)["bytes"] = (*e)["phase"] = 0;
      break;
    case MbarrierOp::inval:
      break;
    case MbarrierOp::expect_tx:
      (*e)["amount"] = amount;
      put_counters(*e, bar, 0, amount);
      break;
    case MbarrierOp::complete_tx:
      (*e)["amount"] = amount;
      if (completing_ >= 0) (*e)["copy"] = completing_;
      put_counters(*e, bar, 0, -amount);
      break;
    default:
      (*e)["count"] = amount;
      if (op == MbarrierOp::arrive_drop) (*e)["drop"] = 1;
      if (op == MbarrierOp::cp_async_arrive) (*e)["after_copies"] = 1;
      put_counters(*e, bar, amount, 0);
  }
}

void Recorder::on_mbarrier_phase(Warp& warp, const Inst& inst, Mbarrier& bar) {
  CtaState* owner = state_of(*bar.cta);
  if (!owner) return;
  const int64_t id = barrier_of(bar, nullptr);
  if (Event* e = add("flip", warp, inst, 0)) {
    (*e)["barrier"] = id;
    (*e)["completed"] = static_cast<int64_t>(bar.phase) - 1;
    put_counters(*e, bar, 0, 0);
  }
  if (counts_bytes_[static_cast<size_t>(id)]) ++owner->phases;
  counts_bytes_[static_cast<size_t>(id)] = false;
}

// ---- waits, from begin to end

Event* Recorder::begin_wait(Warp& warp, const Inst& inst, uint32_t mask, const void* object, uint64_t phase) {
  WarpState* state = state_of(warp);
  if (!state) return nullptr;
  Event* e = add("wait", warp, inst, mask);
  OpenWait open;
  open.mask = mask;
  open.object = object;
  open.phase = phase;
  open.id = waits_++;
  open.event = e ? e - current_->events.data() : -1;
  if (e) (*e)["wait"] = open.id;
  state->waits.push_back(open);
  return e;
}

// Ends the wait of these lanes. Where there was none, they went on at once, and that is an event, too.
void Recorder::end_wait(Warp& warp, const Inst& inst, uint32_t mask, const void* object, uint64_t phase) {
  WarpState* state = state_of(warp);
  if (!state) return;
  int64_t id = -1;
  for (OpenWait& open : state->waits)
    if ((open.mask & mask) && open.object == object && open.phase == phase) {
      id = open.id;
      open.mask &= ~mask;
    }
  state->waits.erase(
      std::remove_if(state->waits.begin(), state->waits.end(), [](const OpenWait& w) { return w.mask == 0; }),
      state->waits.end());
  if (Event* e = add("pass", warp, inst, mask))
    if (id >= 0) (*e)["wait"] = id;
}

void Recorder::on_mbarrier_wait(Warp& warp, const Inst& inst, uint32_t mask, Mbarrier& bar, uint64_t phase,
                                bool result, bool) {
  WarpState* state = state_of(warp);
  if (!state) return;
  const int64_t id = barrier_of(bar, nullptr);
  if (result) {
    end_wait(warp, inst, mask, &bar, phase);
  } else {
    const bool waits = std::any_of(state->waits.begin(), state->waits.end(), [&](const OpenWait& open) {
      return (open.mask & mask) == mask && open.object == &bar && open.phase == phase;
    });
    if (waits || !begin_wait(warp, inst, mask, &bar, phase)) return;
  }
  if (current_->events.empty()) return;
  Event& e = current_->events.back();
  const std::string what = e.what;
  if ((what != "wait" && what != "pass") || e.warp != warp.index) return;
  e["barrier"] = id;
  e["phase"] = static_cast<int64_t>(phase);
}

// Async-groups, registers and other things that a warp waits for: what it is shows when the wait ends, or in its text.
void Recorder::on_wait(Warp& warp, const Group& group) {
  WarpState* state = state_of(warp);
  if (!state) return;
  const Inst& inst = warp.instruction(group);
  if (state->latest >= 0) {  // the wait has begun with this event
    const Event& latest = current_->events[static_cast<size_t>(state->latest)];
    const std::string what = latest.what;
    if (what == "bar_arrive" || (what == "wait" && latest.get("barrier", -1) >= 0)) return;
  }
  if (Event* e = begin_wait(warp, inst, group.mask, nullptr, 0))
    if (group.wait.describe) e->texts.emplace_back("for", group.wait.describe(warp, group));
}

void Recorder::on_wait_end(Warp& warp, const Group& group) {
  WarpState* state = state_of(warp);
  if (!state) return;
  const bool open = std::any_of(state->waits.begin(), state->waits.end(),
                                [&](const OpenWait& w) { return !w.object && (w.mask & group.mask); });
  if (open) end_wait(warp, warp.instruction(group), group.mask, nullptr, 0);
}

void Recorder::on_group_wait(Warp& warp, const Inst& inst, uint32_t mask, GroupKind kind, uint32_t newest,
                             bool read) {
  WarpState* state = state_of(warp);
  if (!state) return;
  for (const OpenWait& open : state->waits) {
    if (open.object || !(open.mask & mask) || open.event < 0) continue;
    Event& begun = current_->events[static_cast<size_t>(open.event)];
    begun.texts.assign({{"group", name_of(kind)}});
    begun["newest"] = newest;
    begun["read"] = read;
  }
  end_wait(warp, inst, mask, nullptr, 0);
  if (current_->events.empty()) return;
  Event& e = current_->events.back();
  if (std::string(e.what) != "pass" || e.warp != warp.index) return;
  e.texts.assign({{"group", name_of(kind)}});
  e["newest"] = newest;
  e["read"] = read;
}

// ---- barriers of threads

void Recorder::on_bar_arrive(Warp& warp, const Inst& inst, uint32_t mask, uint32_t barrier,
                             uint64_t generation, bool) {
  if (Event* e = add("bar_arrive", warp, inst, mask)) {
    (*e)["bar"] = barrier;
    (*e)["generation"] = static_cast<int64_t>(generation);
  }
}

void Recorder::on_bar_leave(Warp& warp, const Inst& inst, uint32_t mask, uint32_t barrier,
                            uint64_t generation) {
  if (Event* e = add("bar_leave", warp, inst, mask)) {
    (*e)["bar"] = barrier;
    (*e)["generation"] = static_cast<int64_t>(generation);
  }
}

}  // namespace emu::trace
