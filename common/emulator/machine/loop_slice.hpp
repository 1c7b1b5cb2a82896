// What decides how a loop goes on: of the registers of a warp that goes round one, those that its branches, its loads and its
// waits depend on. A loop that counts its turns comes back to the same state in these, never in the count.
#pragma once

#include <vector>

#include "emulator/machine/observer.hpp"
#include "emulator/program/program.hpp"

namespace emu {

class LoopSlice final : public Observer {
 public:
  explicit LoopSlice(Warp& warp);
  ~LoopSlice() override;
  LoopSlice(const LoopSlice&) = delete;
  LoopSlice& operator=(const LoopSlice&) = delete;

  void on_instruction(Warp&, const Inst&) override;
  // The loop turned out to be longer since the last call: what was remembered of its state is void.
  bool has_grown();
  // The registers, in the frame of the kernel, each once.
  const std::vector<RegisterSlot>& deciding() const { return deciding_; }

 private:
  Warp& warp_;
  uint32_t first_ = UINT32_MAX,
           last_ = 0;  // the instructions of the loop, those in between that were skipped included
  bool grown_ = false;
  std::vector<RegisterSlot> deciding_;

  void include(uint32_t pc);
  void find_deciding();
};

}  // namespace emu
