// The shared memory of other CTAs of the cluster: whether they have begun and are still there, and whether an arrive handed its
// writes over to the whole cluster.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "emulator/checker/teller.hpp"

namespace emu::check {

class ClusterRule {
 public:
  ClusterRule(Ordering& order, Past& past, Teller& tell) : order_(order), past_(past), tell_(tell) {}
  void clear() {
    remote_.clear();
    weak_.clear();
    relays_.clear();
    met_.clear();
    begun_.clear();
  }
  // A thread has met the whole cluster at its barrier.
  void met(const Cta& cta) { met_.insert(&cta); }
  // A thread, or a copy that it issues, accesses the shared memory of another CTA: it must know that the other has begun.
  void entered(const Accessor& who, const Cta& owner);
  // A thread uses the shared memory of another CTA, or arrives on an mbarrier there.
  void used(const At& at, const Cta& owner);
  // An arrive on an mbarrier of another CTA has published what the lane knows; until then it had handed over its accesses
  // up to the step `before`.
  void arrived(const At& at, uint32_t before, const Cta& owner);
  // Lanes go on with what others may have told them of, with a scope that is wide enough: through a cluster barrier, an atomic or
  // a fence.
  void told(const Warp& w, uint32_t mask);
  // What a thread of another CTA wrote is read.
  void check_read(const Accessor& who, Tag writer, uint64_t address);
  // The same of what others wrote, and the thread that arrived knew of.
  void check_relayed(const Accessor& who, Tag writer, uint64_t address);
  void cta_ends(const Cta& cta);

  void drop_arrivals();  // those that no marked record depends on (collect.cpp)

 private:
  struct Use {
    uint32_t epoch = 0;
    int32_t source = -1;
  };
  // Arrivals of a thread in other CTAs with .release.cta, its releases of epochs first..last: they order its reads (a
  // stage is handed back), but what it wrote after epoch `released` is not handed to the other CTA.
  struct WeakArrivals {
    uint32_t first = 0, last = 0, released = 0;
    int32_t source = -1;
  };
  Ordering& order_;
  Past& past_;
  Teller& tell_;
  std::map<const Cta*, std::map<Component, Use>>
      remote_;  // by the CTA that is used: the latest use of each thread
  std::set<const Cta*> met_;
  std::set<std::pair<const Warp*, const Cta*>> begun_;  // who is known to know that the other has begun
  std::map<uint32_t, std::map<Component, std::vector<WeakArrivals>>> weak_;  // by cluster and thread

  // From the first arrival with .release.cta in another CTA on: what each CTA can know of the others without such arrivals, and
  // the latest one that came to it.
  struct Relay {
    std::map<const Cta*, Clock> known;
    std::map<const Cta*, std::pair<const Warp*, int32_t>> weak;
  };
  std::map<uint32_t, Relay> relays_;  // by cluster

  Relay* relay_of(const WarpOrder& w);
  void hand_to(Relay& relay, const Cta& owner, const WarpOrder& from, uint32_t mask);
  void tell_scope(const Accessor& who, Tag writer, int32_t arrival, const Warp& arriving, uint64_t address);
};

}  // namespace emu::check
