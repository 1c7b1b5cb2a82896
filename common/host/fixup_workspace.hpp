// The memory behind a Fixup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "kernel/fixup.cuh"

namespace lab {

// Room for `ctas` CTAs in which `threads` threads store `registers` floats each; none for 0 CTAs. Copies share the memory.
// Throws std::runtime_error when a CUDA call fails.
class FixupWorkspace {
 public:
  FixupWorkspace(int ctas, int threads, int registers) {
    if (ctas == 0) return;
    const size_t flags = static_cast<size_t>(ctas) * threads / 32;
    partials_ = device_buffer<float4>(static_cast<size_t>(ctas) * threads * registers / 4);
    flags_ = device_buffer<uint32_t>(flags);
    cuda_check(cudaMemset(flags_.get(), 0, flags * sizeof(uint32_t)), "clear the flags of the fix-up");
  }
  Fixup get() const { return {partials_.get(), flags_.get()}; }

 private:
  std::shared_ptr<float4> partials_;
  std::shared_ptr<uint32_t> flags_;
};

}  // namespace lab
