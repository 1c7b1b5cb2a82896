// What a program's host code hands to its first launch, as a line of JSON; the kernel is not run.
//
// Linked into a hand-in's program with --wrap for the functions below, so that its calls come here. It runs in that program's
// process, which can say anything: the line is a claim, and the grader compares it with what the worked program says.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/machine/tensor_map.hpp"
#include "json/json.hpp"

namespace {

// A matrix of the program: where it begins, and what the program calls it.
struct Matrix {
  uint64_t address;
  std::string name;
};
std::vector<Matrix>& matrices() {
  static std::vector<Matrix> all;
  return all;
}

std::string name_of(uint64_t address) {
  for (const Matrix& matrix : matrices())
    if (matrix.address == address) return matrix.name;
  return "another place";
}

template <class T>
std::string list(const T* values, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return "{" + text + "}";
}

std::string text_of(dim3 d) {
  return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " + std::to_string(d.z);
}

// The arguments that cuTensorMapEncodeTiled was given, but for the L2 promotion, which moves no byte.
std::string tensor_map(const emu::TensorMap& map) {
  static const char* const kSwizzle[] = {"none", "32B", "64B", "128B"};
  const rules::TensorMapArguments a = map.arguments();
  json::Object o;
  o.add("type", rules::tensor_map_type(a.type).name);
  o.add("rank", static_cast<int>(a.rank));
  o.add("globalAddress", name_of(a.address));
  o.add("globalDim", list(a.size, a.rank));
  o.add("globalStrides", list(a.stride_bytes, a.rank - 1));
  o.add("boxDim", list(a.box, a.rank));
  o.add("elementStrides", list(a.element_stride, a.rank));
  o.add("interleave", a.interleave);
  o.add("swizzle", a.swizzle >= 0 && a.swizzle < 4 ? kSwizzle[a.swizzle] : std::to_string(a.swizzle));
  o.add("oobFill", a.oob_fill == 0 ? "zeros" : "NaN");
  return o.text();
}

std::string parameter(const void* value, size_t bytes) {
  emu::TensorMap map;
  if (bytes == emu::kTensorMapBytes)
    return emu::decode_tensor_map(static_cast<const std::byte*>(value), &map) ? tensor_map(map)
                                                                              : json::quoted("no tensor map");
  if (bytes == sizeof(int)) {
    int number;
    std::memcpy(&number, value, sizeof number);
    return std::to_string(number);
  }
  if (bytes == sizeof(uint64_t)) {
    uint64_t address;
    std::memcpy(&address, value, sizeof address);
    return json::quoted(name_of(address));
  }
  return json::quoted(std::to_string(bytes) + " bytes");
}

[[noreturn]] void tell(const void* kernel, dim3 grid, dim3 block, size_t shared, void** arguments) {
  json::Object o;
  o.add("grid", text_of(grid));
  o.add("block", text_of(block));
  o.add("sharedMemory", static_cast<uint64_t>(shared));
  std::vector<std::string> parameters;
  size_t offset, bytes;
  for (size_t i = 0; cudaFuncGetParamInfo(kernel, i, &offset, &bytes) == cudaSuccess; ++i)
    parameters.push_back(parameter(arguments[i], bytes));
  o.list("parameters", parameters, [](const std::string& text) { return text; });
  std::printf("\nlaunch %s\n", o.text().c_str());
  std::fflush(stdout);
  _exit(0);
}

}  // namespace

extern "C" {

void __real_emu_name_memory(const void* memory, const char* name, uint64_t columns, uint64_t element_bytes);

void __wrap_emu_name_memory(const void* memory, const char* name, uint64_t columns, uint64_t element_bytes) {
  matrices().push_back({reinterpret_cast<uint64_t>(memory), name});
  __real_emu_name_memory(memory, name, columns, element_bytes);
}

cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      size_t shared, cudaStream_t) {
  tell(kernel, grid, block, shared, arguments);
}

cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared, cudaStream_t) {
  tell(kernel, grid, block, shared, arguments);
}

cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments) {
  tell(kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes, arguments);
}

}  // extern "C"
