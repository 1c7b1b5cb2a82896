// The device: memory, the CTAs that are resident, the engines, and the schedule that decides who goes next.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "emulator/findings/launch_findings.hpp"
#include "emulator/machine/memory.hpp"
#include "emulator/machine/observer.hpp"
#include "emulator/machine/timekeeper.hpp"
#include "emulator/machine/warp.hpp"
#include "emulator/machine/warpgroup.hpp"
#include "emulator/program/program.hpp"
#include "rules/launch.hpp"

namespace emu {

class AsyncEngine;
struct Mbarrier;

struct Schedule {
  enum class Kind { in_order, late, random, timed };
  Kind kind = Kind::in_order;
  unsigned cores = 1;  // that may run CTAs of one grid (cores.cpp)
  uint64_t seed = 0;
  uint64_t window =
      0;  // timed: multiprocessors that run the launch while the others do the same; 0: all, each its part
  // "in-order", "late", "random:7", "timed", "timed:2". Throws Fault ("bad-environment") on anything else.
  static Schedule from(const std::string& text);
  std::string text() const;
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return static_cast<uint64_t>(x) * y * z; }
};

struct LaunchConfig {
  Dim3 grid, block, cluster;
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  bool early =
      false;  // may start before the grid in front of it has ended (programmatic stream serialization)
  uint64_t cooperative_workspace = 0;  // device address that %envreg1/2 report (grid synchronisation)
  std::vector<uint8_t> params;         // laid out as Program::params says
  uint64_t grid_id = 0;
};
// For the rules (rules/launch.hpp), but for what the kernel's attributes allow.
rules::LaunchArguments launch_arguments(const Program& program, const LaunchConfig& config);

// One of the 16 barriers of bar/barrier. It counts arrivals, a warp's as 32 threads: a warp may arrive more than once.
struct NamedBarrier {
  uint32_t expected_threads = 0;   // of the current use; 0: all warps
  std::vector<uint32_t> arrivals;  // complete ones, per warp
  std::vector<uint32_t> lanes;     // that have arrived while others of their warp have not, per warp
  uint64_t generation = 0;
  uint32_t red_and = 0, red_or = 0, red_count = 0;           // accumulating
  uint32_t result_and = 0, result_or = 0, result_count = 0;  // of the last completion
  int32_t first_source = -1;  // Program source index of the first arrival; -1: nobody has arrived
  uint32_t threads() const {  // that have arrived
    uint32_t sum = 0;
    for (uint32_t count : arrivals) sum += 32 * count;
    return sum;
  }
};

struct Cluster;

struct Cta {
  Cta(Machine& machine, const Program& program, const LaunchConfig& config, Dim3 index, uint32_t rank);
  ~Cta();
  Machine& machine;
  const Program& program;
  const LaunchConfig& config;
  Dim3 index;             // %ctaid
  uint32_t cluster_rank;  // %cluster_ctarank
  Cluster* cluster = nullptr;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<std::byte> shared;  // [0, shared_begin) is the system's
  uint32_t shared_begin = kSharedBase;
  std::array<NamedBarrier, 16> barriers;
  std::map<uint32_t, Mbarrier> mbarriers;  // by shared address
  std::vector<Warpgroup> warpgroups;       // what they do with wgmma; empty before the first one
  uint64_t order = 0;                      // launch order, unique
  std::array<Cta*, 32> itself;             // AccessEvent::owner of lanes that use its own shared memory
  bool finished() const;

  // Bytes of this CTA's shared window, or null when [address, address + bytes) is not allocated.
  std::byte* shared_at(uint64_t address, uint64_t bytes) {
    return address >= shared_begin && address <= shared.size() && bytes <= shared.size() - address
               ? shared.data() + address
               : nullptr;
  }
  void lanes_exited(Warp& warp);  // re-evaluates barriers that waited for them
  std::string text() const;       // "CTA (0,0,0)"
};

// CTAs that are resident together. Without a cluster launch: one CTA.
struct Cluster {
  std::vector<std::unique_ptr<Cta>> ctas;
  Dim3 index;
  uint64_t barrier_generation = 0;  // barrier.cluster: how often it completed
  bool finished() const;
};

// Generic addresses (PTX ISA 9.7.9.19): windows above every host address.
constexpr uint64_t kSharedWindow = 0x0001'0000'0000'0000ull;  // + rank << 24 + address
constexpr uint64_t kLocalWindow = 0x0002'0000'0000'0000ull;
constexpr uint64_t kParamWindow = 0x0003'0000'0000'0000ull;
constexpr uint64_t kWindowMask = 0xFFFF'0000'0000'0000ull;
constexpr uint32_t kSharedRankShift = 24;
constexpr uint32_t kClusterAddressBit =
    1u << 31;  // a .shared::cluster address that names a rank (mapa) has it set

class Machine {
 public:
  Machine();
  ~Machine();

  GlobalMemory memory;
  Schedule schedule;
  std::unique_ptr<AsyncEngine> engine;
  Observers observers;
  Timekeeper* timekeeper = nullptr;  // the schedule `timed` needs one
  LaunchFindings findings;           // of the running launch
  // Nobody can go on: true when the host may have changed what somebody waits for. Empty: the host waits for the launch.
  std::function<bool()> wait_for_host;
  double time_limit_s = 300;  // of one launch, in seconds of processor time
  uint64_t effects = 0;       // grows with every change another thread could see
  uint64_t instructions = 0;  // of warps, executed by all launches
  std::mt19937_64 random;
  std::string printf_buffer;  // device printf, flushed at the end of a launch and before a report

  // Runs the grid to its end. Throws Fault.
  void launch(const Program& program, const LaunchConfig& config);

  // The CTA of the running cluster that owns a shared::cluster address; *offset is the address in its window.
  Cta* shared_owner(Cta& from, uint64_t address, uint32_t* offset);
  const std::vector<std::unique_ptr<Cluster>>& resident() const { return resident_; }
  void flush_printf();
  // Emulated time at the beginning of a turn, in ns and in cycles; under the schedule `timed`, the cycle.
  uint64_t clock() const { return schedule.kind == Schedule::Kind::timed ? timekeeper->now() : clock_; }

 private:
  std::vector<std::unique_ptr<Cluster>> resident_;
  uint64_t effects_at_pass_ = 0;  // `effects` when the last pass began
  uint64_t clock_ = 0, next_order_ = 0;
  double started_s_ = 0;  // processor time at the beginning of the launch
  uint64_t passes_ = 0;

  // The grid that runs: which of its clusters have been started, and which have ended while operations still need them.
  struct Grid {
    const Program& program;
    const LaunchConfig& config;
    uint64_t clusters = 0, limit = 1, wanted = 1;  // in all; that fit at once; that are to be resident
    uint64_t started = 0;
    uint64_t forced_rounds = 0, effects_at_force = 0;
    std::vector<std::unique_ptr<Cluster>> retired = {};
  };
  void check_config(const Program& program, const LaunchConfig& config);
  static uint64_t most_resident(const Program& program, const LaunchConfig& config);
  std::unique_ptr<Cluster> make_cluster(const Program& program, const LaunchConfig& config, uint64_t number);
  // On several cores, with what a run on one gives, to the bit. False: it cannot be, and nothing has happened.
  bool run_on_cores(Grid& grid);
  bool may_use_cores(const Grid& grid) const;
  struct Deal;
  Machine(const Machine& first, Deal& deal);  // of another core
  void run_clusters(Grid& grid, Deal& deal);
  bool start_cluster(Grid& grid);
  void retire_finished(Grid& grid);
  void release_retired(Grid& grid);
  void clean_up(Grid& grid);
  template <class F>
  void each_warp(F f);  // f(Warp&) of the resident CTAs
  void run(Grid& grid);
  bool run_pass(const Program& program);
  bool can_go_on();     // no warp has run: whether a warp still can, or the engines or a sleeper have moved
  bool wake_sleeper();  // nobody else can do anything: time passes until the first alarm
  void unblock(Grid& grid);
  void start_time();
  void check_time(const Program& program);
};

}  // namespace emu
