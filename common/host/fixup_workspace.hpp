// The memory behind a Fixup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "emulator/names.hpp"
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
    // A row is a CTA, as a report of the emulator says it.
    emu_name_matrix(partials_.get(), "fixup.partials", static_cast<uint64_t>(threads) * registers / 4);
    emu_name_matrix(flags_.get(), "fixup.flags", static_cast<uint64_t>(threads) / 32);
  }
  Fixup get() const { return {partials_.get(), flags_.get()}; }

 private:
  std::shared_ptr<float4> partials_;
  std::shared_ptr<uint32_t> flags_;
};

}  // namespace lab
