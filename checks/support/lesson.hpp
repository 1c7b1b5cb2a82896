// Running a lesson's program from a check, and saying what it did in a student's words.
//
// CHECK_BIN_DIR  the build folder, with solutions/NN_name, lessons/NN_name, todos/NN_name and their .emu twins
// CHECK_GROUP    the folder of it whose programs run: solutions (default), or a student's
// DEVICE         gpu or emu (default emu): which of the twins is run
// What the emulator reads from the environment (EMU_...) is set for every run, whatever the environment has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "support/process.hpp"
#include "support/report.hpp"

namespace check {

bool on_gpu();  // DEVICE=gpu

// In front of what counts by the emulator's statistics.
#define NEEDS_EMULATOR() \
  if (check::on_gpu()) SKIP("the counters of this claim are the emulator's")

// The lesson that is checked: the name of this executable, such as 04_tma_single_stage.
const std::string& lesson();

struct Size {
  int m, n, k;
};

// What a lesson's program says of its kernel.
struct Tile {
  int bm, bn, bk, stages;
  // So many whole tiles.
  Size tiles(int rows, int columns, int k_tiles) const { return {rows * bm, columns * bn, k_tiles * bk}; }
};

struct Call {
  Size size = {1, 8, 8};
  std::vector<std::string> options = {};
  std::string schedule = "in-order";
  std::string group = "";      // "": CHECK_GROUP
  std::string lesson = "";     // "": lesson()
  std::string todo_only = "";  // of the group todos: the one blank that is open, from 1; 0: none
};

// One run of a program.
struct LessonRun {
  Call call;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  Outcome outcome;
  Json program;   // what the program wrote with --json; no members when it wrote nothing
  Json emulator;  // what the emulator wrote; likewise

  // Members of the two. They fail the case when there is none of that name.
  const std::string& said(const std::string& key) const;
  double stat(const std::string& key) const;

  Tile tile() const;
  // Tiles of C, and K tiles of all of them: what a kernel with a CTA per tile goes through.
  double ctas() const;
  double k_tiles() const;
  double tile_bytes() const;        // of A and B, for one K tile
  double consumer_threads() const;  // of a CTA: a warpgroup multiplies 64 rows of the tile

  std::string trouble()
      const;  // what is wrong, in a student's words; "": the result is right, nothing was found
  std::string where() const;  // "M=128 N=128 K=64 with --bulk, schedule late"
};

// Runs a program, or returns the earlier run of the same call. The case fails, and ends, when there is no result to
// look at: the program cannot be started, was stopped, or found no device.
const LessonRun& run_lesson(const Call& call);
// Likewise, and the case ends when the result is not right.
const LessonRun& run_right(const Call& call);

// The tile of the lesson's kernel.
Tile tile();

// The result is right, but: fails the case with the words unless the condition holds.
void expect(const LessonRun& run, bool holds, const std::string& but);
// Likewise for a counter of the emulator; the words say what the number should be and why.
void expect_stat(const LessonRun& run, const std::string& key, double want, const std::string& but);
void expect_stat(const LessonRun& run, const std::string& key, double low, double high,
                 const std::string& but);

// A blank of the lesson.
struct Todo {
  std::string number, sentence;
  std::string message() const { return "TODO " + number + " is still open: " + sentence; }
};
std::vector<Todo> todos();  // by number
// Whether no blank of the student's file has been filled.
bool untouched(const std::vector<Todo>& todos);

}  // namespace check
