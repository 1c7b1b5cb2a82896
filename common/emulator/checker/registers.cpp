// Registers that a wgmma holds: accumulators and A fragments are in flight until wgmma.wait_group covers it, and a
// register that was written must be behind a wgmma.fence before a wgmma uses it (PTX ISA 9.7.15.7).
#include "emulator/checker/checker.hpp"
#include "emulator/wgmma.hpp"

namespace emu::check {

Checker::Role Checker::role_of(const Inst& in) {
  if (in.source < 0) return Role::other;
  Role& r = roles_[static_cast<size_t>(in.source)];
  if (r == Role::unknown) {
    const std::string& name = program_->sources[static_cast<size_t>(in.source)]->opcode;
    r = name == "mov" ? Role::move : name == "wgmma" ? Role::wgmma : Role::other;
  }
  return r;
}

void Checker::register_finding(const Accessor& who, const char* id, const std::string& title,
                               const std::string& why, const std::string& hint, int32_t other) {
  Finding f;
  f.id = id;
  f.title = title;
  f.why = why;
  f.hint = hint;
  report(f, who, other);
}

// A wgmma is issued: its registers must be behind a fence; from now on they are its own.
void Checker::registers_issued(AsyncOp& op, WarpState& state, const Accessor& who) {
  auto& mma = static_cast<WgmmaOp&>(op);
  Warp& w = *op.warp;
  w.watch_registers = true;
  const uint32_t base = w.current->frame;
  const auto& refs = op.inst->extra->refs;
  const size_t accumulators = refs.size() - (mma.shape.a_in_registers ? 4 : 0);
  if (!state.fenced_step)
    register_finding(who, "missing-wgmma-fence", "the first wgmma of a warp has no wgmma.fence before it",
                     "Without the fence the tensor core may read the accumulator and A registers before the "
                     "threads have written them.",
                     "execute wgmma.fence.sync.aligned before the first wgmma of a group", -1);
  for (size_t i = 0; i < refs.size(); ++i) {
    const size_t slot = (base + refs[i]) / 8;
    if (slot >= state.registers.size()) state.registers.resize(slot + 1);
    auto& reg = state.registers[slot];
    if (reg.written > state.fenced_step)
      register_finding(
          who, "missing-wgmma-fence",
          i < accumulators ? "an accumulator is written and then used by wgmma with no wgmma.fence between"
                           : "an A fragment is written and then used by wgmma with no wgmma.fence between",
          "Register writes are ordered before a later wgmma only by wgmma.fence.",
          "execute wgmma.fence.sync.aligned after the last write and before the wgmma", reg.written_at);
    (i < accumulators ? reg.accumulator : reg.fragment) = state.wgmma_issued;
  }
}

void Checker::on_instruction(Warp& w, const Inst& in) {
  const Role role = role_of(in);
  if (role == Role::wgmma) return;
  start_event();
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  const uint32_t base = w.current->frame;
  auto find = [&](Ref r) -> WarpState::Register* {
    if ((r & kConstBit) || (r & 0x3FFFFFFFu) == kNoRef) return nullptr;
    const size_t slot = (base + (r & 0x3FFFFFFFu)) / 8;
    return slot < state.registers.size() ? &state.registers[slot] : nullptr;
  };
  auto held = [&](const WarpState::Register* r) { return r && r->accumulator > state.wgmma_done; };
  // The compiler may move what writes a register past a fence that stood behind it in the source, so a fence since the
  // last wait covers what is written after it, too.
  auto written = [&](WarpState::Register& reg) {
    const bool covered = state.fenced_step && state.fenced_step == state.steps;
    reg.written = covered ? state.fenced_step : ++state.steps;
    reg.written_at = in.source;
  };
  WarpState::Register* to = find(in.d);
  if (role ==
      Role::move) {  // a copy of a register in flight is in flight, too: the compiler renames accumulators
    WarpState::Register* from = find(in.a);
    if (held(from) && in.d != kNoRef && !(in.d & kConstBit)) {
      const size_t slot = (base + in.d) / 8;
      if (slot >= state.registers.size()) state.registers.resize(slot + 1);
      state.registers[slot] = state.registers[(base + in.a) / 8];
      return;
    }
    if (to) {
      written(*to);
      to->accumulator = 0;
    }
    return;
  }
  Accessor who{&cluster_of(w.cta), &cta_of(w.cta),  &state,  &w,   &in,
               w.current->mask,    w.current->mask, nullptr, false};
  auto touched = [&](Ref r) {
    WarpState::Register* reg = find(r);
    if (!held(reg)) return;
    register_finding(
        who, "accumulator-in-flight",
        "an accumulator is used while the wgmma that writes it may still be running",
        "wgmma is asynchronous: its registers are its own until wgmma.wait_group covers its group.",
        "commit the group and execute wgmma.wait_group with few enough groups pending before this line", -1);
  };
  touched(in.a);
  touched(in.b);
  touched(in.c);
  if (in.extra)
    for (Ref r : in.extra->refs) touched(r);
  if (to && to->accumulator) {
    if (held(to)) touched(in.d);
    written(*to);
  }
  if (to && to->fragment > state.wgmma_done)
    register_finding(who, "accumulator-in-flight",
                     "an A fragment is overwritten while the wgmma that reads it may still be running",
                     "wgmma reads A fragments from registers until wgmma.wait_group covers its group.",
                     "wait for the group before the register is written again", -1);
}

}  // namespace emu::check
