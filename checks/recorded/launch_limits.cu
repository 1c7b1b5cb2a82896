// Which launches are refused, and with which code: each limit and the value beyond it, then two mistakes at once. Every kernel
// is empty.
#include "launch_limits.hpp"
#include "record.cuh"

using namespace recorded;

namespace {

__global__ void plain(int*) {}
__global__ void __launch_bounds__(kBoundedThreads) bounded(int*) {}
__global__ void __cluster_dims__(kClusteredBlocks, 1, 1) clustered(int*) {}
__global__ void with_static(int* out) {
  __shared__ char bytes[kStaticBytes];
  if (out) {
    bytes[threadIdx.x] = static_cast<char>(out[0]);
    __syncthreads();
    *out = bytes[threadIdx.x ^ 1];
  }
}

using Kernel = void (*)(int*);

Kernel function(LaunchKernel kernel) {
  switch (kernel) {
    case LaunchKernel::bounded:
      return bounded;
    case LaunchKernel::clustered:
      return clustered;
    case LaunchKernel::with_static:
      return with_static;
    default:
      return plain;
  }
}

dim3 dim(rules::Extent e) {
  return dim3(e.x, e.y, e.z);
}

cudaError_t launch(const LaunchRow& row) {
  const rules::LaunchArguments& a = row.launch;
  const Kernel kernel = function(row.kernel);
  // Back to what the kernel was compiled with, where nothing is asked for.
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(rules::allowed_dynamic_shared(a)));
  cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, a.non_portable_cluster);
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim(a.grid);
  config.blockDim = dim(a.block);
  config.dynamicSmemBytes = a.dynamic_shared;
  config.attrs = attributes;
  if (a.cluster.count()) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = a.cluster.x;
    attribute.val.clusterDim.y = a.cluster.y;
    attribute.val.clusterDim.z = a.cluster.z;
  }
  if (a.cooperative) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  }
  const cudaError_t answer = cudaLaunchKernelEx(&config, kernel, static_cast<int*>(nullptr));
  record::check(cudaDeviceSynchronize(), row.name.c_str());
  cudaGetLastError();
  return answer;
}

}  // namespace

int main() {
  for (const LaunchRow& row : launch_rows())
    std::printf("%s: %s\n", row.name.c_str(), cudaGetErrorName(launch(row)));
}
