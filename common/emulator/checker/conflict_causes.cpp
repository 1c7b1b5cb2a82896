// What stands behind a conflict: the group of the operation that was not waited for, or the mbarrier that let a copy go ahead.
#include <algorithm>

#include "emulator/checker/conflicts.hpp"
#include "emulator/checker/stuck.hpp"
#include "emulator/machine/machine.hpp"

namespace emu::check {

namespace {

std::string initialised_for(const Mbarrier& bar) {
  return text(bar.name(), " is initialised for ", bar.initial);
}

}  // namespace

// Of the same cluster, which is still there; null otherwise.
WarpOrder* Conflicts::earlier_warp(const Conflict& c) const {
  const Record& r = past_.records.of(c.prior);
  ClusterOrder& cluster = c.who.cluster();
  return r.cluster == cluster.index ? &cluster.ctas[r.rank].warps[r.warp] : nullptr;
}

// The earlier access is an operation of an async-group: what became of it there. False: it is not.
bool Conflicts::group_story(const Conflict& c, GroupStory* story, std::string* family) const {
  const Operation* before = past_.operation(c.prior);
  const WarpOrder* w = earlier_warp(c);
  if (!before || !w) return false;
  const size_t lane = static_cast<size_t>(Records::lane_of(c.prior));
  if (before->kind == AsyncOp::Kind::wgmma) {
    *family = "wgmma";
    *story = GroupStory::of(w->wgmma_groups, before->read_value, w->wgmma_done);
  } else if (before->kind == AsyncOp::Kind::cp_async) {
    *family = "cp.async";
    *story = GroupStory::of(w->lanes[lane].cp_groups, before->lane_value[lane], w->lanes[lane].cp_done);
  } else if (before->is_store() && before->number) {
    const LaneOrder& mine = w->lanes[before->lane];
    const bool covered =
        (c.write && !c.prior_is_write ? mine.bulk_read : mine.bulk_done) >= before->read_value;
    *family = "cp.async.bulk";
    *story = GroupStory::of(mine.bulk_groups, before->number, covered ? before->number : 0);
  } else {
    return false;
  }
  if (!has_met(c, *w, *before)) story->kind = GroupStory::Kind::not_met;
  return true;
}

// Something has told the later thread that the earlier one had gone on from the issue of its operation.
bool Conflicts::has_met(const Conflict& c, const WarpOrder& earlier, const Operation& before) const {
  if (earlier.warp == &c.who.warp()) return true;
  return c.who.self->know(c.who.lanes, earlier.thread(before.lane), before.epoch);
}

// The finding's title goes on with what became of the group; false: nothing is known of it.
bool Conflicts::explain_group(const Conflict& c, Finding& f) const {
  GroupStory story;
  std::string family;
  if (!group_story(c, &story, &family)) return false;
  const Record& r = past_.records.of(c.prior);
  const Operation& before = *past_.operation(c.prior);
  const std::string it = (before.kind == AsyncOp::Kind::wgmma ? "the wgmma of "
                          : before.is_store()                 ? "the store of "
                                                              : "the copy of ") +
                         tell_.line(r.source).brief();
  f.title += ": " + story.cause(it);
  f.hint = story.cure(family);
  if (story.empty)
    f.why += text(" Of the groups that the wait leaves, ", story.empty,
                  story.empty == 1 ? " is empty." : " are empty.");
  if (story.wait_source >= 0 && story.kind != GroupStory::Kind::never_committed &&
      story.kind != GroupStory::Kind::not_met)
    f.related.push_back(
        {story.kind == GroupStory::Kind::too_many ? text("leaves ", story.pending, " pending") : "the wait",
         tell_.line(story.wait_source)});
  return true;
}

// The reader has asked for a phase, was told that it is not complete, and went on. False: it has not.
bool Conflicts::explain_refusal(const Warp& reader, Finding& f) const {
  const LatestWait* refused = history_.latest_refusal(reader);
  if (!refused) return false;
  f.title += text(": the reader asked ", refused->bar->name(), ", was answered False and went on");
  f.related.push_back({"answered False", tell_.line(refused->source)});
  f.hint = "ask until the answer is True: while (!mbarrier_try_wait...) {}";
  return true;
}

// The wgmma reads a stage, and the wait in front of it was for the barrier of another. False: so it is not, or nobody knows.
bool Conflicts::explain_other_stage(const Conflict& c, const Operation& product, Finding& f) const {
  if (!product.waited_for || c.space != Space::shared || !history_.of(*product.waited_for).tells_of_copies)
    return false;
  const Names& names = tell_.program().names;
  const SharedVariable *tile = names.object(static_cast<uint32_t>(c.address)),
                       *bars = names.object(static_cast<uint32_t>(product.waited_for->address));
  if (!tile || !bars || !tile->element_bytes || !bars->element_bytes) return false;
  const uint32_t stage = (static_cast<uint32_t>(c.address) - tile->address) / tile->element_bytes;
  const uint32_t waited =
      (static_cast<uint32_t>(product.waited_for->address) - bars->address) / bars->element_bytes;
  const uint32_t stages = tile->bytes / tile->element_bytes;
  if (stages < 2 || stages != bars->bytes / bars->element_bytes || stage == waited) return false;
  const std::string place = names.shared(tile->address + stage * tile->element_bytes),
                    bar = product.waited_for->name();
  f.title = text("a wgmma reads ", place, " behind a wait for ", bar,
                 ": the stage is another one, and is filled anew meanwhile");
  f.why = text("What has landed for ", bar, " is the tile of its own stage; nobody keeps ", place,
               " for this product.");
  f.hint = "read the stage whose barrier was waited for: one index for the barrier and for both tiles";
  f.line = tell_.line(product.source);
  f.other_line = tell_.line(*c.who.inst);
  f.where = text(f.line.text(), "  ", c.who.cta().text(), " warp ", product.warp);
  Teller::set_place(f, c.who.cta(), product.warp);
  return true;
}

// Some lanes of the reader's warp have waited for its bytes, and the others have not. False: so it is not.
bool Conflicts::explain_lanes(const Conflict& c, Finding& f) const {
  const LatestWait* wait = history_.latest_wait(c.who.warp());
  if (!wait) return false;
  uint32_t waited = 0;
  for (const PassedWaits& p : history_.of(*wait->bar).waits)
    if (p.warp == &c.who.warp() && p.source == wait->source) waited = p.lanes & c.who.group;
  Accessor those = c.who;
  those.lanes = waited;
  if (!waited || waited == c.who.group || !past_.ordered(those, c.prior)) return false;
  f.title += text(": of warp ", c.who.warp().index, " only ", __builtin_popcount(waited), " of ",
                  __builtin_popcount(c.who.group), " lanes have waited for ", wait->bar->name());
  f.why =
      "A wait orders the thread that executes it; the other lanes of its warp learn of it through __syncwarp.";
  f.hint = "let all threads that read wait for the barrier, or __syncwarp() behind the wait of one";
  f.related.push_back({"the wait for " + wait->bar->name(), tell_.line(wait->source)});
  return true;
}

// A cp.async goes where an earlier one of its line went, and nobody has waited in between. False: so it is not.
bool Conflicts::explain_same_place(const Conflict& c, Finding& f) const {
  const Operation& before = *past_.operation(c.prior);
  if (!c.write || !c.who.op || c.who.op->kind != AsyncOp::Kind::cp_async ||
      tell_.line(c.who.op->source).text() !=
          tell_.line(before.source).text())  // of a loop that may be unrolled
    return false;
  GroupStory story;
  std::string family;
  if (!group_story(c, &story, &family) || story.wait_source >= 0) return false;
  f.title = text("two copies of ", tell_.line(before.source).brief(), " go to one place, ",
                 tell_.place(c.space, c.address), ", and none is waited for in between");
  f.why =
      "The second copy lands on the first, or the first on the second: what remains is the one tile or the other.";
  f.hint = "give each tile in flight a stage of its own: which index does not move on?";
  return true;
}

// A cp.async that nobody has waited for by group: what the mbarrier that the reader waited for knows of it. False: no mbarrier
// has to do with it.
bool Conflicts::explain_arrivals(const Conflict& c, Finding& f) const {
  const WarpOrder* w = earlier_warp(c);
  const LatestWait* wait = history_.latest_wait(c.who.warp());
  const size_t lane = static_cast<size_t>(Records::lane_of(c.prior));
  if (!w || w->lanes[lane].cp_groups.wait_source >= 0) return false;
  if (explain_refusal(c.who.warp(), f) || explain_lanes(c, f)) return true;
  if (wait)
    for (const Arrivals& a : history_.of(*wait->bar).ever.arrivals) {
      if (a.warp != w->warp) continue;
      const std::string name = wait->bar->name();
      f.related.push_back({"the reader's wait for " + name, tell_.line(wait->source)});
      f.related.push_back({"arrives on " + name, tell_.line(a.source)});
      f.title += text(": the arrival on ", name,
                      a.later ? " does not cover this copy" : " does not wait for the copy");
      f.why =
          a.later
              ? "cp.async.mbarrier.arrive.noinc arrives when the copies that its thread issued before it have landed; "
                "this one came after it."
              : "mbarrier.arrive is executed at once, by the thread; only cp.async.mbarrier.arrive.noinc arrives when "
                "the copies of its thread have landed.";
      f.hint = text("cp.async.mbarrier.arrive.noinc on ", name, " behind the last copy of the stage",
                    a.later ? "" : ", in place of the arrival");
      return true;
    }
  if (wait && wait->complete > 0 && history_.of(*wait->bar).tells_of_copies) {
    const Mbarrier& bar = *wait->bar;
    std::set<int32_t> lines;
    for (const Arrivals& a : history_.of(bar).ever.arrivals) lines.insert(a.source);
    f.title += text(": phase ", wait->complete - 1, " of ", bar.name(), " was complete before ",
                    names_of({w->warp}), " had arrived for it");
    f.why = text(initialised_for(bar), ", and the others have arrived more than once for this phase",
                 lines.size() > 1 ? text(", from ", lines.size(), " lines.") : ".");
    if (bar.init_source >= 0) f.related.push_back({initialised_for(bar), tell_.line(bar.init_source)});
    for (int32_t line : lines) f.related.push_back({"arrives on " + bar.name(), tell_.line(line)});
    f.hint =
        "let each thread that copies arrive once per use of the stage, behind its last copy, or initialise the barrier for all "
        "arrivals of one use";
    return true;
  }
  std::string not_waited_for;
  for (const auto& [address, bar] : c.who.cta().mbarriers) {
    const BarrierLog& log = history_.of(bar);
    const bool waited = std::any_of(log.waits.begin(), log.waits.end(),
                                    [&](const PassedWaits& p) { return p.warp == &c.who.warp(); });
    if (bar.valid && log.tells_of_copies && !waited)
      not_waited_for += (not_waited_for.empty() ? "" : ", ") + bar.name();
  }
  if (not_waited_for.empty()) return false;
  f.title += ": the reader has not waited for " + not_waited_for;
  f.hint =
      "wait on the mbarrier that the copies arrive on, for the parity of this phase, before the first read";
  return true;
}

// A relaxed atomic of the CTA has seen what orders the earlier access, and only the fence behind it is missing.
bool Conflicts::fence_is_missing(const Conflict& c) const {
  for (const WarpOrder& w : c.who.cluster().ctas[c.who.cta().cluster_rank].warps)
    for (const LaneOrder& lane : w.lanes)
      if (lane.seen && past_.known(*lane.seen, c.who.cluster().index, c.who.cluster().threads_per_cta,
                                   c.prior, Clock::order))
        return true;
  return false;
}

// The reader's warp read together, and one lane of it that the later thread, of another warp, is ordered after has spoken for
// all of them. A lane that refills what its own warp has read has told nobody: there it is the barrier of all that is missing.
bool Conflicts::told_by_another_lane(const Conflict& c) const {
  const Record& r = past_.records.of(c.prior);
  const bool own = r.cluster == c.who.cluster().index && r.rank == c.who.cta().cluster_rank &&
                   r.warp == c.who.warp().index;
  return c.write && !c.prior_is_write && c.space == Space::shared && !own && past_.spoken_for(c.who, c.prior);
}

// Empty barriers of the CTA that nobody waits for, though they are there: "empty_bar[0], empty_bar[1]".
std::string Conflicts::idle_barriers(const Cta& cta) const {
  std::string idle;
  for (const auto& [address, bar] : cta.mbarriers)
    if (bar.valid && history_.of(bar).waits.empty() && !history_.of(bar).tells_of_copies)
      idle += (idle.empty() ? "" : ", ") + bar.name();
  return idle;
}

// What its issuer had waited for when it made the copy.
LatestWait Conflicts::wait_before(const Operation& copy, const Warp& issuer) const {
  LatestWait wait;
  for (const NamingCopies& c : history_.of(*copy.barrier).ever.copies)
    if (c.warp == &issuer && c.source == copy.source) wait.bar = c.waited_for;
  if (wait.bar)
    for (const PassedWaits& passed : history_.of(*wait.bar).waits)
      if (passed.warp == &issuer) wait.source = passed.source, wait.complete = passed.complete;
  return wait;
}

// The lines by which the stage went back to its issuer; whether its reader has arrived there.
bool Conflicts::add_hand_back(const Refill& refill, Finding& f) const {
  const Mbarrier* bar = refill.wait.bar;
  if (!bar || history_.of(*bar).tells_of_copies) return false;
  bool arrived = false;
  for (const Arrivals& a : history_.of(*bar).ever.arrivals)
    if (a.warp == &refill.reader) {
      f.related.push_back({names_of({a.warp}) + " arrives", tell_.line(a.source)});
      arrived = true;
    }
  f.related.push_back(
      {"the issuer's wait for " + bar->name_for(refill.issuer.cta), tell_.line(refill.wait.source)});
  return arrived;
}

// The issuer has waited for nothing that tells of readers: which empty barrier is there for it?
void Conflicts::explain_unguarded(const Refill& refill, Finding& f) const {
  const Mbarrier* bar = refill.wait.bar;
  f.why = !bar ? "Its issuer has waited for no mbarrier."
               : text("The latest wait of its issuer was for ", bar->name(),
                      ", which tells that bytes have landed, not that ", names_of({&refill.reader}),
                      " has read them.");
  if (bar) f.related.push_back({"the issuer's wait for " + bar->name(), tell_.line(refill.wait.source)});
  const std::string idle = idle_barriers(refill.issuer.cta);
  if (!idle.empty()) {
    f.title += ": nobody waits for " + idle;
    f.hint = text("wait for the empty barrier of the stage before the copy: nobody waits for ", idle);
    return;
  }
  for (const auto& [address, empty] : refill.issuer.cta.mbarriers)
    for (const PassedWaits& passed : history_.of(empty).waits)
      if (empty.valid && passed.warp == &refill.issuer && !history_.of(empty).tells_of_copies) {
        f.title += ": no wait for its empty barrier comes in front of it";
        f.related.push_back({"waits for " + empty.name(), tell_.line(passed.source)});
        f.hint =
            "wait for the empty barrier of the stage in front of the copy, not behind it, for the phase that its "
            "readers complete";
        return;
      }
  f.hint =
      "a barrier of the CTA (__syncthreads) between the last read of the stage, the wgmma wait included, and the copy that "
      "refills it";
}

// A copy onto a stage that may still be read: what its issuer waited for, and what that tells of the reader.
void Conflicts::explain_refill(const Refill& refill, Finding& f) const {
  const LatestWait& wait = refill.wait;
  if (!wait.bar || history_.of(*wait.bar).tells_of_copies) return explain_unguarded(refill, f);
  const std::string who = names_of({&refill.reader});
  const Mbarrier& bar = *wait.bar;
  const BarrierLog& log = history_.of(bar);
  f.related.push_back({"the issuer's wait for " + bar.name_for(refill.issuer.cta), tell_.line(wait.source)});
  if (bar.init_source >= 0) f.related.push_back({initialised_for(bar), tell_.line(bar.init_source)});
  if (wait.complete == 0) {
    f.title += text(": the wait for ", bar.name(), " passed at once, as on a fresh barrier");
    f.why = text("It asked for parity 1, the phase before the first: no reader had to hand the stage back.");
    f.hint = "ask for parity 1 on the first lap only, and flip the parity when the ring closes";
    return;
  }
  for (const PassedWaits& passed : log.waits)
    if (passed.warp == &refill.issuer && passed.source == wait.source && passed.again) {
      f.title += text(": the wait for ", bar.name(), " has passed twice for the same phase");
      f.why =
          text("By its parity it asks for phase ", wait.complete - 1,
               ", which was complete the last time, too: no reader had to hand the stage back in between.");
      f.hint = text("flip the parity of the wait for ", bar.name(), " once per use of the stage");
      return;
    }
  if (bar.phase != wait.complete) return;  // the arrivals of that phase are not known any more
  std::set<const Warp*> arrived;
  int32_t source = -1;
  for (const Arrivals& a : log.before.arrivals) {
    arrived.insert(a.warp);
    if (a.warp == &refill.reader) source = a.source;
  }
  if (!arrived.count(&refill.reader)) {
    uint64_t came = 0;
    for (const Arrivals& a : log.before.arrivals) came += a.count;
    f.title += text(": ", initialised_for(bar), ", too few to include ", who);
    f.why = text("Phase ", bar.phase - 1, " was complete with ", came, came == 1 ? " arrival" : " arrivals",
                 " of ", names_of(arrived), "; ", who, " still reads.");
    f.hint = text("initialise ", bar.name(),
                  " for the arrivals of all readers of the stage, or let each reader arrive once");
    return;
  }
  f.related.push_back({who + " arrives", tell_.line(source)});
  f.title += text(": ", who, " arrived on ", bar.name(), " before its read was over");
  f.hint = text("arrive on ", bar.name(),
                " when the read is over (behind the wgmma wait that covers it), and for the stage that was "
                "read");
}

}  // namespace emu::check
