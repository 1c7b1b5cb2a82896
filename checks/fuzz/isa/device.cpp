#include "device.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstring>

#include "host/entry_point.hpp"

namespace fuzz_isa {

namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}
void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS)
    throw std::runtime_error(std::string(what) + ": CUresult " + std::to_string(result));
}

template <class Function>
Function* driver(const char* name) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  check(lab::driver_entry_point(name, &entry, &found), name);
  if (!entry) throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function*>(entry);
}

class Memory {
 public:
  explicit Memory(size_t bytes) { check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  char* get() const { return static_cast<char*>(data_); }

 private:
  void* data_ = nullptr;
};

CUmodule load(const std::string& text, unsigned optimise) {
  static auto* const load_module =
      driver<CUresult(CUmodule*, const void*, unsigned, CUjit_option*, void**)>("cuModuleLoadDataEx");
  std::vector<char> log(1 << 16);
  CUjit_option options[] = {CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {reinterpret_cast<void*>(static_cast<uintptr_t>(optimise)), log.data(),
                    reinterpret_cast<void*>(log.size())};
  CUmodule module;
  const CUresult result = load_module(&module, text.c_str(), 3, options, values);
  if (result != CUDA_SUCCESS)
    throw std::runtime_error("cuModuleLoadDataEx: CUresult " + std::to_string(result) + "\n" + log.data());
  return module;
}

constexpr std::chrono::seconds kLimit(3);  // of one program, which takes microseconds

void wait(uint64_t number) {
  const auto begin = std::chrono::steady_clock::now();
  cudaError_t error;
  while ((error = cudaStreamQuery(nullptr)) == cudaErrorNotReady)
    if (std::chrono::steady_clock::now() - begin > kLimit) throw Broken(number, "it does not end");
  if (error != cudaSuccess) throw Broken(number, cudaGetErrorString(error));
}

}  // namespace

void run(const std::string& text, const std::vector<Task>& tasks, unsigned optimise,
         const std::function<void(size_t, const Results&)>& take) {
  static auto* const function_of =
      driver<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction");
  static auto* const unload = driver<CUresult(CUmodule)>("cuModuleUnload");
  static auto* const launch =
      driver<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      CUstream, void**, void**)>("cuLaunchKernel");
  static const bool kReady = [] {
    check(cudaFree(nullptr), "cudaFree");  // makes the context
    check(cudaDeviceSetLimit(cudaLimitStackSize, 16384), "cudaDeviceSetLimit");
    return true;
  }();
  (void)kReady;
  const CUmodule module = load(text, optimise);
  const size_t in_bytes = static_cast<size_t>(Pool::count) * kPoolValues * 8, out_bytes = kSlots * kSlotBytes;
  const Memory in(in_bytes), out(out_bytes);
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    const std::string name = name_of_program(task.number);
    CUfunction kernel;
    check(function_of(&kernel, module, name.c_str()), "cuModuleGetFunction");
    check(cudaMemcpy(in.get(), task.input.data(), in_bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemset(out.get(), 0, out_bytes), "cudaMemset");
    char *in_pointer = in.get(), *out_pointer = out.get();
    uint64_t extra[4];
    std::memcpy(extra, task.input.data() + 3 * kPoolValues, sizeof extra);
    void* arguments[] = {&in_pointer, &out_pointer, extra};
    if (const CUresult result = launch(kernel, 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr))
      throw Broken(task.number, "CUresult " + std::to_string(result));
    wait(task.number);
    Results results(kSlots * kThreads);
    check(cudaMemcpy(results.data(), out.get(), out_bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    take(i, results);
  }
  check(unload(module), "cuModuleUnload");
}

}  // namespace fuzz_isa
