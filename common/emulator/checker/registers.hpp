// Registers that a wgmma holds: accumulators and A fragments are in flight until wgmma.wait_group covers it, and a
// register that was written must be behind a wgmma.fence before a wgmma uses it (PTX ISA 9.7.15.7).
//
// What runs is the compiler's PTX, and the compiler may do with registers what the source does not say: it copies values
// from one to another, packs and unpacks halves, and moves what only computes past a fence or a wait. So a copy of a
// register is in the same state as the register, and whoever may have been moved is not accused.
#pragma once

#include <vector>

#include "emulator/checker/teller.hpp"

namespace emu::check {

class RegisterRule {
 public:
  explicit RegisterRule(Teller& tell) : tell_(tell) {}
  void clear() { warps_.clear(); }
  void issued(const AsyncOp& op, const Accessor& who);  // a wgmma
  void fence(const Warp& w);                            // wgmma.fence
  void waited(const Warp& w);                           // wgmma.wait_group
  void instruction(const Accessor& who);  // of a warp that has issued a wgmma, before it is executed
  void forget(const Cta& cta) { warps_.forget(cta); }

 private:
  struct Register {
    uint32_t accumulator = 0,
             fragment = 0;           // the latest wgmma that writes it, and that reads it as a part of A
    uint32_t shape = 0, fences = 0;  // of that writer, and how many wgmma.fence came before it
    int32_t wgmma_at = -1;           // where it is
    uint32_t written = 0;            // the step in which something else wrote it
    int32_t written_at = -1;
  };
  struct Registers {
    std::vector<Register> all;  // by frame offset / 8
    // What is written in a step needs a wgmma.fence in this step or a later one before a wgmma uses it.
    uint32_t steps = 0, fenced_step = 0;
    uint32_t fences = 0;
    bool fence_since_wgmma = false;
    Register& at(size_t offset) {
      if (offset / 8 >= all.size()) all.resize(offset / 8 + 128);  // they come one by one
      return all[offset / 8];
    }
  };
  Teller& tell_;
  PerWarp<Registers> warps_;

  void check_issued(const Accessor& who, Registers& mine, const Register& reg, bool accumulator,
                    uint32_t shape);
  void check_touched(const Accessor& who, const Registers& mine, Ref r, uint32_t base);
  void check_fragment_written(const Accessor& who, const Register& reg);
  void wrote(Registers& mine, Register& reg, const Inst& in);
  void moved(Registers& mine, const Inst& in, uint32_t base);
  void tell(const Accessor& who, Id id, const char* title, const char* why, const char* hint, int32_t other);
};

}  // namespace emu::check
