// Modules of the driver API: PTX text or a fat binary that the program hands over itself, and launches of its kernels.
// A CUmodule is a Binary, a CUfunction a Kernel.
#include <cuda.h>

#include <cstring>
#include <vector>

#include "emulator/ptx/fatbin.hpp"
#include "emulator/runtime/context.hpp"

using namespace emu::runtime;

namespace {

constexpr uint32_t kElfMagic = 0x464C457F, kWrapperMagic = 0x466243B1, kContainerMagic = 0xBA55ED50;

Binary* binary(CUmodule module) {
  for (Binary& b : Context::instance().binaries)
    if (reinterpret_cast<CUmodule>(&b) == module) return &b;
  return nullptr;
}

// The PTX texts of an image. Its size is not handed over: a fat binary says its own.
std::vector<std::string> ptx_of_image(const void* image) {
  uint32_t magic;
  std::memcpy(&magic, image, sizeof magic);
  if (magic == kWrapperMagic) return emu::ptx_of_wrapper(image);
  if (magic != kContainerMagic) return {static_cast<const char*>(image)};
  const auto* bytes = static_cast<const uint8_t*>(image);
  uint16_t header;
  uint64_t entries;
  std::memcpy(&header, bytes + 6, sizeof header);
  std::memcpy(&entries, bytes + 8, sizeof entries);
  return {emu::ptx_of_fatbin(bytes, header + static_cast<size_t>(entries))};
}

CUresult refuse(const emu::Finding& f) {
  explain(static_cast<cudaError_t>(error_of(f)), "cuModuleLoadData", f.title + "\n  where  " + f.where,
          f.hint);
  return static_cast<CUresult>(error_of(f));
}

// The arguments in one buffer, as CU_LAUNCH_PARAM_BUFFER_POINTER hands them over; null when `extra` says something else.
const char* buffer_of(void** extra) {
  const char* buffer = nullptr;
  for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = static_cast<const char*>(extra[1]);
    else if (*extra != CU_LAUNCH_PARAM_BUFFER_SIZE)
      return nullptr;
  return buffer;
}

}  // namespace

extern "C" {

void __cudaUnregisterFatBinary(void** handle);

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  uint32_t magic;
  std::memcpy(&magic, image, sizeof magic);
  if (magic == kElfMagic) {
    explain(cudaErrorNoKernelImageForDevice, "cuModuleLoadData", "the image is machine code",
            "the emulator executes PTX: load the PTX text, or a fat binary that holds it");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  try {
    Binary b;
    b.loaded = true;
    b.module = &emu::Device::instance().load(ptx_of_image(image));
    context.binaries.push_back(b);
  } catch (const emu::Fault& fault) {
    return refuse(fault.finding());
  }
  *module = reinterpret_cast<CUmodule>(&context.binaries.back());
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleUnload(CUmodule module) {
  std::lock_guard<std::recursive_mutex> lock(Context::instance().mutex);
  if (!binary(module)) return CUDA_ERROR_INVALID_HANDLE;
  __cudaUnregisterFatBinary(reinterpret_cast<void**>(module));
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  Binary* b = binary(module);
  if (!function || !name || !b) return CUDA_ERROR_INVALID_VALUE;
  for (Kernel& k : context.kernels)
    if (k.binary == b && k.name == name) {
      *function = reinterpret_cast<CUfunction>(&k);
      return CUDA_SUCCESS;
    }
  Kernel k;
  k.name = name;
  k.binary = b;
  k.program = b->module ? b->module->kernel(name) : nullptr;
  if (!k.program && !(b->module && b->module->refusal(name))) return CUDA_ERROR_NOT_FOUND;
  context.kernels.push_back(k);
  Kernel* kernel = &context.kernels.back();
  context.kernel_of.emplace(kernel, kernel);
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  std::lock_guard<std::recursive_mutex> lock(Context::instance().mutex);
  Binary* b = binary(module);
  if (!b || !name) return CUDA_ERROR_INVALID_VALUE;
  const emu::DeviceVariable* v = b->module ? b->module->variable(name) : nullptr;
  if (!v) return CUDA_ERROR_NOT_FOUND;
  if (address) *address = v->address;
  if (bytes) *bytes = v->bytes;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** arguments, void** extra) {
  std::vector<void*> from_buffer;
  if (extra) {
    const Kernel* kernel = Context::instance().find_kernel(function);
    const char* buffer = buffer_of(extra);
    if (arguments || !buffer || !kernel || !kernel->program) return CUDA_ERROR_INVALID_VALUE;
    for (const emu::KernelParam& p : kernel->program->params)
      from_buffer.push_back(const_cast<char*>(buffer + p.offset));
    arguments = from_buffer.data();
  }
  const cudaError_t before = last_error;
  const cudaError_t error =
      cudaLaunchKernel(reinterpret_cast<const void*>(function), dim3(grid_x, grid_y, grid_z),
                       dim3(block_x, block_y, block_z), arguments, shared, stream);
  last_error = before;
  return static_cast<CUresult>(error);
}

}  // extern "C"
