// Registers that a wgmma holds: accumulators and A fragments are in flight until wgmma.wait_group covers it, and a
// register that was written must be behind a wgmma.fence before a wgmma uses it (PTX ISA 9.7.15.7).
//
// What runs is the compiler's PTX, and the compiler may do with registers what the source does not say: it copies values
// from one to another, packs and unpacks halves, and moves what only computes past a fence or a wait. So a copy of a
// register is in the same state as the register, and whoever may have been moved is not accused.
#include <algorithm>

#include "emulator/checker/checker.hpp"
#include "emulator/machine/wgmma.hpp"

namespace emu::check {

namespace {

constexpr uint32_t kOffset = ~(kConstBit | kNotBit);  // of a Ref: where in the frame

bool is_register(Ref r) {
  return !(r & kConstBit) && (r & kOffset) != kNoRef;
}

}  // namespace

Checker::Role Checker::role_of(const Inst& in) {
  if (in.source < 0) return Role::other;
  Role& r = roles_[static_cast<size_t>(in.source)];
  if (r == Role::unknown) {
    const std::string& name = program_->sources[static_cast<size_t>(in.source)]->opcode;
    r = name == "mov" ? Role::move : name == "wgmma" ? Role::wgmma : Role::other;
  }
  return r;
}

void Checker::register_finding(const Accessor& who, Id id, const std::string& title, const std::string& why,
                               const std::string& hint, int32_t other, Severity severity) {
  Finding f(id);
  f.severity = severity;
  f.title = title;
  f.why = why;
  f.hint = hint;
  report(f, who, other);
}

WarpState::Register& Checker::register_at(WarpState& state, size_t offset) {
  if (offset / 8 >= state.registers.size()) state.registers.resize(offset / 8 + 128);  // they come one by one
  return state.registers[offset / 8];
}

// A wgmma is issued: its registers must be behind a fence; from now on they are its own.
void Checker::registers_issued(AsyncOp& op, WarpState& state, const Accessor& who) {
  auto& mma = static_cast<WgmmaOp&>(op);
  Warp& w = *op.warp;
  w.watchers.add(*this);
  const uint32_t base = w.current->frame;
  const auto& refs = op.inst->extra->refs;
  const size_t accumulators = refs.size() - (mma.shape.a_in_registers ? 4 : 0);
  const uint32_t shape = static_cast<uint32_t>(mma.shape.n << 16 | mma.shape.k);
  if (!state.fenced_step)
    register_finding(who, Id::missing_wgmma_fence, "the first wgmma of a warp has no wgmma.fence before it",
                     "Without the fence the tensor core may read the accumulator and A registers before the "
                     "threads have written them.",
                     "execute wgmma.fence.sync.aligned before the first wgmma of a group", -1);
  for (size_t i = 0; i < refs.size(); ++i) {
    const WarpState::Register reg = register_at(state, base + refs[i]);
    const bool in_flight = reg.accumulator > state.wgmma_done;
    if (reg.written > state.fenced_step)
      register_finding(
          who, Id::missing_wgmma_fence,
          i < accumulators ? "an accumulator is written and then used by wgmma with no wgmma.fence between"
                           : "an A fragment is written and then used by wgmma with no wgmma.fence between",
          "Register writes are ordered before a later wgmma only by wgmma.fence.",
          "execute wgmma.fence.sync.aligned after the last write and before the wgmma", reg.written_at);
    else if (in_flight && i >= accumulators)
      register_finding(
          who, Id::accumulator_in_flight,
          "a wgmma takes as its A the accumulators of another, which may still be running",
          "Only accumulators that go from wgmma to wgmma of one shape are ordered by themselves.",
          "commit the group and execute wgmma.wait_group before the accumulators are used as A",
          reg.wgmma_at);
    else if (in_flight && reg.shape != shape && reg.fences == state.wgmma_fences)
      register_finding(
          who, Id::missing_wgmma_fence,
          "accumulators of a wgmma that may still be running are used by one of another shape, with no "
          "wgmma.fence between",
          "Only wgmmas of the same shape (n and k) on the same accumulators are ordered by themselves.",
          "wait for the first, or execute wgmma.fence.sync.aligned between the two", reg.wgmma_at);
  }
  for (size_t i = 0; i < refs.size(); ++i) {
    WarpState::Register& reg = register_at(state, base + refs[i]);
    if (i >= accumulators) {
      reg.fragment = state.wgmma_issued;
      continue;
    }
    reg.accumulator = state.wgmma_issued;
    reg.shape = shape;
    reg.fences = state.wgmma_fences;
    reg.wgmma_at = op.inst->source;
  }
  state.fence_since_wgmma = false;
}

// Something other than a wgmma wrote it. The compiler may have moved that past a fence that stood behind it in the source,
// so a fence since the last wait covers what is written after it, too.
void Checker::wrote_register(WarpState& state, WarpState::Register& reg, const Inst& in) {
  const bool covered = state.fenced_step && state.fenced_step == state.steps;
  reg.accumulator = 0;
  reg.written = covered ? state.fenced_step : ++state.steps;
  reg.written_at = in.source;
}

// A copy, or parts packed or unpacked: what is written is as far in flight, and as far behind a fence, as what is read. A
// value that comes from no register is written here.
void Checker::moved(WarpState& state, const Inst& in, uint32_t base) {
  const auto& to = program_->written[static_cast<size_t>(in.source)];
  const auto is_destination = [&](Ref r) { return std::find(to.begin(), to.end(), r) != to.end(); };
  WarpState::Register from;
  bool from_register = false;
  const auto take = [&](Ref r) {
    if (!is_register(r) || is_destination(r)) return;
    from_register = true;
    const WarpState::Register reg = register_at(state, base + (r & kOffset));
    const bool later = reg.written > from.written;
    from.written = later ? reg.written : from.written;
    from.written_at = later ? reg.written_at : from.written_at;
    if (reg.accumulator <= from.accumulator) return;
    from.accumulator = reg.accumulator;
    from.shape = reg.shape;
    from.fences = reg.fences;
    from.wgmma_at = reg.wgmma_at;
  };
  take(in.a);
  if (in.extra)
    for (Ref r : in.extra->refs) take(r);
  for (Ref r : to) {
    WarpState::Register& reg = register_at(state, base + r);
    if (!from_register) {
      wrote_register(state, reg, in);
      continue;
    }
    from.fragment = reg.fragment;
    reg = from;
  }
}

// The compiler gives one register to two variables of the source where it believes that the first is done with, so the
// source may be right; and ptxas, which sees the same, takes another register or lets the wgmmas wait for each other.
void Checker::check_fragment_written(const Accessor& who, const WarpState::Register& reg) {
  if (reg.fragment <= who.warp->wgmma_done) return;
  register_finding(
      who, Id::accumulator_in_flight,
      "an A fragment is written while the wgmma that reads it may still be running",
      "wgmma reads A fragments from registers until wgmma.wait_group covers its group. The compiler may "
      "have put two arrays of the source into one register; ptxas then takes another one, or lets the "
      "wgmmas wait for each other and says so (C7513).",
      "wait for the group before the registers are written again, or unroll the loop so that two "
      "fragments take turns",
      -1, Severity::advice);
}

void Checker::on_instruction(Warp& w, const Inst& in) {
  const Role role = role_of(in);
  if (role == Role::wgmma || in.source < 0) return;
  start_event();
  WarpState& state = cta_of(w.cta).warps[static_cast<size_t>(w.index)];
  const uint32_t base = w.current->frame;
  if (role == Role::move) return moved(state, in, base);
  Accessor who{&cluster_of(w.cta), &cta_of(w.cta),  &state,  &w,   &in,
               w.current->mask,    w.current->mask, nullptr, false};
  const auto touched = [&](Ref r) {
    if (!is_register(r)) return;
    const size_t slot = (base + (r & kOffset)) / 8;
    if (slot >= state.registers.size() || state.registers[slot].accumulator <= state.wgmma_done) return;
    register_finding(
        who, Id::accumulator_in_flight,
        "an accumulator is used while the wgmma that writes it may still be running",
        "wgmma is asynchronous: its registers are its own until wgmma.wait_group covers its group.",
        "commit the group and execute wgmma.wait_group with few enough groups pending before this line",
        state.registers[slot].wgmma_at);
  };
  for (Ref r : {in.d, in.a, in.b, in.c}) touched(r);
  if (in.extra)
    for (Ref r : in.extra->refs) touched(r);
  for (Ref r : program_->written[static_cast<size_t>(in.source)]) {
    WarpState::Register& reg = register_at(state, base + r);
    check_fragment_written(who, reg);
    wrote_register(state, reg, in);
  }
}

}  // namespace emu::check
