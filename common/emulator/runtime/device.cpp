#include "emulator/runtime/device.hpp"

#include <cstdlib>
#include <cstring>

#include "emulator/checker/checker.hpp"
#include "emulator/ptx/link.hpp"
#include "emulator/runtime/environment.hpp"
#include "emulator/timed/timing.hpp"
#include "emulator/trace/recorder.hpp"

namespace emu {
namespace {

// What cooperative groups' grid synchronisation finds at %envreg1/%envreg2: the size of the workspace, then the
// barrier word of the grid, zero at the start of every launch.
constexpr uint32_t kWorkspaceBytes = 256;
constexpr uint64_t kLargestVariables = 2ull << 30;  // of a module, all together

[[noreturn]] void module_fault(const Variable& v, const std::string& title, const std::string& hint) {
  Finding finding(Id::module_variable);
  finding.title = title;
  finding.line.ptx_line = v.ptx_line;
  finding.where = "PTX line " + std::to_string(v.ptx_line);
  finding.hint = hint;
  throw Fault(finding);
}

std::vector<Module> parse_all(const std::vector<std::string>& texts) {
  std::vector<Module> modules;
  for (const std::string& text : texts) modules.push_back(parse_ptx(text));
  return modules;
}

}  // namespace

LoadedModule::LoadedModule(GlobalMemory& memory, const std::vector<std::string>& ptx,
                           const std::set<std::string>& managed)
    : memory_(memory), module_(std::make_unique<Module>(link_modules(parse_all(ptx)))) {
  const auto has_address = [](const Variable& v) {
    return v.space == Space::global || v.space == Space::constant;
  };
  uint64_t bytes = 0;
  for (const Variable& v : module_->variables)
    if (has_address(v) && (bytes += v.bytes) > kLargestVariables)
      module_fault(v, "the variables of this module take more than 2 GiB, up to " + v.name,
                   "allocate large arrays with cudaMalloc");
  for (const Variable& v : module_->variables)
    if (has_address(v)) place(v, managed.count(v.name) != 0);
  for (const Variable& v : module_->variables)
    if (variables_.count(v.name)) initialise(v);
  for (const Function& f : module_->functions)
    if (f.is_entry && f.has_body) decode_kernel(f);
}

void LoadedModule::decode_kernel(const Function& kernel) {
  try {
    kernels_[kernel.name] = decode(*module_, kernel, symbols_);
  } catch (const Fault& refusal) {
    if (Report::instance().strictness == Strictness::lesson) throw;
    refused_.insert({kernel.name, refusal.finding()});
  }
}

LoadedModule::~LoadedModule() {
  for (auto& [name, v] : variables_) {
    if (v.managed)
      free_host_memory(memory_, v.managed);
    else
      memory_.release(v.address);
  }
}

void LoadedModule::place(const Variable& v, bool managed) {
  if (v.external)
    module_fault(v, "no object of this program defines the variable " + v.name,
                 "link the object that does: nvcc -dlink, with all of them (-rdc=true)");
  DeviceVariable d;
  d.bytes = v.bytes;
  d.constant = v.space == Space::constant;
  if (managed) {
    d.managed = allocate_host_memory(memory_, v.bytes, v.name);
    d.address = reinterpret_cast<uint64_t>(d.managed);
  } else {
    d.address = memory_.allocate(v.bytes, v.name, v.align);
  }
  if (!d.address)
    module_fault(v, "no device memory for the " + std::to_string(v.bytes) + " bytes of " + v.name, "");
  if (d.constant) memory_.set_constant(d.address);
  symbols_[v.name] = d.address;
  variables_[v.name] = d;
}

// PTX ISA 5.4.4: a variable without an initialiser is zero.
void LoadedModule::initialise(const Variable& v) {
  uint64_t address = symbols_.at(v.name);
  std::byte* bytes = memory_.at(address, v.bytes);
  if (v.bytes) std::memset(bytes, 0, v.bytes);
  if (!v.initial.empty()) std::memcpy(bytes, v.initial.data(), std::min<uint64_t>(v.initial.size(), v.bytes));
  for (const Relocation& r : v.relocations) {
    auto symbol = symbols_.find(r.symbol);
    uint64_t target = symbol != symbols_.end() ? symbol->second : function_address(*module_, r.symbol);
    if (!target)
      module_fault(
          v, "the initial value of " + v.name + " names " + r.symbol + ", which this module does not define",
          "define it in this file");
    if (r.offset + 8 > v.bytes)
      module_fault(v, "the address of " + r.symbol + " does not fit into " + v.name, "use 64-bit elements");
    uint64_t value = target + static_cast<uint64_t>(r.addend);
    std::memcpy(bytes + r.offset, &value, sizeof value);
  }
}

const Program* LoadedModule::kernel(const std::string& name) const {
  auto it = kernels_.find(name);
  return it == kernels_.end() ? nullptr : it->second.get();
}

const Finding* LoadedModule::refusal(const std::string& name) const {
  auto it = refused_.find(name);
  return it == refused_.end() ? nullptr : &it->second;
}

const DeviceVariable* LoadedModule::variable(const std::string& name) const {
  auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : &it->second;
}

uint64_t LoadedModule::constant_bytes() const {
  uint64_t sum = 0;
  for (auto& [name, v] : variables_)
    if (v.constant) sum += v.bytes;
  return sum;
}

void* allocate_host_memory(GlobalMemory& memory, uint64_t bytes, const std::string& name) {
  constexpr uint64_t kPage = 4096;
  if (bytes > memory.capacity()) return nullptr;
  void* pointer = std::aligned_alloc(kPage, (std::max<uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage);
  if (!pointer) return nullptr;
  fill_poison(pointer, bytes);
  memory.add_host_range(pointer, bytes, name);
  return pointer;
}

bool free_host_memory(GlobalMemory& memory, void* pointer) {
  if (!memory.release(reinterpret_cast<uint64_t>(pointer))) return false;
  std::free(pointer);
  return true;
}

bool Device::exists_ = false;

Device& Device::instance() {
  static Device& device =
      *new Device;  // never destroyed: kernels may be launched until the very end of the process
  return device;
}

Device::Device() {
  exists_ = true;
  const Environment& env = environment();
  machine.schedule = env.schedule;
  machine.random.seed(env.schedule.seed);
  machine.time_limit_s = env.time_limit_s;
  machine.schedule.cores = env.cores;
  if (env.schedule.kind == Schedule::Kind::timed) {  // first: what the others see happens at its time
    timing_ = std::make_unique<timed::Timing>(machine);
    timing_->registers = env.registers;
    timing_->first_only = env.first_only;
    timing_->mhz = env.mhz;
    machine.timekeeper = timing_.get();
    machine.observers.add(*timing_);
  }
  machine.observers.add(statistics);
  machine.observers.add(overlap);
  // Before the checker, so that what it finds in an event is recorded behind that event.
  if (!env.trace_path.empty() || !env.perfetto_path.empty()) {
    recorder_ = std::make_unique<trace::Recorder>(env.trace);
    machine.observers.add(*recorder_);
  }
  if (env.check) {
    checker_ = std::make_unique<check::Checker>();
    machine.observers.add(*checker_);
  }
  workspace_ = machine.memory.allocate(kWorkspaceBytes, "grid synchronisation workspace");
}

LoadedModule& Device::load(const std::vector<std::string>& ptx, const std::set<std::string>& managed) {
  return modules_.emplace_back(machine.memory, ptx, managed);
}

void Device::unload(const LoadedModule& module) {
  modules_.remove_if([&](const LoadedModule& m) { return &m == &module; });
}

void Device::launch(const Program& kernel, LaunchConfig config, const void* const* args) {
  config.params.assign(kernel.param_bytes, 0);
  for (size_t i = 0; i < kernel.params.size(); ++i)
    std::memcpy(config.params.data() + kernel.params[i].offset, args[i], kernel.params[i].bytes);
  config.grid_id = next_grid_++;
  if (config.cooperative) {
    config.cooperative_workspace = workspace_;
    const uint32_t fresh[2] = {kWorkspaceBytes, 0};
    std::memcpy(machine.memory.at(workspace_, kWorkspaceBytes), fresh, sizeof fresh);
  }
  const uint64_t errors = Report::instance().errors();
  try {
    machine.launch(kernel, config);
  } catch (const Fault& fault) {
    if (Report::instance().errors() == errors) throw;
    Finding end = fault.finding();  // how a kernel ends whose error has already been named
    end.severity = Severity::advice;
    end.title = "after the error above, the kernel ended here: " + end.title;
    throw Fault(end);
  }
}

Device::~Device() = default;

}  // namespace emu
