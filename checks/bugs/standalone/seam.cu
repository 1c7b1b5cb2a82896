// Two kernels that overlap at the seam: the second sets itself up while the first is still running, and waits with
// griddepcontrol.wait before it touches what the first one writes. One warp copies, the others read a list of factors.
#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "host/launch.hpp"
#include "kernel/wait.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/fence.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"

constexpr int kCtas = 4, kThreads = 128, kFloats = 512;  // floats of a CTA

// values[i] = in[i] + 1, factors[cta] = cta + 2.
__global__ void first(const float* in, float* values, float* factors) {
  ptx::griddepcontrol_launch_dependents();  // the second kernel may set itself up
  for (int i = threadIdx.x; i < kFloats; i += kThreads) {
    const int at = blockIdx.x * kFloats + i;
    values[at] = in[at] + 1;
  }
  if (threadIdx.x == 0) factors[blockIdx.x] = static_cast<float>(blockIdx.x + 2);
}

// out[i] = values[i] * factors[cta].
__global__ void second(const float* values, const float* factors, float* out) {
  __shared__ alignas(16) float tile[kFloats];
  __shared__ uint64_t full_bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full_bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
  if (threadIdx.x < 32) {        // ---- producer
    ptx::griddepcontrol_wait();  // the values are there
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&full_bar, sizeof(tile));
      ptx::cp_async_bulk(tile, values + blockIdx.x * kFloats, sizeof(tile), &full_bar);
    }
  } else {                       // ---- consumers
    ptx::griddepcontrol_wait();  // and so are the factors
    const float factor = factors[blockIdx.x];
    lab::wait(&full_bar, 0);
    for (int i = threadIdx.x - 32; i < kFloats; i += kThreads - 32)
      out[blockIdx.x * kFloats + i] = tile[i] * factor;
  }
}

int main() {
  constexpr int kAll = kCtas * kFloats;
  std::vector<float> host(kAll);
  for (int i = 0; i < kAll; ++i) host[i] = static_cast<float>(i % 1000);
  const auto in = lab::device_buffer<float>(kAll), values = lab::device_buffer<float>(kAll),
             out = lab::device_buffer<float>(kAll), factors = lab::device_buffer<float>(kCtas);
  lab::cuda_check(cudaMemcpy(in.get(), host.data(), kAll * sizeof(float), cudaMemcpyHostToDevice),
                  "copy the input");
  lab::cuda_check(cudaMemset(values.get(), 0xFF, kAll * sizeof(float)), "poison the values");
  lab::cuda_check(cudaMemset(factors.get(), 0xFF, kCtas * sizeof(float)), "poison the factors");
  lab::cuda_check(cudaMemset(out.get(), 0xFF, kAll * sizeof(float)), "poison the output");
  first<<<kCtas, kThreads>>>(in.get(), values.get(), factors.get());
  lab::launch_programmatic_dependent(second, kCtas, kThreads, 0, static_cast<const float*>(values.get()),
                                     static_cast<const float*>(factors.get()), out.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("seam: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<float> got(kAll);
  lab::cuda_check(cudaMemcpy(got.data(), out.get(), kAll * sizeof(float), cudaMemcpyDeviceToHost),
                  "read the output");
  int wrong = 0;
  for (int i = 0; i < kAll; ++i) wrong += !(got[i] == (host[i] + 1) * static_cast<float>(i / kFloats + 2));
  std::printf("seam: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong, kAll);
  return wrong == 0 ? 0 : 1;
}
