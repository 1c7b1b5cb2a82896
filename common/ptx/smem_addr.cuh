// A shared-memory pointer as the 32-bit address that the .shared forms of PTX take.
//
// Every wrapper in this folder is one PTX instruction form: its name is the instruction's, dots to
// underscores, and its comment holds the syntax line, what it does, the first architecture that has it and
// the section of the PTX ISA (numbers of version 9.1). They hold no policy: loops, stages and roles belong
// to the kernels.
#pragma once

#include <cstdint>

namespace ptx {

// cvta.to.shared.u64, cvt.u32.u64
// Generic address -> byte address in the executing CTA's shared window. p must point into shared memory; for
// any other pointer the result is meaningless. (PTX §9.7.9.20)
__device__ __forceinline__ uint32_t smem_addr(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

}  // namespace ptx
