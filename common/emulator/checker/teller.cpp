#include "emulator/checker/teller.hpp"

namespace emu::check {

SourceLine Teller::line(int32_t source) const {
  if (source < 0) return SourceLine();
  Inst at;
  at.source = source;
  return program_->line_of(at);
}

std::string Teller::place(Space space, uint64_t address) const {
  return space == Space::shared
             ? "shared memory at " + program_->shared_name(static_cast<uint32_t>(address)) +
                   (owner_ ? " of " + owner_->text() : "")
             : "global memory " + machine_->memory.describe(address);
}

std::string Teller::barrier_of(const Operation& op) const {
  return order_.running(op.cluster) ? op.barrier->name() : "a barrier of a CTA that has ended";
}

std::string Teller::describe(Tag single) const {
  const Record& r = past_.records.of(single);
  const std::string place = " at " + line(r.source).text();
  const Operation* op = past_.operation(single);
  if (!op) return text("warp ", r.warp, " lane ", Records::lane_of(single), place);
  return op->words() + place + (op->barrier ? " that completes on " + barrier_of(*op) : "");
}

void Teller::set_place(Finding& f, const Cta& cta, int warp) {
  f.cta = static_cast<int64_t>(cta.order);
  f.warp = warp;
}

void Teller::complete(Finding& f, const Accessor& who, int32_t other_source) const {
  if (f.line.text().empty()) f.line = line(*who.inst);
  if (other_source >= 0 && f.other_line.text().empty()) f.other_line = line(other_source);
  if (f.where.empty()) {
    f.where = who.warp().where(*who.inst, __builtin_popcount(who.lanes) == 1 ? who.lane() : -1);
    set_place(f, who.cta(), who.warp().index);
  }
}

void Teller::tell(Finding f, const Accessor& who, int32_t other_source) {
  complete(f, who, other_source);
  add(std::move(f));
}

void Teller::tell_at(Finding f, int32_t source, const Cta& cta, int warp, const std::string& detail) {
  f.line = line(source);
  f.where = f.line.text() + "  " + detail;
  set_place(f, cta, warp);
  add(std::move(f));
}

void Teller::add(Finding f) {
  f.kernel = program_->name;
  machine_->findings.add(f);
}

}  // namespace emu::check
