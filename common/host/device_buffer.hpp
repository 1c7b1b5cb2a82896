// Device memory with an owner.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <string>

#include "host/cuda_check.hpp"

namespace lab {

// `count` elements on the device, freed when the last copy of the pointer goes. Contents are undefined.
// Throws std::runtime_error when the memory cannot be had.
template <class T>
std::shared_ptr<T> device_buffer(size_t count) {
  void* memory = nullptr;
  const std::string what = "allocate " + std::to_string(count * sizeof(T)) + " bytes on the device";
  cuda_check(cudaMalloc(&memory, count * sizeof(T)), what.c_str());
  return std::shared_ptr<T>(static_cast<T*>(memory), [](T* p) { cudaFree(p); });
}

}  // namespace lab
