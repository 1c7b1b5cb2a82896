// griddepcontrol: two kernels that follow each other on a stream may overlap at the seam. It takes effect when the second
// is launched with cudaLaunchAttributeProgrammaticStreamSerialization; otherwise both instructions do nothing.
// (PTX §9.7.13.14, both sm_90)
#pragma once

namespace ptx {

// griddepcontrol.launch_dependents;
// The next kernel may start once every CTA of this grid has executed this, or has ended. A promise about time only: what
// this grid writes is visible to the next one after its griddepcontrol_wait.
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
}

// griddepcontrol.wait;
// Waits until the grids in front have ended and what they wrote is visible. Before it a kernel may touch nothing that one
// of them reads or writes.
__device__ __forceinline__ void griddepcontrol_wait() {
  asm volatile("griddepcontrol.wait;" : : : "memory");
}

}  // namespace ptx
