// A launch as it was recorded: plain data, in the order in which things happened. README.md explains every field.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "emulator/findings/report.hpp"

namespace emu::trace {

// Which part of a run is recorded. A person chooses it through EMU_TRACE_*.
struct Window {
  uint64_t first_cta = 0, last_cta = 0;     // linear block indices; the whole cluster of each is recorded
  uint64_t first_step = 0, last_step = 31;  // K steps of each CTA
  uint64_t events = 20000;                  // at most so many
  uint64_t launch = 0;                      // of the process, from 1; 0: the one that is worth looking at
};

struct Event {
  const char* what = "";
  uint64_t time = 0;
  int64_t cta = -1, warp = -1, lane = -1, lanes = 0, line = -1;  // -1: does not apply; lane: the lowest
  std::vector<std::pair<const char*, int64_t>> numbers;
  std::vector<std::pair<const char*, std::string>> texts;
  std::vector<int64_t> start;                  // of a box, in elements, innermost first
  std::vector<int64_t> offset;                 // im2col mode: added to them, from dimension 1 on
  std::vector<std::array<int64_t, 3>> shared;  // CTA, address in its shared window, bytes

  int64_t& operator[](const char* key);                   // made when it is not there
  int64_t get(const char* key, int64_t otherwise) const;  // when it is not there
  // Adds a range; what it touches or overlaps becomes one with it.
  void join_shared(int64_t of_cta, int64_t address, int64_t bytes);
};

struct RecordedCta {
  int64_t cta = 0, rank = 0;
  uint32_t index[3] = {}, warps = 0;
};

struct RecordedBarrier {
  int64_t cta = 0, address = 0;
  std::string name;  // as findings name it
  int64_t line = -1;
};

struct RecordedMap {
  std::string type;
  int64_t address = 0;  // of element 0, in global memory
  int64_t swizzle = 0;  // the span in bytes; 0: none
  int64_t rows = 0, row_bytes = 0, row_pitch = 0;
  std::vector<int64_t> size, box;  // innermost first
};

struct RecordedLine {
  SourceLine line;
  std::string instruction;  // "mbarrier.try_wait.parity.shared::cta.b64"
};

struct Trace {
  std::string kernel, schedule;
  const char* unit = "step";  // of Event::time; "cycle" under a schedule that knows time
  uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {};
  uint64_t launch = 0;  // of the process, from 1
  uint64_t end = 0;     // time
  Window window;
  std::vector<RecordedCta> ctas;
  std::vector<RecordedBarrier> barriers;
  std::vector<RecordedMap> maps;
  std::vector<RecordedLine> lines;
  std::vector<Finding> findings;
  std::vector<Event> events;
  // What was left out.
  uint64_t other_ctas = 0, other_steps = 0, other_events = 0, other_launches = 0;
  bool fault = false;  // the launch did not come to its end

  bool worth_looking_at() const;  // something asynchronous happens in it
  bool has_error() const;
};

// The trace as JSON of its own, and as a Chrome trace, which ui.perfetto.dev opens.
std::string to_json(const Trace& trace);
std::string to_perfetto(const Trace& trace);

}  // namespace emu::trace
