// Running a program as a child process with a time limit.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace check {

struct Outcome {
  int exit_code = -1;      // 128 + signal when a signal ended it
  bool timed_out = false;  // it was killed because it had used all of its processor time
  bool stalled = false;    // it was killed because it took so long, without having used that time
  std::string output;      // standard output and standard error, as they came
};

// What a child may use: seconds of processor time, and, as the last resort, of wall time.
struct Limits {
  int cpu_s, wall_s;
};

// Runs `command` (program and arguments; no shell) with `environment` added to this process's. Past a limit the whole
// process group is killed. Throws std::runtime_error when the program cannot be started.
Outcome run(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
            Limits limits);

}  // namespace check
