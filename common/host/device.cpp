#include "host/device.hpp"

#include <cuda_runtime_api.h>

#include "host/cuda_check.hpp"
#include "rules/limits.hpp"

namespace lab {
namespace {
int multiprocessor_limit = 0;  // 0: none
}

void limit_multiprocessors(int count) {
  multiprocessor_limit = count;
}

Device current_device() {
  const std::string advice = "; the program of the same name ending in .emu runs without a GPU";
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    throw NoDevice(std::string("no usable GPU: ") + cudaGetErrorString(status) + advice);
  }
  if (count == 0) throw NoDevice("no usable GPU: the driver lists none" + advice);
  int device = 0;
  cudaDeviceProp properties;
  cuda_check(cudaGetDevice(&device), "find the current device");
  cuda_check(cudaGetDeviceProperties(&properties, device), "read the device's properties");
  if (properties.major != 9 || properties.minor != 0) {
    throw NoDevice(std::string(properties.name) + " has compute capability " +
                   std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                   ", the kernels need exactly 9.0 (Hopper)" + advice);
  }
  return {properties.name, std::string(properties.name) == rules::kEmulatorName,
          static_cast<size_t>(properties.l2CacheSize),
          multiprocessor_limit > 0 ? multiprocessor_limit : properties.multiProcessorCount};
}

}  // namespace lab
