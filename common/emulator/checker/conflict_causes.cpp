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

// A cp.async that nobody has waited for by group: what the mbarrier that the reader waited for knows of it. False: no mbarrier
// has to do with it.
bool Conflicts::explain_arrivals(const Conflict& c, Finding& f) const {
  const WarpOrder* w = earlier_warp(c);
  const LatestWait* wait = history_.latest_wait(c.who.warp());
  const size_t lane = static_cast<size_t>(Records::lane_of(c.prior));
  if (!w || w->lanes[lane].cp_groups.wait_source >= 0) return false;
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

// A copy onto a stage that may still be read: what its issuer waited for, and what that tells of the reader.
// told: the finding has its cause already, the reader's wait.
void Conflicts::explain_refill(const Conflict& c, Finding& f, bool told) const {
  const WarpOrder* reader = earlier_warp(c);
  const LatestWait* wait = history_.latest_wait(c.who.warp());
  const std::string idle = idle_barriers(c.who.cta());
  if (!reader) return;
  const std::string who = names_of({reader->warp});
  if (told) {
    if (!wait || history_.of(*wait->bar).tells_of_copies) return;
    f.related.push_back(
        {"the issuer's wait for " + wait->bar->name_for(c.who.cta()), tell_.line(wait->source)});
    for (const Arrivals& a : history_.of(*wait->bar).ever.arrivals)
      if (a.warp == reader->warp) f.related.push_back({who + " arrives", tell_.line(a.source)});
    return;
  }
  if (!wait || history_.of(*wait->bar).tells_of_copies) {
    f.why = !wait ? "Its issuer has waited for no mbarrier."
                  : text("The latest wait of its issuer was for ", wait->bar->name(),
                         ", which tells that bytes have landed, not that ", who, " has read them.");
    if (wait) f.related.push_back({"the issuer's wait for " + wait->bar->name(), tell_.line(wait->source)});
    if (idle.empty()) {
      f.hint =
          "a barrier of the CTA (__syncthreads) between the last read of the stage, the wgmma wait included, and the copy that "
          "refills it";
      return;
    }
    f.title += ": nobody waits for " + idle;
    f.hint = text("wait for the empty barrier of the stage before the copy: nobody waits for ", idle);
    return;
  }
  const Mbarrier& bar = *wait->bar;
  const BarrierLog& log = history_.of(bar);
  f.related.push_back({"the issuer's wait for " + bar.name_for(c.who.cta()), tell_.line(wait->source)});
  if (bar.init_source >= 0) f.related.push_back({initialised_for(bar), tell_.line(bar.init_source)});
  if (wait->complete == 0) {
    f.title += text(": the wait for ", bar.name(), " passed at once, as on a fresh barrier");
    f.why = text("It asked for parity 1, the phase before the first: no reader had to hand the stage back.");
    f.hint = "ask for parity 1 on the first lap only, and flip the parity when the ring closes";
    return;
  }
  if (bar.phase < wait->complete || bar.phase > wait->complete)
    return;  // the arrivals of that phase are not known any more
  std::set<const Warp*> arrived;
  int32_t source = -1;
  for (const Arrivals& a : log.before.arrivals) {
    arrived.insert(a.warp);
    if (a.warp == reader->warp) source = a.source;
  }
  if (!arrived.count(reader->warp)) {
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
