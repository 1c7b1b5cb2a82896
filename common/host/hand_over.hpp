// The memory through which CTAs hand unfinished sums on (kernel/hand_over.cuh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "kernel/hand_over.cuh"

namespace lab {

// The memory of a HandOver for `ctas` CTAs of `threads` threads that hand on `registers` floats each; none for 0 CTAs. Copies
// share it. Throws std::runtime_error when a CUDA call fails.
class SharedHandOver {
 public:
  SharedHandOver(int ctas, int threads, int registers) {
    if (ctas == 0) return;
    const size_t flags = static_cast<size_t>(ctas) * threads / 32;
    sums_ = device_buffer<float4>(static_cast<size_t>(ctas) * threads * registers / 4);
    ready_ = device_buffer<uint32_t>(flags);
    cuda_check(cudaMemset(ready_.get(), 0, flags * sizeof(uint32_t)), "clear the flags");
  }
  HandOver get() const { return {sums_.get(), ready_.get()}; }

 private:
  std::shared_ptr<float4> sums_;
  std::shared_ptr<uint32_t> ready_;
};

}  // namespace lab
