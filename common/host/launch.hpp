// Launching a kernel that sets itself up while the kernel before it is still running (programmatic dependent launch).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "host/cuda_check.hpp"

namespace lab {

// kernel<<<ctas, threads, smem_bytes>>>(arguments...) on the default stream, but the CTAs may start as soon as those of the
// kernel in front have allowed it (ptx/griddepcontrol.cuh). The kernel must execute griddepcontrol.wait before it touches
// global memory. Throws std::runtime_error when the launch is refused.
template <class... Parameters>
void launch_overlapping(void (*kernel)(Parameters...), int ctas, int threads, size_t smem_bytes,
                        const Parameters&... arguments) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = smem_bytes;
  config.attrs = &overlap;
  config.numAttrs = 1;
  cuda_check(cudaLaunchKernelEx(&config, kernel, arguments...), "launch the kernel");
}

}  // namespace lab
