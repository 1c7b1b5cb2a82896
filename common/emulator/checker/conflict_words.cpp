// From the cause of a conflict to a sentence: what happened, why it is wrong, what to do.
#include "emulator/checker/conflicts.hpp"
#include "emulator/checker/copied_boxes.hpp"

namespace emu::check {

namespace {

Finding finding(Id id, const std::string& title, const char* why, const char* hint) {
  Finding f(id);
  f.title = title;
  f.why = why;
  f.hint = hint;
  return f;
}

constexpr const char* kNotLanded = "a tile is read before the reader knows that its bytes have landed";
constexpr const char* kWaitForCopy =
    "wait on the copy's mbarrier, for the parity of this phase, before the first read";

// Where a warp reads together, its loads are over before one of its lanes goes on; the manual orders only that lane's.
void one_lane_told(Finding& f, const std::string& warp) {
  f.make_milder();
  f.title = text("one lane tells that ", warp,
                 " has read the bytes, and nothing orders the other lanes' reads before it");
  f.why =
      "An arrival, and whatever else a lane does, covers what that lane has done itself; .sync instructions that are no barrier "
      "gather a warp and order none of its accesses.";
  f.hint = "__syncwarp() between the last read of the warp and the one lane that goes on for it";
}

}  // namespace

void Conflicts::tell(const Conflict& c, const Cause& cause) {
  const Record& r = past_.records.of(c.prior);
  const Operation* before = past_.operation(c.prior);
  if (cause.kind == Cause::Kind::load_unannounced)
    return mbarriers_.tell_unannounced(*cause.bar, c.write ? *c.who.op : *before, *c.who.inst);
  if (cause.kind == Cause::Kind::wrong_parity) {
    // The wait that was wrong is that of whoever read.
    const bool earlier_read = c.write;
    Finding f = mbarriers_.wrong_parity(*cause.bar, *cause.wait, cause.needed, c.who.cta(),
                                        earlier_read ? r.warp : c.who.warp().index,
                                        earlier_read ? Records::lane_of(c.prior) : c.who.lane());
    f.other_line = cause.by_earlier ? tell_.line(r.source) : tell_.line(*c.who.inst);
    return tell_.tell(std::move(f), c.who, r.source);
  }
  Finding f = words(c, cause);
  if (c.operand) past_its_tile(c, f);
  if (f.state.empty())
    f.state = tell_.place(c.space, c.address) + ": touched before by " + tell_.describe(c.prior);
  tell_.tell(std::move(f), c.who, r.source);
}

Finding Conflicts::words(const Conflict& c, const Cause& cause) {
  using Kind = Cause::Kind;
  switch (cause.kind) {
    case Kind::copy_not_waited_for:
      return copy_not_waited_for(c);
    case Kind::load_not_waited_for:
      return load_not_waited_for(c, cause);
    case Kind::load_over_load:
      return loaded_twice(c);
    case Kind::global_overwritten:
      return global_overwritten(c);
    case Kind::source_reused: {
      Finding f = finding(
          Id::source_reused_before_read, "shared memory is overwritten while a store may still be reading it",
          "A bulk store reads its source after the instruction; only the issuing thread's "
          "cp.async.bulk.wait_group.read says that it has, and other threads learn it through a barrier after "
          "that wait.",
          "commit the store's group, wait_group.read in the issuing thread, then a barrier, then reuse the "
          "buffer");
      explain_group(c, f);
      explain_source(c, f);
      return f;
    }
    case Kind::read_ahead:
      return read_ahead(c);
    case Kind::stage_overwritten:
      return stage_overwritten(c);
    case Kind::overtaken:
      return overtaken(c);
    case Kind::not_stored:
      if (c.who.op && c.who.op->is_store()) return stored_twice(c);
      return finding(
          Id::read_before_stored,
          c.write ? "global memory is overwritten while a store to it may still be in flight"
                  : "global memory is read while a bulk store to it may still be in flight",
          "The store is complete after cp.async.bulk.wait_group (without .read) in the thread that issued it; "
          ".read only says that the source has been read.",
          "wait_group 0 without .read, then order the reader after that thread");
    case Kind::operand_overwritten: {
      Finding f = finding(
          Id::overwritten_while_read, "a thread overwrites an operand that a wgmma may still be reading",
          "A wgmma reads its operands until wgmma.wait_group covers it, and other threads know that only "
          "through a barrier after it.",
          "wgmma.wait_group, then a barrier, then write the tile");
      explain_group(c, f);
      return f;
    }
    case Kind::race_with_engine:
      return race_with_engine(c);
    case Kind::mixed:
      return mixed(c);
    case Kind::same_place:
      return same_place(c);
    default:
      return race(c);
  }
}

// The finding is milder where a relaxed atomic orders the two and only the fence behind it is missing.
void Conflicts::fence_story(const Conflict& c, Finding& f) const {
  if (c.space != Space::global || c.who.op || !fence_is_missing(c)) return;
  f.make_milder();
  f.title =
      "a relaxed atomic tells that bytes are ready, and no fence behind it makes them visible to who uses them";
  f.why =
      "A relaxed atomic orders only itself; what its value tells of counts for other memory from the next fence of its thread on.";
  f.hint = "__threadfence() behind the atomic, before the barrier that tells the others";
}

Finding Conflicts::race(const Conflict& c) {
  Finding f = finding(Id::data_race,
                      text("two threads ", c.write && c.prior_is_write ? "write" : "use",
                           " the same bytes without any order between them"),
                      "No barrier, mbarrier or fence with an atomic orders the two accesses.",
                      "put a barrier between them, or let only one thread write");
  if (told_by_another_lane(c)) {
    one_lane_told(f, names_of_warp(c));
    return f;
  }
  other_cta_story(c, f);
  fence_story(c, f);
  return f;
}

// Between CTAs no barrier helps: what orders them is a word that the one releases and the other acquires.
void Conflicts::other_cta_story(const Conflict& c, Finding& f) const {
  const Record& r = past_.records.of(c.prior);
  const bool same = r.cluster == c.who.cluster().index && r.rank == c.who.cta().cluster_rank;
  if (c.space != Space::global || same || !c.prior_is_write || c.write) return;
  f.title = text("a thread reads what a thread of another CTA writes, warp ", r.warp, " lane ",
                 Records::lane_of(c.prior), ", and has acquired nothing that this one released");
  f.why =
      "A barrier of a CTA orders its own threads only; between CTAs it takes a word that the writer releases behind its writes "
      "and the reader acquires in front of its reads.";
  f.hint =
      "read what that thread wrote whose word was acquired: are the numbers of thread, warp and CTA the same on both sides? "
      "Where there is no such word: st.release behind the writes, ld.acquire in front of the reads";
}

// A store that several lanes have issued, or whose buffer another warp writes: hardly that was meant.
void Conflicts::explain_source(const Conflict& c, Finding& f) const {
  const uint32_t index = past_.records.of(c.prior).detail;
  const Operation& store = past_.operations[index];
  const auto by_another_lane = [&](uint32_t other) {
    if (other == 0 || other >= past_.operations.count()) return false;
    const Operation& o = past_.operations[other];
    return o.source == store.source && o.cluster == store.cluster && o.rank == store.rank &&
           o.warp == store.warp && o.turn == store.turn && o.lane != store.lane && o.from == store.from;
  };
  if (by_another_lane(index - 1) || by_another_lane(index + 1)) {
    f.title =
        text("shared memory is overwritten while a store may still be reading it: several lanes of warp ",
             store.warp, " have issued the store of ", tell_.line(store.source).brief(), ", each for itself");
    f.why =
        "cp.async.bulk is executed by every lane that comes to it, and a lane's wait_group knows of its own stores only.";
    f.hint = "let one lane of the warp, the one that waits, issue the store and commit it (elect.sync)";
  } else if (c.who.warp().index != store.warp || c.who.cta().cluster_rank != store.rank) {
    f.hint += text("; or give warp ", store.warp, " and ",
                   c.who.warp().index == store.warp ? "this one" : text("warp ", c.who.warp().index),
                   " a buffer each");
  }
}

// Two copies to one place: of the same phase, of stages that are taken for one another, or with nothing between them.
Finding Conflicts::loaded_twice(const Conflict& c) {
  const Operation &before = *past_.operation(c.prior), &now = *c.who.op;
  Finding f = finding(
      Id::overwritten_while_landing,
      "a copy overwrites a stage whose previous copy nobody is known to have waited for",
      "The thread that issues this copy is not ordered after the completion of the copy before it.",
      "wait until the stage has been read: an empty barrier, or a barrier of the CTA, between the two");
  if (!before.barrier || !now.barrier) return f;
  if (before.barrier != now.barrier) {
    f.title = text("two copies write the same place: the one before completes on ", tell_.barrier_of(before),
                   ", this one on ", tell_.barrier_of(now));
    f.why = text("Whoever waits for ", tell_.barrier_of(now), " knows nothing of the bytes that complete on ",
                 tell_.barrier_of(before), ".");
    f.hint =
        "a stage has a place and a barrier of its own: give both the same index; where the place is meant, wait until it "
        "has been read";
  } else if (before.done == now.done && before.done_value == now.done_value) {
    f.title = text("two copies of one phase of ", tell_.barrier_of(now), " write the same place");
    f.why = "Both land before the phase is complete, in any order: what remains is the one box or the other.";
    if (before.rank != now.rank)
      f.why += text(" One is from CTA ", before.rank, " of the cluster, the other from CTA ", now.rank, ".");
    f.hint = "give each box of the stage a place of its own";
  }
  return f;
}

// The order that is missing is not what is wrong.
void Conflicts::past_its_tile(const Conflict& c, Finding& f) const {
  const int32_t other = c.write ? c.who.inst->source : past_.records.of(c.prior).source;
  f.title = text("a wgmma reads ", c.operand, " past the end of its tile, into bytes that others use");
  f.state = text(c.operand, " starts in ", tell_.place(c.space, c.tile), ", written at ",
                 tell_.line(past_.records.of(c.tile_writer).source).text(), "; ",
                 tell_.place(c.space, c.address), " is written at ", tell_.line(other).text());
  f.why = text("The tile is shorter than what the instruction reads: ",
               c.operand[0] == 'A' ? "64 rows (M)" : "N rows", ", at the offsets of its descriptor.");
  f.hint = text(
      "make room for all rows that the instruction reads, and check N and the offsets of the descriptor; if the bytes are "
      "a part of ",
      c.operand, " after all, order the two");
}

// An ordinary access and an atomic, volatile or relaxed one. The ordinary one leads, whichever came first.
Finding Conflicts::mixed(const Conflict& c) {
  Finding f = mixed_words(c);
  if (!c.strong) return f;
  const Record& r = past_.records.of(c.prior);
  f.line = tell_.line(r.source);
  f.other_line = tell_.line(*c.who.inst);
  f.where = text(f.line.text(), "  warp ", r.warp, " lane ", Records::lane_of(c.prior));
  f.state = text(tell_.place(c.space, c.address), ": used by warp ", c.who.warp().index, " of ",
                 c.who.cta().text(), " at ", f.other_line.text());
  return f;
}

Finding Conflicts::mixed_words(const Conflict& c) {
  const bool plain_writes = c.strong ? c.prior_is_write : c.write;
  const bool strong_writes = c.strong ? c.write : c.prior_is_write;
  if (!plain_writes) {
    Finding f = finding(
        Id::data_race, "an ordinary load of a word that other threads change with atomics or volatile stores",
        "Nothing orders the two, and the compiler may keep what an ordinary load has brought: a loop may never see the change.",
        "load it with atomicAdd(p, 0), cuda::atomic_ref or through a volatile pointer; or put a barrier between");
    if (c.space == Space::global) f.make_milder();
    return f;
  }
  if (strong_writes) {
    Finding f = finding(
        Id::data_race,
        "an ordinary store and an atomic or volatile one write the same word without any order between them",
        "What the ordinary store writes may come before or after what the others have done to the word: their share is "
        "lost, or it is.",
        "put a barrier between the store and the atomics: __syncthreads() in a CTA, a new launch for a grid");
    fence_story(c, f);
    return f;
  }
  if (c.reset || past_.records.of(c.prior).reset)
    return finding(
        Id::data_race, "an ordinary store resets a word that other threads may still be polling",
        "Nobody has told the storing thread that the others have seen the value before: one that looks later waits for "
        "ever.",
        "reset it when all have gone on (a barrier, or a second counter), or let it count on and compare with the next "
        "multiple");
  Finding f = finding(
      Id::data_race, "a flag is set by an ordinary store while other threads poll it",
      "The compiler may move, join or drop an ordinary store, and it orders nothing that was written before.",
      "set it with st.release (cuda::atomic_ref), or __threadfence() and then an atomic or volatile store");
  f.make_milder();
  return f;
}

// One statement that several warps store to one place with.
Finding Conflicts::same_place(const Conflict& c) {
  Finding f = finding(
      Id::data_race,
      c.equal_values ? "several warps store the same value to one place, with no order between them"
                     : "several warps store different values to one place, with no order between them",
      c.equal_values
          ? "The value is the same whichever store comes last; the manual calls it a race all the same."
          : "The value of whichever store comes last stays, and the place that another one was meant for gets none.",
      c.equal_values
          ? "if (threadIdx.x == 0) in front of the store, or an atomic store"
          : "let one of them store, or give each a place of its own: see which index is missing from the address");
  if (c.equal_values) f.make_milder();
  return f;
}

std::string Conflicts::names_of_warp(const Conflict& c) const {
  return text("warp ", past_.records.of(c.prior).warp);
}

Finding Conflicts::copy_not_waited_for(const Conflict& c) {
  Finding f = finding(
      c.write ? Id::overwritten_while_landing : Id::read_before_landed,
      c.write ? "bytes are overwritten while a cp.async to them may still be in flight"
              : "bytes of a cp.async are read by a thread that does not know that they have landed",
      "A cp.async is complete for the thread that issued it after its cp.async.wait_group, and for other "
      "threads only when that thread then meets them at a barrier (or when they wait on an mbarrier the copy "
      "arrives on).",
      "wait for the group (commit_group, then wait_group with few enough groups pending), then __syncthreads");
  if (c.write ? !explain_same_place(c, f) : !explain_arrivals(c, f)) explain_group(c, f);
  return f;
}

// A copy overwrites what somebody, or a wgmma, may still read: which wait did not keep it, or which did not cover the wgmma.
Finding Conflicts::stage_overwritten(const Conflict& c) {
  const Operation* before = past_.operation(c.prior);
  const bool product = before && before->kind == AsyncOp::Kind::wgmma;
  Finding f = finding(
      Id::overwritten_while_read, "a copy overwrites a stage that may still be read",
      product ? "A wgmma reads its operands until wgmma.wait_group; the thread that refills the stage is not "
                "ordered after that wait."
              : "The thread that issues the copy has not acquired the release of the stage's last reader.",
      "let every reader arrive on an empty barrier after its last read (after the wgmma wait), and let the "
      "producer wait for it before it issues the copy");
  if (told_by_another_lane(c)) {
    one_lane_told(f, names_of_warp(c));
    return f;
  }
  GroupStory story;
  std::string family;
  const bool met = product && group_story(c, &story, &family) && story.kind != GroupStory::Kind::not_met &&
                   story.kind != GroupStory::Kind::waited;
  if (product && explain_other_stage(c, *before, f)) return f;
  const LatestWait* wait = history_.latest_wait(c.who.warp());
  const bool guarded = wait && !history_.of(*wait->bar).tells_of_copies;
  const bool unmet = product && story.kind == GroupStory::Kind::waited && !guarded &&
                     idle_barriers(c.who.cta()).empty();  // between them is a barrier of the CTA, too early
  if (met || unmet) explain_group(c, f);
  const WarpOrder* reader = earlier_warp(c);
  if (!reader || unmet) return f;
  const Refill refill{c.who.warp(), *reader->warp, wait ? *wait : LatestWait()};
  if (!met)
    explain_refill(refill, f);
  else if (add_hand_back(refill, f))
    f.hint =
        story.kind == GroupStory::Kind::too_many
            ? text("leave at most ", story.newest - 1,
                   " pending before the stage is handed back, or hand back the stage of an earlier tile: the "
                   "product that reads this one is still under way")
        : story.kind == GroupStory::Kind::never_waited
            ? "wgmma.wait_group in front of the arrival that hands the stage back, with few enough groups pending"
            : f.hint;
  return f;
}

// The reader has waited for its tile, and the next copy came to its stage before it had read.
Finding Conflicts::overtaken(const Conflict& c) {
  const Operation& copy = *past_.operation(c.prior);
  Finding f = finding(
      Id::overwritten_while_read, "a copy overwrites a stage that may still be read",
      "The thread that issues the copy has not acquired the release of the stage's last reader.",
      "let every reader arrive on an empty barrier after its last read, and let the producer wait for it before it "
      "issues the copy");
  f.line = tell_.line(copy.source);
  f.other_line = tell_.line(*c.who.inst);
  f.where = text(f.line.text(), "  ", c.who.cta().text(), " warp ", copy.warp);
  Teller::set_place(f, c.who.cta(), copy.warp);
  f.state = text(tell_.place(c.space, c.address), ": ", copy.words(), " writes it; warp ", c.who.warp().index,
                 ", which has waited for the copy before, reads it at ", f.other_line.brief());
  if (const WarpOrder* issuer = earlier_warp(c))
    explain_refill({*issuer->warp, c.who.warp(), wait_before(copy, *issuer->warp)}, f);
  return f;
}

// Two stores to one place, with nothing that orders them: hardly one is meant.
Finding Conflicts::stored_twice(const Conflict& c) {
  const Operation &before = *past_.operation(c.prior), &now = *c.who.op;
  const bool same = before.dimensions && before.dimensions == now.dimensions && before.start == now.start;
  Finding f = finding(
      Id::read_before_stored, "two stores write the same bytes of global memory, with no order between them",
      "The engine carries out stores in any order: what remains is the bytes of the one or of the other, and the place that one "
      "of them was meant for gets none.",
      "give each store a place of its own: see which index is missing from the coordinates, or exchanged");
  if (same)
    f.title = text("two stores write the same box, at ", box_text(now.start, now.dimensions));
  else if (before.dimensions)
    f.title = text("two stores write boxes that overlap, at ", box_text(before.start, before.dimensions),
                   " and ", box_text(now.start, now.dimensions));
  f.state =
      text(tell_.place(c.space, c.address), ": by ", names_of_store(before), " and by ", names_of_store(now));
  return f;
}

std::string Conflicts::names_of_store(const Operation& op) const {
  return text("warp ", op.warp, " of cluster ", op.cluster, ", CTA ", op.rank, " in it, at ",
              tell_.line(op.source).brief());
}

Finding Conflicts::load_not_waited_for(const Conflict& c, const Cause& cause) {
  Finding f = finding(Id::read_before_landed, kNotLanded, "", kWaitForCopy);
  f.why = text("The reader has not seen phase ", cause.needed - 1,
               cause.bar ? " of " + cause.bar->bar->name() : "",
               " complete. A copy is in flight from its issue until the barrier's arrivals are in and its "
               "pending bytes are zero.");
  if (explain_refusal(c.who.warp(), f) || explain_lanes(c, f)) return f;
  const LatestWait* latest = history_.latest_wait(c.who.warp());
  if (!latest) return f;
  f.related.push_back({"the reader's latest wait, for " + latest->bar->name(), tell_.line(latest->source)});
  if (cause.bar && cause.bar->bar != latest->bar &&
      tell_.line(cause.bar->bar->init_source).text() == tell_.line(latest->bar->init_source).text()) {
    const std::string name = cause.bar->bar->name();
    f.title += text(": it has waited for ", latest->bar->name(), ", and these bytes come with ", name);
    f.hint = text("wait for ", name, " in front of this read, or read the stage of ", latest->bar->name(),
                  ": one index for the barrier and the tile");
  }
  return f;
}

Finding Conflicts::global_overwritten(const Conflict& c) {
  if (const Operation* before = past_.operation(c.prior))
    return finding(
        Id::overwritten_while_read,
        text("global memory is overwritten while ", before->words(), " may still be reading it"),
        "A copy reads its source until it completes; the writer has seen neither the phase of its mbarrier nor "
        "its group complete.",
        "wait for the copy first, and hand that on to the writer: a barrier, or in another CTA a flag with "
        "release and acquire");
  return finding(
      Id::overwritten_while_read,
      text(c.who.op->words(), " overwrites global memory that a thread may still be reading"),
      "Nothing orders the thread that issues the store after the thread that reads.",
      "put a barrier between the read and the issue of the store; between CTAs a flag with release and "
      "acquire");
}

Finding Conflicts::read_ahead(const Conflict& c) {
  const Record& r = past_.records.of(c.prior);
  Finding f = finding(
      Id::read_before_landed, kNotLanded,
      "The reader went on to this fill of the stage without waiting for it: it was read before the copy had "
      "even been issued.",
      kWaitForCopy);
  f.line = tell_.line(r.source);
  f.other_line = tell_.line(*c.who.inst);
  f.where = text(f.line.text(), "  ", c.who.cta().text(), " warp ", r.warp);
  Teller::set_place(f, c.who.cta(), r.warp);
  f.state = text(tell_.place(c.space, c.address), ": ", c.who.op->words(), " at ", f.other_line.text(),
                 " writes it");
  return f;
}

Finding Conflicts::race_with_engine(const Conflict& c) {
  return finding(
      Id::data_race,
      text(c.who.op->words(), c.write ? " writes" : " reads",
           " bytes that a thread touches without any order between the two"),
      "Neither a barrier nor an mbarrier orders the thread's access before the operation.",
      "in the writing threads: fence.proxy.async, then a barrier with the thread that issues the operation");
}

}  // namespace emu::check
