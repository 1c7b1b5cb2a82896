// What the driver's functions share. A CUresult has the number of the cudaError_t that means the same.
#pragma once

#include <cuda.h>

#include "emulator/runtime/context.hpp"

namespace emu::runtime {

inline void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

// The driver's functions answer by return value alone: cudaGetLastError does not see them.
template <class F>
CUresult apart(F&& f) {
  const cudaError_t before = last_error;
  const cudaError_t error = f();
  last_error = before;
  return static_cast<CUresult>(error);
}

}  // namespace emu::runtime
