#include "run.hpp"

#include <cstring>

#include "emit.hpp"
#include "emulator/checker/checker.hpp"
#include "emulator/machine/async.hpp"
#include "emulator/machine/mbarrier.hpp"
#include "emulator/runtime/device.hpp"
#include "model.hpp"

namespace fuzz {

namespace {
constexpr double kTimeLimit = 20;  // of one kernel, seconds; they take milliseconds

void put(std::vector<uint8_t>& to, const emu::Program& program, const char* name, const void* from,
         size_t bytes) {
  for (const emu::KernelParam& k : program.params)
    if (k.name == name) std::memcpy(to.data() + k.offset, from, bytes);
}
}  // namespace

Outcome run(const Pipeline& p, const Mutation& m, const std::string& schedule) {
  emu::Report& report = emu::Report::instance();
  report.clear();
  report.quiet = true;
  report.strictness = emu::Strictness::lesson;
  emu::Machine machine;
  emu::check::Checker checker;
  if (schedule == "late") checker.least_growth = 0;  // what it drops must never be missed
  machine.observers.add(checker);
  machine.schedule = emu::Schedule::from(schedule);
  machine.time_limit_s = kTimeLimit;
  emu::LoadedModule module(machine.memory, std::vector<std::string>{emit(p, m)});
  const emu::Program& program = *module.kernel("pipeline");

  const auto input = input_of(p);
  const auto want = expected(p, input);
  const uint64_t in = machine.memory.allocate(input.size(), "input");
  const uint64_t out = machine.memory.allocate(want.size(), "output");
  std::memcpy(machine.memory.at(in, input.size()), input.data(), input.size());
  if (p.adds()) std::memset(machine.memory.at(out, want.size()), 0, want.size());
  const auto in_map = input_map(p, in, m.change == Change::map_swizzle ? m.swizzle : p.swizzle);
  const auto out_map = output_map(p, out);

  emu::LaunchConfig config;
  config.grid.x = p.ctas;
  config.block.x = p.threads();
  config.cluster.x = p.cluster ? 2 : 1;
  config.params.resize(program.param_bytes);
  put(config.params, program, "out_pointer", &out, sizeof out);
  put(config.params, program, "in_pointer", &in, sizeof in);
  put(config.params, program, "in_map", in_map.data(), in_map.size());
  put(config.params, program, "out_map", out_map.data(), out_map.size());

  Outcome result;
  std::string fault;
  try {
    machine.launch(program, config);
  } catch (const emu::Fault& f) {
    fault = emu::name_of(f.finding().id);
    report.add(f.finding());
  }
  result.findings = report.findings();
  for (const emu::Finding& f : result.findings)
    if (f.severity == emu::Severity::error && result.named.empty()) result.named = emu::name_of(f.id);
  result.numbers =
      fault.empty() && std::memcmp(machine.memory.at(out, want.size()), want.data(), want.size()) == 0;
  report.clear();
  return result;
}

}  // namespace fuzz
