// What a person asks of the emulator through the environment, and what it leaves behind at the end of the process.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "emulator/machine/machine.hpp"
#include "emulator/runtime/other_ptx.hpp"
#include "emulator/timed/parameters.hpp"
#include "emulator/trace/trace.hpp"
#include "rules/limits.hpp"

namespace emu {

// EMU_SCHEDULE=in-order|late|random:SEED   EMU_TIME_LIMIT=seconds   EMU_JSON=path   EMU_CHECK=on|off   EMU_PTX=path
// EMU_STRICT=1: advice is an error   EMU_CORES=number
// EMU_REGISTERS=path: lines "registers kernel", as ptxas reports them   EMU_WINDOW=first: timed:SMS runs no other CTAs
// EMU_MHZ=number: the clock of the SMs under the timed schedule
// EMU_TRACE=path   EMU_TRACE_PERFETTO=path   EMU_TRACE_CTAS=FIRST-LAST   EMU_TRACE_STEPS=FIRST-LAST
// EMU_TRACE_EVENTS=number   EMU_TRACE_LAUNCH=number
struct Environment {
  Schedule schedule;
  // That a program sees: a window of the timed schedule has no others.
  int multiprocessors() const {
    return schedule.window ? static_cast<int>(schedule.window) : rules::kMultiprocessors;
  }
  std::map<std::string, unsigned> registers;  // of a thread, by kernel; empty: not known
  bool first_only = false;       // timed: of a grid, the CTAs that fit into the window and no others
  double mhz = timed::kMostMhz;  // timed: the clock of the SMs
  unsigned cores = 1;  // for the CTAs of one grid: those that this process may use, if nothing is asked for
  double time_limit_s = 300;
  std::string json_path;  // empty: nothing is written
  bool check = true;
  std::string trace_path, perfetto_path;  // empty: nothing is recorded, or not in this form
  trace::Window trace;
  std::shared_ptr<OtherPtx> other_ptx;  // null: the program runs its own
};

// Read before main. A bad value ends the process: a message, exit status 2.
const Environment& environment();

// {"findings":[...],"stats":{...}} of the process so far.
std::string report_json();

// Writes report_json() to EMU_JSON, if it is set; false, with a message, where that cannot be done. Called after each
// fault and at the end of the process. A process in which an error was reported, or whose report could not be written,
// never ends with status 0: it ends with 1 instead.
bool write_report();

// Writes what was recorded to EMU_TRACE and EMU_TRACE_PERFETTO, whichever is set, at the end of the process; as
// write_report().
bool write_trace();

}  // namespace emu
