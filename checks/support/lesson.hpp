// Running the lesson programs from a check, and the claims that hold for every lesson.
//
// CHECK_BIN_DIR  the build folder, with solutions/NN_name, lessons/NN_name, todos/NN_name and their .emu twins
// DEVICE         gpu or emu (default emu): which of the twins is run
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace check {

bool on_gpu();  // DEVICE=gpu

struct LessonRun {
  Outcome outcome;
  std::map<std::string, std::string> json;  // what the program wrote with --json; empty when it wrote nothing
  std::map<std::string, double> stats;      // the emulator's counters; empty on a GPU
  std::vector<std::string> findings;        // the emulator's findings, as JSON objects

  // A counter of the emulator. Fails the check when there is none of that name.
  double stat(const std::string& key) const;
};

// Where the program of a lesson lies. group: "solutions", "lessons" or "todos".
std::string program_path(const std::string& group, const std::string& lesson);

// Runs a lesson's program on the chosen device with a limit of 120 s. A run past the limit, or a skipped one (no
// usable device), fails the check.
LessonRun run_lesson(const std::string& group, const std::string& lesson, std::vector<std::string> arguments,
                     std::map<std::string, std::string> environment = {});

struct Size {
  int m, n, k;
  std::vector<std::string> arguments() const;
};

// ---- claims; each is the body of a test case

// The solution is right for these sizes, in bell-shaped data, and the emulator has nothing to report.
void claim_right(const std::string& lesson, const std::vector<Size>& sizes,
                 const std::vector<std::string>& more = {});

// With integer data the result is exact: no element differs.
void claim_exact(const std::string& lesson, const Size& size);

// The emulator's result and its counters do not depend on when copies land or who runs next.
void claim_any_schedule(const std::string& lesson, const Size& size,
                        const std::vector<std::string>& more = {});

// A kernel that writes nothing, one that writes zeros and one that writes NaN are told from a right one.
void claim_impostors_caught(const std::string& lesson);

// Bad arguments end with exit code 2 and one sentence that names the argument.
void claim_bad_arguments(const std::string& lesson);

// The exercise as handed out fails with exactly its first TODO.
void claim_starter_reports_first_todo(const std::string& lesson);

// Each blank, when it is the only one, is reported by number and sentence, and none open is right.
void claim_each_todo_reported(const std::string& lesson);

}  // namespace check
