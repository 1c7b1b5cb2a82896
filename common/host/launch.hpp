// Programmatic dependent launch: a kernel may set itself up while the kernel before it on the stream is still running.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "host/cuda_check.hpp"

namespace lab {

// kernel<<<ctas, threads, smem_bytes>>>(arguments...) on the default stream, as a secondary kernel: its CTAs may start as soon
// as the CTAs of the primary kernel, the one before it, allow that (ptx/griddepcontrol.cuh). The kernel must execute
// griddepcontrol.wait before it touches global memory. Throws std::runtime_error when the launch is refused.
template <class... Parameters>
void launch_programmatic_dependent(void (*kernel)(Parameters...), int ctas, int threads, size_t smem_bytes,
                                   const Parameters&... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = smem_bytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cuda_check(cudaLaunchKernelEx(&config, kernel, arguments...), "launch the kernel");
}

}  // namespace lab
