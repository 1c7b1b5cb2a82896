#include "emulator/timed/timing.hpp"

#include <algorithm>
#include <cstdio>

#include "emulator/machine/mbarrier.hpp"
#include "emulator/machine/tensor_map.hpp"
#include "emulator/machine/wgmma.hpp"
#include "rules/launch.hpp"
#include "rules/limits.hpp"

namespace emu::timed {
namespace {

// A warp may run this far ahead of the next actor: it costs a little order, and saves most of the time.
constexpr double kAhead = 16;
constexpr int kLeastSlice = 12, kMostSlice = 256;
// Actors of one pass; between two passes the machine looks at its time limit.
constexpr int kActorsPerPass = 4096;
constexpr double kNever = 1e300;  // also of a place: when a CTA will leave it is not known

// Sectors of 32 bytes that the lanes of an access touch, in whatever order they come.
unsigned sectors_of(const AccessEvent& e) {
  std::array<uint64_t, 32> seen;
  unsigned count = 0;
  for (uint32_t m = e.mask; m; m &= m - 1) {
    const uint64_t sector = e.addr[__builtin_ctz(m)] / 32;
    const auto end = seen.begin() + count;
    // Mostly the one before.
    if (std::find(std::make_reverse_iterator(end), seen.rend(), sector) == seen.rend())
      seen[count++] = sector;
  }
  return count;
}

// Cycles of shared memory for an access: so many lanes as have 128 bytes in all are served at once, if no two of them want
// different words of one bank.
unsigned passes_of(const AccessEvent& e) {
  const uint32_t words = std::max<uint32_t>(1, e.bytes / 4), lanes = std::max<uint32_t>(1, 32 / words);
  unsigned passes = 0;
  for (uint32_t first = 0; first < 32; first += lanes) {
    std::array<uint64_t, 32> wanted[32];
    std::array<uint8_t, 32> count = {};
    unsigned most = 0;
    for (uint32_t lane = first; lane < std::min(32u, first + lanes); ++lane) {
      if (!(e.mask >> lane & 1)) continue;
      for (uint32_t i = 0; i < words; ++i) {
        const uint64_t word = e.addr[lane] / 4 + i;
        const size_t bank = word % 32;
        const auto begin = wanted[bank].begin(), end = begin + count[bank];
        if (count[bank] < 32 && std::find(begin, end, word) == end) wanted[bank][count[bank]++] = word;
        most = std::max<unsigned>(most, count[bank]);
      }
    }
    passes += most;
  }
  return passes;
}

}  // namespace

std::string Summary::json() const {
  char text[400];
  std::snprintf(text, sizeof text,
                "{\"launches\":%llu,\"sms\":%llu,\"ctas\":%llu,\"ctas_per_sm\":%llu,\"cluster\":%llu,"
                "\"cycles\":%.0f,\"tensor_busy\":%.4f,\"waits_for_copies\":%.4f,\"overlaps\":%s}",
                static_cast<unsigned long long>(launches), static_cast<unsigned long long>(sms),
                static_cast<unsigned long long>(ctas), static_cast<unsigned long long>(ctas_per_sm),
                static_cast<unsigned long long>(cluster), cycles, tensor_busy, waits_for_copies,
                overlaps ? "true" : "false");
  return text;
}

// ---- launches and CTAs

Timing::Timing(Machine& machine) : machine_(machine) {}
Timing::~Timing() = default;

uint64_t Timing::resident_clusters(const Program& program, const LaunchConfig& config) {
  const uint64_t threads = config.block.count();
  uint64_t per_sm = static_cast<uint64_t>(std::max(
      1, rules::blocks_per_multiprocessor(threads, program.shared_static_bytes + config.dynamic_shared)));
  // Whole warps get units of 256 registers.
  const auto known = registers.find(program.name);
  const uint64_t bound = program.launch_registers ? program.launch_registers : 128;
  const uint64_t of_thread = known == registers.end() ? bound : known->second;
  const uint64_t of_warp = (of_thread * 32 + 255) / 256 * 256;
  per_sm =
      std::max<uint64_t>(1, std::min(per_sm, rules::kRegistersPerBlock / (of_warp * ((threads + 31) / 32))));
  const uint64_t window = machine_.schedule.window ? machine_.schedule.window : rules::kMultiprocessors;
  sms_.assign(window, Sm());
  for (Sm& sm : sms_) sm.places.assign(per_sm, 0.0);
  // Few SMs at work have more of L2 each.
  const double working = machine_.schedule.window ? rules::kMultiprocessors
                                                  : std::min<double>(static_cast<double>(config.grid.count()),
                                                                     rules::kMultiprocessors);
  l2_bytes_ = std::min(kL2BytesAlone, kL2Bytes * rules::kMultiprocessors / working);
  summary_.sms = window;
  summary_.ctas_per_sm = per_sm;
  summary_.ctas = config.grid.count();
  summary_.cluster = config.cluster.count();
  summary_.overlaps = false;
  return std::max<uint64_t>(1, window * per_sm / config.cluster.count());
}

void Timing::clear() {
  ctas_.clear();
  events_ = {};
  ready_ = {};
  blocked_.clear();
  polling_ = aloof_ = 0;
  of_copies_.clear();
  current_ = nullptr;
}

void Timing::on_launch(Machine&, const Program& program, const LaunchConfig&) {
  clear();
  program_ = &program;
  make_costs(program);
  now_ = end_ = 0;
  order_ = 0;
}

void Timing::on_launch_end(Machine&) {
  ++summary_.launches;
  summary_.cycles = end_;
  summary_.tensor_busy = summary_.waits_for_copies = 0;
  for (const Sm& sm : sms_) {
    summary_.tensor_busy += sm.tensor_busy / end_ / static_cast<double>(sms_.size());
    summary_.waits_for_copies += sm.waits_for_copies / end_ / static_cast<double>(sms_.size());
  }
  // A kernel without products behind it, such as one that checks its result, does not take its place.
  if (summary_.tensor_busy > 0 || shown_.tensor_busy == 0) shown_ = summary_;
  shown_.launches = summary_.launches;
  clear();
}

// A CTA takes the place that has been free for the longest time, of several on the SM that runs the fewest; those of a cluster
// start together.
void Timing::on_cta_start(Cta& cta) {
  CtaTime& time = ctas_[&cta];
  time = CtaTime();
  const auto busy = [](const Sm& sm) { return std::count(sm.places.begin(), sm.places.end(), kNever); };
  for (Sm& sm : sms_) {
    const auto free = std::min_element(sm.places.begin(), sm.places.end());
    const double best = time.sm ? time.sm->places[time.place] : kNever;
    if (*free > best || *free == kNever || (*free == best && busy(sm) >= busy(*time.sm))) continue;
    time.sm = &sm;
    time.place = static_cast<size_t>(free - sm.places.begin());
  }
  if (!time.sm) {  // more CTAs than fit: the launch waits for them all
    time.sm = &sms_[cta.order % sms_.size()];
    time.place = time.sm->places.size();
    time.sm->places.push_back(now_);
  }
  double start = time.sm->places[time.place] + kCtaStart;
  time.sm->places[time.place] = kNever;
  for (auto& other : cta.cluster->ctas) {
    const auto found = ctas_.find(other.get());
    if (found == ctas_.end() || other.get() == &cta || found->second.warps.empty()) continue;
    start = std::max(start, found->second.warps[0]->clock);
  }
  for (auto& warp : cta.warps) {
    auto w = std::make_unique<WarpTime>();
    w->warp = warp.get();
    w->sm = time.sm;
    w->scheduler = static_cast<unsigned>(warp->index) % kSchedulers;
    w->clock = start;
    w->result_at.assign(program_->functions[0].frame_bytes / 128 + 4, 0.0f);
    warp->watchers.add(*this);
    push(*w);
    time.warps.push_back(std::move(w));
  }
}

void Timing::on_cta_end(Cta& cta) {
  CtaTime& time = ctas_.at(&cta);
  double end = 0;
  for (auto& w : time.warps) end = std::max(end, w->clock);
  end = std::max(end, time.sm->plain_stores);
  time.sm->places[time.place] = end;
  end_ = std::max(end_, end);
  for (const auto& [address, bar] : cta.mbarriers) of_copies_.erase(&bar);
  for (auto& w : time.warps) {
    if (w->blocked) forget_blocked(*w);
  }
  ctas_.erase(&cta);
}

// An arrival that releases to the cluster has to see the warp's stores to their end.
void Timing::on_bar_arrive(Warp& warp, const Inst& in, uint32_t, uint32_t, uint64_t, bool release) {
  WarpTime& w = time_of(warp);
  if (release && in.action == Action::cluster_barrier && w.stored) {
    w.clock += kReleaseBehindStores;
    w.stored = false;
    now_ = w.clock;
  }
  signal();
}

void Timing::on_exit(Warp&, const Inst&, uint32_t) {
  signal();
}

// ---- who goes next

Timing::WarpTime& Timing::time_of(const Warp& warp) {
  if (current_ && current_->warp == &warp) return *current_;
  return *ctas_.at(&warp.cta).warps[static_cast<size_t>(warp.index)];
}

bool Timing::pass() {
  bool acted = false;
  for (int i = 0; i < kActorsPerPass; ++i) {
    if (!ready_.empty() && (events_.empty() || ready_.top().time < events_.top().time)) {
      WarpTime& warp = *ready_.top().warp;
      ready_.pop();
      run(warp);
      acted = true;
      if (warp.warp->finished() && warp.warp->cta.cluster->finished()) return true;
    } else if (!step()) {
      wake_blocked(now_);  // whatever it is that has ended their waits
      if (ready_.empty()) return acted;
    } else {
      acted = true;
    }
  }
  return acted;
}

bool Timing::step() {
  if (events_.empty()) return false;
  const Event event = events_.top();
  events_.pop();
  now_ = event.time;
  if (!event.op) {
    wake_blocked(now_);
    return true;
  }
  Warp& issuer = *event.op->warp;
  end_ = std::max(end_, now_);
  // A phase that it completes is told of. Its groups are those of its warp; but wgmma.wait_group waits for all four of a
  // warpgroup, and what some wait for no event tells.
  signalled_ = aloof_ || event.op->kind == AsyncOp::Kind::wgmma;
  if (event.read_only)
    machine_.engine->advance(*event.op);
  else
    machine_.engine->complete(*event.op);
  wake_after(issuer, now_);
  const auto cta = ctas_.find(&issuer.cta);
  if (cta == ctas_.end()) return true;  // it has ended
  WarpTime& own = *cta->second.warps[static_cast<size_t>(issuer.index)];
  if (own.blocked && !issuer.stuck()) {
    forget_blocked(own);
    wake(own, now_);
  }
  return true;
}

void Timing::run(WarpTime& warp) {
  const double next =
      std::min(ready_.empty() ? kNever : ready_.top().time, events_.empty() ? kNever : events_.top().time);
  const int budget = static_cast<int>(
      std::clamp((next + kAhead - warp.clock) / kInterval, double{kLeastSlice}, double{kMostSlice}));
  current_ = &warp;
  turn_end_ = std::max(next + kAhead, warp.clock + kLeastSlice * kInterval);
  signalled_ = false;
  double& issue = warp.sm->issue[warp.scheduler];
  issue = std::max(issue, warp.clock);
  now_ = warp.clock;
  Warp* const actor = warp.warp;
  const int executed = actor->run(budget);
  current_ = nullptr;
  if (!warp.warp->finished()) {
    if (executed == 0 || (executed < budget && warp.warp->stuck()))
      block(warp);
    else
      push(warp);
  }
  wake_after(*actor, signalled_ ? signal_at_ : now_);
}

void Timing::block(WarpTime& warp) {
  warp.blocked_since = warp.clock;
  warp.wake = 0;
  warp.blocked = warp.polls = true;
  warp.aloof = false;
  for (int i = 0; i < warp.warp->group_count(); ++i) {
    const Group& g = warp.warp->groups()[static_cast<size_t>(i)];
    if (g.state != Group::State::blocked) continue;
    warp.polls = false;
    warp.aloof |= !told_by_events(program_->code[g.pc]);
    warp.wake = std::max<double>(warp.wake, costs_[g.pc].wake);
  }
  if (warp.polls && polling_ == 0) effects_seen_ = machine_.effects;
  polling_ += warp.polls;
  aloof_ += warp.aloof;
  blocked_.push_back(&warp);
  if (const uint64_t alarm = warp.warp->next_alarm())
    events_.push({static_cast<double>(alarm), 0, nullptr, false});
}

// Whether the end of such a wait comes with a signal, or with an operation that the waiting warp has issued itself.
bool Timing::told_by_events(const Inst& inst) const {
  return inst.action == Action::test_phase || inst.action == Action::barrier ||
         inst.action == Action::wait_group;
}

void Timing::forget_blocked(WarpTime& warp) {
  blocked_.erase(std::find(blocked_.begin(), blocked_.end(), &warp));
  polling_ -= warp.polls;
  aloof_ -= warp.aloof;
}

void Timing::wake(WarpTime& warp, double since) {
  warp.blocked = false;
  warp.woken = true;
  warp.clock = std::max(warp.clock, since) + warp.wake;
  push(warp);
}

// Lets those go on whose wait is over, since then; `only` those of a cluster.
void Timing::wake_blocked(double since, const Cluster* only) {
  size_t kept = 0;
  polling_ = aloof_ = 0;
  effects_seen_ = machine_.effects;
  for (WarpTime* w : blocked_) {
    if ((only && w->warp->cta.cluster != only) || w->warp->stuck()) {
      blocked_[kept++] = w;
      polling_ += w->polls;
      aloof_ += w->aloof;
      continue;
    }
    wake(*w, since);
  }
  blocked_.resize(kept);
}

// A warp, or an operation of it, has acted. Barriers and their phases concern its cluster.
void Timing::wake_after(Warp& actor, double since) {
  if (signalled_)
    wake_blocked(since, aloof_ ? nullptr : actor.cta.cluster);
  else if (polling_ && effects_seen_ != machine_.effects)
    wake_blocked(since);
}

// ---- warps

void Timing::make_costs(const Program& program) {
  costs_.assign(program.code.size(), Cost());
  for (size_t i = 0; i < costs_.size(); ++i) {
    Cost& c = costs_[i];
    switch (program.code[i].action) {
      case Action::divide:
        c.slots = kDivideSlots;
        c.cycles = kDivideSlots * kInterval;
        break;
      case Action::test_phase:
        c.cycles += kTryWait;
        c.wake = kWakeMbarrier;
        break;
      case Action::arrive:
        c.cycles += kArrive;
        break;
      case Action::barrier:
      case Action::barrier_arrive:
        c.wake = kWakeBarrier;
        break;
      case Action::cluster_barrier:
        c.wake = kWakeCluster;
        break;
      case Action::fence:
        c.cycles += kProxyFence;
        break;
      case Action::wait_group:
        c.wake = kWakeGroup;
        break;
      case Action::bulk_fill:
      case Action::bulk_copy:
        c.cycles += kCopyIssue;
        break;
      default:
        break;
    }
  }
}

void Timing::on_instruction(Warp&, const Inst& in) {
  WarpTime& w = *current_;
  w.woken = false;
  if (w.clock < w.last_result) wait_for_operands(w, in);
  const Cost& c = costs_[static_cast<size_t>(&in - program_->code.data())];
  double& issue = w.sm->issue[w.scheduler];
  issue += c.slots;
  w.clock = std::max(w.clock + c.cycles, issue);
  now_ = w.clock;
}

// A load's register is there when its bytes have come; whoever uses it before waits.
void Timing::wait_for_operands(WarpTime& w, const Inst& in) {
  double until = 0;
  const auto look = [&](Ref r) {
    if (r == kNoRef || r & kConstBit) return;
    const size_t slot = (r & ~kNotBit) / 128;
    if (slot < w.result_at.size()) until = std::max<double>(until, w.result_at[slot]);
  };
  for (Ref r : {in.a, in.b, in.c, in.d, in.guard}) look(r);
  if (in.extra)
    for (Ref r : in.extra->refs) look(r);
  if (until <= w.clock) return;
  w.copy_wait_begin = w.clock;
  w.copy_wait_end = until;
  wait_until(w, until);
}

// Within a turn: others come before what it does next.
void Timing::wait_until(WarpTime& w, double time) {
  w.clock = std::max(w.clock, time);
  if (w.clock > turn_end_) w.warp->end_turn();
}

void Timing::on_access(Warp& warp, const Inst& in, const AccessEvent& e) {
  WarpTime& w = time_of(warp);
  double ready = 0;
  if (e.space == Space::shared) {
    w.sm->shared = std::max(w.sm->shared, w.clock) + passes_of(e);
    ready = std::max(w.clock + kSharedLatency, w.sm->shared);
  } else {
    const unsigned sectors = sectors_of(e);
    if (e.kind == AccessKind::write) {
      w.stored = true;
      double& busy = w.sm->plain_stores;
      busy = std::max(busy, w.clock) + sectors * kStoreSector;
      wait_until(w, busy - kStoreQueue);
      return;
    }
    ready = deliver(*w.sm, w.clock + in_time(kLoadLatency + (e.strong ? 0 : kLatencyDram - kLatencyL2)),
                    sectors * 32.0, kLoadBytes, l2_bytes_);
  }
  if (e.kind == AccessKind::write || in.source < 0) return;
  for (Ref r : program_->written[static_cast<size_t>(in.source)]) {
    if (r == kNoRef || r & kConstBit) continue;
    const size_t slot = r / 128;
    if (slot < w.result_at.size()) w.result_at[slot] = static_cast<float>(ready);
  }
  w.last_result = std::max(w.last_result, ready);
}

void Timing::copy_wait(WarpTime& w) {
  if (!w.woken) return;
  w.copy_wait_begin = w.blocked_since;
  w.copy_wait_end = w.clock;
}

void Timing::on_mbarrier_wait(Warp& warp, const Inst&, uint32_t, Mbarrier& bar, uint64_t, bool result, bool) {
  if (result && of_copies_.count(&bar)) copy_wait(time_of(warp));
}

void Timing::on_group_wait(Warp& warp, const Inst&, uint32_t, GroupKind kind, uint32_t, bool) {
  if (kind == GroupKind::cp_async) copy_wait(time_of(warp));
}

// ---- engines

// Bytes that come to an SM, the first of them not before `first`: through its port, and in the long run at the rate of its share
// of L2. What the share was not used for, up to kL2Burst bytes, is made up for.
double Timing::deliver(Sm& sm, double first, double bytes, double rate, double share) {
  sm.port = std::max(sm.port, first) + bytes / rate;
  sm.share = std::max(sm.share, first - kL2Burst / share) + bytes / share;
  return std::max(sm.port, sm.share);
}

void Timing::on_async_issue(AsyncOp& op) {
  using Kind = AsyncOp::Kind;
  WarpTime& w = time_of(*op.warp);
  switch (op.kind) {
    case Kind::cp_async: {
      const double landed =
          deliver(*w.sm, w.clock + in_time(kLoadLatency + kLatencyDram - kLatencyL2),
                  static_cast<double>(op.bytes), kL2BytesAlone, std::min(l2_bytes_, kChunkBytesPerCycle));
      w.last_chunk = std::max(w.last_chunk, landed);
      return schedule(op, landed);
    }
    case Kind::cp_async_arrive:
      return schedule(op, std::max(w.last_chunk, w.clock));
    case Kind::bulk_load:
    case Kind::tensor_load:
      return issue_load(op, w);
    case Kind::bulk_store:
    case Kind::bulk_reduce:
    case Kind::tensor_store:
    case Kind::tensor_reduce:
      return issue_store(op, w);
    case Kind::wgmma:
      return issue_product(op, w);
    case Kind::bulk_shared:
    case Kind::st_async:
      return schedule(op, w.clock + kClusterLatency + static_cast<double>(op.bytes) / kStoreBytes);
  }
}

void Timing::issue_load(AsyncOp& op, WarpTime& w) {
  Sm& own = *w.sm;
  const double bytes = static_cast<double>(op.bytes);
  double start = std::max(w.clock, own.engine);
  if (op.map && own.maps.insert(op.map->address).second) start += kFirstUseOfMap;
  own.engine = start + std::max(kBoxIssue, bytes / kEngineBytes);
  if (op.barrier) of_copies_.insert(op.barrier);
  double landed = 0;
  for (auto& cta : op.warp->cta.cluster->ctas) {  // a multicast goes to several
    if (!op.touches(*cta)) continue;
    landed = std::max(landed,
                      deliver(sm_of(*cta), start + in_time(kLatencyDram), bytes, kL2BytesAlone, l2_bytes_));
    for (auto& [address, bar] : cta->mbarriers)
      if (op.barrier && address == op.barrier->address) of_copies_.insert(&bar);
  }
  schedule(op, landed);
}

void Timing::issue_store(AsyncOp& op, WarpTime& w) {
  ranges_.clear();
  op.sources(ranges_);
  const MemoryRange& source = ranges_.front();
  // Lanes that ask for the same store with one instruction get it once: it is an instruction of the warp.
  const bool again = w.store == op.inst && w.store_asked == w.clock && !op.reduces() &&
                     w.store_source.address == source.address && w.store_source.owner == source.owner;
  if (!again) {
    w.sm->store = std::max(w.sm->store, w.clock) + static_cast<double>(op.bytes) / kStoreBytes;
    w.store = op.inst;
    w.store_asked = w.clock;
    w.store_read = w.sm->store + kStoreRead;
    w.store_source = source;
    w.stored = true;
  }
  schedule(op, w.store_read, true);
  schedule(op, w.store_read + in_time(kStoreLatency));
}

void Timing::issue_product(AsyncOp& op, WarpTime& w) {
  const auto& product = static_cast<const WgmmaOp&>(op);
  Sm& sm = *w.sm;
  double& busy = sm.tensor[w.scheduler];
  const double cycles = product.shape.n * kProductPerColumn, start = std::max(busy, w.clock);
  if (w.scheduler == 0) {
    sm.tensor_busy += cycles;
    const double from = std::max(busy, w.copy_wait_begin), to = std::min(start, w.copy_wait_end);
    sm.waits_for_copies += std::max(0.0, to - from);
  }
  busy = start + cycles;
  schedule(op, busy + kProductLatency);
}

}  // namespace emu::timed
