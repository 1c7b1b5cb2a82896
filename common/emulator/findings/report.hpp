// Findings: what the emulator tells a person. Every finding says what happened, where, and what to do.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "emulator/findings/finding_ids.hpp"

namespace emu {

enum class Severity { error, advice };

// How much counts as an error in this process: what always is one, what is one in lessons too, or advice as well.
enum class Strictness { ordinary, lesson, strict };

Severity severity_of(Grade grade);

struct Frame {
  std::string file;
  int line = 0;
  std::string function;  // that the line is in
};

struct SourceLine {
  std::string file;
  int line = 0;
  std::vector<Frame> chain;  // file:line, then where its function was inlined, outwards to the kernel
  // The rest of the way, for people: "calls wait (wait.cuh:20); inlined at a.cu:80". Empty when nothing is inlined.
  std::string called_from;
  std::string ptx;  // the PTX instruction's text
  int ptx_line = 0;
  std::string text() const;   // "lessons/a.cu:68"
  std::string brief() const;  // "a.cu:68"
};

// frames: where an instruction is, from the innermost inlined function out to the kernel.
SourceLine source_line(const std::vector<Frame>& frames);

// Something else that took part, and its line: "initialised for 8".
struct Related {
  std::string what;
  SourceLine line;
};

// What was seen. The id brings the rule and the manual's section with it.
struct Finding {
  explicit Finding(Id i);
  void make_milder();  // the case that the table names for the id

  Id id;
  Severity severity;  // as the table grades it, in this process
  std::string title;  // one sentence of cause
  std::string where;  // "file:line  CTA (0,0,0) warp 1 lane 0"
  std::string state;  // barrier state, bytes, what was expected
  std::string why;
  std::string hint;             // the "try" line
  SourceLine line, other_line;  // the access, and what it conflicts with (may be empty)
  std::vector<Related> related;
  uint64_t count = 1;             // how many times the same cause was seen
  bool at_least = false;          // it was seen more often: counting stopped (launch_findings.hpp)
  std::string spread;             // where it was seen: "16 CTAs, 8 warps of each"
  std::vector<std::string> also;  // what else was seen in the launch after an error: "id at file:line"
  int64_t cta = -1;  // it happened in this CTA, as they were started, and in this warp of it; -1: not known
  int warp = -1;
  std::string kernel;

  std::string text() const;  // for people, several lines
  std::string json() const;  // one JSON object
};

// The same mistake seen again: the same id at the same pair of lines (without a line: and the same title). Advice is about
// one line, whatever the other one is.
bool same_cause(const Finding& a, const Finding& b);

// Thrown to end a launch (or a load) with a finding.
class Fault : public std::exception {
 public:
  explicit Fault(Finding finding);
  const char* what() const noexcept override { return text_.c_str(); }
  const Finding& finding() const { return finding_; }

 private:
  Finding finding_;
  std::string text_;
};

// "0x1f400"
std::string hex(uint64_t value);
// "1,024"
std::string with_commas(uint64_t value);

// Everything reported in this process. Printed to stderr when added (each distinct cause once).
class Report {
 public:
  static Report& instance();
  // What has the same cause as a finding before is counted, not printed again.
  void add(const Finding& finding);
  const std::vector<Finding>& findings() const { return findings_; }
  bool has_errors() const { return errors() != 0; }
  uint64_t errors() const;  // how often an error was added, repeated causes included
  void clear() { findings_.clear(); }
  bool quiet = false;  // tests read findings() instead of stderr
  Strictness strictness = Strictness::ordinary;

 private:
  std::vector<Finding> findings_;
};

}  // namespace emu
