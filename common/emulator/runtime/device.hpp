// The emulated device as a program sees it: modules whose variables have addresses, and kernels that can be launched.
// The CUDA runtime calls and the tests both stand on this.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "emulator/machine/machine.hpp"
#include "emulator/machine/overlap.hpp"
#include "emulator/machine/statistics.hpp"
#include "emulator/program/program.hpp"
#include "emulator/ptx/syntax.hpp"

namespace emu {

namespace check {
class Checker;
}
namespace trace {
class Recorder;
}
namespace timed {
class Timing;
}

// A .global or .const variable of a loaded module.
struct DeviceVariable {
  uint64_t address = 0, bytes = 0;
  bool constant = false;
  void* managed = nullptr;  // __managed__: the host's pointer, equal to the address
};

// The PTX of one module on the device, of several objects where they were linked: all variables allocated and initialised, all kernels decoded.
class LoadedModule {
 public:
  // Variables named in `managed` live in host memory. Throws Fault when the text has a syntax error. A kernel that uses
  // anything that is not supported is refused by itself; in a program of the lessons, the module is.
  LoadedModule(GlobalMemory& memory, const std::vector<std::string>& ptx,
               const std::set<std::string>& managed = {});
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;

  const Program* kernel(const std::string& name) const;  // null when there is none
  // Why a kernel can't be executed: it uses what is not supported. Null when there is no such kernel, or it can.
  const Finding* refusal(const std::string& name) const;
  const DeviceVariable* variable(const std::string& name) const;  // null when there is none
  const std::map<std::string, std::unique_ptr<Program>>& kernels() const { return kernels_; }
  const Module& module() const { return *module_; }
  uint64_t constant_bytes() const;

 private:
  GlobalMemory& memory_;
  std::unique_ptr<Module> module_;
  SymbolTable symbols_;
  std::map<std::string, DeviceVariable> variables_;
  std::map<std::string, std::unique_ptr<Program>> kernels_;
  std::map<std::string, Finding> refused_;

  void decode_kernel(const Function& kernel);
  void place(const Variable& v, bool managed);
  void initialise(const Variable& v);
};

// Host memory that the device reads and writes at the host's own address (pinned and managed memory).
// Poisoned, 4096-byte aligned. Null when `bytes` can't be had. Freed by free_host_memory.
void* allocate_host_memory(GlobalMemory& memory, uint64_t bytes, const std::string& name);
bool free_host_memory(GlobalMemory& memory, void* pointer);  // false: nothing was allocated there

// The one device of this process.
class Device {
 public:
  // Made at the first call, with the schedule and time limit of the environment.
  static Device& instance();
  static bool exists() { return exists_; }

  Machine machine;
  Statistics statistics;
  Overlap overlap{statistics.stats()};

  const trace::Recorder* recorder() const { return recorder_.get(); }
  check::Checker* checker() const { return checker_.get(); }  // null with EMU_CHECK=off
  const timed::Timing* timing() const { return timing_.get(); }

  LoadedModule& load(const std::vector<std::string>& ptx, const std::set<std::string>& managed = {});
  void unload(const LoadedModule& module);

  // Fills config.params from args (args[i] points at the i-th argument, as cudaLaunchKernel has it), then runs the
  // grid to its end. Throws Fault.
  void launch(const Program& kernel, LaunchConfig config, const void* const* args);

  // True for an address of device memory, allocated or not: never to be dereferenced by the host.
  bool owns(uint64_t address) const { return address - workspace_ < machine.memory.capacity(); }

 private:
  Device();
  ~Device();
  static bool exists_;
  std::unique_ptr<timed::Timing> timing_;      // null: the schedule knows no time
  std::unique_ptr<trace::Recorder> recorder_;  // null: no trace was asked for
  std::unique_ptr<check::Checker> checker_;    // null with EMU_CHECK=off
  uint64_t workspace_ = 0;  // of grid synchronisation; the first allocation, so the lowest device address
  uint64_t next_grid_ = 1;
  std::list<LoadedModule> modules_;
};

}  // namespace emu
