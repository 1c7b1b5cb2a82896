#include "host/cuda_check.hpp"

#include <stdexcept>
#include <string>

namespace lab {

void cuda_check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string("cannot ") + what + ": " + cudaGetErrorName(status) + " (" +
                           cudaGetErrorString(status) + ")");
}

}  // namespace lab
