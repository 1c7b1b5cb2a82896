// What is found while a kernel runs. The first error of a launch is the one that is reported, when the launch ends, with
// how often and where it was seen. Other errors that come after it may follow from it, so they are only named beside it.
//
// The same mistake is met again and again, so it is recognised at three widths: in one event once() keeps its words from
// being made for every lane and byte, in a launch same_cause() counts it, and in a process Report prints it only once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "emulator/findings/report.hpp"

namespace emu {

// How often, and in which warps. What happens in one event (an instruction of a warp, a copy) counts once.
class Sightings {
 public:
  void add(uint64_t event, int64_t cta, int warp);
  void add(const Sightings& other);
  uint64_t count() const { return count_; }
  std::string spread() const;  // "16 CTAs, 8 warps of each"; empty where it is not known

 private:
  uint64_t count_ = 0, last_event_ = 0;
  std::map<int64_t, std::set<int>> warps_;  // by CTA
};

class LaunchFindings {
 public:
  // After an error, sightings are counted until there are so many, or until so many instructions of warps: neither
  // depends on how fast the machine is, so the same run gives the same numbers. Then nothing more is heard.
  uint64_t most_sightings = 1'000'000, most_instructions = 10'000'000;

  std::function<void(const Finding&)>
      on_first;  // a cause is met for the first time in this launch; may be empty

  void begin(uint64_t warp_instructions);  // executed so far
  void next_event() {
    ++event_;
    met_.clear();
  }
  uint64_t event() const { return event_; }
  // Whether this event meets accesses of that line in that way for the first time; `what`: which way.
  bool once(uint32_t what, int32_t source);
  void add(const Finding& finding);  // seen in this event, in the finding's CTA and warp
  void add(const Finding& finding, const Sightings& seen);
  bool counting() const { return counting_; }  // false: what is added is not heard
  void pass(uint64_t warp_instructions);       // executed so far: may end the counting
  void end();                                  // tells Report

 private:
  struct Entry {
    Finding finding;
    Sightings seen;
  };
  std::vector<Entry> entries_;      // advice, and one error
  std::vector<std::string> after_;  // other errors
  bool error_ = false, counting_ = false;
  uint64_t event_ = 0;
  std::vector<uint64_t> met_;  // in this event, as once() has it
  uint64_t instructions_ = 0;  // at the latest pass; after an error: at the one before it

  Sightings* sightings_of(const Finding& finding);
  void stop_at(const Sightings& seen);
  void tell(bool at_least);
};

}  // namespace emu
