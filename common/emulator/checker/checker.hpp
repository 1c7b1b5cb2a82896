// The checker: happens-before over threads, engine operations and proxies, for every byte of shared memory and the
// global bytes a kernel touches. It watches through observer.hpp and changes nothing.
//
// How a copy is ordered: when it is issued, its bytes are marked as written by it, and the mark says what a reader
// must have seen: phase p of mbarrier B, or group g of thread t. A reader whose clock does not hold that is reported,
// whether or not the bytes happen to be there. So findings do not depend on when the emulator lets copies land.
//
// Here each event goes to the parts that it concerns: what is known (order_, past_, mbarriers_), then the rules, each with a
// state of its own.
#pragma once

#include "emulator/checker/accesses.hpp"
#include "emulator/checker/drain.hpp"
#include "emulator/checker/freed_maps.hpp"
#include "emulator/checker/operands.hpp"
#include "emulator/checker/register_counts.hpp"
#include "emulator/checker/registers.hpp"
#include "emulator/checker/stuck.hpp"
#include "emulator/checker/swizzles.hpp"
#include "emulator/checker/tensor_maps.hpp"
#include "emulator/checker/unset_registers.hpp"
#include "emulator/machine/observer.hpp"

namespace emu::check {

class Checker : public Observer {
 public:
  Checker();
  ~Checker() override;  // not here: whoever makes a checker would compile those of all the tables in it
  void on_launch(Machine&, const Program&, const LaunchConfig&) override;
  void on_launch_end(Machine&) override;
  void on_deadlock(const std::vector<StuckGroup>&, Finding&) override;
  void on_mbarrier_fault(const At&, const Mbarrier&, Finding&) override;
  void on_cta_start(Cta&) override;
  void on_cta_end(Cta&) override;
  void on_exit(Warp&, const Inst&, uint32_t mask) override;
  void on_access(Warp&, const Inst&, const AccessEvent&) override;
  void on_malloc(Warp&, uint64_t address, uint64_t bytes) override;
  void on_fence(Warp&, const Inst&, uint32_t mask, FenceKind, bool cluster_or_wider) override;
  void on_warp_sync(Warp&, const Inst&, uint32_t mask) override;
  void on_instruction(Warp&, const Inst&) override;
  void on_bar_arrive(Warp&, const Inst&, uint32_t mask, uint32_t barrier, uint64_t generation,
                     bool release) override;
  void on_bar_leave(Warp&, const Inst&, uint32_t mask, uint32_t barrier, uint64_t generation) override;
  void on_mbarrier(const At&, Mbarrier&, MbarrierOp, int64_t amount, bool release) override;
  void on_mbarrier_wait(Warp&, const Inst&, uint32_t mask, Mbarrier&, uint64_t phase, bool result,
                        bool acquire) override;
  void on_mbarrier_phase(Warp&, const Inst&, Mbarrier&) override;
  void on_async_issue(AsyncOp&) override;
  void on_async_complete(AsyncOp&) override;
  void on_commit(Warp&, const Inst&, uint32_t mask, GroupKind) override;
  void on_group_wait(Warp&, const Inst&, uint32_t mask, GroupKind, uint32_t n, bool read) override;
  void on_map_use(const At&, uint64_t address) override;
  void on_registers(Warp&, const Inst&, unsigned registers, unsigned before) override;
  void on_grid_dependency(Warp&, const Inst&, uint32_t mask, bool wait) override;

  // "CTA (0,0,0) warp 4, at file:line": who wrote that byte of global memory last, in the last launch; "": nobody.
  std::string writer(uint64_t address) { return seam_.writer(address); }

  // Bytes of the tables of past accesses. When they have grown by least_growth, what nobody can ask about any more is
  // dropped; 0: before every access, for tests.
  size_t table_bytes() const {
    return past_.records.bytes() + past_.operations.bytes() + order_.snapshot_bytes + maps_.snapshot_bytes;
  }
  size_t least_growth = 4 << 20;

 private:
  Ordering order_;
  Past past_{order_};
  Teller tell_{order_, past_};
  BarrierHistory history_;
  CopiedBoxes boxes_{tell_};
  Mbarriers mbarriers_{order_, past_, history_, tell_};
  // ---- the rules
  Unwritten unwritten_{tell_};
  Conflicts conflicts_{past_, mbarriers_, history_, unwritten_, tell_};
  ProxyRule proxies_{past_, tell_};
  ClusterRule cluster_{order_, past_, tell_};
  GridSeamRule seam_{tell_};
  AccessRule accesses_{past_, mbarriers_, conflicts_, proxies_, cluster_, seam_, unwritten_, tell_};
  TensorMapRule maps_{order_, past_, accesses_.global(), tell_};
  FreedMapRule freed_maps_{tell_};
  SwizzleRule swizzles_{past_, accesses_, tell_};
  OperandRule operands_{past_, accesses_, tell_};
  RegisterRule registers_{tell_};
  RegisterCountRule register_counts_{tell_};
  UnsetRegisterRule unset_registers_{tell_};
  DrainRule drain_{boxes_, tell_};
  StuckRule stuck_{history_, boxes_, tell_};

  Accessor accessor(const Warp& w, const Inst& in, uint32_t lanes) {
    return {&order_.warp(w), &in, lanes, lanes, nullptr};
  }
  void copies_of_lanes(const AsyncOp& op, Accessor who, Tag tag, const std::vector<MemoryRange>& sources,
                       const std::vector<MemoryRange>& destinations);
  void writes_of(const AsyncOp& op, const Operation& o, Accessor who, Record record, Tag here,
                 const std::vector<MemoryRange>& destinations);

  // ---- what nobody can ask about any more (collect.cpp)
  size_t collect_at_ = 0;  // table_bytes() for the next time
  void collect_when_due() {
    if (table_bytes() >= collect_at_) collect();
  }
  void collect();
  template <class F>
  void each_op_in_use(F f);
  void drop_operations();
  void drop_clocks();
};

}  // namespace emu::check
