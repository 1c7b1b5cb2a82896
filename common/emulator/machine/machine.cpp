#include "emulator/machine/machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "emulator/machine/async.hpp"
#include "emulator/machine/deadlock.hpp"
#include "emulator/machine/mbarrier.hpp"
#include "rules/limits.hpp"

namespace emu {

namespace {

using rules::kMultiprocessors;  // bounds how many CTAs can be resident

constexpr uint64_t kPassesPerLook = 64;  // at the processor time
constexpr int kSlice = 2048;             // instructions a warp may run before others get a turn
constexpr int kForcedRounds = 3;  // how often waits that may fail are made to, before a deadlock is reported
constexpr size_t kRetiredLimit = 64;  // finished CTAs kept for operations still in flight

// Of this thread: what else runs on the machine does not count.
double processor_time_s() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string shape(const uint32_t* v) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

}  // namespace

Schedule Schedule::from(const std::string& text) {
  Schedule s;
  if (text.empty() || text == "in-order") return s;
  if (text == "late") {
    s.kind = Kind::late;
    return s;
  }
  if (text.rfind("random:", 0) == 0 && text.size() > 7 &&
      text.find_first_not_of("0123456789", 7) == std::string::npos && text.size() < 7 + 19) {
    s.kind = Kind::random;
    s.seed = std::strtoull(text.c_str() + 7, nullptr, 10);
    return s;
  }
  if (text == "timed" || (text.rfind("timed:", 0) == 0 && text.size() > 6 && text.size() <= 6 + 3 &&
                          text.find_first_not_of("0123456789", 6) == std::string::npos)) {
    s.kind = Kind::timed;
    s.window = text.size() > 6 ? std::strtoull(text.c_str() + 6, nullptr, 10) : 0;
    if (text.size() == 5 || (s.window >= 1 && s.window <= kMultiprocessors)) return s;
  }
  Finding f(Id::bad_environment);
  f.title = "schedule '" + text + "' is not known";
  f.hint = "use in-order, late, timed, timed:SMS (SMS from 1 to " + std::to_string(kMultiprocessors) +
           ") or random:SEED (SEED a number, such as random:7)";
  throw Fault(f);
}

std::string Schedule::text() const {
  switch (kind) {
    case Kind::in_order:
      return "in-order";
    case Kind::late:
      return "late";
    case Kind::timed:
      return window ? "timed:" + std::to_string(window) : "timed";
    case Kind::random:
      break;
  }
  return "random:" + std::to_string(seed);
}

Cta::Cta(Machine& m, const Program& p, const LaunchConfig& c, Dim3 i, uint32_t rank)
    : machine(m), program(p), config(c), index(i), cluster_rank(rank) {
  itself.fill(this);
  uint32_t dynamic = (kSharedBase + p.shared_static_bytes + p.shared_dynamic_align - 1) /
                     p.shared_dynamic_align * p.shared_dynamic_align;
  uint32_t end = c.dynamic_shared ? dynamic + c.dynamic_shared : kSharedBase + p.shared_static_bytes;
  shared.resize(end);
  fill_poison(shared.data(), shared.size());
  if (p.uses_reserved_shared) {
    shared_begin = kReservedShared;
    std::fill(shared.begin() + kReservedShared, shared.begin() + kSharedBase, std::byte{0});
  }
  uint32_t threads = static_cast<uint32_t>(c.block.count());
  uint32_t count = (threads + 31) / 32;
  for (uint32_t w = 0; w < count; ++w) {
    uint32_t lanes = std::min(32u, threads - w * 32);
    uint32_t mask = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warps.push_back(std::make_unique<Warp>(m, *this, p, static_cast<int>(w), mask));
  }
  for (NamedBarrier& b : barriers) {
    b.arrivals.resize(count);
    b.lanes.resize(count);
  }
}

Cta::~Cta() = default;

bool Cta::finished() const {
  for (auto& w : warps)
    if (!w->finished()) return false;
  return true;
}

std::string Cta::text() const {
  uint32_t v[3] = {index.x, index.y, index.z};
  return "CTA " + shape(v);
}

bool Cluster::finished() const {
  for (auto& c : ctas)
    if (!c->finished()) return false;
  return true;
}

Machine::Machine() : engine(std::make_unique<AsyncEngine>(*this)) {
  findings.on_first = [this](const Finding& finding) { observers.tell(&Observer::on_finding, finding); };
}
Machine::~Machine() = default;

void Machine::flush_printf() {
  if (printf_buffer.empty()) return;
  std::fwrite(printf_buffer.data(), 1, printf_buffer.size(), stdout);
  std::fflush(stdout);
  printf_buffer.clear();
}

Cta* Machine::shared_owner(Cta& from, uint64_t address, uint32_t* offset) {
  uint32_t a = static_cast<uint32_t>(address);
  if (!(a & kClusterAddressBit)) {
    *offset = a;
    return &from;
  }
  *offset = a & ((1u << kSharedRankShift) - 1);
  uint32_t rank = (a & ~kClusterAddressBit) >> kSharedRankShift;
  return from.cluster && rank < from.cluster->ctas.size() ? from.cluster->ctas[rank].get() : nullptr;
}

rules::LaunchArguments launch_arguments(const Program& p, const LaunchConfig& c) {
  const auto extent = [](const unsigned* v) { return rules::Extent{v[0], v[1], v[2]}; };
  rules::LaunchArguments a;
  a.grid = {c.grid.x, c.grid.y, c.grid.z};
  a.block = {c.block.x, c.block.y, c.block.z};
  a.cluster = {c.cluster.x, c.cluster.y, c.cluster.z};
  a.dynamic_shared = c.dynamic_shared;
  a.cooperative = c.cooperative;
  a.static_shared = p.shared_static_bytes;
  a.max_threads = extent(p.max_threads);
  a.required_threads = extent(p.required_threads);
  a.required_cluster = extent(p.cluster);
  a.explicit_cluster = p.explicit_cluster;
  return a;
}

// Who launches without the runtime has set no attributes: what the hardware can do is allowed.
void Machine::check_config(const Program& p, const LaunchConfig& c) {
  rules::LaunchArguments a = launch_arguments(p, c);
  a.allowed_dynamic_shared =
      rules::kSharedPerBlockOptin - std::min<uint32_t>(p.shared_static_bytes, rules::kSharedPerBlockOptin);
  a.non_portable_cluster = true;
  const std::vector<rules::BrokenLaunch> broken = rules::broken_rules(a);
  if (broken.empty()) return;
  Finding f(Id::launch_configuration);
  f.title = broken[0].what + ": " + broken[0].rule;
  f.kernel = p.name;
  f.where = "launch of " + p.name;
  f.hint = broken[0].fix;
  throw Fault(f);
}

std::unique_ptr<Cluster> Machine::make_cluster(const Program& p, const LaunchConfig& c, uint64_t number) {
  auto cluster = std::make_unique<Cluster>();
  uint64_t nx = c.grid.x / c.cluster.x, ny = c.grid.y / c.cluster.y;
  cluster->index.x = static_cast<uint32_t>(number % nx);
  cluster->index.y = static_cast<uint32_t>(number / nx % ny);
  cluster->index.z = static_cast<uint32_t>(number / (nx * ny));
  uint32_t rank = 0;
  for (uint32_t z = 0; z < c.cluster.z; ++z)
    for (uint32_t y = 0; y < c.cluster.y; ++y)
      for (uint32_t x = 0; x < c.cluster.x; ++x, ++rank) {
        Dim3 index{cluster->index.x * c.cluster.x + x, cluster->index.y * c.cluster.y + y,
                   cluster->index.z * c.cluster.z + z};
        cluster->ctas.push_back(std::make_unique<Cta>(*this, p, c, index, rank));
        cluster->ctas.back()->cluster = cluster.get();
        cluster->ctas.back()->order = next_order_++;
      }
  for (auto& cta : cluster->ctas) observers.tell(&Observer::on_cta_start, *cta);
  return cluster;
}

// One turn for every warp. True when an instruction was executed.
bool Machine::run_pass(const Program& program) {
  if (schedule.kind == Schedule::Kind::timed) {
    const bool acted = timekeeper->pass();
    check_time(program);
    return acted;
  }
  bool ran = false;
  std::vector<Warp*> order;
  for (auto& cluster : resident_)
    for (auto& cta : cluster->ctas)
      for (auto& warp : cta->warps)
        if (!warp->finished()) order.push_back(warp.get());
  if (schedule.kind == Schedule::Kind::random) std::shuffle(order.begin(), order.end(), random);
  // A wait may fail at any time, but not for ever: where nothing has changed, the passes come to an end.
  const bool may_fail = schedule.kind == Schedule::Kind::random && effects != effects_at_pass_;
  effects_at_pass_ = effects;
  for (Warp* warp : order) {
    int budget = schedule.kind == Schedule::Kind::random ? 1 + static_cast<int>(random() % 300) : kSlice;
    int executed = warp->run(budget);
    clock_ += static_cast<uint64_t>(executed) + 1;
    ran = ran || executed > 0;
    if (executed > 0) engine->step(false);
    if (may_fail && random() % 64 == 0) warp->force_failures();
  }
  check_time(program);
  return ran;
}

template <class F>
void Machine::each_warp(F f) {
  for (auto& cluster : resident_)
    for (auto& cta : cluster->ctas)
      for (auto& warp : cta->warps) f(*warp);
}

bool Machine::wake_sleeper() {
  uint64_t first = 0;
  each_warp([&](Warp& warp) {
    const uint64_t alarm = warp.next_alarm();
    if (alarm && (!first || alarm < first)) first = alarm;
  });
  if (!first) return false;
  clock_ = std::max(clock_, first);
  return true;
}

void Machine::start_time() {
  started_s_ = processor_time_s();
}

void Machine::check_time(const Program& program) {
  if (++passes_ % kPassesPerLook || processor_time_s() - started_s_ < time_limit_s) return;
  Finding f(Id::time_limit);
  f.title = "kernel " + program.name + " did not end within " +
            std::to_string(static_cast<int>(time_limit_s)) + " s of processor time";
  f.kernel = program.name;
  for (auto& cluster : resident_)
    for (auto& cta : cluster->ctas)
      for (auto& warp : cta->warps) {
        if (warp->finished() || !f.where.empty()) continue;
        const Group& g = warp->groups()[0];
        const Inst& in = warp->instruction(g);
        f.line = program.line_of(in);
        f.where = warp->where(in, __builtin_ctz(g.mask));
      }
  f.why =
      "the loop there goes on, or the problem is too large for the emulator. This limit is the last resort: a wait that "
      "cannot end is found by what the threads do, but these still change something at every turn";
  f.hint = "make the problem smaller, or raise EMU_TIME_LIMIT (seconds of processor time)";
  throw Fault(f);
}

// How many clusters fit on the device at once.
uint64_t Machine::most_resident(const Program& program, const LaunchConfig& config) {
  const uint64_t threads = config.block.count() * config.cluster.count();
  const uint64_t shared =
      (program.shared_static_bytes + config.dynamic_shared + 1024) * config.cluster.count();
  const uint64_t most =
      std::min<uint64_t>(kMultiprocessors * rules::kMaxThreadsPerMultiprocessor / ((threads + 31) / 32 * 32),
                         kMultiprocessors * uint64_t{rules::kSharedPerMultiprocessor} / shared);
  return std::max<uint64_t>(1,
                            std::min<uint64_t>(most, kMultiprocessors * rules::kMaxBlocksPerMultiprocessor));
}

bool Machine::start_cluster(Grid& grid) {
  if (grid.started == grid.clusters || resident_.size() >= grid.limit) return false;
  resident_.push_back(make_cluster(grid.program, grid.config, grid.started++));
  return true;
}

void Machine::retire_finished(Grid& grid) {
  for (auto& cluster : resident_) {
    if (!cluster->finished()) continue;
    for (auto& cta : cluster->ctas) observers.tell(&Observer::on_cta_end, *cta);
    grid.retired.push_back(std::move(cluster));
  }
  resident_.erase(std::remove(resident_.begin(), resident_.end(), nullptr), resident_.end());
  while (grid.retired.size() > kRetiredLimit && engine->step(true)) release_retired(grid);
  release_retired(grid);
}

// Those that no operation in flight needs any more.
void Machine::release_retired(Grid& grid) {
  for (auto& cluster : grid.retired) {
    bool held = false;
    for (auto& cta : cluster->ctas) held = held || engine->holds(*cta);
    if (held) continue;
    for (auto& cta : cluster->ctas) engine->cta_ended(*cta);
    cluster.reset();
  }
  grid.retired.erase(std::remove(grid.retired.begin(), grid.retired.end(), nullptr), grid.retired.end());
}

void Machine::clean_up(Grid& grid) {
  engine->abandon();
  for (auto* list : {&resident_, &grid.retired})
    for (auto& cluster : *list)
      for (auto& cta : cluster->ctas) engine->cta_ended(*cta);
  resident_.clear();
  grid.retired.clear();
}

bool Machine::can_go_on() {
  bool stuck = true;
  each_warp([&](Warp& warp) { stuck = stuck && warp.stuck(); });
  return !stuck || engine->step(true) || wake_sleeper();
}

// No warp has run: the engines, then whoever sleeps, then more CTAs, then waits that may fail, then the host; when all that
// is in vain, it is a deadlock.
void Machine::unblock(Grid& grid) {
  if (can_go_on()) return;
  if (start_cluster(grid)) {
    grid.wanted = std::max<uint64_t>(grid.wanted, resident_.size());
    return;
  }
  if (effects != grid.effects_at_force) grid.forced_rounds = 0;
  grid.effects_at_force = effects;
  int forced = 0;
  if (grid.forced_rounds++ < kForcedRounds) each_warp([&](Warp& warp) { forced += warp.force_failures(); });
  if (forced) return;
  if (!wait_for_host || !wait_for_host()) throw Fault(describe_deadlock(*this, grid.program));
  ++effects;
}

void Machine::run(Grid& grid) {
  while (true) {
    while (resident_.size() < grid.wanted && start_cluster(grid)) {
    }
    if (resident_.empty()) break;
    const bool ran = run_pass(grid.program);
    findings.pass(instructions);
    retire_finished(grid);
    if (!ran && !resident_.empty()) unblock(grid);
  }
  engine->drain();
}

void Machine::launch(const Program& program, const LaunchConfig& config) {
  check_config(program, config);
  if (schedule.kind == Schedule::Kind::timed && !timekeeper) {
    Finding f(Id::bad_environment);
    f.title = "the schedule timed is asked for, and this machine has no timekeeper";
    f.hint = "set Machine::timekeeper, as runtime/device.cpp does";
    throw Fault(f);
  }
  random.seed(schedule.seed * 0x9E3779B97F4A7C15ull + config.grid_id);
  start_time();
  next_order_ = 0;
  Grid grid{program, config};
  grid.clusters = config.grid.count() / config.cluster.count();
  grid.limit = most_resident(program, config);
  // Few at a time: memory stays small, and a grid whose CTAs depend on each other still gets them all when it waits.
  grid.wanted = config.cooperative                        ? grid.clusters
                : schedule.kind == Schedule::Kind::random ? 1 + random() % 3
                : schedule.kind == Schedule::Kind::timed  ? timekeeper->resident_clusters(program, config)
                                                          : 1;
  if (timekeeper && timekeeper->only_first()) grid.clusters = std::min(grid.clusters, grid.wanted);
  findings.begin(instructions);
  observers.tell(&Observer::on_launch, *this, program, config);
  const auto give_up = [&] {
    flush_printf();
    findings.end();
    clean_up(grid);
  };
  try {
    if (!run_on_cores(grid)) run(grid);
    clean_up(grid);
  } catch (const Fault& fault) {
    observers.tell(&Observer::on_fault, *this, fault.finding());
    give_up();
    throw;
  } catch (...) {
    give_up();
    throw;
  }
  observers.tell(&Observer::on_launch_end, *this);
  flush_printf();
  findings.end();
}

}  // namespace emu
