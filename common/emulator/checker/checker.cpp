#include "emulator/checker/checker.hpp"

#include "emulator/isa/access.hpp"
#include "emulator/machine/wgmma.hpp"

namespace emu::check {

Checker::Checker() = default;
Checker::~Checker() = default;

// ---- launches, CTAs, threads

void Checker::on_launch(Machine& machine, const Program& program, const LaunchConfig& config) {
  tell_.begin(machine, program);
  order_.begin(program);
  past_.clear();
  mbarriers_.clear();
  history_.clear();
  boxes_.clear();
  unwritten_.clear();
  cluster_.clear();
  seam_.begin(config.early);
  accesses_.clear();
  conflicts_.begin();
  maps_.clear();
  freed_maps_.begin();
  registers_.clear();
  unset_registers_.begin(program);
  drain_.clear();
  collect_at_ = least_growth;
}

void Checker::on_launch_end(Machine&) {
  conflicts_.end();
  seam_.keep(accesses_.global(), past_.records);
  past_.records.clear();
  accesses_.clear();
  mbarriers_.clear();
  history_.clear();
  order_.end();
}

void Checker::on_deadlock(const std::vector<StuckGroup>& groups, Finding& f) {
  stuck_.explain(groups, f);
}

void Checker::on_mbarrier_fault(const At& at, const Mbarrier& bar, Finding& f) {
  stuck_.explain_arrival(at, bar, f);
}

void Checker::on_cta_start(Cta& cta) {
  order_.cta_started(cta);
  seam_.cta_started(cta, order_.cluster(cta).index);
  accesses_.cta_started(cta);
  unset_registers_.cta_started(cta);
}

void Checker::on_cta_end(Cta& cta) {
  tell_.next_event();
  const Cluster& cluster = *cta.cluster;
  mbarriers_.cta_ends(cta, [&](const Operation& op) { drain_.tell_left_behind(op, cta); });
  cluster_.cta_ends(cta);
  unwritten_.tell(order_.cluster(cta).index);
  accesses_.cta_ended(cta);
  registers_.forget(cta);
  unset_registers_.forget(cta);
  swizzles_.forget(cta);
  drain_.forget(cta);
  boxes_.forget(cta);
  past_.forget(cta);
  order_.cta_ended(cta);
  if (order_.find(&cluster)) return;
  mbarriers_.forget(cluster);
  history_.forget(cluster);
}

void Checker::on_exit(Warp& w, const Inst&, uint32_t mask) {
  tell_.next_event();
  if (order_.warp(w).copies) drain_.exits(w, mask);
}

// ---- accesses

void Checker::on_access(Warp& w, const Inst& in, const AccessEvent& e) {
  collect_when_due();
  if (e.space == Space::shared && w.cta.cluster->ctas.size() > 1)
    for_lanes(e.mask, [&](int l) {
      if (e.owner[l] == &w.cta) return;
      cluster_.used({w, in, l}, *e.owner[l]);
      cluster_.entered(accessor(w, in, 1u << l), *e.owner[l]);
    });
  const Accessor who = accessor(w, in, e.mask);
  accesses_.start();
  if (e.strong) {
    const uint32_t record = accesses_.strong_record(who, e);
    order_.strong_access(w, e);
    if (w.cta.cluster->ctas.size() > 1) cluster_.told(w, e.mask);
    return accesses_.access(who, e, record);
  }
  swizzles_.warp_reads(e, who);
  if (e.space == Space::global && e.kind != AccessKind::read && !maps_.empty())
    for_lanes(e.mask, [&](int l) { maps_.check_edit(accessor(w, in, 1u << l), e.addr[l], e.bytes); });
  accesses_.access(who, e);
}

void Checker::on_malloc(Warp&, uint64_t address, uint64_t bytes) {
  accesses_.allocated(address, bytes);
}

void Checker::on_instruction(Warp& w, const Inst& in) {
  registers_.instruction(accessor(w, in, w.current->mask));
}

// ---- what orders threads

void Checker::on_fence(Warp& w, const Inst& in, uint32_t mask, FenceKind kind, bool) {
  tell_.next_event();
  order_.fence(w, mask, kind, in.source);
  if (kind == FenceKind::memory) cluster_.told(w, mask);
  if (kind == FenceKind::tensormap_release) maps_.released(w, mask);
  if (kind == FenceKind::tensormap_acquire)
    for_lanes(mask, [&](int l) { maps_.acquired(w, l, lane_address({w, in, l})); });
  if (kind == FenceKind::wgmma) registers_.fence(w);
}

void Checker::on_warp_sync(Warp& w, const Inst&, uint32_t mask) {
  order_.warp_sync(w, mask);
}

void Checker::on_bar_arrive(Warp& w, const Inst& in, uint32_t mask, uint32_t barrier, uint64_t generation,
                            bool release) {
  order_.bar_arrive(w, mask, barrier, generation, release);
  accesses_.arrives(w, in, mask, barrier, generation);
}

void Checker::on_bar_leave(Warp& w, const Inst&, uint32_t mask, uint32_t barrier, uint64_t generation) {
  order_.bar_leave(w, mask, barrier, generation);
  accesses_.leaves(w, mask, barrier, generation);
  if (barrier != 16) return;
  cluster_.met(w.cta);
  cluster_.told(w, mask);
}

void Checker::on_mbarrier(const At& at, Mbarrier& bar, MbarrierOp op, int64_t amount, bool release) {
  tell_.next_event();
  if (op == MbarrierOp::init) return mbarriers_.initialised(at, bar);
  if (!order_.find(bar.cta->cluster)) return;  // a copy that lands after its CTA has ended: reported then
  const bool remote = bar.cta != &at.warp.cta && (op == MbarrierOp::arrive || op == MbarrierOp::arrive_drop);
  const uint32_t handed_over = remote ? order_.warp(at.warp).handed_over[static_cast<size_t>(at.lane)] : 0;
  if (remote) cluster_.used(at, *bar.cta);
  mbarriers_.operated(at, bar, op, amount, release);
  if (remote) cluster_.arrived(at, handed_over, *bar.cta);
}

void Checker::on_mbarrier_wait(Warp& w, const Inst& in, uint32_t mask, Mbarrier& bar, uint64_t phase,
                               bool result, bool acquires) {
  tell_.next_event();
  mbarriers_.waited(w, in, mask, bar, phase, result, acquires);
}

void Checker::on_mbarrier_phase(Warp&, const Inst&, Mbarrier& bar) {
  history_.completed(bar);
}

void Checker::on_commit(Warp& w, const Inst&, uint32_t mask, GroupKind kind) {
  order_.commit(w, mask, kind);
}

void Checker::on_group_wait(Warp& w, const Inst& in, uint32_t mask, GroupKind kind, uint32_t n, bool read) {
  order_.group_wait(w, mask, kind, n, read, in.source);
  if (kind == GroupKind::wgmma) registers_.waited(w);
  if (kind == GroupKind::bulk) drain_.waited(w, mask, order_.warp(w));
}

void Checker::on_registers(Warp& w, const Inst& in, unsigned registers, unsigned before) {
  tell_.next_event();
  register_counts_.changed(accessor(w, in, w.live), registers, before);
}

void Checker::on_grid_dependency(Warp& w, const Inst&, uint32_t mask, bool wait) {
  if (wait)
    order_.grid_wait(w, mask);
  else
    seam_.dependents_launched();
}

// ---- engines

void Checker::on_map_use(const At& at, uint64_t address) {
  tell_.next_event();
  maps_.used(accessor(at.warp, at.inst, 1u << at.lane), address);
}

void Checker::on_async_issue(AsyncOp& op) {
  collect_when_due();
  WarpOrder& issuer = order_.warp(*op.warp);
  if (op.kind == AsyncOp::Kind::cp_async_arrive) {
    history_.tied(*op.barrier);
    return past_.operations.arrive_issued(op, issuer);
  }
  Accessor who = accessor(*op.warp, *op.inst, op.lanes);
  accesses_.start();
  std::vector<MemoryRange> sources, destinations;
  op.sources(sources);
  op.destinations(destinations);
  Operation o = past_.operations.issued(op, issuer, order_, tell_.event(), sources, destinations);
  if (o.read && op.kind != AsyncOp::Kind::wgmma) drain_.issued(*op.warp, o.lane, o.read_value, o.source);
  if (op.map) freed_maps_.copy_issued(op, who);
  if (op.kind == AsyncOp::Kind::tensor_load) {
    swizzles_.copy_issued(destinations, o, who);
    boxes_.issued(op);
  }
  if (op.kind == AsyncOp::Kind::wgmma) {
    const auto& mma = static_cast<const WgmmaOp&>(op);
    o.a_start = mma.shape.a_in_registers ? 0 : mma.a.start;
    o.b_start = mma.b.start;
    if (const LatestWait* wait = history_.latest_wait(*op.warp)) o.waited_for = wait->bar;
  }
  const uint32_t index = mbarriers_.issued(o, op.barrier, who);
  op.observer_data = index;
  who.op = &past_.operations[index];
  Record r;
  r.kind = Record::Kind::op;
  r.warp = o.warp;
  r.rank = o.rank;
  r.cluster = o.cluster;
  r.source = o.source;
  r.detail = index;
  const Tag writes = past_.records.add(r) << 5;
  maps_.copy_issued(*op.inst, writes);
  if (op.kind == AsyncOp::Kind::cp_async) return copies_of_lanes(op, who, writes, sources, destinations);
  if (op.kind == AsyncOp::Kind::wgmma) {
    op.warp->watchers.add(*this);  // on_instruction
    registers_.issued(op, who);
    swizzles_.wgmma_issued(op, who);
    operands_.wgmma_issued(op, who);
  }
  Tag reads = writes;
  if (o.read) {  // "again" of an op record: the tag stands for the reading of its source
    Record reading = r;
    reading.again = true;
    reads = past_.records.add(reading) << 5;
  }
  accesses_.check_sources(who, sources, reads);
  writes_of(op, o, who, r, writes, destinations);
}

void Checker::copies_of_lanes(const AsyncOp& op, Accessor who, Tag tag,
                              const std::vector<MemoryRange>& sources,
                              const std::vector<MemoryRange>& destinations) {
  size_t i = 0;
  for_lanes(op.lanes, [&](int l) {
    who.lanes = 1u << l;
    accesses_.check_range(who, sources[i], tag | static_cast<Tag>(l), false);
    accesses_.check_range(who, destinations[i++], tag | static_cast<Tag>(l), true);
  });
}

// A multicast copy is one operation in each CTA: its bytes complete on that CTA's barrier.
void Checker::writes_of(const AsyncOp& op, const Operation& o, Accessor who, Record record, Tag here,
                        const std::vector<MemoryRange>& destinations) {
  uint32_t last = record.detail;
  const Cta* owner = destinations.empty() ? nullptr : destinations[0].owner;
  for (auto& range : destinations) {
    if (range.owner != owner) {
      owner = range.owner;
      who.op = nullptr;
      const uint32_t next =
          mbarriers_.issued(o, op.barrier ? find_mbarrier(*range.owner, op.barrier->address) : nullptr, who);
      past_.operations[last].next_copy = next;
      last = record.detail = next;
      here = past_.records.add(record) << 5;
    }
    who.op = &past_.operations[last];
    if (range.owner && range.owner != &who.cta()) cluster_.entered(who, *range.owner);
    accesses_.check_range(who, range, here, true);
  }
}

void Checker::on_async_complete(AsyncOp& op) {
  tell_.next_event();
  if (op.kind == AsyncOp::Kind::cp_async_arrive) return past_.operations.arrive_landed(op);
  if (op.observer_data && order_.find(op.warp->cta.cluster))
    mbarriers_.completed(static_cast<uint32_t>(op.observer_data), op.warp->cta);
}

}  // namespace emu::check
