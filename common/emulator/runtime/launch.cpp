// Launching kernels: <<<>>>, cudaLaunchKernel, cudaLaunchKernelEx, cooperative launches.
// The grid has run to its end when the call returns. What a kernel does wrong shows at the next call that waits.
#include <algorithm>
#include <vector>

#include "emulator/runtime/context.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/launch.hpp"
#include "emulator/runtime/limits.hpp"

namespace emu::runtime {
namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<CallConfiguration> call_configurations;

Dim3 to_dim3(dim3 d) {
  return {d.x, d.y, d.z};
}

std::string text_of(Dim3 d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

bool within(Dim3 d, const int* most) {
  return d.x >= 1 && d.y >= 1 && d.z >= 1 && d.x <= static_cast<uint32_t>(most[0]) &&
         d.y <= static_cast<uint32_t>(most[1]) && d.z <= static_cast<uint32_t>(most[2]);
}

// The codes are those of an H200 with toolkit 13.0 (checks/emulator/programs/api_errors.cu asks it).
cudaError_t check_shape(const std::string& what, const LaunchConfig& config) {
  if (!within(config.grid, kMaxGridDim))
    return explain(config.grid.count() == 0 ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue, what,
                   "the grid " + text_of(config.grid) + " is not possible",
                   "use 1 to 2147483647 blocks in x, 1 to 65535 in y and z");
  if (!within(config.block, kMaxBlockDim) || config.block.count() > kMaxThreadsPerBlock)
    return explain(cudaErrorInvalidValue, what, "the block " + text_of(config.block) + " is not possible",
                   "use 1 to 1024 threads in all, at most 64 in z");
  return cudaSuccess;
}

cudaError_t check_threads(const std::string& what, const Program& p, const LaunchConfig& config) {
  Dim3 b = config.block;
  uint64_t most = static_cast<uint64_t>(p.max_threads[0]) * p.max_threads[1] * p.max_threads[2];
  if (most && b.count() > most)
    return explain(cudaErrorInvalidValue, what,
                   "the block has " + std::to_string(b.count()) +
                       " threads, but the kernel is compiled for at most " + std::to_string(most) +
                       " (__launch_bounds__)",
                   "launch fewer threads, or raise the bound");
  const unsigned* r = p.required_threads;
  if (r[0] && (b.x != r[0] || b.y != std::max(1u, r[1]) || b.z != std::max(1u, r[2])))
    return explain(cudaErrorInvalidValue, what,
                   "the block is " + text_of(b) + ", but the kernel is compiled for exactly " +
                       text_of({r[0], std::max(1u, r[1]), std::max(1u, r[2])}),
                   "launch the block size the kernel requires");
  return cudaSuccess;
}

cudaError_t check_shared(const std::string& what, const Kernel& kernel, size_t dynamic) {
  size_t fixed = kernel.program->shared_static_bytes;
  size_t allowed = kernel.max_dynamic_shared;
  if (!allowed && fixed < kSharedPerBlock) allowed = kSharedPerBlock - fixed;
  if (dynamic <= allowed) return cudaSuccess;
  bool possible = dynamic + fixed <= kSharedPerBlockOptin;
  return explain(
      cudaErrorInvalidValue, what,
      std::to_string(dynamic) + " bytes of dynamic shared memory are asked for, and " +
          std::to_string(allowed) + " are allowed (the kernel has " + std::to_string(fixed) +
          " bytes of its own)",
      possible ? "call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first"
               : "a block can have 232448 bytes (227 KiB): use fewer stages or smaller tiles");
}

cudaError_t check_cluster(const std::string& what, const Kernel& kernel, LaunchConfig& config) {
  const unsigned* required = kernel.program->cluster;
  Dim3& c = config.cluster;
  bool given = c.count() > 0;
  if (required[0]) {
    Dim3 r{required[0], std::max(1u, required[1]), std::max(1u, required[2])};
    if (given && (c.x != r.x || c.y != r.y || c.z != r.z))
      return explain(cudaErrorInvalidClusterSize, what,
                     "the launch asks for clusters of " + text_of(c) + ", the kernel is compiled for " +
                         text_of(r) + " (__cluster_dims__)",
                     "launch without the attribute, or make both equal");
    c = r;
  } else if (!given) {
    if (kernel.program->explicit_cluster)
      return explain(cudaErrorInvalidClusterSize, what,
                     "the kernel must be launched with a cluster dimension",
                     "use cudaLaunchKernelEx with cudaLaunchAttributeClusterDimension");
    c = Dim3{};
  }
  uint64_t most = kernel.non_portable_cluster ? kMaxClusterSize : kPortableClusterSize;
  if (c.count() > most)
    return explain(
        cudaErrorInvalidClusterSize, what,
        "a cluster of " + text_of(c) + " has more than " + std::to_string(most) + " blocks",
        "use a smaller cluster; up to 16 blocks after cudaFuncAttributeNonPortableClusterSizeAllowed");
  if (config.grid.x % c.x || config.grid.y % c.y || config.grid.z % c.z)
    return explain(cudaErrorInvalidClusterSize, what,
                   "the grid " + text_of(config.grid) + " is no multiple of the cluster " + text_of(c),
                   "round the grid up to whole clusters");
  return cudaSuccess;
}

cudaError_t check_cooperative(const std::string& what, const Kernel& kernel, const LaunchConfig& config) {
  if (!config.cooperative) return cudaSuccess;
  uint64_t most =
      static_cast<uint64_t>(kMultiprocessors) *
      blocks_per_multiprocessor(kernel, static_cast<int>(config.block.count()), config.dynamic_shared);
  if (config.grid.count() <= most) return cudaSuccess;
  return explain(cudaErrorCooperativeLaunchTooLarge, what,
                 std::to_string(config.grid.count()) + " blocks must all be resident, and " +
                     std::to_string(most) + " fit on the device",
                 "launch at most cudaOccupancyMaxActiveBlocksPerMultiprocessor x multiprocessors blocks");
}

cudaError_t run(Context& context, const void* function, LaunchConfig config, size_t shared, void* const* args,
                cudaStream_t stream) {
  Kernel* kernel = context.find_kernel(function);
  if (!kernel || !kernel->program) return cudaErrorInvalidDeviceFunction;
  if (!valid_stream(stream)) return cudaErrorInvalidResourceHandle;
  std::string what = "launch of " + readable(kernel->name);
  if (cudaError_t e = check_shape(what, config)) return e;
  if (cudaError_t e = check_threads(what, *kernel->program, config)) return e;
  if (cudaError_t e = check_shared(what, *kernel, shared)) return e;
  config.dynamic_shared = static_cast<uint32_t>(shared);
  if (cudaError_t e = check_cluster(what, *kernel, config)) return e;
  if (cudaError_t e = check_cooperative(what, *kernel, config)) return e;
  if (!args && !kernel->program->params.empty()) return cudaErrorInvalidValue;
  config.early =
      config.early && context.launch_call + 1 == context.device_calls && context.launch_stream == stream;
  context.launch_call = context.device_calls;
  context.launch_stream = stream;
  try {
    Device::instance().launch(*kernel->program, std::move(config), args);
  } catch (const Fault& fault) {
    Finding finding = fault.finding();
    if (finding.kernel.empty()) finding.kernel = kernel->name;
    context.fault(finding);
  }
  return cudaSuccess;
}

// device_call for launches: a fault that no call has shown yet ends this launch, too.
cudaError_t launch(const void* function, const LaunchConfig& config, size_t shared, void* const* args,
                   cudaStream_t stream) {
  return device_call([&](Context& c) { return run(c, function, config, shared, args, stream); });
}

LaunchConfig shape(dim3 grid, dim3 block) {
  LaunchConfig config;
  config.grid = to_dim3(grid);
  config.block = to_dim3(block);
  config.cluster = {0, 0, 0};
  return config;
}

// cudaLaunchAttributePreferredSharedMemoryCarveout, which the headers of CUDA 12.4 do not have yet.
constexpr int kAttributeCarveout = 14;

cudaError_t apply(const cudaLaunchAttribute& a, LaunchConfig& config) {
  switch (static_cast<int>(a.id)) {
    case cudaLaunchAttributeClusterDimension:
      config.cluster = {a.val.clusterDim.x, a.val.clusterDim.y, a.val.clusterDim.z};
      return config.cluster.count() ? cudaSuccess : cudaErrorInvalidValue;
    case cudaLaunchAttributeCooperative:
      config.cooperative = a.val.cooperative != 0;
      return cudaSuccess;
    case cudaLaunchAttributeProgrammaticStreamSerialization:
      config.early = a.val.programmaticStreamSerializationAllowed != 0;
      return cudaSuccess;
    // Grids run one after the other, so priority and cache hints change nothing that a program can see.
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributeMemSyncDomainMap:
    case kAttributeCarveout:
      return cudaSuccess;
    case cudaLaunchAttributeProgrammaticEvent:
      return cudaEventRecord(a.val.programmaticEvent.event, nullptr);
    case cudaLaunchAttributeLaunchCompletionEvent:
      return cudaEventRecord(a.val.launchCompletionEvent.event, nullptr);
    default:
      return explain(cudaErrorNotSupported, "cudaLaunchKernelEx",
                     "launch attribute " + std::to_string(static_cast<int>(a.id)) + " is not emulated",
                     "launch without it");
  }
}

}  // namespace

int blocks_per_multiprocessor(const Kernel& kernel, int threads, size_t dynamic_shared) {
  if (threads < 1 || threads > kMaxThreadsPerBlock) return 0;
  int warps = (threads + kWarpSize - 1) / kWarpSize;
  int by_threads = kMaxThreadsPerMultiprocessor / kWarpSize / warps;
  size_t shared = kernel.program->shared_static_bytes + dynamic_shared;
  if (shared > kSharedPerBlockOptin) return 0;
  shared = (shared + kSharedUnit - 1) / kSharedUnit * kSharedUnit + kReservedSharedPerBlock;
  int by_shared = static_cast<int>(kSharedPerMultiprocessor / shared);
  return std::min({by_threads, by_shared, kMaxBlocksPerMultiprocessor});
}

}  // namespace emu::runtime

using namespace emu::runtime;

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  call_configurations.push_back({grid, block, shared, static_cast<cudaStream_t>(stream)});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (call_configurations.empty()) return remember(cudaErrorMissingConfiguration);
  const CallConfiguration& c = call_configurations.back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  call_configurations.pop_back();
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  Kernel* k = context.find_kernel(function);
  if (!k) return remember(cudaErrorInvalidDeviceFunction);
  *kernel = reinterpret_cast<cudaKernel_t>(k);
  return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return kernel ? __cudaGetKernel(kernel, function) : remember(cudaErrorInvalidValue);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return cudaGetKernel(reinterpret_cast<cudaKernel_t*>(function), symbol);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared,
                               cudaStream_t stream) {
  return launch(kernel, shape(grid, block), shared, args, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared,
                                    cudaStream_t stream) {
  return launch(kernel, shape(grid, block), shared, args, stream);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, size_t shared,
                             cudaStream_t stream) {
  return launch(function, shape(grid, block), shared, args, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** args,
                                        size_t shared, cudaStream_t stream) {
  emu::LaunchConfig config = shape(grid, block);
  config.cooperative = true;
  return launch(function, config, shared, args, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* function, void** args) {
  if (!c || (c->numAttrs && !c->attrs)) return remember(cudaErrorInvalidValue);
  emu::LaunchConfig config = shape(c->gridDim, c->blockDim);
  for (unsigned i = 0; i < c->numAttrs; ++i)
    if (cudaError_t error = apply(c->attrs[i], config)) return remember(error);
  return launch(function, config, c->dynamicSmemBytes, args, c->stream);
}

}  // extern "C"

EMU_PER_THREAD(cudaLaunchKernel, _ptsz)
EMU_PER_THREAD(cudaLaunchCooperativeKernel, _ptsz)
EMU_PER_THREAD(cudaLaunchKernelExC, _ptsz)
