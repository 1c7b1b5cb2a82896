#include "emulator/checker/register_counts.hpp"

namespace emu::check {

void RegisterCountRule::changed(const Accessor& who, unsigned registers, unsigned before) const {
  const bool asks_for_more = who.inst->flags != 0;  // .inc
  if (registers == before || asks_for_more == (registers > before)) return;
  if (!tell_.wanted(2u | static_cast<uint32_t>(asks_for_more), who.inst->source)) return;
  Finding f(Id::register_count);
  if (asks_for_more) f.make_milder();
  const char* name = asks_for_more ? "setmaxnreg.inc" : "setmaxnreg.dec";
  f.title = text(name, " names ", registers, " registers per thread, ", asks_for_more ? "fewer" : "more",
                 " than the ", before, " that this warp has");
  f.state = text("launched with ", who.warp().program.launch_registers, " registers per thread");
  f.why =
      asks_for_more
          ? "setmaxnreg.inc raises the number of registers to the one that it names; the manual does not say what "
            "becomes of a lower one."
          : "setmaxnreg.dec lowers the number of registers to the one that it names, and takes none; ptxas refuses a "
            "program that names more than it has (C7406).";
  f.hint =
      asks_for_more
          ? text("setmaxnreg.dec where registers are given back, or setmaxnreg.inc to more than ", before)
          : text("setmaxnreg.inc where registers are taken, or setmaxnreg.dec to fewer than ", before);
  tell_.tell(std::move(f), who);
}

}  // namespace emu::check
