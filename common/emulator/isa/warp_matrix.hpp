// What ldmatrix, mma.sync and wmma share: a whole warp executes them, on vectors of registers.
#pragma once

#include <string>
#include <vector>

#include "emulator/machine/machine.hpp"
#include "emulator/machine/warp.hpp"
#include "emulator/program/forms.hpp"

namespace emu {

// All of them are .sync.aligned: all 32 lanes execute them together. False: some are not here yet.
inline bool gather_warp(Warp& w, const Inst& in, uint32_t mask) {
  if (!w.all_here(~0u)) return false;
  if (mask != ~0u)
    w.fault(in, __builtin_ctz(mask), Id::warp_not_converged,
            "only " + std::to_string(__builtin_popcount(mask)) +
                " of the 32 lanes of a warp reach a matrix instruction",
            "it is .sync.aligned: all lanes of the warp execute the same one",
            "let whole warps take the same branch");
  return true;
}

// Adds the `count` registers of an operand, {r0, r1, ..} or a single one.
inline void add_registers(Decoder& d, Extra& x, size_t operand, size_t count, bool destination, Type type) {
  const Operand& o = d.operand(operand);
  const std::vector<Operand> items = o.kind == Operand::Kind::vec ? o.items : std::vector<Operand>{o};
  if (items.size() != count)
    d.refuse("operand " + std::to_string(operand + 1) + " must be a vector of " + std::to_string(count) +
             " registers");
  for (const Operand& item : items)
    x.refs.push_back(destination ? d.destination(item, type) : d.source(item, type));
}

}  // namespace emu
