// What a person asks of the emulator through the environment, and what it leaves behind at the end of the process.
#pragma once

#include <string>

#include "emulator/machine/machine.hpp"

namespace emu {

// EMU_SCHEDULE=in-order|late|random:SEED   EMU_TIME_LIMIT=seconds   EMU_JSON=path   EMU_CHECK=on|off
struct Environment {
  Schedule schedule;
  double time_limit_s = 300;
  std::string json_path;  // empty: nothing is written
  bool check = true;
};

// Read before main. A bad value ends the process: a message, exit status 2.
const Environment& environment();

// {"findings":[...],"stats":{...}} of the process so far.
std::string report_json();

// Writes report_json() to EMU_JSON, if it is set. Called after each fault and at the end of the process. A process
// in which an error was reported never ends with status 0: it ends with 1 instead.
void write_report();

}  // namespace emu
