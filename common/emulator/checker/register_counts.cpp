#include "emulator/checker/register_counts.hpp"

namespace emu::check {

void RegisterCountRule::changed(const Accessor& who, unsigned registers, unsigned before) const {
  const bool increases = who.inst->flags != 0;
  if (increases || registers <= before || !tell_.wanted(2, who.inst->source)) return;
  Finding f(Id::register_count);
  f.title = text("setmaxnreg.dec names ", registers, " registers per thread, more than the ", before,
                 " that this warp has");
  f.state = text("launched with ", who.warp().program.launch_registers, " registers per thread");
  f.why =
      "setmaxnreg.dec lowers the number of registers to the one that it names, and takes none; ptxas refuses a program that "
      "names more than it has (C7406).";
  f.hint = text("setmaxnreg.inc where registers are taken, or setmaxnreg.dec to fewer than ", before);
  tell_.tell(std::move(f), who);
}

}  // namespace emu::check
