// The one device: how many there are, what it can do, waiting for it.
#include <cstdio>
#include <cstring>
#include <vector>

#include "emulator/runtime/context.hpp"
#include "emulator/runtime/environment.hpp"
#include "emulator/runtime/handles.hpp"
#include "rules/limits.hpp"

using namespace emu::runtime;
using namespace rules;

namespace emu::runtime {
namespace {

constexpr const char* kPciBusId = "0000:00:00.0";
constexpr int kPitchLimit = 0x7FFFFFFF;
unsigned device_flags = cudaDeviceScheduleAuto;

// Attributes that are 0 on this device (no texture hardware, no interconnect, no other GPU ...) are listed, too, so
// that one that is not known is an error.
bool attribute(cudaDeviceAttr which, int* value) {
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = kMaxThreadsPerBlock;
      return true;
    case cudaDevAttrMaxBlockDimX:
      *value = kMaxBlockDim[0];
      return true;
    case cudaDevAttrMaxBlockDimY:
      *value = kMaxBlockDim[1];
      return true;
    case cudaDevAttrMaxBlockDimZ:
      *value = kMaxBlockDim[2];
      return true;
    case cudaDevAttrMaxGridDimX:
      *value = kMaxGridDim[0];
      return true;
    case cudaDevAttrMaxGridDimY:
      *value = kMaxGridDim[1];
      return true;
    case cudaDevAttrMaxGridDimZ:
      *value = kMaxGridDim[2];
      return true;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = kSharedPerBlock;
      return true;
    case cudaDevAttrTotalConstantMemory:
      *value = kConstantBytes;
      return true;
    case cudaDevAttrWarpSize:
      *value = kWarpSize;
      return true;
    case cudaDevAttrMaxPitch:
      *value = kPitchLimit;
      return true;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = kRegistersPerBlock;
      return true;
    case cudaDevAttrTextureAlignment:
    case cudaDevAttrSurfaceAlignment:
      *value = 512;
      return true;
    case cudaDevAttrTexturePitchAlignment:
      *value = 32;
      return true;
    case cudaDevAttrMultiProcessorCount:
      *value = emu::environment().multiprocessors();
      return true;
    case cudaDevAttrL2CacheSize:
      *value = kL2Bytes;
      return true;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = kMaxThreadsPerMultiprocessor;
      return true;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = kSharedPerMultiprocessor;
      return true;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = kSharedPerBlockOptin;
      return true;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = kReservedSharedPerBlock;
      return true;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = kMaxBlocksPerMultiprocessor;
      return true;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      return true;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return true;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      *value = 2;
      return true;
    case cudaDevAttrComputeMode:
      *value = cudaComputeModeDefault;
      return true;
    case cudaDevAttrMemSyncDomainCount:
      *value = 4;
      return true;
    case cudaDevAttrHostNumaId:
      *value = -1;
      return true;
    case cudaDevAttrNumaId:
      *value = -1;
      return true;
    // yes
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrClusterLaunch:
      *value = 1;
      return true;
    // no, or nothing of it
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
    case cudaDevAttrGlobalMemoryBusWidth:
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrAsyncEngineCount:
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrIntegrated:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrPciBusId:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrTccDriver:
    case cudaDevAttrIsMultiGpuBoard:
    case cudaDevAttrMultiGpuBoardGroupID:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCanFlushRemoteWrites:
    case cudaDevAttrMaxPersistingL2CacheSize:
    case cudaDevAttrMaxAccessPolicyWindowSize:
    case cudaDevAttrSparseCudaArraySupported:
    case cudaDevAttrHostRegisterReadOnlySupported:
    case cudaDevAttrTimelineSemaphoreInteropSupported:
    case cudaDevAttrGPUDirectRDMASupported:
    case cudaDevAttrGPUDirectRDMAFlushWritesOptions:
    case cudaDevAttrGPUDirectRDMAWritesOrdering:
    case cudaDevAttrMemoryPoolSupportedHandleTypes:
    case cudaDevAttrDeferredMappingCudaArraySupported:
    case cudaDevAttrIpcEventSupport:
    case cudaDevAttrNumaConfig:
    case cudaDevAttrMpsEnabled:
      *value = 0;
      return true;
    default:
      return false;
  }
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  return attribute(which, &value) ? value : 0;
}

void fill(cudaDeviceProp& p) {
  std::memset(&p, 0, sizeof p);
  std::snprintf(p.name, sizeof p.name, "%s", kEmulatorName);
  p.totalGlobalMem = Device::instance().machine.memory.capacity();
  p.sharedMemPerBlock = kSharedPerBlock;
  p.regsPerBlock = kRegistersPerBlock;
  p.warpSize = kWarpSize;
  p.memPitch = kPitchLimit;
  p.maxThreadsPerBlock = kMaxThreadsPerBlock;
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = kMaxBlockDim[i];
    p.maxGridSize[i] = kMaxGridDim[i];
  }
  p.totalConstMem = kConstantBytes;
  p.major = 9;
  p.minor = 0;
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.surfaceAlignment = 512;
  p.multiProcessorCount = emu::environment().multiprocessors();
  p.l2CacheSize = kL2Bytes;
  p.maxThreadsPerMultiProcessor = kMaxThreadsPerMultiprocessor;
  p.sharedMemPerMultiprocessor = kSharedPerMultiprocessor;
  p.sharedMemPerBlockOptin = kSharedPerBlockOptin;
  p.reservedSharedMemPerBlock = kReservedSharedPerBlock;
  p.regsPerMultiprocessor = kRegistersPerBlock;
  p.maxBlocksPerMultiProcessor = kMaxBlocksPerMultiprocessor;
  p.canMapHostMemory = attribute(cudaDevAttrCanMapHostMemory);
  p.concurrentKernels = attribute(cudaDevAttrConcurrentKernels);
  p.unifiedAddressing = attribute(cudaDevAttrUnifiedAddressing);
  p.streamPrioritiesSupported = attribute(cudaDevAttrStreamPrioritiesSupported);
  p.globalL1CacheSupported = attribute(cudaDevAttrGlobalL1CacheSupported);
  p.localL1CacheSupported = attribute(cudaDevAttrLocalL1CacheSupported);
  p.managedMemory = attribute(cudaDevAttrManagedMemory);
  p.concurrentManagedAccess = attribute(cudaDevAttrConcurrentManagedAccess);
  p.canUseHostPointerForRegisteredMem = attribute(cudaDevAttrCanUseHostPointerForRegisteredMem);
  p.cooperativeLaunch = attribute(cudaDevAttrCooperativeLaunch);
  p.hostRegisterSupported = attribute(cudaDevAttrHostRegisterSupported);
  p.memoryPoolsSupported = attribute(cudaDevAttrMemoryPoolsSupported);
  p.clusterLaunch = attribute(cudaDevAttrClusterLaunch);
}

cudaError_t check_device(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace
}  // namespace emu::runtime

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return host_call([&](Context&) { return count ? (*count = 1, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaGetDevice(int* device) {
  return host_call([&](Context&) { return device ? (*device = 0, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaSetDevice(int device) {
  return host_call([&](Context&) { return check_device(device); });
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return cudaSetDevice(device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return host_call([&](Context&) {
    if (cudaError_t error = check_device(device)) return error;
    if (!properties) return cudaErrorInvalidValue;
    fill(*properties);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return host_call([&](Context&) {
    if (cudaError_t error = check_device(device)) return error;
    return value && attribute(which, value) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  return cudaGetDevice(device);
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return host_call([&](Context&) {
    if (flags & ~static_cast<unsigned>(cudaDeviceMask)) return cudaErrorInvalidValue;
    device_flags = flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return host_call(
      [&](Context&) { return flags ? (*flags = device_flags, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return host_call([&](Context&) {
    if (cudaError_t error = check_device(device)) return error;
    if (!text || length <= static_cast<int>(std::strlen(kPciBusId))) return cudaErrorInvalidValue;
    std::strcpy(text, kPciBusId);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return host_call([&](Context&) {
    if (device != 0 || peer != 0) return cudaErrorInvalidDevice;
    return can ? (*can = 0, cudaSuccess) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return device_call([](Context&) { return cudaSuccess; });
}

// Frees what the program allocated and gives module variables their initial values. A fault remains: the manual
// asks for a new process then.
cudaError_t cudaDeviceReset() {
  return host_call([](Context& c) {
    for (Kernel& k : c.kernels) {
      k.program = nullptr;
      k.max_dynamic_shared = 0;
      k.non_portable_cluster = false;
    }
    for (auto& [host, s] : c.symbols) s.variable = nullptr;
    for (Binary& b : c.binaries) {
      if (b.module) emu::Device::instance().unload(*b.module);
      b.module = nullptr;
      b.loaded = false;
    }
    std::vector<uint64_t> addresses;
    for (auto& [address, a] : c.memory().allocations())
      if (a.name.rfind("cuda", 0) == 0) addresses.push_back(address);
    for (uint64_t address : addresses) release_allocation(c.memory(), c.memory().allocations().at(address));
    last_error = cudaSuccess;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return host_call([&](Context&) {
    if (!value) return cudaErrorInvalidValue;
    switch (limit) {
      case cudaLimitStackSize:
        *value = 1024;
        return cudaSuccess;
      case cudaLimitPrintfFifoSize:
        *value = 1 << 20;
        return cudaSuccess;
      case cudaLimitMallocHeapSize:
        *value = 8 << 20;
        return cudaSuccess;
      default:
        return cudaErrorUnsupportedLimit;
    }
  });
}

// Stack, printf buffer and heap of the emulated device grow as needed: any size will do.
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t) {
  return host_call([&](Context&) {
    switch (limit) {
      case cudaLimitStackSize:
      case cudaLimitPrintfFifoSize:
      case cudaLimitMallocHeapSize:
        return cudaSuccess;
      default:
        return cudaErrorUnsupportedLimit;
    }
  });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return host_call([&](Context&) {
    return config ? (*config = cudaFuncCachePreferNone, cudaSuccess) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return host_call([](Context&) { return cudaSuccess; });
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  return device_call([](Context&) { return cudaSuccess; });
}

cudaError_t cudaProfilerStart() {
  return host_call([](Context&) { return cudaSuccess; });
}

cudaError_t cudaProfilerStop() {
  return host_call([](Context&) { return cudaSuccess; });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return host_call(
      [&](Context&) { return version ? (*version = CUDART_VERSION, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return cudaRuntimeGetVersion(version);
}

}  // extern "C"
