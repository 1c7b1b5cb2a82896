// Findings in the names of the launch: its source lines, objects, CTAs and warps.
#pragma once

#include <string>

#include "emulator/checker/past.hpp"
#include "emulator/findings/report.hpp"
#include "emulator/findings/text.hpp"
#include "emulator/machine/mbarrier.hpp"

namespace emu::check {

class Teller {
 public:
  Teller(const Ordering& order, const Past& past) : order_(order), past_(past) {}
  void begin(Machine& machine, const Program& program) {
    machine_ = &machine;
    program_ = &program;
  }
  const Program& program() const { return *program_; }
  Machine& machine() const { return *machine_; }

  void next_event() { machine_->findings.next_event(); }
  uint64_t event() const { return machine_->findings.event(); }
  // Whether it is worth making a finding's words: it is heard, and this event has not made the same before. `what` tells
  // the ways apart in which one line can be met.
  bool wanted(uint32_t what, int32_t source) {
    return machine_->findings.counting() && machine_->findings.once(what, source);
  }

  SourceLine line(int32_t source) const;
  SourceLine line(const Inst& inst) const { return program_->line_of(inst); }
  // Of which CTA's shared memory place() speaks; null: the accessor's own.
  void in_memory_of(const Cta* other) { owner_ = other; }
  std::string place(Space space, uint64_t address) const;  // "shared memory at tile+16", "... of CTA (1,0,0)"
  std::string describe(Tag single) const;             // "warp 1 lane 0 at file:line", "a tensor copy at ..."
  std::string barrier_of(const Operation& op) const;  // its name, if it is still there

  // Fills in where the finding has nothing yet: the accessor's line, CTA and warp; the line on the other side.
  void tell(Finding f, const Accessor& who, int32_t other_source = -1);
  void complete(Finding& f, const Accessor& who, int32_t other_source) const;  // the same, and tells nothing
  // It happened at that line in that CTA; `detail` goes behind the line.
  void tell_at(Finding f, int32_t source, const Cta& cta, int warp, const std::string& detail);
  static void set_place(Finding& f, const Cta& cta, int warp = -1);
  void add(Finding f);

 private:
  const Ordering& order_;
  const Past& past_;
  const Program* program_ = nullptr;
  Machine* machine_ = nullptr;
  const Cta* owner_ = nullptr;
};

}  // namespace emu::check
