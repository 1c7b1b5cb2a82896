// The type of a bf16 in memory, on both sides of a launch.
#pragma once

#include <cstdint>

namespace lab {

// Nothing here computes with one: the tensor core does, and ptx/cvt.cuh makes them of floats.
struct bf16 {
  uint16_t bits;
};

}  // namespace lab
