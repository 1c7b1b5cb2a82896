// The driver's view of kernels: attributes, occupancy, launches, and libraries, which are modules by another name.
// A CUfunction and a CUkernel are a Kernel, a CUmodule and a CUlibrary a Binary.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "emulator/runtime/driver.hpp"
#include "emulator/runtime/environment.hpp"
#include "rules/limits.hpp"

using namespace emu::runtime;

namespace {

static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute), "both have the same members");

cudaLaunchConfig_t runtime_config(const CUlaunchConfig& c) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(c.gridDimX, c.gridDimY, c.gridDimZ);
  config.blockDim = dim3(c.blockDimX, c.blockDimY, c.blockDimZ);
  config.dynamicSmemBytes = c.sharedMemBytes;
  config.stream = c.hStream;
  config.attrs = reinterpret_cast<cudaLaunchAttribute*>(c.attrs);
  config.numAttrs = c.numAttrs;
  return config;
}

// False: there is no such file.
bool read_file(const char* name, std::string& text) {
  std::ifstream file(name, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  text = all.str();
  return file.good() && !text.empty();
}

}  // namespace

extern "C" {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes a;
  const CUresult asked = apart([&] { return cudaFuncGetAttributes(&a, function); });
  if (asked != CUDA_SUCCESS) return asked;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = a.maxThreadsPerBlock;
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(a.sharedSizeBytes);
      break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *value = static_cast<int>(a.constSizeBytes);
      break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(a.localSizeBytes);
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = a.numRegs;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *value = a.ptxVersion;
      break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = a.binaryVersion;
      break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      *value = 0;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = a.maxDynamicSharedSizeBytes;
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = a.preferredShmemCarveout;
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      *value = a.clusterDimMustBeSet;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      *value = a.requiredClusterWidth;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      *value = a.requiredClusterHeight;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *value = a.requiredClusterDepth;
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      *value = a.nonPortableClusterSizeAllowed;
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = a.clusterSchedulingPolicyPreference;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Those that can be set have the same numbers in the runtime.
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return apart(
      [&] { return cudaFuncSetAttribute(function, static_cast<cudaFuncAttribute>(attribute), value); });
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return apart([&] { return cudaFuncSetCacheConfig(function, cudaFuncCachePreferNone); });
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  return apart([&] { return cudaFuncGetName(name, function); });
}

// ---- occupancy
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t dynamic) {
  return apart(
      [&] { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic); });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads,
                                                              size_t dynamic, unsigned flags) {
  return apart([&] {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic, flags);
  });
}

// The size of a CTA that lets most threads be resident; of several the largest.
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize shared_of, size_t dynamic, int limit) {
  if (!grid || !block) return CUDA_ERROR_INVALID_VALUE;
  int largest = 0, best = 0;
  const CUresult asked = cuFuncGetAttribute(&largest, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
  if (asked != CUDA_SUCCESS) return asked;
  if (limit > 0) largest = std::min(largest, limit);
  for (int threads = (largest + 31) / 32 * 32; threads > 0; threads -= 32) {
    const int exact = std::min(threads, largest);
    int blocks = 0;
    const CUresult told = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, exact,
                                                                      shared_of ? shared_of(exact) : dynamic);
    if (told != CUDA_SUCCESS) return told;
    if (blocks * exact <= best) continue;
    best = blocks * exact;
    *block = exact;
    *grid = blocks * emu::environment().multiprocessors();
  }
  return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize shared_of, size_t dynamic, int limit,
                                                   unsigned) {
  return cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of, dynamic, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks,
                                                 int threads) {
  return apart([&] { return cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads); });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t c = runtime_config(*config);
  return apart([&] { return cudaOccupancyMaxActiveClusters(clusters, function, &c); });
}

// ---- launches
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  if (config->numAttrs == 0)
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                          config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
                          arguments, extra);
  if (extra) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t c = runtime_config(*config);
  return apart([&] { return cudaLaunchKernelExC(&c, function, arguments); });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                   CUstream stream, void** arguments) {
  return apart([&] {
    return cudaLaunchCooperativeKernel(function, dim3(grid_x, grid_y, grid_z),
                                       dim3(block_x, block_y, block_z), arguments, shared, stream);
  });
}

// ---- modules of files, and libraries
CUresult cuModuleLoad(CUmodule* module, const char* file) {
  std::string text;
  if (!file) return CUDA_ERROR_INVALID_VALUE;
  return read_file(file, text) ? cuModuleLoadData(module, text.c_str()) : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (!mode) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return cuModuleLoadData(reinterpret_cast<CUmodule*>(library), code);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option*, void**, unsigned,
                               CUlibraryOption*, void**, unsigned) {
  return cuModuleLoad(reinterpret_cast<CUmodule*>(library), file);
}

CUresult cuLibraryUnload(CUlibrary library) {
  return cuModuleUnload(reinterpret_cast<CUmodule>(library));
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  if (!module || !library) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel), reinterpret_cast<CUmodule>(library),
                             name);
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return cuModuleGetGlobal(address, bytes, reinterpret_cast<CUmodule>(library), name);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (!function || !kernel) return CUDA_ERROR_INVALID_VALUE;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(kernel));
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), attribute, value);
}

}  // extern "C"
