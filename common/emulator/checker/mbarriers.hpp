// The mbarriers of the running CTAs: what their phases hand over, which copies they wait for, and how each thread waited.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "emulator/checker/barrier_history.hpp"
#include "emulator/checker/past.hpp"
#include "emulator/checker/teller.hpp"

namespace emu::check {

// A question by a thread about a phase, remembered to tell a missing wait from a wait for the wrong phase.
struct LastWait {
  uint64_t complete = 0;  // the answer was: phases below this are complete
  int32_t source = -1;
  bool used = false;      // bytes of that phase were read after it
  bool repeated = false;  // the wait before it had the same answer, and was used
};

struct MbarrierState {
  Mbarrier* bar = nullptr;
  Component component = 0;
  uint64_t phase = 0;
  Clock gathering;                          // of the arrivals of the running phase
  Clock complete[2];                        // of the latest complete phases, by parity
  std::vector<uint32_t> in_flight;          // operations that will complete on it
  uint32_t last_op = 0;                     // the latest operation that completes on it, landed or not
  uint32_t init_owner = 0, init_epoch = 0;  // thread component and epoch of the init
  int32_t init_source = -1;
  uint64_t announced = 0;       // bytes, by expect_tx in the running phase
  int32_t expect_source = -1;   // the latest expect_tx
  uint64_t seen = 0;            // phases below this one were seen complete by somebody
  std::vector<LastWait> waits;  // by thread component
};

class Mbarriers {
 public:
  Mbarriers(Ordering& order, Past& past, BarrierHistory& history, Teller& tell)
      : order_(order), past_(past), history_(history), tell_(tell) {}
  void clear() { states_.clear(); }
  void forget(const Cluster& cluster) { states_.erase(&cluster); }

  MbarrierState& state(Mbarrier& bar);  // as it is now
  MbarrierState* find(const Mbarrier* bar,
                      const Cta& cta);  // of that CTA's cluster; null: never used, or null

  // ---- events
  void initialised(const At& at, Mbarrier& bar);
  void operated(const At& at, Mbarrier& bar, MbarrierOp op, int64_t amount, bool release);
  void waited(Warp& w, const Inst& in, uint32_t mask, Mbarrier& bar, uint64_t phase, bool result,
              bool acquires);
  // A copy will complete on this barrier. Fills in what a reader must have seen; returns the operation's index.
  uint32_t issued(Operation o, Mbarrier* barrier, const Accessor& who);
  void completed(uint32_t operation, const Cta& issuer);
  void cta_ends(Cta& cta, const std::function<void(const Operation&)>& left_behind);
  // The lanes have used what they waited for: the bytes of a copy.
  void mark_used(const Accessor& who, Tag write);

  // ---- mistakes that others meet
  // Whether a thread's last wait answered about an older phase than the bytes come with, and that answer had not been used
  // for its own phase: then the wait, not its absence, is the mistake. Null when it is not.
  const LastWait* wrong_parity(const MbarrierState& b, uint64_t needed, uint32_t rank, int warp,
                               int lane) const;
  // The finding of such a wait.
  Finding wrong_parity(const MbarrierState& b, const LastWait& w, uint64_t needed, const Cta& cta, int warp,
                       int lane) const;
  // Bytes are read, or on their way, in a phase in which nobody has announced any.
  void tell_unannounced(const MbarrierState& b, const Operation& op, const Inst& met_at);

  template <class F>
  void each(F f) {  // f(MbarrierState&)
    for (auto& [cluster, states] : states_)
      for (auto& [bar, state] : states) f(state);
  }

 private:
  Ordering& order_;
  Past& past_;
  BarrierHistory& history_;
  Teller& tell_;
  std::map<const Cluster*, std::map<const Mbarrier*, MbarrierState>> states_;

  void catch_up(MbarrierState& b);
  void tell_completed_early(const MbarrierState& b, const Operation& op);
  const Mbarrier* meant_by(const Mbarrier& bar, int32_t source) const;
  void check_again(const At& at, Mbarrier& bar, const MbarrierState& b);
  void check_initialised(Warp& w, const Inst& in, uint32_t mask, const MbarrierState& b);
};

}  // namespace emu::check
