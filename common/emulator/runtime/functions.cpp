// What a program may ask about its kernels, and set: attributes and occupancy.
#include "emulator/runtime/environment.hpp"
#include "emulator/runtime/launch.hpp"
#include "rules/limits.hpp"

using namespace emu::runtime;
using namespace rules;

namespace {

// f(kernel) for a kernel whose module is loaded.
template <class F>
cudaError_t with_kernel(const void* function, F&& f) {
  return device_call([&](Context& c) -> cudaError_t {
    Kernel* kernel = c.find_kernel(function);
    if (!kernel) return cudaErrorInvalidDeviceFunction;
    return kernel->program ? f(*kernel) : c.refuse(*kernel, false);
  });
}

int max_threads(const emu::Program& p) {
  const unsigned* m = p.required_threads[0] ? p.required_threads : p.max_threads;
  if (!m[0]) return kMaxThreadsPerBlock;
  return static_cast<int>(m[0] * std::max(1u, m[1]) * std::max(1u, m[2]));
}

int allowed_dynamic(const Kernel& k) {
  int fixed = static_cast<int>(k.program->shared_static_bytes);
  return k.max_dynamic_shared ? static_cast<int>(k.max_dynamic_shared) : std::max(0, kSharedPerBlock - fixed);
}

cudaError_t set_attribute(Kernel& k, cudaFuncAttribute attribute, int value) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize: {
      int fixed = static_cast<int>(k.program->shared_static_bytes);
      if (value < 0 || value > kSharedPerBlockOptin - fixed)
        return explain(cudaErrorInvalidValue,
                       "cudaFuncSetAttribute(" + readable(k.name) + ", MaxDynamicSharedMemorySize)",
                       std::to_string(value) + " bytes are not possible beside " + std::to_string(fixed) +
                           " bytes of static shared memory",
                       "a block has " + std::to_string(kSharedPerBlockOptin) + " bytes (227 KiB) in all");
      k.max_dynamic_shared = static_cast<uint32_t>(value);
      return cudaSuccess;
    }
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return cudaErrorInvalidValue;
      k.carveout = value;
      return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      k.non_portable_cluster = value != 0;
      return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      k.cluster_policy = static_cast<cudaClusterSchedulingPolicy>(value);
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;  // the other attributes can only be read, or are the compiler's
  }
}

cudaError_t occupancy(int* blocks, const void* function, int threads, size_t dynamic) {
  return with_kernel(function, [&](Kernel& k) {
    if (!blocks || threads < 1) return cudaErrorInvalidValue;
    *blocks = threads > max_threads(*k.program) ? 0 : blocks_per_multiprocessor(k, threads, dynamic);
    return cudaSuccess;
  });
}

emu::Dim3 cluster_of(const Kernel& k, const cudaLaunchConfig_t& config) {
  const unsigned* c = k.program->cluster;
  if (c[0]) return {c[0], std::max(1u, c[1]), std::max(1u, c[2])};
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
      auto& d = config.attrs[i].val.clusterDim;
      return {d.x, d.y, d.z};
    }
  return {};
}

}  // namespace

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_kernel(function, [&](Kernel& k) {
    if (!attributes) return cudaErrorInvalidValue;
    const emu::Program& p = *k.program;
    cudaFuncAttributes a = {};
    a.sharedSizeBytes = p.shared_static_bytes;
    a.constSizeBytes = k.binary->module->constant_bytes();
    a.localSizeBytes = p.functions.empty() ? 0 : p.functions[0].local_bytes;
    a.maxThreadsPerBlock = max_threads(p);
    a.numRegs = 0;  // ptxas assigns registers; PTX does not say how many
    a.ptxVersion = 90;
    a.binaryVersion = 90;
    a.maxDynamicSharedSizeBytes = allowed_dynamic(k);
    a.preferredShmemCarveout = k.carveout;
    a.clusterDimMustBeSet = p.explicit_cluster;
    a.requiredClusterWidth = static_cast<int>(p.cluster[0]);
    a.requiredClusterHeight = static_cast<int>(p.cluster[1]);
    a.requiredClusterDepth = static_cast<int>(p.cluster[2]);
    a.clusterSchedulingPolicyPreference = k.cluster_policy;
    a.nonPortableClusterSizeAllowed = k.non_portable_cluster;
    *attributes = a;
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_kernel(function, [&](Kernel& k) { return set_attribute(k, attribute, value); });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                                            int device) {
  if (device != 0) return remember(cudaErrorInvalidDevice);
  return cudaFuncSetAttribute(kernel, attribute, value);
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return with_kernel(function, [](Kernel&) { return cudaSuccess; });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return with_kernel(function, [&](Kernel& k) {
    if (!name) return cudaErrorInvalidValue;
    *name = k.name.c_str();
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  return with_kernel(function, [&](Kernel& k) {
    if (!offset || index >= k.program->params.size()) return cudaErrorInvalidValue;
    *offset = k.program->params[index].offset;
    if (bytes) *bytes = k.program->params[index].bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t dynamic) {
  return occupancy(blocks, function, threads, dynamic);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                   int threads, size_t dynamic,
                                                                   unsigned int flags) {
  if (flags & ~static_cast<unsigned>(cudaOccupancyDisableCachingOverride))
    return remember(cudaErrorInvalidValue);
  return occupancy(blocks, function, threads, dynamic);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                      int threads) {
  return with_kernel(function, [&](Kernel& k) {
    if (!bytes || blocks < 1 || threads < 1) return cudaErrorInvalidValue;
    int each = kSharedPerMultiprocessor / blocks / kSharedUnit * kSharedUnit - kReservedSharedPerBlock -
               static_cast<int>(k.program->shared_static_bytes);
    *bytes = static_cast<size_t>(std::max(0, std::min(each, allowed_dynamic(k))));
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  return with_kernel(function, [&](Kernel& k) {
    if (!size || !config) return cudaErrorInvalidValue;
    *size = k.non_portable_cluster ? kMaxClusterSize : kPortableClusterSize;
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return with_kernel(function, [&](Kernel& k) {
    if (!clusters || !config) return cudaErrorInvalidValue;
    dim3 b = config->blockDim;
    int resident = blocks_per_multiprocessor(k, static_cast<int>(b.x * b.y * b.z), config->dynamicSmemBytes);
    uint64_t size = cluster_of(k, *config).count();
    if (!size) return cudaErrorInvalidClusterSize;
    // A cluster stays inside a group of 16 multiprocessors.
    const int all = emu::environment().multiprocessors();
    int groups = all / kCoresPerCluster, rest = all % kCoresPerCluster;
    auto fit = [&](int multiprocessors) {
      return static_cast<int>(static_cast<uint64_t>(multiprocessors) * resident / size);
    };
    *clusters = groups * fit(kCoresPerCluster) + fit(rest);
    return cudaSuccess;
  });
}

}  // extern "C"
