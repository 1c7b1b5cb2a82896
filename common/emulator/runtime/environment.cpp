#include "emulator/runtime/environment.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "emulator/findings/report.hpp"
#include "emulator/runtime/context.hpp"
#include "emulator/runtime/device.hpp"
#include "emulator/timed/timing.hpp"
#include "emulator/trace/recorder.hpp"

namespace emu {
namespace {

[[noreturn]] void bad_value(const char* name, const std::string& value, const std::string& expected) {
  std::fprintf(stderr, "bad environment: %s=%s\n  try    %s\n", name, value.c_str(), expected.c_str());
  std::fflush(nullptr);
  _exit(2);  // this is before main: there is nothing to clean up
}

// The path of a file to be written; a bad one ends the process before anything is done.
std::string path_from(const char* name) {
  const char* text = std::getenv(name);
  if (!text) return "";
  std::FILE* file = *text ? std::fopen(text, "a") : nullptr;
  if (!file) bad_value(name, text, "the path of a file that can be written, in a folder that exists");
  std::fclose(file);
  return text;
}

// "7", or "0-3"; `least` is the smallest that makes sense.
void range_from(const char* name, uint64_t least, uint64_t* first, uint64_t* last) {
  const char* text = std::getenv(name);
  if (!text) return;
  const std::string value = text;
  const size_t dash = value.find('-');
  const auto number = [&](const std::string& digits, uint64_t* out) {
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos)
      return false;
    *out = std::strtoull(digits.c_str(), nullptr, 10);
    return *out >= least;
  };
  const bool good = dash == std::string::npos ? number(value, first) && number(value, last)
                                              : first != last && number(value.substr(0, dash), first) &&
                                                    number(value.substr(dash + 1), last) && *first <= *last;
  if (good) return;
  bad_value(name, value,
            first == last ? "a whole number, at least " + std::to_string(least)
                          : "a whole number, or two with a dash: FIRST-LAST");
}

// Without the variable, the processors that this process may use.
unsigned cores_from(const char* name) {
  constexpr uint64_t kMost = 64;
  cpu_set_t set;
  CPU_ZERO(&set);
  uint64_t cores = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cores = static_cast<uint64_t>(CPU_COUNT(&set));
  range_from(name, 1, &cores, &cores);
  return static_cast<unsigned>(std::clamp<uint64_t>(cores, 1, kMost));
}

void read_trace_window(Environment& env) {
  env.trace_path = path_from("EMU_TRACE");
  env.perfetto_path = path_from("EMU_TRACE_PERFETTO");
  trace::Window& w = env.trace;
  range_from("EMU_TRACE_CTAS", 0, &w.first_cta, &w.last_cta);
  range_from("EMU_TRACE_STEPS", 0, &w.first_step, &w.last_step);
  range_from("EMU_TRACE_EVENTS", 1, &w.events, &w.events);
  range_from("EMU_TRACE_LAUNCH", 1, &w.launch, &w.launch);
}

Environment read_environment() {
  Environment env;
  if (const char* text = std::getenv("EMU_SCHEDULE")) {
    try {
      env.schedule = Schedule::from(text);
    } catch (const Fault&) {
      bad_value("EMU_SCHEDULE", text, "in-order, late, timed, timed:SMS, or random:SEED with whole numbers");
    }
  }
  if (const char* text = std::getenv("EMU_REGISTERS")) {
    std::ifstream file(text);
    unsigned count = 0;
    for (std::string kernel; file >> count >> kernel;) env.registers[kernel] = count;
    if (env.registers.empty() || !file.eof())
      bad_value("EMU_REGISTERS", text,
                "the path of a file of lines such as `168 kernel`: what ptxas reports");
  }
  if (const char* text = std::getenv("EMU_WINDOW")) {
    const std::string value = text;
    if (value != "first" && value != "all")
      bad_value("EMU_WINDOW", value, "first, or all: the CTAs of a grid that run");
    env.first_only = value == "first";
  }
  if (const char* text = std::getenv("EMU_MHZ")) {
    char* end = nullptr;
    env.mhz = std::strtod(text, &end);
    if (end == text || *end || !(env.mhz >= timed::kLeastMhz && env.mhz <= timed::kMostMhz))
      bad_value("EMU_MHZ", text,
                "the clock of the SMs: a number of MHz, from " + std::to_string(timed::kLeastMhz) + " to " +
                    std::to_string(timed::kMostMhz));
  }
  if (const char* text = std::getenv("EMU_TIME_LIMIT")) {
    char* end = nullptr;
    env.time_limit_s = std::strtod(text, &end);
    if (end == text || *end || !(env.time_limit_s > 0) || env.time_limit_s > 1e9)
      bad_value(
          "EMU_TIME_LIMIT", text,
          "a number of seconds of processor time greater than 0, for one launch (300 when it is not set)");
  }
  env.cores = cores_from("EMU_CORES");
  if (const char* text = std::getenv("EMU_CHECK")) {
    std::string value = text;
    if (value != "on" && value != "off") bad_value("EMU_CHECK", value, "on or off");
    env.check = value == "on";
  }
  if (const char* text = std::getenv("EMU_STRICT")) {
    const std::string value = text;
    if (value != "0" && value != "1") bad_value("EMU_STRICT", value, "1, to make advice an error, or 0");
    if (value == "1") Report::instance().strictness = Strictness::strict;
  }
  env.json_path = path_from("EMU_JSON");
  read_trace_window(env);
  if (const char* text = std::getenv("EMU_PTX")) {
    std::ifstream file(text);
    std::ostringstream all;
    all << file.rdbuf();  // of a folder this fails, where an iterator would throw
    std::string ptx = all.str();
    if (!file || ptx.empty()) bad_value("EMU_PTX", text, "the path of a file that nvcc -ptx has written");
    env.other_ptx = std::make_shared<OtherPtx>(text, std::move(ptx));
  }
  return env;
}

void at_end(int status, void*) {
  runtime::Context::instance().finish_launch();
  const bool written = write_report() & write_trace();
  if (status != 0 || (written && !Report::instance().has_errors())) return;
  std::cout.flush();
  std::fflush(nullptr);
  _exit(1);
}

// Before other constructors, so that at_end runs after every other function registered for the end of the process.
__attribute__((constructor(101))) void start() {
  Report::instance();  // made before at_end is registered, so that it is there until at_end has run
  on_exit(at_end, nullptr);
  environment();
}

}  // namespace

const Environment& environment() {
  static const Environment& env = *new Environment(read_environment());
  return env;
}

std::string report_json() {
  std::string text = "{\"findings\":[";
  const char* separator = "";
  for (const Finding& f : Report::instance().findings()) {
    text += separator + f.json();
    separator = ",\n";
  }
  const timed::Timing* timing = Device::exists() ? Device::instance().timing() : nullptr;
  return text +
         "],\"stats\":" + (Device::exists() ? Device::instance().statistics.stats().json() : Stats().json()) +
         (timing ? ",\"timed\":" + timing->summary().json() : "") + "}\n";
}

namespace {

bool write_file(const char* what, const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) != 0) written = false;
  if (!written) std::fprintf(stderr, "emulator: cannot write %s=%s\n", what, path.c_str());
  return written;
}

}  // namespace

bool write_report() {
  const std::string& path = environment().json_path;
  return path.empty() || write_file("the report to EMU_JSON", path, report_json());
}

bool write_trace() {
  const Environment& env = environment();
  const trace::Recorder* recorder = Device::exists() ? Device::instance().recorder() : nullptr;
  const trace::Trace* trace = recorder ? recorder->trace() : nullptr;
  if (!trace) return true;
  bool written = true;
  if (!env.trace_path.empty())
    written = write_file("the trace to EMU_TRACE", env.trace_path, trace::to_json(*trace));
  if (!env.perfetto_path.empty())
    written &= write_file("the trace to EMU_TRACE_PERFETTO", env.perfetto_path, trace::to_perfetto(*trace));
  return written;
}

}  // namespace emu

// A program of a lesson says so, through host/gemm_program.cpp: what is graded "error in lessons" is an error in it.
extern "C" void emu_declare_lesson() {
  emu::Strictness& strictness = emu::Report::instance().strictness;
  if (strictness == emu::Strictness::ordinary) strictness = emu::Strictness::lesson;
}
