// Watches a machine and records the launch that is worth looking at: the first one in which an error is found, else the
// first that copies asynchronously, multiplies, or has an mbarrier.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/trace/trace.hpp"

namespace emu::trace {

const char* name_of(GroupKind kind);  // "cp.async.bulk"

class Recorder final : public Observer {
 public:
  explicit Recorder(const Window& window);
  ~Recorder() override;
  // The launch that is kept so far, the running one included; null when there has been none.
  const Trace* trace() const;

  void on_launch(Machine&, const Program&, const LaunchConfig&) override;
  void on_launch_end(Machine&) override;
  void on_fault(Machine&, const Finding&) override;
  void on_finding(const Finding&) override;
  void on_cta_start(Cta&) override;
  void on_cta_end(Cta&) override;
  void on_exit(Warp&, const Inst&, uint32_t mask) override;
  void on_instruction(Warp&, const Inst&) override;
  void on_turn(Warp&, const Turn&) override;
  void on_access(Warp&, const Inst&, const AccessEvent&) override;
  void on_fence(Warp&, const Inst&, uint32_t mask, FenceKind, bool cluster_or_wider) override;
  void on_registers(Warp&, const Inst&, unsigned registers, unsigned before) override;
  void on_grid_dependency(Warp&, const Inst&, uint32_t mask, bool wait) override;

  void on_bar_arrive(Warp&, const Inst&, uint32_t mask, uint32_t barrier, uint64_t generation,
                     bool release) override;
  void on_bar_leave(Warp&, const Inst&, uint32_t mask, uint32_t barrier, uint64_t generation) override;
  void on_mbarrier(const At&, Mbarrier&, MbarrierOp, int64_t amount, bool release) override;
  void on_mbarrier_phase(Warp&, const Inst&, Mbarrier&) override;
  void on_mbarrier_wait(Warp&, const Inst&, uint32_t mask, Mbarrier&, uint64_t phase, bool result,
                        bool acquire) override;
  void on_wait(Warp&, const Group&) override;
  void on_wait_end(Warp&, const Group&) override;

  void on_async_issue(AsyncOp&) override;
  void on_async_read(AsyncOp&) override;
  void on_async_write(AsyncOp&) override;
  void on_async_complete(AsyncOp&) override;
  void on_commit(Warp&, const Inst&, uint32_t mask, GroupKind) override;
  void on_group_wait(Warp&, const Inst&, uint32_t mask, GroupKind, uint32_t newest, bool read) override;

 private:
  struct OpenWait {
    uint32_t mask = 0;
    const void* object = nullptr;  // the mbarrier; null: an async-group or the like
    uint64_t phase = 0;
    int64_t id = 0, event = -1;
  };
  struct WarpState {
    int64_t latest = -1;   // the event that the warp's next access or copy may join
    int64_t copy = -1;     // cp.async that the warp's next one may join
    uint64_t commits = 0;  // of wgmma groups
    std::vector<OpenWait> waits;
  };
  struct Product {
    int64_t id = -1, event = -1;
    uint64_t open = 0;       // wgmma of warps that are not complete
    uint32_t committed = 0;  // by which warps of the warpgroup
  };
  struct CtaState {
    int64_t number = -1;
    bool recorded = false;
    uint64_t products = 0, phases = 0;  // what K steps are counted by
    int first_warpgroup = -1;
    std::vector<WarpState> warps;
    std::map<std::pair<int, uint64_t>, Product> running;  // by warpgroup and its commits
  };

  Window window_;
  uint64_t launches_ = 0;
  std::unique_ptr<Trace> kept_, current_;
  Machine* machine_ = nullptr;
  const Program* program_ = nullptr;
  std::unordered_map<const Cta*, CtaState> ctas_;
  std::map<uint64_t, int64_t> number_of_;  // by Cta::order
  std::map<std::pair<const Cta*, uint32_t>, int64_t> barriers_;
  std::vector<bool> counts_bytes_;                       // by barrier: bytes have come in the running phase
  std::vector<int64_t> lines_;                           // by Program source
  std::unordered_map<const AsyncOp*, int64_t> copy_of_;  // those in flight, and the copy they belong to
  std::unordered_map<const AsyncOp*, uint64_t> commit_of_;  // wgmma in flight: the commits before it
  std::unordered_map<int64_t, uint64_t> open_ops_;          // by copy: operations that are not complete
  int64_t copies_ = 0, products_ = 0, waits_ = 0;
  int64_t completing_ = -1;         // the copy whose barrier is being told
  uint64_t turn_instructions_ = 0;  // of the running warp since its turn began
  uint64_t latest_ = 0;             // cycle of an event so far
  size_t printed_ = 0;

  CtaState* state_of(const Cta& cta);  // null when it is not recorded, or not now
  WarpState* state_of(const Warp& warp);
  bool in_window(const CtaState& cta) const;
  int64_t number_of(const Cta& cta) const;
  // Adds an event, or counts it as left out: then the result is null. The pointer holds until the next one is added.
  Event* add(const char* what, const Cta& cta);
  Event* add(const char* what, const Warp& warp, const Inst& inst, uint32_t mask);
  int64_t line_of(const Inst& inst);
  int64_t line_of(const SourceLine& line, const std::string& instruction);
  int64_t barrier_of(const Mbarrier& bar, const Inst* init);
  int64_t map_of(const TensorMap& map);
  void note_print(const Warp& warp);
  void keep_if_better();
  uint64_t now();

  void end_wait(Warp& warp, const Inst& inst, uint32_t mask, const void* object, uint64_t phase);
  Event* begin_wait(Warp& warp, const Inst& inst, uint32_t mask, const void* object, uint64_t phase);
  void issue_product(AsyncOp& op);
  void complete_product(AsyncOp& op);
  void finish_product(CtaState& cta, const Warp& warp, uint64_t commits);
  void describe_copy(const AsyncOp& op, Event& event);
};

}  // namespace emu::trace
