// Registers that nothing has set, where their value matters: it is an address or stored, or decides what is executed. What is
// only copied or computed is followed until then.
#pragma once

#include <map>

#include "emulator/checker/per_warp.hpp"
#include "emulator/checker/teller.hpp"
#include "emulator/checker/unset_reads.hpp"

namespace emu::check {

class UnsetRegisterRule : public Observer {
 public:
  explicit UnsetRegisterRule(Teller& tell) : tell_(tell) {}
  void begin(const Program& program);  // a launch
  void cta_started(Cta& cta);
  void forget(const Cta& cta) { warps_.forget(cta); }

  void on_instruction(Warp&, const Inst&) override;

 private:
  // The watched registers of one frame, by their number.
  struct Frame {
    std::vector<uint32_t> unset;   // lanes
    std::vector<int32_t> read_at;  // what has read it, or what it was computed from, first
  };
  using Frames = std::map<uint32_t, Frame>;  // by offset

  Teller& tell_;
  std::map<uint64_t, UnsetReads> known_;  // by what they go by
  const UnsetReads* reads_ = nullptr;
  PerWarp<Frames> warps_;

  Frame& frame_of(const Warp& w, uint32_t function);
  static void set(Frame& frame, uint32_t r, uint32_t lanes, uint32_t unset, int32_t read_at);
  void multiplied(Warp& w, const Inst& in, const WatchedInst& watched, Frame& frame, uint32_t lanes);
  void tell(const Warp& w, const Inst& in, uint32_t lanes, const char* title, int32_t read_at,
            const char* hint = "give the variable a value on every path that leads here");
};

}  // namespace emu::check
