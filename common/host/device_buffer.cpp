#include "host/device_buffer.hpp"

#include <string>

#include "host/cuda_check.hpp"

namespace lab {

void* allocate_on_device(size_t bytes) {
  void* memory = nullptr;
  cuda_check(cudaMalloc(&memory, bytes),
             ("allocate " + std::to_string(bytes) + " bytes on the device").c_str());
  return memory;
}

}  // namespace lab
