// Tensor maps in global memory. A copy reads its map through the tensormap proxy: what threads, or the host, wrote there
// is seen only after a release fence behind the writes and an acquire fence in the CTA of the copy (PTX ISA 9.7.13.4);
// and a map must not be changed while a copy that uses it is under way.
#pragma once

#include <map>
#include <vector>

#include "emulator/checker/teller.hpp"

namespace emu::check {

class TensorMapRule {
 public:
  TensorMapRule(Ordering& order, Past& past, GlobalShadow& global, Teller& tell)
      : order_(order), past_(past), global_(global), tell_(tell) {}
  void clear();
  bool empty() const { return maps_.empty(); }

  void released(Warp& w, uint32_t mask);
  void acquired(Warp& w, int lane, uint64_t address);
  // A copy is about to be issued by this lane with the map at this address; then it is.
  void used(const Accessor& who, uint64_t address);
  void copy_issued(const Inst& inst, Tag copy);
  // A thread writes global memory: is a map there that a copy may still be using?
  void check_edit(const Accessor& who, uint64_t address, uint64_t bytes);

  // ---- what nobody can ask about any more (collect.cpp)
  size_t snapshot_bytes = 0;  // of the clocks kept since the last time, about
  void drop_users();
  void drop_fences();
  void records_moved();  // all acquisitions that are left are of the present contents
  template <class F>
  void replace_tags(F f) {
    for (auto& [address, map] : maps_)
      for (Tag& user : map.users) user = f(user);
  }
  template <class F>
  void each_release(F f) {  // f(cluster, clock)
    for (Release& r : releases_) f(r.cluster, r.covers);
  }

 private:
  struct Acquired {  // fence.proxy.tensormap acquire of a map
    uint32_t cluster = 0;
    uint16_t rank = 0;
    Component thread = 0;
    uint32_t epoch = 0;
    uint64_t contents = 0;  // who had written its bytes
    bool released = false;  // and they, or somebody after them, had executed the release fence
  };
  struct Map {
    std::vector<Acquired> acquired;
    std::vector<Tag> users;  // copies
  };
  struct Release {  // a release fence, and what it covers
    uint32_t cluster = 0, threads_per_cta = 0;
    Component thread = 0;
    uint32_t epoch = 0;
    Clock covers;
  };
  Ordering& order_;
  Past& past_;
  GlobalShadow& global_;
  Teller& tell_;
  std::map<uint64_t, Map> maps_;
  std::vector<Release> releases_;
  uint64_t in_use_ = 0;  // by the copy that is about to be issued, at used_by_
  const Inst* used_by_ = nullptr;

  std::vector<Tag> writers(uint64_t address);
  uint64_t contents(uint64_t address);  // tells who wrote it from who did before
  bool covers(const Release& r, Tag write) const;
  bool released_before(const Accessor& who, Tag write) const;
  const Acquired* acquisition(const Accessor& who, uint64_t address);
  void tell_missing_fence(const Accessor& who, Finding f, bool written, bool acquired, int32_t written_at);
};

}  // namespace emu::check
