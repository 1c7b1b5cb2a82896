// What runs beside what: copies in flight behind the one that is waited for, products behind the one that is issued,
// registers that have moved. Under the schedule `late`, where nothing lands before it must, these are the program's own.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "emulator/machine/statistics.hpp"

namespace emu {

class Overlap : public Observer {
 public:
  explicit Overlap(Stats& stats) : stats_(stats) {}

  void on_launch(Machine&, const Program&, const LaunchConfig&) override;
  void on_cta_end(Cta&) override;
  void on_async_issue(AsyncOp&) override;
  void on_async_complete(AsyncOp&) override;
  void on_mbarrier_wait(Warp&, const Inst&, uint32_t mask, Mbarrier&, uint64_t phase, bool result,
                        bool acquire) override;
  void on_commit(Warp&, const Inst&, uint32_t mask, GroupKind) override;
  void on_group_wait(Warp&, const Inst&, uint32_t mask, GroupKind, uint32_t n, bool read) override;
  void on_registers(Warp&, const Inst&, unsigned registers, unsigned before) override;
  std::unique_ptr<Observer> beside() override;
  void join(Observer& beside) override { stats_.add(static_cast<Overlap&>(beside).stats_); }

 private:
  struct OfWarp {
    uint64_t cp_async_bytes = 0;  // in flight
    uint64_t products = 0;        // groups of wgmma that are committed and not waited for
    bool open = false;            // a product is issued and not committed
    uint64_t stores = 0;          // groups of bulk and tensor stores that are committed and not waited for
    bool store_open = false;
    bool moved_registers = false;
  };
  Stats& stats_;
  std::map<const Cta*, uint64_t> loads_;  // bytes in flight to shared memory, by the CTA that issued them
  std::map<const Warp*, OfWarp> warps_;
  std::set<const Mbarrier*> of_copies_;  // barriers on which copies complete
};

}  // namespace emu
