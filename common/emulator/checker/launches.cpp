// Two grids that overlap at the seam: the second was launched to start early, and the first has let it. What the first
// wrote is there for the second, and what it reads may be overwritten, only after griddepcontrol.wait (PTX ISA 9.7.13.14).
#include "emulator/checker/checker.hpp"

namespace emu::check {

void Checker::on_grid_dependency(Warp& w, const Inst&, uint32_t mask, bool wait) {
  if (!wait) {
    dependents_launched_ = true;
    return;
  }
  Clock waited;
  waited.raise(Clock::order, cluster_of(w.cta).grid_wait, 1);
  acquire(cta_of(w.cta).warps[static_cast<size_t>(w.index)], mask, waited);
}

// At the end of a launch, before its records go.
void Checker::keep_for_dependents() {
  in_front_.clear();
  in_front_lines_.clear();
  if (!dependents_launched_) return;
  in_front_ = std::move(global_);
  in_front_records_ = std::move(records_);
  in_front_records_.each_record([&](const Record& r) {
    if (!in_front_lines_.count(r.source)) in_front_lines_[r.source] = line_at(r.source);
  });
}

void Checker::check_grid_dependency(const Accessor& who, uint64_t address, uint64_t bytes, bool write) {
  bool waited = true;
  for (const Knowledge& k : who.warp->knowledge)
    if (k.mask & who.lanes) waited = waited && k.clock.get(Clock::order, who.cluster->grid_wait) >= 1;
  if (waited) return;
  for (uint64_t a = address; a < address + bytes; ++a) {
    const Tag writer = in_front_.writer(a), reader = write ? in_front_.reader(a) : 0;
    if (!writer && !reader) continue;
    Finding f(Id::missing_grid_wait);
    f.title = std::string("global memory that the grid in front ") + (writer ? "writes" : "reads") + " is " +
              (write ? "written" : "read") + " without griddepcontrol.wait";
    in_front_records_.each(writer ? writer : reader, [&](Tag single) {
      f.other_line = in_front_lines_[in_front_records_.of(single).source];
    });
    f.state = "global memory " + machine_->memory.describe(a) + ": " + (writer ? "written" : "read") +
              " by the grid in front at " + f.other_line.text();
    f.why =
        "The grid in front has executed griddepcontrol.launch_dependents, so this one may start while the "
        "other is still running; only griddepcontrol.wait waits for its end and its writes.";
    f.hint =
        "griddepcontrol.wait in every thread that touches what the grid in front uses, or in one of them and "
        "a barrier after it";
    report(f, who, -1);
    return;
  }
}

}  // namespace emu::check
