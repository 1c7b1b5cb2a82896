#include "emulator/machine/loop_slice.hpp"

#include <algorithm>
#include <set>

#include "emulator/machine/warp.hpp"

namespace emu {

LoopSlice::LoopSlice(Warp& warp) : warp_(warp) {
  warp.watchers.add(*this);
}

LoopSlice::~LoopSlice() {
  warp_.watchers.remove(*this);
}

void LoopSlice::include(uint32_t pc) {
  grown_ = grown_ || pc < first_ || pc > last_;
  first_ = std::min(first_, pc);
  last_ = std::max(last_, pc);
}

void LoopSlice::on_instruction(Warp& warp, const Inst& in) {
  include(warp.current->pc);
  if (in.target) include(in.target);
}

bool LoopSlice::has_grown() {
  if (!grown_) return false;
  grown_ = false;
  find_deciding();
  return true;
}

void LoopSlice::find_deciding() {
  const Program& program = warp_.program;
  std::set<RegisterSlot> deciding;
  const auto decides = [&](const Inst& in) {
    const auto source = static_cast<size_t>(in.source);
    const auto &written = program.written[source], &predicates = program.written_predicates[source];
    const bool only_computes = !(written.empty() && predicates.empty()) && in.cls != Class::memory &&
                               in.cls != Class::copy && in.cls != Class::barrier;
    const auto decides_by = [&](Ref r) { return deciding.count({r, 0}) != 0; };
    return !only_computes || std::any_of(written.begin(), written.end(), decides_by) ||
           std::any_of(predicates.begin(), predicates.end(), decides_by);
  };
  for (size_t before = SIZE_MAX; before != deciding.size();) {
    before = deciding.size();
    for (uint32_t pc = first_; pc <= last_; ++pc) {
      const Inst& in = program.code[pc];
      const auto& read = program.read[static_cast<size_t>(in.source)];
      if (decides(in)) deciding.insert(read.begin(), read.end());
    }
  }
  deciding_.assign(deciding.begin(), deciding.end());
}

}  // namespace emu
