// What the kernels of a process did, in numbers: the counters of EMU_JSON, kept by an observer.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emulator/machine/observer.hpp"
#include "emulator/program/program.hpp"

namespace emu {

struct Stats {
  uint64_t launches = 0, warp_instructions = 0, thread_instructions = 0;
  std::array<uint64_t, kClasses> thread_instructions_of = {};  // by Class
  uint64_t cp_async_issued = 0, cp_async_bytes = 0;
  uint64_t cp_async_groups = 0;  // commits by warps
  uint64_t bulk_load_issued = 0, bulk_load_bytes = 0, bulk_store_issued = 0, bulk_store_bytes = 0;
  uint64_t tensor_load_issued = 0, tensor_load_bytes = 0, tensor_store_issued = 0, tensor_store_bytes = 0;
  uint64_t copy_issuing_threads = 0;  // the largest number in one CTA
  uint64_t mbarrier_init = 0, mbarrier_arrivals = 0, mbarrier_expect_tx_bytes = 0,
           mbarrier_complete_tx_bytes = 0, mbarrier_phases_completed = 0;
  uint64_t wgmma_issued = 0, wgmma_flop = 0;
  // Each the most that was ever seen (overlap.hpp). Bytes of copies into shared memory that were in flight when a wait for
  // a copy had ended (of the waiting warp's own cp.async, of the CTA's where an mbarrier was waited for); groups of wgmma that
  // were not waited for when the next wgmma was issued.
  uint64_t copy_bytes_ahead = 0, wgmma_groups_ahead = 0;
  uint64_t stores_behind_product = 0;  // bulk and tensor stores of a warp that had a wgmma in flight
  uint64_t store_groups_ahead =
      0;  // the most groups of a warp's stores that were not waited for when it issued the next store
  // Warps that executed setmaxnreg; the most registers that all warps of a CTA had after one, those that have ended too.
  uint64_t setmaxnreg_warps = 0, setmaxnreg_registers = 0;
  uint64_t wgmma_registers = 0;  // the fewest that a thread had that executed one
  uint64_t global_load_bytes = 0, global_store_bytes = 0, shared_load_bytes = 0, shared_store_bytes = 0;
  std::string json() const;  // {"launches":1,...}
  void add(const Stats& more);
};

class Statistics final : public Observer {
 public:
  const Stats& stats() const { return stats_; }
  Stats& stats() { return stats_; }  // for those that add to it

  void on_launch(Machine&, const Program&, const LaunchConfig&) override;
  void on_cta_end(Cta&) override;
  void on_turn(Warp&, const Turn&) override;
  void on_access(Warp&, const Inst&, const AccessEvent&) override;
  void on_mbarrier(const At&, Mbarrier&, MbarrierOp, int64_t amount, bool release) override;
  void on_mbarrier_phase(Warp&, const Inst&, Mbarrier&) override;
  void on_async_issue(AsyncOp&) override;
  std::unique_ptr<Observer> beside() override { return std::make_unique<Statistics>(); }
  void join(Observer& beside) override { stats_.add(static_cast<Statistics&>(beside).stats_); }

 private:
  Stats stats_;
  std::map<const Cta*, std::vector<bool>> issuers_;  // threads that have issued bulk or tensor copies
};

}  // namespace emu
