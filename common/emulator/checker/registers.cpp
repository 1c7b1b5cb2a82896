#include "emulator/checker/registers.hpp"

#include <algorithm>

#include "emulator/machine/wgmma.hpp"

namespace emu::check {

namespace {

constexpr uint32_t kOffset = ~(kConstBit | kNotBit);  // of a Ref: where in the frame

bool is_register(Ref r) {
  return !(r & kConstBit) && (r & kOffset) != kNoRef;
}

}  // namespace

void RegisterRule::tell(const Accessor& who, Id id, const char* title, const char* why, const char* hint,
                        int32_t other) {
  Finding f(id);
  f.title = title;
  f.why = why;
  f.hint = hint;
  tell_.tell(std::move(f), who, other);
}

// A wgmma is issued: its registers must be behind a fence; from now on they are its own.
void RegisterRule::issued(const AsyncOp& op, const Accessor& who) {
  auto& mma = static_cast<const WgmmaOp&>(op);
  Warp& w = who.warp();
  Registers& mine = warps_.of(w);
  const uint32_t base = w.current->frame, number = who.self->wgmma_issued;
  const auto& refs = op.inst->extra->refs;
  const size_t accumulators = refs.size() - (mma.shape.a_in_registers ? 4 : 0);
  const uint32_t shape = static_cast<uint32_t>(mma.shape.n << 16 | mma.shape.k);
  if (!mine.fenced_step)
    tell(who, Id::missing_wgmma_fence, "the first wgmma of a warp has no wgmma.fence before it",
         "Without the fence the tensor core may read the accumulator and A registers before the threads have "
         "written them.",
         "execute wgmma.fence.sync.aligned before the first wgmma of a group", -1);
  for (size_t i = 0; i < refs.size(); ++i)
    check_issued(who, mine, mine.at(base + refs[i]), i < accumulators, shape);
  for (size_t i = 0; i < refs.size(); ++i) {
    Register& reg = mine.at(base + refs[i]);
    if (i >= accumulators) {
      reg.fragment = number;
      continue;
    }
    reg.accumulator = number;
    reg.shape = shape;
    reg.fences = mine.fences;
    reg.wgmma_at = op.inst->source;
  }
  mine.fence_since_wgmma = false;
}

void RegisterRule::check_issued(const Accessor& who, Registers& mine, const Register& reg, bool accumulator,
                                uint32_t shape) {
  const bool in_flight = reg.accumulator > who.self->wgmma_done;
  if (reg.written > mine.fenced_step)
    tell(who, Id::missing_wgmma_fence,
         accumulator ? "an accumulator is written and then used by wgmma with no wgmma.fence between"
                     : "an A fragment is written and then used by wgmma with no wgmma.fence between",
         "Register writes are ordered before a later wgmma only by wgmma.fence.",
         "execute wgmma.fence.sync.aligned after the last write and before the wgmma", reg.written_at);
  else if (in_flight && !accumulator)
    tell(who, Id::accumulator_in_flight,
         "a wgmma takes as its A the accumulators of another, which may still be running",
         "Only accumulators that go from wgmma to wgmma of one shape are ordered by themselves.",
         "commit the group and execute wgmma.wait_group before the accumulators are used as A", reg.wgmma_at);
  else if (in_flight && reg.shape != shape && reg.fences == mine.fences)
    tell(who, Id::missing_wgmma_fence,
         "accumulators of a wgmma that may still be running are used by one of another shape, with no "
         "wgmma.fence between",
         "Only wgmmas of the same shape (n and k) on the same accumulators are ordered by themselves.",
         "wait for the first, or execute wgmma.fence.sync.aligned between the two", reg.wgmma_at);
}

void RegisterRule::fence(const Warp& w) {
  Registers& mine = warps_.of(w);
  mine.fenced_step = ++mine.steps;
  ++mine.fences;
  mine.fence_since_wgmma = true;
}

// What is written from now on needs a fence of its own, unless there was one since the last wgmma: the compiler may have
// moved the writes here that stood before that one.
void RegisterRule::waited(const Warp& w) {
  Registers& mine = warps_.of(w);
  if (!mine.fence_since_wgmma) ++mine.steps;
}

// Something other than a wgmma wrote it. The compiler may have moved that past a fence that stood behind it in the source,
// so a fence since the last wait covers what is written after it, too.
void RegisterRule::wrote(Registers& mine, Register& reg, const Inst& in) {
  const bool covered = mine.fenced_step && mine.fenced_step == mine.steps;
  reg.accumulator = 0;
  reg.written = covered ? mine.fenced_step : ++mine.steps;
  reg.written_at = in.source;
}

// A copy, or parts packed or unpacked: what is written is as far in flight, and as far behind a fence, as what is read. A
// value that comes from no register is written here.
void RegisterRule::moved(Registers& mine, const Inst& in, uint32_t base) {
  const auto& to = tell_.program().written[static_cast<size_t>(in.source)];
  const auto is_destination = [&](Ref r) { return std::find(to.begin(), to.end(), r) != to.end(); };
  Register from;
  bool from_register = false;
  const auto take = [&](Ref r) {
    if (!is_register(r) || is_destination(r)) return;
    from_register = true;
    const Register reg = mine.at(base + (r & kOffset));
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
    Register& reg = mine.at(base + r);
    if (!from_register) {
      wrote(mine, reg, in);
      continue;
    }
    from.fragment = reg.fragment;
    reg = from;
  }
}

// Where ptxas does not take another register by itself, the product is of what was written later (measured).
void RegisterRule::check_fragment_written(const Accessor& who, const Register& reg) {
  if (reg.fragment <= who.self->wgmma_done) return;
  tell(
      who, Id::accumulator_in_flight,
      "an A fragment is written while the wgmma that reads it may still be running",
      "wgmma reads A fragments from registers until wgmma.wait_group covers its group; what is written before may be what "
      "it reads.",
      "wait for the group before the registers are written again, or unroll the loop so that two fragments take turns",
      -1);
}

void RegisterRule::check_touched(const Accessor& who, const Registers& mine, Ref r, uint32_t base) {
  if (!is_register(r)) return;
  const size_t slot = (base + (r & kOffset)) / 8;
  if (slot >= mine.all.size() || mine.all[slot].accumulator <= who.self->wgmma_done) return;
  const Register& reg = mine.all[slot];
  const WarpOrder& self = *who.self;
  const GroupStory story = GroupStory::of(self.wgmma_groups, reg.accumulator, self.wgmma_done);
  Finding f(Id::accumulator_in_flight);
  f.title = text("an accumulator is used while the wgmma that writes it may still be running: ",
                 story.cause("the wgmma of " + tell_.line(reg.wgmma_at).brief()));
  f.why = "wgmma is asynchronous: its registers are its own until wgmma.wait_group covers its group.";
  f.hint = story.kind == GroupStory::Kind::too_many
               ? text("leave at most ", story.newest - 1, " pending before this line")
           : story.kind == GroupStory::Kind::never_waited
               ? "wgmma.wait_group with few enough groups pending, before this line"
               : story.cure("wgmma") + ", before this line";
  if (story.wait_source >= 0) f.related.push_back({"the wait", tell_.line(story.wait_source)});
  tell_.tell(std::move(f), who, reg.wgmma_at);
}

void RegisterRule::instruction(const Accessor& who) {
  const Inst& in = *who.inst;
  if (in.action == Action::wgmma || in.source < 0) return;
  tell_.next_event();
  Registers& mine = warps_.of(who.warp());
  const uint32_t base = who.warp().current->frame;
  if (in.action == Action::move) return moved(mine, in, base);
  for (Ref r : {in.d, in.a, in.b, in.c}) check_touched(who, mine, r, base);
  if (in.extra)
    for (Ref r : in.extra->refs) check_touched(who, mine, r, base);
  for (Ref r : tell_.program().written[static_cast<size_t>(in.source)]) {
    Register& reg = mine.at(base + r);
    check_fragment_written(who, reg);
    wrote(mine, reg, in);
  }
}

}  // namespace emu::check
