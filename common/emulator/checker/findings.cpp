// From a conflict to a sentence: which rule was broken, by whom, and what to do.
#include <algorithm>

#include "emulator/checker/checker.hpp"

namespace emu::check {

namespace {

bool is_load(AsyncOp::Kind k) {
  return k == AsyncOp::Kind::tensor_load || k == AsyncOp::Kind::bulk_load ||
         k == AsyncOp::Kind::bulk_shared || k == AsyncOp::Kind::st_async;
}
bool is_store(AsyncOp::Kind k) {
  return k == AsyncOp::Kind::tensor_store || k == AsyncOp::Kind::bulk_store ||
         k == AsyncOp::Kind::tensor_reduce || k == AsyncOp::Kind::bulk_reduce;
}

const char* verb(AsyncOp::Kind k) {
  switch (k) {
    case AsyncOp::Kind::cp_async:
      return "a cp.async";
    case AsyncOp::Kind::bulk_load:
      return "a bulk copy";
    case AsyncOp::Kind::bulk_shared:
    case AsyncOp::Kind::st_async:
      return "a bulk copy between CTAs";
    case AsyncOp::Kind::bulk_store:
      return "a bulk store";
    case AsyncOp::Kind::bulk_reduce:
      return "a bulk reduction";
    case AsyncOp::Kind::tensor_load:
      return "a tensor copy";
    case AsyncOp::Kind::tensor_store:
      return "a tensor store";
    case AsyncOp::Kind::tensor_reduce:
      return "a tensor reduction";
    case AsyncOp::Kind::wgmma:
      return "a wgmma";
    default:
      return "an operation";
  }
}

}  // namespace

SourceLine Checker::line_at(int32_t source) const {
  if (source < 0) return SourceLine();
  Inst at;
  at.source = source;
  return program_->line_of(at);
}

std::string Checker::barrier_name(const OpState& op) const {
  return running(op.cluster) ? op.barrier->name() : "a barrier of a CTA that has ended";
}

std::string Checker::describe(Tag tag) const {
  const Record& r = records_.of(tag);
  const std::string place = " at " + line_at(r.source).text();
  if (r.kind == Record::Kind::op) {
    const OpState& op = ops_[r.detail];
    std::string out = std::string(verb(op.kind)) + place;
    if (op.barrier) out += " that completes on " + barrier_name(op);
    return out;
  }
  return "warp " + std::to_string(r.warp) + " lane " + std::to_string(Records::lane_of(tag)) + place;
}

void Checker::report(Finding f, const Accessor& who, int32_t other_source) {
  if (who.inst && f.line.text().empty()) f.line = program_->line_of(*who.inst);
  if (other_source >= 0 && f.other_line.text().empty()) f.other_line = line_at(other_source);
  f.kernel = program_->name;
  if (who.hardware && f.where.empty()) {
    f.where =
        who.hardware->where(*who.inst, __builtin_popcount(who.lanes) == 1 ? __builtin_ctz(who.lanes) : -1);
    set_place(f, who.hardware->cta, who.hardware->index);
  }
  machine_->findings.add(f);
}

// Whether this event has already met the accesses of that line in this way: one is enough, an event counts once.
bool Checker::told(uint32_t what, int32_t source) {
  const uint64_t key = static_cast<uint64_t>(what) << 32 | static_cast<uint32_t>(source);
  if (std::find(told_.begin(), told_.end(), key) != told_.end()) return true;
  told_.push_back(key);
  return false;
}

void Checker::set_place(Finding& f, const Cta& cta, int warp) {
  f.cta = static_cast<int64_t>(cta.order);
  f.warp = warp;
}

// Two accesses to one byte, at least one of them a write, that nothing orders.
void Checker::conflict(const Accessor& who, bool write, Tag prior, bool prior_is_write, uint64_t address,
                       Space space) {
  const Record& r = records_.of(prior);
  if (!counting() || told(write | prior_is_write << 1, r.source)) return;
  const OpState* before = r.kind == Record::Kind::op ? &ops_[r.detail] : nullptr;
  const std::string place = space == Space::shared
                                ? "shared memory at " + program_->shared_name(static_cast<uint32_t>(address))
                                : "global memory " + machine_->memory.describe(address);
  Finding f(Id::none);
  f.state = place + ": touched before by " + describe(prior);
  auto swap_lines = [&] {  // the earlier access is the one at fault
    f.line = line_at(r.source);
    f.other_line = program_->line_of(*who.inst);
    f.where = line_at(r.source).text() + "  " + who.cta->cta->text() + " warp " + std::to_string(r.warp);
    set_place(f, *who.cta->cta, r.warp);
    f.state = place + ": " + (who.op ? verb(who.op->kind) : "a thread") + std::string(" at ") +
              program_->line_of(*who.inst).text() + " writes it";
  };

  if (before && prior_is_write && before->kind == AsyncOp::Kind::cp_async) {
    f.id = write ? Id::overwritten_while_landing : Id::read_before_landed;
    f.title = write ? "bytes are overwritten while a cp.async to them may still be in flight"
                    : "bytes of a cp.async are read by a thread that does not know that they have landed";
    f.why =
        "A cp.async is complete for the thread that issued it after its cp.async.wait_group, and for other "
        "threads only when that thread then meets them at a barrier (or when they wait on an mbarrier the "
        "copy arrives on).";
    f.hint =
        "wait for the group (commit_group, then wait_group with few enough groups pending), then "
        "__syncthreads";
  } else if (before && prior_is_write && is_load(before->kind) && !write) {
    const Component needed = before->done_value;
    f.id = Id::read_before_landed;
    f.title = "a tile is read before the reader knows that its bytes have landed";
    f.why = "The reader has not seen phase " + std::to_string(needed - 1) +
            (before->barrier ? " of " + before->barrier->name() : std::string()) +
            " complete. A copy is in flight from its issue until the barrier's arrivals are in and its "
            "pending bytes are zero.";
    f.hint = "wait on the copy's mbarrier, for the parity of this phase, before the first read";
    auto it = before->barrier ? who.cluster->barriers.find(before->barrier) : who.cluster->barriers.end();
    if (it != who.cluster->barriers.end()) {
      BarrierState& b = it->second;
      if (b.phase + 1 == needed && b.announced == 0) return unannounced(b, *before, who);
      if (wrong_parity(f, b, needed, *who.cta->cta, who.hardware->index, __builtin_ctz(who.lanes)))
        f.other_line = program_->line_of(*who.inst);
    }
  } else if (before && prior_is_write && is_load(before->kind) && write && who.op && is_load(who.op->kind)) {
    f.id = Id::overwritten_while_landing;
    f.title = "a copy overwrites a stage whose previous copy nobody is known to have waited for";
    f.why = "The thread that issues this copy is not ordered after the completion of the copy before it.";
    f.hint = "wait until the stage has been read: an empty barrier, or a barrier of the CTA, between the two";
  } else if (space == Space::global && write && !prior_is_write && (before || who.op)) {
    f.id = Id::overwritten_while_read;
    f.title = before ? std::string("global memory is overwritten while ") + verb(before->kind) +
                           " may still be reading it"
                     : std::string(verb(who.op->kind)) +
                           " overwrites global memory that a thread may still be reading";
    f.why = before
                ? "A copy reads its source until it completes; the writer has seen neither the phase of its "
                  "mbarrier nor its group complete."
                : "Nothing orders the thread that issues the store after the thread that reads.";
    f.hint =
        before
            ? "wait for the copy first, and hand that on to the writer: a barrier, or in another CTA a flag "
              "with release and acquire"
            : "put a barrier between the read and the issue of the store; between CTAs a flag with release "
              "and acquire";
  } else if (before && !prior_is_write && is_store(before->kind)) {
    f.id = Id::source_reused_before_read;
    f.title = "shared memory is overwritten while a store may still be reading it";
    f.why =
        "A bulk store reads its source after the instruction; only the issuing thread's "
        "cp.async.bulk.wait_group.read says "
        "that it has, and other threads learn it through a barrier after that wait.";
    f.hint =
        "commit the store's group, wait_group.read in the issuing thread, then a barrier, then reuse the "
        "buffer";
  } else if (!prior_is_write && write && who.op &&
             (is_load(who.op->kind) || who.op->kind == AsyncOp::Kind::cp_async)) {
    const auto early = unwritten_.find({r.cluster, r.source});
    const auto own =
        who.op->barrier ? who.cluster->barriers.find(who.op->barrier) : who.cluster->barriers.end();
    if (early != unwritten_.end() && own != who.cluster->barriers.end() && own->second.announced == 0 &&
        own->second.phase > 0) {
      unwritten_.erase(early);
      return unannounced(own->second, *who.op, who);
    }
    if (early != unwritten_.end() || (!before && r.again)) {
      f.id = Id::read_before_landed;
      f.title = "a tile is read before the reader knows that its bytes have landed";
      f.why =
          "The reader went on to this fill of the stage without waiting for it: it was read before the copy "
          "had even been issued.";
      f.hint = "wait on the copy's mbarrier, for the parity of this phase, before the first read";
      swap_lines();
      if (early != unwritten_.end()) unwritten_.erase(early);
      if (own != who.cluster->barriers.end() &&
          wrong_parity(f, own->second, who.op->done_value, *who.cta->cta, r.warp, Records::lane_of(prior)))
        f.other_line = line_at(r.source);
    } else if (own != who.cluster->barriers.end() &&
               own->second.waits[thread_component(*who.cta->cta, r.warp, Records::lane_of(prior))].repeated &&
               wrong_parity(f, own->second, who.op->done_value, *who.cta->cta, r.warp,
                            Records::lane_of(prior))) {
      f.other_line = program_->line_of(*who.inst);
    } else {
      f.id = Id::overwritten_while_read;
      f.title = "a copy overwrites a stage that may still be read";
      f.why =
          before && before->kind == AsyncOp::Kind::wgmma
              ? "A wgmma reads its operands until wgmma.wait_group; the thread that refills the stage is not "
                "ordered after that wait."
              : "The thread that issues the copy has not acquired the release of the stage's last reader.";
      f.hint =
          "let every reader arrive on an empty barrier after its last read (after the wgmma wait), and let "
          "the producer wait for it before it issues the copy";
    }
  } else if (before && prior_is_write && is_store(before->kind)) {
    f.id = Id::read_before_stored;
    f.title = write ? "global memory is overwritten while a store to it may still be in flight"
                    : "global memory is read while a bulk store to it may still be in flight";
    f.why =
        "The store is complete after cp.async.bulk.wait_group (without .read) in the thread that issued it; "
        ".read only says that the source has been read.";
    f.hint = "wait_group 0 without .read, then order the reader after that thread";
  } else if (before && !prior_is_write && before->kind == AsyncOp::Kind::wgmma) {
    f.id = Id::overwritten_while_read;
    f.title = "a thread overwrites an operand that a wgmma may still be reading";
    f.why =
        "A wgmma reads its operands until wgmma.wait_group covers it, and other threads know that only "
        "through a barrier after it.";
    f.hint = "wgmma.wait_group, then a barrier, then write the tile";
  } else if (who.op) {
    f.id = Id::data_race;
    f.title = std::string(verb(who.op->kind)) + (write ? " writes" : " reads") +
              " bytes that a thread touches without any order between the two";
    f.why = "Neither a barrier nor an mbarrier orders the thread's access before the operation.";
    f.hint =
        "in the writing threads: fence.proxy.async, then a barrier with the thread that issues the operation";
  } else {
    f.id = Id::data_race;
    f.title = std::string("two threads ") + (write && prior_is_write ? "write" : "use") +
              " the same bytes without any order between them";
    f.why = "No barrier, mbarrier or fence with an atomic orders the two accesses.";
    f.hint = "put a barrier between them, or let only one thread write";
  }
  report(f, who, r.source);
}

// Whether a thread's last wait on the barrier answered about an older phase than the bytes come with, and the answer
// had not been used for that phase: then the wait, not its absence, is the mistake. Fills in the finding.
bool Checker::wrong_parity(Finding& f, const BarrierState& b, uint64_t needed, const Cta& cta, int warp,
                           int lane) const {
  const LastWait& w = b.waits[thread_component(cta, warp, lane)];
  if (w.source < 0 || (w.used && !w.repeated) || w.complete >= needed) return false;
  f.id = Id::wrong_parity;
  f.title = "a wait answered about an older phase: its parity is one phase off";
  f.line = line_at(w.source);
  f.where =
      f.line.text() + "  " + cta.text() + " warp " + std::to_string(warp) + " lane " + std::to_string(lane);
  set_place(f, cta, warp);
  f.state =
      b.bar->name() + ": asked for parity " + std::to_string((w.complete + 1) & 1) + ", which " +
      (w.complete ? "phase " + std::to_string(w.complete - 1) : std::string("the phase before the first")) +
      " had already answered; the bytes come with phase " + std::to_string(needed - 1) + " (parity " +
      std::to_string((needed - 1) & 1) + ")";
  f.why =
      "A wait returns True at once when the phase of that parity is the one that has just completed; then "
      "the tile is read too early.";
  f.hint =
      "start at parity 0 for a barrier that is filled first, and flip the parity once per use of the stage";
  return true;
}

// Ordered, but the async proxy does not see what the generic proxy wrote.
void Checker::unfenced(const Accessor& who, Tag prior, bool relayed, uint64_t address, Space space) {
  const Record& r = records_.of(prior);
  if (!counting() || told(4u | relayed, r.source)) return;
  Finding f(relayed ? Id::proxy_fence_by_reader : Id::missing_proxy_fence);
  f.state =
      (space == Space::shared ? "shared memory at " + program_->shared_name(static_cast<uint32_t>(address))
                              : "global memory " + machine_->memory.describe(address)) +
      ": written by " + describe(prior);
  if (relayed) {
    f.title = "the proxy fence is executed by another thread than the one that wrote";
    f.why =
        "PTX asks for the fence in the thread that made the generic access, before it hands over; a fence "
        "behind the barrier in the reading thread is common and works on today's hardware.";
    f.hint = "move fence.proxy.async before the barrier, into the writing threads";
  } else {
    f.title = std::string(who.op ? verb(who.op->kind) : "the async proxy") +
              " reads what threads wrote through the generic proxy, with no proxy fence between";
    f.why =
        "Ordinary stores (and cp.async) go through the generic proxy, the copy engine and wgmma read through "
        "the async proxy; a barrier orders threads, not proxies.";
    f.hint =
        "execute fence.proxy.async (.shared::cta) in every writing thread after its last write, before the "
        "barrier";
  }
  report(f, who, r.source);
}

// Shared bytes that nobody has written. A copy that arrives on them later shows that the reader did not wait.
void Checker::unwritten(const Accessor& who, uint64_t address) {
  Unwritten& reads = unwritten_[{who.cluster->index, who.inst->source}];
  reads.seen.add(machine_->findings.event(), static_cast<int64_t>(who.cta->cta->order), who.hardware->index);
  Finding& f = reads.finding;
  if (f.id != Id::none) return;
  f.id = Id::uninitialised_read;
  f.severity = severity_of(who.op ? row_of(f.id).milder : row_of(f.id).grade);
  f.title =
      std::string(who.op ? verb(who.op->kind) : "a thread") + " reads shared memory that nothing has written";
  f.line = program_->line_of(*who.inst);
  f.where = who.hardware->where(*who.inst, __builtin_ctz(who.lanes));
  f.state = "shared memory at " + program_->shared_name(static_cast<uint32_t>(address));
  f.why = "Shared memory holds whatever was there before; it is zero only by luck.";
  f.hint = "write it first, or copy (or zero-fill) the whole tile";
  f.kernel = program_->name;
}

// A phase completed although a copy that counts on it had not landed: fewer bytes were announced than are on their way.
void Checker::completed_early(BarrierState& b, const OpState& op) {
  Finding f(Id::tx_count_mismatch);
  f.title = "a phase completed before all its copies had landed: too few bytes were announced";
  f.line = line_at(b.bar->expect_source >= 0 ? b.bar->expect_source : op.source);
  f.other_line = line_at(op.source);
  f.where = f.line.text() + "  " + b.bar->cta->text() + "  " + b.bar->name();
  set_place(f, *b.bar->cta);
  f.state = b.bar->name() + " phase " + std::to_string(b.phase - 1) + ": complete, with " +
            std::to_string(op.bytes) + " bytes of " + verb(op.kind) + " at " + line_at(op.source).text() +
            " still in flight";
  f.why =
      "The phase completes as soon as the arrivals are in and the announced bytes are there; bytes that were "
      "not announced are not waited for, and are later subtracted from the next phase.";
  f.hint =
      "announce the sum of all boxes copied on this barrier in the phase (rows x columns x element size, "
      "whole boxes at ragged edges too)";
  Accessor nobody;
  report(f, nobody, op.source);
}

// Bytes are read, or on their way, in a phase in which nobody has announced any.
void Checker::unannounced(BarrierState& b, const OpState& op, const Accessor& who) {
  Finding f(Id::tx_count_mismatch);
  f.line = line_at(b.expect_source >= 0 ? b.expect_source : op.source);
  f.title = b.expect_source >= 0
                ? "a phase completed before all its copies had been issued: too few bytes were announced"
                : "a copy completes on an mbarrier for which no bytes were announced";
  f.other_line = b.expect_source >= 0 ? line_at(op.source) : program_->line_of(*who.inst);
  f.where = f.line.text() + "  " + b.bar->cta->text() + "  " + b.bar->name();
  set_place(f, *b.bar->cta);
  f.state = b.bar->name() + " phase " + std::to_string(b.phase) + ": " + std::to_string(op.bytes) +
            " bytes of " + verb(op.kind) + " at " + line_at(op.source).text() + ", none announced";
  f.why =
      "A wait returns when the arrivals are in and the announced bytes have landed; it does not wait for "
      "bytes that nobody announced.";
  f.hint =
      "arrive with expect_tx (mbarrier.arrive.expect_tx) for the sum of the boxes, before or after issuing "
      "the copies but in the same phase";
  Accessor nobody;
  report(f, nobody, -1);
}

// mbarrier.init on an object that exists already.
void Checker::initialised_again(Warp& w, const Inst& in, int lane, Mbarrier& bar, BarrierState& b) {
  if (b.init_source < 0 || !bar.valid) return;
  CtaState& cta = cta_of(w.cta);
  WarpState& state = cta.warps[static_cast<size_t>(w.index)];
  Accessor who{&cluster_of(w.cta), &cta, &state, &w, &in, 1u << lane, 1u << lane, nullptr, false};
  Finding f(Id::none);
  bool after = thread_component(w.cta, w.index, lane) == b.init_owner;
  for (const Knowledge& k : state.knowledge)
    if (k.mask >> lane & 1) after = after || k.clock.get(Clock::order, b.init_owner) >= b.init_epoch;
  f.state = bar.name() + " is in " + bar.state();
  if (!after) {
    f.id = Id::data_race;
    f.title = "several threads initialise one mbarrier, with nothing to order them";
    f.why = "Each init starts the barrier anew: arrivals and bytes counted in between are lost.";
    f.hint = "let one thread initialise it, then a barrier for all";
  } else {
    const bool quiet = bar.pending == bar.expected && bar.tx_count == 0;
    f.id = Id::barrier_reinitialised;
    f.severity = severity_of(quiet ? row_of(f.id).milder : row_of(f.id).grade);
    f.title = quiet ? "a live mbarrier is initialised again without mbarrier.inval"
                    : "an mbarrier is initialised again while arrivals or bytes of a phase are outstanding";
    f.why =
        "PTX asks for mbarrier.inval before the memory of an mbarrier is used anew; on a quiet barrier it "
        "works all the same, on one in use what was counted is lost.";
    f.hint = "initialise once, before the loop, and let the phase parity tell the uses apart";
  }
  report(f, who, b.init_source);
}

void Checker::check_initialised(Warp& w, const Inst& in, uint32_t mask, BarrierState& b) {
  if (b.init_source < 0) return;
  CtaState& cta = cta_of(w.cta);
  WarpState& state = cta.warps[static_cast<size_t>(w.index)];
  for (const Knowledge& k : state.knowledge) {
    const uint32_t lanes = k.mask & mask;
    if (!lanes || k.clock.get(Clock::order, b.init_owner) >= b.init_epoch) continue;
    for (uint32_t left = lanes; left; left &= left - 1) {
      const int lane = __builtin_ctz(left);
      if (thread_component(w.cta, w.index, lane) == b.init_owner) continue;
      Accessor who{&cluster_of(w.cta), &cta, &state, &w, &in, 1u << lane, 1u << lane, nullptr, false};
      Finding f(Id::missing_init_fence);
      f.title = "an mbarrier is used by a thread that is not ordered after its init";
      f.state = b.bar->name() + " was initialised at " + line_at(b.init_source).text();
      f.why =
          "mbarrier.init is an ordinary write of one thread: other threads of the CTA see it after a "
          "barrier, other CTAs after fence.mbarrier_init and a cluster barrier.";
      f.hint =
          "fence.mbarrier_init.release.cluster in the initialising thread, then __syncthreads (or the "
          "cluster barrier)";
      report(f, who, b.init_source);
      return;
    }
  }
}

// What a thread of another CTA wrote is read: the release that handed it over must have had the scope of the cluster.
void Checker::check_arrive_scope(const Accessor& who, Tag prior, uint64_t address) {
  const Record& r = records_.of(prior);
  const int lane = Records::lane_of(prior);
  const Component thread = r.rank * who.cluster->threads_per_cta + r.warp * 32u + static_cast<uint32_t>(lane);
  const auto found = who.cluster->weak_arrivals.find(thread);
  if (r.cluster != who.cluster->index || found == who.cluster->weak_arrivals.end()) return;
  for (const Knowledge& k : who.warp->knowledge) {
    const uint32_t known = k.clock.get(Clock::order, thread);
    for (const WeakArrivals& weak : found->second) {
      if (!(k.mask & who.lanes) || known < weak.first || known > weak.last ||
          records_.epoch(r, lane) <= weak.released)
        continue;
      Finding f(Id::arrive_scope);
      f.title =
          "an arrive in another CTA hands over what its thread wrote, with a release for its own CTA only";
      f.line = line_at(weak.source);
      f.where = f.line.text() + "  warp " + std::to_string(r.warp) + " lane " + std::to_string(lane) +
                " of the CTA of rank " + std::to_string(r.rank);
      set_place(f, *who.cluster->ctas[r.rank].cta, r.warp);
      f.other_line = program_->line_of(*who.inst);
      f.state = "shared memory at " + program_->shared_name(static_cast<uint32_t>(address)) +
                ": written at " + line_at(r.source).text() + ", read at " + f.other_line.text();
      f.why =
          "Without qualifiers mbarrier.arrive is .release.cta: writes before it are visible to the CTA of "
          "the thread, not to the CTA that the mbarrier lies in.";
      f.hint = "mbarrier.arrive.release.cluster.shared::cluster, and a wait with .acquire.cluster";
      report(f, who, -1);
      return;
    }
  }
}

// A CTA must not end while others of its cluster may still use its memory: some thread of it must know that they are
// through.
void Checker::check_cluster_exit(CtaState& cta) {
  for (auto& [thread, remote] : cta.remote) {
    bool known_here = false;
    for (const WarpState& w : cta.warps)
      for (const Knowledge& k : w.knowledge)
        known_here = known_here || k.clock.get(Clock::order, thread) >= remote.epoch;
    if (known_here) continue;
    Finding f(Id::cluster_exit);
    f.title = "a thread uses the shared memory of another CTA of its cluster, which may have ended by then";
    f.line = line_at(remote.source);
    f.where = f.line.text() + "  into " + cta.cta->text();
    set_place(f, *cta.cta);
    f.why =
        "The shared memory of a CTA is gone when its threads have exited; nothing makes this one wait for "
        "the access or arrival.";
    f.hint =
        "end with a cluster barrier (barrier.cluster.arrive, barrier.cluster.wait), or wait for the last "
        "arrivals before the CTA ends";
    Accessor nobody;
    report(f, nobody, -1);
    return;
  }
}

// A thread that exits with bulk stores outstanding; source: of the first.
void Checker::store_left_behind(int32_t source, Warp& w) {
  Finding f(Id::exit_before_drain);
  f.line = line_at(source);
  f.where = f.line.text() + "  " + w.cta.text() + " warp " + std::to_string(w.index);
  set_place(f, w.cta, w.index);
  f.title = "a thread exits while its bulk store may still be reading shared memory";
  f.why =
      "Shared memory is given to another CTA when this one ends; the store would then read that CTA's bytes.";
  f.hint =
      "commit the group and execute cp.async.bulk.wait_group.read 0 in the issuing thread before it returns";
  Accessor nobody;
  report(f, nobody, -1);
}

// A CTA that ends with a copy into it outstanding.
void Checker::copy_left_behind(const OpState& op, Cta& cta) {
  Finding f(Id::exit_before_drain);
  f.line = line_at(op.source);
  f.where = f.line.text() + "  " + cta.text() + " warp " + std::to_string(op.warp);
  set_place(f, cta, op.warp);
  f.title = "a CTA ends while a copy into its shared memory may still be in flight";
  f.state = op.barrier ? "nobody has waited for phase " + std::to_string(op.done_value - 1) + " of " +
                             op.barrier->name()
                       : "";
  f.why = "The bytes would land in shared memory that belongs to another CTA by then.";
  f.hint = "do not issue copies past the last tile, or wait for them before the CTA ends";
  Accessor nobody;
  report(f, nobody, -1);
}

}  // namespace emu::check
