// CUDA calls that report their failure.
#pragma once

#include <cuda_runtime_api.h>

namespace lab {

// Throws std::runtime_error "<what>: <CUDA's error name and text>" unless status is cudaSuccess.
// what: what was being done, as in "allocate 1024 bytes on the device".
void cuda_check(cudaError_t status, const char* what);

}  // namespace lab
