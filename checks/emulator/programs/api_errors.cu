// Mistakes in runtime calls, none of which reaches a kernel: both devices must answer with the same code.
#include <cstring>

#include "host/entry_point.hpp"
#include "program.cuh"

__global__ void plain(int* p) {
  if (p) *p = 1;
}
__global__ void __launch_bounds__(64) bounded(int* p) {
  if (p) *p = 2;
}
__global__ void __cluster_dims__(2, 1, 1) clustered(int* p) {
  if (p) *p = 3;
}
__device__ int variable[4];

// The code of a launch, and of what cudaGetLastError says about it.
cudaError_t launched() {
  return cudaGetLastError();
}

void check(const char* what, cudaError_t got, cudaError_t want) {
  if (got != want) {
    std::printf("%s: got %s, want %s\n", what, cudaGetErrorName(got), cudaGetErrorName(want));
    ++failures();
  }
  cudaGetLastError();
}

cudaError_t with_cluster(void (*kernel)(int*), unsigned grid, unsigned cluster) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = 32;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, static_cast<int*>(nullptr));
}

int main() {
  int* none = nullptr;
  plain<<<0, 32>>>(none);
  // Machines with the same GPU and toolkit have answered with either.
  const cudaError_t no_grid = launched();
  check("grid of 0", no_grid,
        no_grid == cudaErrorInvalidValue ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration);
  plain<<<1, 0>>>(none);
  check("block of 0", launched(), cudaErrorInvalidValue);
  plain<<<1, 1025>>>(none);
  check("block of 1025", launched(), cudaErrorInvalidValue);
  plain<<<1, dim3(1, 1, 65)>>>(none);
  check("block 65 deep", launched(), cudaErrorInvalidValue);
  plain<<<dim3(1, 65536), 1>>>(none);
  check("grid 65536 high", launched(), cudaErrorInvalidValue);
  plain<<<1, 32, 49153>>>(none);
  check("49153 bytes of shared memory", launched(), cudaErrorInvalidValue);
  check("asking for 227 KiB and 1 byte",
        cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449),
        cudaErrorInvalidValue);
  check("asking for 227 KiB",
        cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448), cudaSuccess);
  plain<<<1, 32, 232448>>>(none);
  check("227 KiB of shared memory", launched(), cudaSuccess);
  bounded<<<1, 65>>>(none);
  check("more threads than __launch_bounds__", launched(), cudaErrorInvalidValue);
  clustered<<<3, 32>>>(none);
  check("grid of 3 in clusters of 2", launched(), cudaErrorInvalidClusterSize);
  check("cluster of 4 for a kernel with clusters of 2", with_cluster(clustered, 4, 4),
        cudaErrorInvalidClusterSize);
  check("cluster of 16 without asking", with_cluster(plain, 16, 16), cudaErrorInvalidClusterSize);
  check("cluster of 8", with_cluster(plain, 16, 8), cudaSuccess);

  int *a = nullptr, *b = nullptr, host[64] = {};
  OK(cudaMalloc(&a, 256));
  OK(cudaMalloc(&b, 256));
  check("no place for the pointer", cudaMalloc(static_cast<int**>(nullptr), 4), cudaErrorInvalidValue);
  check("an impossible size", cudaMalloc(&b, size_t{1} << 50), cudaErrorMemoryAllocation);
  check("a copy in a direction that is none", cudaMemcpy(a, host, 4, static_cast<cudaMemcpyKind>(7)),
        cudaErrorInvalidMemcpyDirection);
  check("nothing to copy", cudaMemcpy(a, host, 0, cudaMemcpyHostToDevice), cudaSuccess);
  check("rows wider than the pitch", cudaMemcpy2D(host, 4, a, 8, 8, 2, cudaMemcpyDeviceToHost),
        cudaErrorInvalidPitchValue);
  check("past the end of a symbol", cudaMemcpyToSymbol(variable, host, 16, 4), cudaErrorInvalidValue);
  check("no symbol", cudaMemcpyToSymbol(reinterpret_cast<const void*>(host), host, 4),
        cudaErrorInvalidSymbol);
  OK(cudaFree(a));
  check("memory given back twice", cudaFree(a), cudaErrorInvalidValue);
  check("freeing nothing", cudaFree(nullptr), cudaSuccess);

  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  float ms;
  check("times of events that were not recorded", cudaEventElapsedTime(&ms, begin, end),
        cudaErrorInvalidResourceHandle);
  check("a device that is not there", cudaSetDevice(1000), cudaErrorInvalidDevice);
  cudaDeviceProp properties;
  check("properties of a device that is not there", cudaGetDeviceProperties(&properties, 1000),
        cudaErrorInvalidDevice);
  int value = 0;
  check("an attribute that is none", cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(250), 0),
        cudaErrorInvalidValue);
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, bounded));
  expect("maxThreadsPerBlock", 0, attributes.maxThreadsPerBlock, 64);
  void* entry = &value;
  cudaDriverEntryPointQueryResult found;
  check("a driver call that does not exist", lab::driver_entry_point("cuNoSuchCall", &entry, &found),
        cudaSuccess);
  expect("not found", 0, found == cudaDriverEntryPointSymbolNotFound && entry == nullptr, true);
  return finish("api_errors");
}
