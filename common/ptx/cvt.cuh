// Conversions of numbers. (PTX §9.7.9.21)
#pragma once

#include <cstdint>

namespace ptx {

// cvt.rn.bf16x2.f32 d, a, b;
// Two floats as two bf16, rounded to nearest even: a in the upper half, b in the lower. volatile: where the results are needed
// in one of two branches, converting before the branch keeps more registers alive than a kernel may have. (sm_80)
__device__ __forceinline__ uint32_t cvt_rn_bf16x2_f32(float a, float b) {
  uint32_t d;
  asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));
  return d;
}

}  // namespace ptx
