#include "emulator/runtime/environment.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "emulator/findings/report.hpp"
#include "emulator/runtime/device.hpp"

namespace emu {
namespace {

[[noreturn]] void bad_value(const char* name, const std::string& value, const std::string& expected) {
  std::fprintf(stderr, "bad environment: %s=%s\n  try    %s\n", name, value.c_str(), expected.c_str());
  std::fflush(nullptr);
  _exit(2);  // this is before main: there is nothing to clean up
}

Environment read_environment() {
  Environment env;
  if (const char* text = std::getenv("EMU_SCHEDULE")) {
    try {
      env.schedule = Schedule::from(text);
    } catch (const Fault&) {
      bad_value("EMU_SCHEDULE", text, "in-order, late, or random:SEED with a whole number as SEED");
    }
  }
  if (const char* text = std::getenv("EMU_TIME_LIMIT")) {
    char* end = nullptr;
    env.time_limit_s = std::strtod(text, &end);
    if (end == text || *end || !(env.time_limit_s > 0) || env.time_limit_s > 1e9)
      bad_value("EMU_TIME_LIMIT", text,
                "a number of seconds greater than 0, for one launch (300 when it is not set)");
  }
  if (const char* text = std::getenv("EMU_CHECK")) {
    std::string value = text;
    if (value != "on" && value != "off") bad_value("EMU_CHECK", value, "on or off");
    env.check = value == "on";
  }
  if (const char* text = std::getenv("EMU_JSON")) {
    env.json_path = text;
    std::FILE* file = env.json_path.empty() ? nullptr : std::fopen(text, "a");
    if (!file) bad_value("EMU_JSON", text, "the path of a file that can be written, in a folder that exists");
    std::fclose(file);
  }
  if (const char* text = std::getenv("EMU_PTX")) {
    std::ifstream file(text);
    std::string ptx(std::istreambuf_iterator<char>(file), {});
    if (!file || ptx.empty()) bad_value("EMU_PTX", text, "the path of a file that nvcc -ptx has written");
    env.other_ptx = std::make_shared<OtherPtx>(text, std::move(ptx));
  }
  return env;
}

void at_end(int status, void*) {
  const bool written = write_report();
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
  return text +
         "],\"stats\":" + (Device::exists() ? Device::instance().statistics.stats().json() : Stats().json()) +
         "}\n";
}

bool write_report() {
  const std::string& path = environment().json_path;
  if (path.empty()) return true;
  std::string text = report_json();
  std::FILE* file = std::fopen(path.c_str(), "w");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) != 0) written = false;
  if (!written) std::fprintf(stderr, "emulator: cannot write the report to EMU_JSON=%s\n", path.c_str());
  return written;
}

}  // namespace emu
