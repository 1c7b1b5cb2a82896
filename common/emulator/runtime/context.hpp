// The state behind the CUDA runtime calls: what the program registered, and the errors it has met.
#pragma once

#include <cuda_runtime_api.h>

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/findings/report.hpp"
#include "emulator/runtime/background.hpp"
#include "emulator/runtime/device.hpp"

namespace emu::runtime {

// One fat binary of the program (one per object file). Its module is loaded when the device is first used.
struct Binary {
  const void* wrapper = nullptr;
  bool loaded = false;
  LoadedModule* module = nullptr;  // null: not loaded yet, or refused
};

// A kernel as the host knows it. cudaKernel_t and cudaFunction_t are pointers to this.
struct Kernel {
  std::string name;
  Binary* binary = nullptr;
  const Program* program = nullptr;  // null until its binary is loaded, and when it is refused
  uint32_t max_dynamic_shared = 0;   // what cudaFuncSetAttribute allowed; 0: the 48 KiB that need no asking
  int carveout = -1;
  bool non_portable_cluster = false;
  cudaClusterSchedulingPolicy cluster_policy = cudaClusterSchedulingPolicyDefault;
};

// A __device__, __constant__ or __managed__ variable as the host knows it.
struct Symbol {
  std::string name;
  Binary* binary = nullptr;
  void** managed_pointer = nullptr;  // where the host program expects the address of a managed variable
  const DeviceVariable* variable = nullptr;
};

class Context {
 public:
  static Context& instance();

  std::recursive_mutex mutex;
  std::list<Binary> binaries;
  std::list<Kernel> kernels;
  std::map<const void*, Kernel*> kernel_of;  // by host function, and by the Kernel itself
  std::map<const void*, Symbol> symbols;     // by host variable

  // Loads what has been registered since the last call. A module that is refused is reported, and every later call
  // fails with the error that stands for it.
  void load_modules();

  // ---- errors. A fault ends the device's work: each later call returns its error. As on a GPU, where kernels run
  // beside the program, neither the launch nor cudaGetLastError shows it: the first call that waits does.
  void fault(const Finding& finding);
  void fault(const Finding& finding, cudaError_t error);
  cudaError_t pending_fault() const { return fault_; }
  cudaError_t surface_fault() {
    fault_seen_ = fault_ != cudaSuccess;
    return fault_;
  }
  cudaError_t seen_fault() const { return fault_seen_ ? fault_ : cudaSuccess; }

  // Runs a grid to its end, or until it waits for the host; then finish_launch() is for its end.
  void launch(const Kernel& kernel, LaunchConfig config, void* const* args);
  void finish_launch();

  // A kernel without a program: the error of a call that needs it. A launch ends the device's work with it.
  cudaError_t refuse(const Kernel& kernel, bool launch);

  // Null when `function` is no kernel of this program.
  Kernel* find_kernel(const void* function);
  Symbol* find_symbol(const void* variable);

  GlobalMemory& memory() { return Device::instance().machine.memory; }

  // ---- whether a launch follows another one on the same stream with nothing between the two
  uint64_t device_calls = 0;  // so far, this one included
  uint64_t launch_call = 0;   // of the last launch
  cudaStream_t launch_stream = nullptr;

 private:
  cudaError_t fault_ = cudaSuccess;
  bool fault_seen_ = false;
  Background background_;
  const Kernel* launched_ = nullptr;

  void fault_of_launch(const Fault& fault);
  std::vector<std::string> ptx_of(const Binary& b);
};

// The error code that a program sees for a finding.
cudaError_t error_of(const Finding& finding);

// Says on stderr why a call failed, beyond its code: once per text. It is no finding: a program may try a call and
// handle its failure. Returns `error`.
cudaError_t explain(cudaError_t error, const std::string& call, const std::string& title,
                    const std::string& hint);
const std::string& last_explanation();  // the text of the last one

// "scale(float*, int)" for "_Z5scalePfi".
std::string readable(const std::string& kernel_name);

// What cudaGetLastError returns next; per thread.
extern thread_local cudaError_t last_error;
inline cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// The body of a runtime call that needs the device: one call at a time, modules loaded, no launch under way, no fault
// pending.
template <class F>
cudaError_t device_call(F&& body) {
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  context.load_modules();
  context.finish_launch();
  if (cudaError_t fault = context.surface_fault()) return remember(fault);
  ++context.device_calls;
  return remember(body(context));
}

// The body of a runtime call that only reads or sets what the host knows.
template <class F>
cudaError_t host_call(F&& body) {
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  if (cudaError_t fault = context.seen_fault()) return remember(fault);
  return remember(body(context));
}

}  // namespace emu::runtime

// The name a call has in programs compiled with --default-stream per-thread (cuda_runtime_api.h: __CUDART_API_PTDS
// and __CUDART_API_PTSZ). All streams are alike here, so it is the same function.
#define EMU_PER_THREAD(name, suffix) extern "C" __attribute__((alias(#name))) decltype(name) name##suffix;
