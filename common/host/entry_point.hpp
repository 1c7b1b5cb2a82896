// Looking up a function of the driver through the runtime, as the toolkit at hand spells it.
#pragma once

#include <cuda_runtime_api.h>

namespace lab {

// A name that the driver does not have is no error: *function is null and *found says so.
inline cudaError_t driver_entry_point(const char* name, void** function,
                                      cudaDriverEntryPointQueryResult* found) {
#if CUDART_VERSION >= 12050
  return cudaGetDriverEntryPointByVersion(name, function, 12000, cudaEnableDefault, found);
#else
  return cudaGetDriverEntryPoint(name, function, cudaEnableDefault, found);
#endif
}

}  // namespace lab
