// What the GPU was doing while it was timed: clock and power, from the driver's management library (NVML), which
// is loaded when it is asked for; nothing links it.
#pragma once

namespace lab {

// A value that could not be read is negative.
struct GpuState {
  int sm_mhz = -1;
  double watts = -1;
};

// The state of the current CUDA device, now. Takes up to some milliseconds.
GpuState gpu_state();

}  // namespace lab
