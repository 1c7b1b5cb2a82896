// elect.sync: choose one thread of a warp.
#pragma once

#include <cstdint>

namespace ptx {

// elect.sync _|p, 0xffffffff;
// True in exactly one thread of the warp, the same one at every call. All 32 threads execute it together.
// (sm_90)
__device__ __forceinline__ bool elect_sync() {
  uint32_t elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(elected)
      :
      : "memory");
  return elected != 0;
}

}  // namespace ptx
