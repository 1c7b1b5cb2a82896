// What is wrong with the use of an mbarrier: its init, the bytes announced on it, the parity of a wait.
#include <algorithm>

#include "emulator/checker/mbarriers.hpp"

namespace emu::check {

const LastWait* Mbarriers::wrong_parity(const MbarrierState& b, uint64_t needed, uint32_t rank, int warp,
                                        int lane) const {
  const LastWait& w = b.waits[order_.cluster(*b.bar->cta).thread(rank, warp, lane)];
  return w.source < 0 || (w.used && !w.repeated) || w.complete >= needed ? nullptr : &w;
}

Finding Mbarriers::wrong_parity(const MbarrierState& b, const LastWait& w, uint64_t needed, const Cta& cta,
                                int warp, int lane) const {
  Finding f(Id::wrong_parity);
  f.title = "a wait answered about an older phase: its parity is one phase off";
  f.line = tell_.line(w.source);
  f.where = text(f.line.text(), "  ", cta.text(), " warp ", warp, " lane ", lane);
  Teller::set_place(f, cta, warp);
  f.state = text(b.bar->name(), ": asked for parity ", (w.complete + 1) & 1, ", which ",
                 w.complete ? text("phase ", w.complete - 1) : "the phase before the first",
                 " had already answered; the bytes come with phase ", needed - 1, " (parity ",
                 (needed - 1) & 1, ")");
  f.why =
      "A wait returns True at once when the phase of that parity is the one that has just completed; then the "
      "tile is read too early.";
  f.hint =
      "start at parity 0 for a barrier that is filled first, and flip the parity once per use of the stage";
  return f;
}

// A phase completed although a copy that counts on it had not landed: fewer bytes were announced than are on their way.
void Mbarriers::tell_completed_early(const MbarrierState& b, const Operation& op) {
  const int32_t source = b.bar->expect_source >= 0 ? b.bar->expect_source : op.source;
  Finding f(Id::tx_count_mismatch);
  f.title = "a phase completed before all its copies had landed: too few bytes were announced";
  f.other_line = tell_.line(op.source);
  f.state = text(b.bar->name(), " phase ", b.phase - 1, ": complete, with ", op.bytes, " bytes of ",
                 op.words(), " at ", f.other_line.text(), " still in flight");
  f.why =
      "The phase completes as soon as the arrivals are in and the announced bytes are there; bytes that were "
      "not announced are not waited for, and are later subtracted from the next phase.";
  f.hint =
      "announce the sum of all boxes copied on this barrier in the phase (rows x columns x element size, "
      "whole boxes at ragged edges too)";
  if (const Mbarrier* meant = meant_by(*b.bar, op.source)) {
    f.title = text("a copy completes on ", b.bar->name(),
                   " before it has landed: its bytes were announced on ", meant->name());
    f.hint = text("let the copy name ", meant->name(), ", as the other copies of its stage do");
    f.other_line = tell_.line(source);
    return tell_.tell_at(std::move(f), op.source, *b.bar->cta, -1, b.bar->cta->text() + "  " + b.bar->name());
  }
  tell_.tell_at(std::move(f), source, *b.bar->cta, -1, b.bar->cta->text() + "  " + b.bar->name());
}

// Another barrier of the CTA that was named by copies, though not from this line, which names this one more often than the
// others do; null: none.
const Mbarrier* Mbarriers::meant_by(const Mbarrier& bar, int32_t source) const {
  uint64_t from_here = 0, from_others = 0;
  for (const NamingCopies& c : history_.of(bar).ever.copies)
    (c.source == source ? from_here : from_others) =
        std::max(c.source == source ? from_here : from_others, c.count);
  if (from_here <= from_others) return nullptr;
  for (const auto& [address, other] : bar.cta->mbarriers) {
    const auto& copies = history_.of(other).ever.copies;
    if (&other != &bar && other.valid && !copies.empty() &&
        std::none_of(copies.begin(), copies.end(), [&](const NamingCopies& c) { return c.source == source; }))
      return &other;
  }
  return nullptr;
}

void Mbarriers::tell_unannounced(const MbarrierState& b, const Operation& op, const Inst& met_at) {
  const bool announced_before = b.expect_source >= 0;
  Finding f(Id::tx_count_mismatch);
  f.title = announced_before
                ? "a phase completed before all its copies had been issued: too few bytes were announced"
                : "a copy completes on an mbarrier for which no bytes were announced";
  f.other_line = announced_before ? tell_.line(op.source) : tell_.line(met_at);
  f.state = text(b.bar->name(), " phase ", b.phase, ": ", op.bytes, " bytes of ", op.words(), " at ",
                 tell_.line(op.source).text(), ", none announced");
  f.why =
      "A wait returns when the arrivals are in and the announced bytes have landed; it does not wait for "
      "bytes that nobody announced.";
  f.hint =
      "arrive with expect_tx (mbarrier.arrive.expect_tx) for the sum of the boxes, before or after issuing the "
      "copies but in the same phase";
  tell_.tell_at(std::move(f), announced_before ? b.expect_source : op.source, *b.bar->cta, -1,
                b.bar->cta->text() + "  " + b.bar->name());
}

// mbarrier.init on an object that exists already.
void Mbarriers::check_again(const At& at, Mbarrier& bar, const MbarrierState& b) {
  if (b.init_source < 0 || !bar.valid) return;
  WarpOrder& order = order_.warp(at.warp);
  const bool after =
      order.thread(at.lane) == b.init_owner || order.know(1u << at.lane, b.init_owner, b.init_epoch);
  Finding f(after ? Id::barrier_reinitialised : Id::data_race);
  f.state = bar.name() + " is in " + bar.state();
  if (!after) {
    // The lanes of one instruction, and nothing has happened to it between them.
    const Component warp = order.thread(0);
    const bool alike = at.inst.source == b.init_source && b.init_owner >= warp && b.init_owner < warp + 32 &&
                       bar.phase == 0 && bar.pending == bar.expected && bar.tx_count == 0;
    if (alike) f.make_milder();
    f.title = alike ? "several lanes of a warp initialise one mbarrier alike"
                    : "several threads initialise one mbarrier, with nothing to order them";
    f.why = "Each init starts the barrier anew: arrivals and bytes counted in between are lost.";
    f.hint = alike ? "if (threadIdx.x == 0) in front of the init"
                   : "let one thread initialise it, then a barrier for all";
  } else {
    const bool quiet = bar.pending == bar.expected && bar.tx_count == 0;
    if (quiet) f.make_milder();
    f.title = quiet ? "a live mbarrier is initialised again without mbarrier.inval"
                    : "an mbarrier is initialised again while arrivals or bytes of a phase are outstanding";
    f.why =
        "PTX asks for mbarrier.inval before the memory of an mbarrier is used anew; on a quiet barrier it works "
        "all the same, on one in use what was counted is lost.";
    const bool fresh = quiet && b.phase == 0, same_line = at.inst.source == b.init_source;
    if (fresh)
      f.title = same_line ? text(bar.name(), " is initialised twice, with nothing between")
                          : text(bar.name(), " is initialised by two lines: this one, and ",
                                 tell_.line(b.init_source).brief());
    f.hint = fresh && same_line ? "initialise each barrier once: which index does not move on?"
             : fresh
                 ? "initialise each barrier once: which index, or loop bound, runs past the end of its row?"
                 : "initialise once, before the loop, and let the phase parity tell the uses apart";
  }
  tell_.tell(std::move(f), {&order, &at.inst, 1u << at.lane, 1u << at.lane, nullptr}, b.init_source);
}

void Mbarriers::check_initialised(Warp& w, const Inst& in, uint32_t mask, const MbarrierState& b) {
  if (b.init_source < 0) return;
  WarpOrder& order = order_.warp(w);
  uint32_t unordered = 0;
  for (const Knowledge& k : order.knowledge)
    if (k.clock.get(Clock::order, b.init_owner) < b.init_epoch) unordered |= k.mask & mask;
  for (; unordered; unordered &= unordered - 1) {
    const int lane = __builtin_ctz(unordered);
    if (order.thread(lane) == b.init_owner) continue;
    Finding f(Id::missing_init_fence);
    f.title = "an mbarrier is used by a thread that is not ordered after its init";
    f.state = b.bar->name() + " was initialised at " + tell_.line(b.init_source).text();
    f.why =
        "mbarrier.init is an ordinary write of one thread: other threads of the CTA see it after a barrier, "
        "other CTAs after fence.mbarrier_init and a cluster barrier.";
    f.hint =
        "fence.mbarrier_init.release.cluster in the initialising thread, then __syncthreads (or the cluster "
        "barrier)";
    tell_.tell(std::move(f), {&order, &in, 1u << lane, 1u << lane, nullptr}, b.init_source);
    return;
  }
}

}  // namespace emu::check
