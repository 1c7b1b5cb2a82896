// setmaxnreg: warpgroups of a CTA hand registers to each other.
// ptxas obeys only when the kernel's register count at entry is bounded (__launch_bounds__ with a minimum of
// CTAs); otherwise it ignores the instruction and says so in warning C7508. (PTX §9.7.19.5)
#pragma once

namespace ptx {

// setmaxnreg.dec.sync.aligned.u32 kRegisters;
// Gives back all but kRegisters (a multiple of 8, 24 to 256) registers of each thread. Executed by all warps of a
// warpgroup. (sm_90a)
template <int kRegisters>
__device__ __forceinline__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(kRegisters));
}

// setmaxnreg.inc.sync.aligned.u32 kRegisters;
// Takes registers, up to kRegisters per thread, from those that the CTA's other warps have given back; waits until
// there are enough. Executed by all warps of a warpgroup. (sm_90a)
template <int kRegisters>
__device__ __forceinline__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(kRegisters));
}

}  // namespace ptx
