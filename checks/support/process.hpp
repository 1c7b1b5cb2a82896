// Running a program as a child process with a time limit.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace check {

struct Outcome {
  int exit_code = -1;      // 128 + signal when a signal ended it
  bool timed_out = false;  // it was killed because it ran past the limit
  std::string output;      // standard output and standard error, as they came
};

// Runs `command` (program and arguments; no shell) with `environment` added to this process's, and waits at most
// limit_s seconds; past that the whole process group is killed. Throws std::runtime_error when the program cannot
// be started.
Outcome run(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
            int limit_s);

}  // namespace check
