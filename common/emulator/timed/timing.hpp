// The schedule `timed`: discrete events. Warps and engines act in the order of their times; what they do takes the cycles that
// parameters.hpp knows. It watches as an observer, so that the executors need not know of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/timed/parameters.hpp"

namespace emu::timed {

// Of the last launch with products of the tensor core, or else of the last: what a prediction is made of.
struct Summary {
  uint64_t launches = 0;
  uint64_t sms = 0, ctas = 0, ctas_per_sm = 0, cluster = 0;  // of that launch
  double cycles = 0;                                         // it took
  double tensor_busy = 0;                                    // of those, the tensor cores of an SM worked
  double waits_for_copies = 0;                               // and the next product waited for a copy
  bool overlaps = false;                                     // with the launch behind it (griddepcontrol)
  std::string json() const;
};

class Timing final : public Observer, public Timekeeper {
 public:
  explicit Timing(Machine& machine);
  ~Timing() override;
  const Summary& summary() const { return shown_; }

  // Registers of a thread, by kernel, as ptxas gives them, where that is known: PTX has a bound of them only.
  std::map<std::string, unsigned> registers;
  // Of the grid, the window runs the CTAs that fit into it and no others: for a grid that does not follow the multiprocessors.
  bool first_only = false;
  double mhz = kMostMhz;  // the SMs' clock

  uint64_t now() const override { return static_cast<uint64_t>(now_); }
  uint64_t resident_clusters(const Program& program, const LaunchConfig& config) override;
  bool pass() override;
  bool step() override;
  bool only_first() const override { return first_only; }

  void on_launch(Machine&, const Program&, const LaunchConfig&) override;
  void on_launch_end(Machine&) override;
  void on_fault(Machine&, const Finding&) override { clear(); }
  void on_cta_start(Cta&) override;
  void on_cta_end(Cta&) override;
  void on_exit(Warp&, const Inst&, uint32_t mask) override;
  void on_instruction(Warp&, const Inst&) override;
  void on_access(Warp&, const Inst&, const AccessEvent&) override;
  void on_bar_arrive(Warp&, const Inst&, uint32_t, uint32_t, uint64_t, bool release) override;
  void on_mbarrier_phase(Warp&, const Inst&, Mbarrier&) override { signal(); }
  void on_mbarrier_wait(Warp&, const Inst&, uint32_t, Mbarrier&, uint64_t, bool result, bool) override;
  void on_group_wait(Warp&, const Inst&, uint32_t, GroupKind, uint32_t, bool) override;
  void on_async_issue(AsyncOp&) override;
  void on_grid_dependency(Warp&, const Inst&, uint32_t, bool wait) override { summary_.overlaps |= !wait; }

 private:
  // What an instruction costs, by its text.
  struct Cost {
    float slots = kSlots, cycles = kInterval;
    float wake = 0;  // from the end of its wait
  };
  struct Sm {
    std::array<double, kSchedulers> issue = {};   // the scheduler is busy until
    std::array<double, kSchedulers> tensor = {};  // the tensor core is busy until
    double engine = 0, store = 0;                 // the copy engine's loads and stores
    double port = 0;                              // bytes from L2: until here it is busy,
    double share = 0;                             // and until here its share of L2 is used up
    double plain_stores = 0, shared = 0;
    std::vector<double> places;         // CTAs it can hold: free from
    std::unordered_set<uint64_t> maps;  // that its copy engine knows, by the tensors they describe
    double tensor_busy = 0, waits_for_copies = 0;
  };
  struct WarpTime {
    Warp* warp = nullptr;
    Sm* sm = nullptr;
    unsigned scheduler = 0;
    double clock = 0;
    bool woken = false;  // a wait has just ended
    bool blocked = false;
    bool polls = false;  // it waits for no event, but reads the same values again and again
    bool aloof =
        false;  // it waits for something that no event tells of: others' registers, the grid in front, an alarm
    double wake = 0;  // cost of going on
    double blocked_since = 0;
    double copy_wait_begin = 0, copy_wait_end = 0;  // the last wait for a copy
    double last_chunk = 0;                          // cp.async: the last one lands
    double last_result = 0;                         // of a load: the last register is there
    bool stored = false;                            // to global memory, and not released since to the cluster
    std::vector<float> result_at;                   // by slot of the frame
    // The last store that was asked for.
    const Inst* store = nullptr;
    double store_asked = 0, store_read = 0;
    MemoryRange store_source;
  };
  struct CtaTime {
    std::vector<std::unique_ptr<WarpTime>> warps;
    Sm* sm = nullptr;
    size_t place = 0;
  };
  struct Event {
    double time;
    uint64_t number;  // of the operation
    AsyncOp* op;      // null: the sleep of a thread is over
    bool read_only;   // of a store: the source has been read
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  struct Ready {
    double time;
    uint64_t order;
    WarpTime* warp;
    bool operator<(const Ready& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  Machine& machine_;
  Summary summary_;  // of the launch that runs
  Summary shown_;
  const Program* program_ = nullptr;
  double now_ = 0;
  double end_ = 0;          // of the launch, so far
  bool signalled_ = false;  // a wait may be over,
  double signal_at_ = 0;    // since then
  double l2_bytes_ = kL2Bytes;
  uint64_t order_ = 0;
  std::vector<Sm> sms_;
  std::unordered_map<const Cta*, CtaTime> ctas_;
  std::vector<Cost> costs_;  // by instruction of the program
  std::priority_queue<Event> events_;
  std::priority_queue<Ready> ready_;
  std::vector<WarpTime*> blocked_;
  size_t polling_ = 0, aloof_ = 0;  // of these
  uint64_t effects_seen_ = 0;       // by those that poll
  std::unordered_set<const Mbarrier*> of_copies_;
  std::vector<MemoryRange> ranges_;
  WarpTime* current_ = nullptr;
  double turn_end_ = 0;  // it is another's turn then

  void clear();
  void make_costs(const Program& program);
  WarpTime& time_of(const Warp& warp);
  Sm& sm_of(const Cta& cta) { return *ctas_.at(&cta).sm; }
  double in_time(double cycles) const { return cycles * mhz / kMostMhz; }
  void signal() {
    signalled_ = true;
    signal_at_ = now_;
  }
  void push(WarpTime& warp) { ready_.push({warp.clock, ++order_, &warp}); }
  void run(WarpTime& warp);
  void block(WarpTime& warp);
  bool told_by_events(const Inst& inst) const;
  void forget_blocked(WarpTime& warp);
  void wake(WarpTime& warp, double since);
  void wake_blocked(double since, const Cluster* only = nullptr);
  void wake_after(Warp& actor, double since);
  void wait_for_operands(WarpTime& warp, const Inst& inst);
  void wait_until(WarpTime& warp, double time);
  double deliver(Sm& sm, double first, double bytes, double rate, double share);
  void schedule(AsyncOp& op, double time, bool read_only = false) {
    events_.push({time, op.number, &op, read_only});
  }
  void issue_load(AsyncOp& op, WarpTime& warp);
  void issue_store(AsyncOp& op, WarpTime& warp);
  void issue_product(AsyncOp& op, WarpTime& warp);
  void copy_wait(WarpTime& warp);
};

}  // namespace emu::timed
