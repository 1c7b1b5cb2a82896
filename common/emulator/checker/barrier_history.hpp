// What has happened to each mbarrier, for the words of a report: who arrived from which line, which copies named it, and which
// waits passed. Kept for each warp and line, so it does not grow with the length of a launch.
#pragma once

#include <map>
#include <vector>

#include "emulator/checker/operations.hpp"

namespace emu::check {

// Arrivals on one mbarrier by one warp from one line.
struct Arrivals {
  const Warp* warp = nullptr;
  int32_t source = -1;
  uint64_t count = 0;
  uint32_t lanes = 0;
  bool later = false;  // by cp.async.mbarrier.arrive
};

// Copies that complete on one mbarrier, of one warp from one line.
struct NamingCopies {
  const Warp* warp = nullptr;
  int32_t source = -1;
  uint64_t count = 0, bytes = 0;
  const Mbarrier* waited_for = nullptr;  // the issuer's latest wait that had passed
};

// Waits on one mbarrier that passed, of one warp from one line.
struct PassedWaits {
  const Warp* warp = nullptr;
  int32_t source = -1;
  uint64_t count = 0;
  uint64_t complete = 0;  // the latest answer: phases below this are complete
  uint32_t lanes = 0;     // that have had it
  bool again = false;     // some of them twice
};

// Something that is kept for a whole barrier, and for its running phase and the one before.
struct PhaseLog {
  std::vector<Arrivals> arrivals;
  std::vector<NamingCopies> copies;
};

struct BarrierLog {
  PhaseLog ever, running, before;
  std::vector<PassedWaits> waits;
  // The most phases that were completed between two times that somebody saw one complete, and the arrivals in them.
  uint64_t unseen_phases = 0, unseen_arrivals = 0;
  uint64_t seen = 0, arrivals_since = 0;
  bool tells_of_copies = false;  // copies complete on it: a wait for it says that bytes have landed
};

struct LatestWait {
  const Mbarrier* bar = nullptr;
  int32_t source = -1;
  uint64_t complete = 0;
};

class BarrierHistory {
 public:
  void clear();
  void forget(const Cluster& cluster);

  // ---- events
  void initialised(const Mbarrier& bar);  // begins anew
  void arrived(const At& at, const Mbarrier& bar, uint64_t count);
  void tied(const Mbarrier& bar);  // cp.async.mbarrier.arrive has been issued: it will tell of copies
  void copied(const Warp& w, const Operation& op, const Mbarrier& bar);
  void passed(const Warp& w, const Inst& in, uint32_t mask, const Mbarrier& bar, uint64_t complete);
  void refused(const Warp& w, const Inst& in, const Mbarrier& bar);  // a question that was answered False
  void completed(const Mbarrier& bar);                               // a phase

  // ---- questions
  const BarrierLog& of(const Mbarrier& bar) const;     // an empty one where nothing has happened
  const LatestWait* latest_wait(const Warp& w) const;  // null: none has passed
  // The last question of a warp, where it was answered False; null where a wait has passed since.
  const LatestWait* latest_refusal(const Warp& w) const;
  // No thread of the cluster has arrived, or copied onto a barrier, from there.
  bool never_executed(const Cluster& cluster, int32_t source) const {
    bool never = true;
    each(cluster, [&](const Mbarrier&, const BarrierLog& log) {
      for (const Arrivals& a : log.ever.arrivals) never = never && a.source != source;
      for (const NamingCopies& c : log.ever.copies) never = never && c.source != source;
    });
    return never;
  }
  template <class F>
  void each(const Cluster& cluster, F f) const {  // f(const Mbarrier&, const BarrierLog&)
    const auto logs = logs_.find(&cluster);
    if (logs == logs_.end()) return;
    for (const auto& [bar, log] : logs->second) f(*bar, log);
  }

 private:
  std::map<const Cluster*, std::map<const Mbarrier*, BarrierLog>> logs_;
  std::map<const Warp*, LatestWait> latest_, refused_;

  BarrierLog& log(const Mbarrier& bar);
};

}  // namespace emu::check
