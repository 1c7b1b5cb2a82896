#include "emulator/runtime/context.hpp"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

#include "emulator/machine/deadlock.hpp"
#include "emulator/ptx/fatbin.hpp"
#include "emulator/runtime/environment.hpp"

namespace emu::runtime {

thread_local cudaError_t last_error = cudaSuccess;

Context& Context::instance() {
  static Context& context = *new Context;  // used by static constructors and destructors: never destroyed
  return context;
}

std::vector<std::string> Context::ptx_of(const Binary& b) {
  std::vector<std::string> own = ptx_of_wrapper(b.wrapper);
  if (!environment().other_ptx) return own;
  std::set<std::string> names;
  for (const Kernel& k : kernels)
    if (k.binary == &b) names.insert(k.name);
  for (std::string& text : own) text = environment().other_ptx->in_place_of(text, names);
  return own;
}

void Context::load_modules() {
  bool loads = false;
  for (Binary& b : binaries) {
    if (b.loaded) continue;
    b.loaded = loads = true;
    std::set<std::string> managed;
    for (auto& [host, s] : symbols)
      if (s.binary == &b && s.managed_pointer) managed.insert(s.name);
    try {
      b.module = &Device::instance().load(ptx_of(b), managed);
    } catch (const Fault& refusal) {
      fault(refusal.finding());
      continue;
    }
    for (Kernel& k : kernels)
      if (k.binary == &b) k.program = b.module->kernel(k.name);
    for (auto& [host, s] : symbols) {
      if (s.binary != &b) continue;
      s.variable = b.module->variable(s.name);
      if (s.managed_pointer && s.variable) *s.managed_pointer = s.variable->managed;
    }
  }
  if (!loads || !environment().other_ptx || fault_ != cudaSuccess) return;
  try {
    environment().other_ptx->require_taken();
  } catch (const Fault& refusal) {
    fault(refusal.finding());
  }
}

void Context::fault(const Finding& finding) {
  fault(finding, error_of(finding));
}

void Context::fault(const Finding& finding, cudaError_t error) {
  Report::instance().add(finding);
  if (fault_ == cudaSuccess) fault_ = error;
  write_report();
}

namespace {

constexpr int kLooksBeforeNote = 2000;  // at memory that the host may change: a few seconds

// The host may be in a loop of its own, waiting for the kernel: then nobody else would say why nothing happens.
void note_waiting(const Finding& f) {
  std::fprintf(stderr,
               "note: kernel %s waits, and only the host could still change what it waits for\n  where  %s\n"
               "  state  %s\n",
               readable(f.kernel).c_str(), f.where.c_str(), f.state.c_str());
}

}  // namespace

// Only memory of the host lets a kernel wait for it. Without any, the launch needs no thread of its own.
void Context::launch(const Kernel& kernel, LaunchConfig config, void* const* args) {
  launched_ = &kernel;
  Device& device = Device::instance();
  device.machine.wait_for_host = nullptr;
  try {
    if (!memory().has_host_ranges()) return device.launch(*kernel.program, std::move(config), args);
    device.machine.wait_for_host = [this, &device, program = kernel.program, looks = 0]() mutable {
      if (++looks == kLooksBeforeNote) note_waiting(describe_deadlock(device.machine, *program));
      return background_.wait_for_host();
    };
    background_.run([&device, args, program = kernel.program, config = std::move(config)] {
      device.launch(*program, config, args);
    });
  } catch (const Fault& fault) {
    fault_of_launch(fault);
  }
}

void Context::finish_launch() {
  if (!background_.running()) return;
  try {
    background_.finish();
  } catch (const Fault& fault) {
    fault_of_launch(fault);
  }
}

void Context::fault_of_launch(const Fault& thrown) {
  Finding finding = thrown.finding();
  if (finding.kernel.empty()) finding.kernel = launched_->name;
  fault(finding);
}

cudaError_t Context::refuse(const Kernel& kernel, bool launch) {
  const Finding* refusal = kernel.binary->module ? kernel.binary->module->refusal(kernel.name) : nullptr;
  if (!refusal) return cudaErrorInvalidDeviceFunction;
  if (launch)
    fault(*refusal);
  else
    explain(error_of(*refusal), "a call for " + readable(kernel.name), refusal->title, refusal->hint);
  return error_of(*refusal);
}

Kernel* Context::find_kernel(const void* function) {
  auto it = kernel_of.find(function);
  return it == kernel_of.end() ? nullptr : it->second;
}

Symbol* Context::find_symbol(const void* variable) {
  auto it = symbols.find(variable);
  return it == symbols.end() ? nullptr : &it->second;
}

cudaError_t error_of(const Finding& finding) {
  static const std::map<Id, cudaError_t> errors = {
      {Id::fat_binary, cudaErrorNoKernelImageForDevice},
      {Id::ptx_syntax, cudaErrorInvalidPtx},
      {Id::ptx_file, cudaErrorInvalidPtx},
      {Id::module_variable, cudaErrorInvalidPtx},
      {Id::unsupported_instruction, cudaErrorInvalidPtx},
      {Id::out_of_bounds, cudaErrorIllegalAddress},
      {Id::write_to_constant, cudaErrorIllegalAddress},
      {Id::misaligned_address, cudaErrorMisalignedAddress},
      {Id::misaligned_tile, cudaErrorMisalignedAddress},
      {Id::not_shared_memory, cudaErrorInvalidAddressSpace},
      {Id::bad_function_pointer, cudaErrorInvalidPc},
      {Id::stack_overflow, cudaErrorHardwareStackError},
      {Id::failed_assert, cudaErrorAssert},
      {Id::time_limit, cudaErrorLaunchTimeout},
      {Id::deadlock, cudaErrorLaunchTimeout},
      {Id::endless_loop, cudaErrorLaunchTimeout},
  };
  auto it = errors.find(finding.id);
  return it == errors.end() ? cudaErrorLaunchFailure : it->second;
}

namespace {
std::string& explanation() {
  static std::string& text = *new std::string;
  return text;
}
}  // namespace

std::string readable(const std::string& kernel_name) {
  int status = 0;
  char* text = abi::__cxa_demangle(kernel_name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : kernel_name;
  std::free(text);
  return result;
}

const std::string& last_explanation() {
  return explanation();
}

cudaError_t explain(cudaError_t error, const std::string& call, const std::string& title,
                    const std::string& hint) {
  static std::set<std::string>& said = *new std::set<std::string>;
  std::string& text = explanation();
  text = std::string(cudaGetErrorName(error)) + " from " + call + ": " + title + "\n";
  if (!hint.empty()) text += "  try    " + hint + "\n";
  if (said.insert(text).second && !Report::instance().quiet) std::fprintf(stderr, "%s", text.c_str());
  return error;
}

}  // namespace emu::runtime
