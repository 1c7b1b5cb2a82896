// Device memory with an owner.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

namespace lab {

// Throws std::runtime_error when the memory cannot be had.
void* allocate_on_device(size_t bytes);

// `count` elements on the device, freed when the last copy of the pointer goes. Contents are undefined.
template <class T>
std::shared_ptr<T> device_buffer(size_t count) {
  return std::shared_ptr<T>(static_cast<T*>(allocate_on_device(count * sizeof(T))),
                            [](T* p) { cudaFree(p); });
}

}  // namespace lab
