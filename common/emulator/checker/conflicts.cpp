// From a conflict to its cause.
#include "emulator/checker/conflicts.hpp"

namespace emu::check {

void Conflicts::meet(const Conflict& c) {
  const uint32_t way = static_cast<uint32_t>(c.write) | static_cast<uint32_t>(c.prior_is_write) << 1;
  if (!tell_.wanted(way, past_.records.of(c.prior).source)) return;
  const Cause cause = classify(c);
  const bool ordinary_load = cause.kind == Cause::Kind::mixed && !(c.strong ? c.prior_is_write : c.write);
  if (ordinary_load) return keep_look(c);
  tell(c, cause);
}

void Conflicts::keep_look(const Conflict& c) {
  const Record& r = past_.records.of(c.prior);
  const int32_t load = c.strong ? r.source : c.who.inst->source;
  if (looks_.count(load)) return;
  Look look{mixed(c), r.cluster, r.rank, r.warp, c.address};
  if (!c.strong) {
    look.cluster = c.who.cluster().index;
    look.rank = static_cast<uint16_t>(c.who.cta().cluster_rank);
    look.warp = static_cast<uint16_t>(c.who.warp().index);
  }
  if (look.finding.state.empty())
    look.finding.state = tell_.place(c.space, c.address) + ": touched before by " + tell_.describe(c.prior);
  tell_.complete(look.finding, c.who, r.source);
  looks_.insert({load, std::move(look)});
}

void Conflicts::strong_write(const Accessor& who, const AccessEvent& e) {
  for (auto look = looks_.begin(); look != looks_.end();) {
    const Look& l = look->second;
    bool same =
        l.cluster == who.cluster().index && l.rank == who.cta().cluster_rank && l.warp == who.warp().index;
    if (same) {
      same = false;
      for_lanes(e.mask, [&](int lane) { same = same || e.addr[lane] == l.address; });
    }
    look = same ? looks_.erase(look) : std::next(look);
  }
}

void Conflicts::end() {
  for (auto& [source, look] : looks_) {
    tell_.next_event();
    tell_.add(look.finding);
  }
  looks_.clear();
}

// The first that fits: what the engines do explains more than that two accesses are not ordered.
Cause Conflicts::classify(const Conflict& c) {
  using Kind = Cause::Kind;
  const Operation *before = past_.operation(c.prior), *now = c.who.op;
  const auto cause = [](Kind kind) {
    Cause cause;
    cause.kind = kind;
    return cause;
  };
  const bool refills = now && c.write && (now->is_load() || now->kind == AsyncOp::Kind::cp_async);
  if (before && c.prior_is_write) {
    if (before->kind == AsyncOp::Kind::cp_async) return of_cp_async(c);
    if (before->is_load() && !c.write) return of_load(c, *before);
    if (before->is_load() && now && now->is_load()) return cause(Kind::load_over_load);
    if (before->is_store()) return cause(Kind::not_stored);
  }
  if (!c.prior_is_write) {
    if (c.space == Space::global && c.write && (before || now)) return cause(Kind::global_overwritten);
    if (before && before->is_store()) return cause(Kind::source_reused);
    if (refills) return of_refill(c);
    if (before && before->kind == AsyncOp::Kind::wgmma) return cause(Kind::operand_overwritten);
  }
  if (now) return cause(Kind::race_with_engine);
  if (c.same_statement) return cause(Kind::same_place);
  return cause(!before && c.strong != past_.records.of(c.prior).strong ? Kind::mixed : Kind::race);
}

// A wait that answered about the phase before the first has told nothing of any copy.
Cause Conflicts::of_cp_async(const Conflict& c) {
  Cause cause;
  cause.kind = Cause::Kind::copy_not_waited_for;
  const LatestWait* latest = history_.latest_wait(c.who.warp());
  if (c.write || !latest || latest->complete > 0 || !history_.of(*latest->bar).tells_of_copies) return cause;
  cause.bar = mbarriers_.find(latest->bar, c.who.cta());
  cause.needed = 1;
  const Warp& w = c.who.warp();
  if (cause.bar &&
      (cause.wait = mbarriers_.wrong_parity(*cause.bar, 1, w.cta.cluster_rank, w.index, c.who.lane())))
    cause.kind = Cause::Kind::wrong_parity;
  return cause;
}

// A tile is read while its copy may be in flight.
Cause Conflicts::of_load(const Conflict& c, const Operation& before) {
  Cause cause;
  cause.kind = Cause::Kind::load_not_waited_for;
  cause.needed = before.done_value;
  cause.bar = mbarriers_.find(before.barrier, c.who.cta());
  if (!cause.bar) return cause;
  if (cause.bar->phase + 1 == cause.needed && cause.bar->announced == 0) {
    cause.kind = Cause::Kind::load_unannounced;
  } else if ((cause.wait = mbarriers_.wrong_parity(*cause.bar, cause.needed, c.who.cta().cluster_rank,
                                                   c.who.warp().index, c.who.lane()))) {
    // An answer about a phase of which the reader had read nothing may have been right when it came.
    const bool stale = cause.wait->complete == 0 || cause.wait->repeated;
    cause.kind = stale ? Cause::Kind::wrong_parity : Cause::Kind::overtaken;
  }
  return cause;
}

// A copy overwrites what somebody has read. Either the copy is early, or the reader was: it meant to read this copy.
Cause Conflicts::of_refill(const Conflict& c) {
  const Record& r = past_.records.of(c.prior);
  Cause cause;
  cause.needed = c.who.op->done_value;
  cause.bar = mbarriers_.find(c.who.op->barrier, c.who.cta());
  const bool unwritten = unwritten_.met(r.cluster, r.source);
  if (unwritten) unwritten_.explained(r.cluster, r.source);
  if (unwritten && cause.bar && cause.bar->announced == 0 && cause.bar->phase > 0) {
    cause.kind = Cause::Kind::load_unannounced;
    return cause;
  }
  cause.by_earlier = unwritten || (r.again && !past_.operation(c.prior));
  const int lane = Records::lane_of(c.prior);
  if (cause.bar)
    cause.wait = mbarriers_.wrong_parity(*cause.bar, cause.needed, c.who.cta().cluster_rank, r.warp, lane);
  if (cause.wait && (cause.by_earlier || cause.wait->repeated)) {
    cause.kind = Cause::Kind::wrong_parity;
    return cause;
  }
  cause.kind = cause.by_earlier ? Cause::Kind::read_ahead : Cause::Kind::stage_overwritten;
  return cause;
}

}  // namespace emu::check
