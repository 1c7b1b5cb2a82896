// Launching kernels: <<<>>>, cudaLaunchKernel, cudaLaunchKernelEx, cooperative launches.
// The grid has run to its end when the call returns, or waits for the host (background.hpp). What a kernel does wrong shows at the next call that waits.
#include <algorithm>
#include <vector>

#include "emulator/runtime/context.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/launch.hpp"
#include "rules/launch.hpp"

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

cudaError_t code_of(rules::LaunchError error) {
  switch (error) {
    case rules::LaunchError::invalid_cluster_size:
      return cudaErrorInvalidClusterSize;
    case rules::LaunchError::cooperative_too_large:
      return cudaErrorCooperativeLaunchTooLarge;
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t check(const Kernel& kernel, const LaunchConfig& config, size_t dynamic) {
  rules::LaunchArguments a = launch_arguments(*kernel.program, config);
  a.dynamic_shared = dynamic;
  a.allowed_dynamic_shared = kernel.max_dynamic_shared;
  a.non_portable_cluster = kernel.non_portable_cluster;
  const std::vector<rules::BrokenLaunch> broken = rules::broken_rules(a);
  if (broken.empty()) return cudaSuccess;
  return explain(code_of(broken[0].error), "launch of " + readable(kernel.name),
                 broken[0].what + ": " + broken[0].rule, broken[0].fix);
}

cudaError_t run(Context& context, const void* function, LaunchConfig config, size_t shared, void* const* args,
                cudaStream_t stream) {
  Kernel* kernel = context.find_kernel(function);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  if (!kernel->program) return context.refuse(*kernel, true);
  if (!valid_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (cudaError_t e = check(*kernel, config, shared)) return e;
  config.dynamic_shared = static_cast<uint32_t>(shared);
  if (config.cluster.count() == 0) {
    const unsigned* required = kernel->program->cluster;
    config.cluster = {std::max(1u, required[0]), std::max(1u, required[1]), std::max(1u, required[2])};
  }
  if (!args && !kernel->program->params.empty()) return cudaErrorInvalidValue;
  config.early =
      config.early && context.launch_call + 1 == context.device_calls && context.launch_stream == stream;
  context.launch_call = context.device_calls;
  context.launch_stream = stream;
  context.launch(*kernel, std::move(config), args);
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
  return rules::blocks_per_multiprocessor(static_cast<uint64_t>(std::max(threads, 0)),
                                          kernel.program->shared_static_bytes + dynamic_shared);
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
