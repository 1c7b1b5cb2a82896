// One producer and two consumer warpgroups share the registers of a CTA: 3 x 168 a thread at the start, then 40 for the
// producer and 232 for each consumer.
#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "kernel/wait.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"

constexpr int kConsumers = 2, kThreads = 128 * (1 + kConsumers), kCtasPerSm = 1;
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
constexpr int kFloats = 128 * kConsumers;

// out = in + 1. One CTA.
__global__ void __launch_bounds__(kThreads, kCtasPerSm) add_one(const float* in, float* out) {
  __shared__ alignas(16) float tile[kFloats];
  __shared__ uint64_t full_bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full_bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {  // ---- producer
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&full_bar, sizeof(tile));
      ptx::cp_async_bulk(tile, in, sizeof(tile), &full_bar);
    }
  } else {  // ---- consumers
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    lab::wait(&full_bar, 0);
    const int i = threadIdx.x - 128;
    if (i < kFloats) out[i] = tile[i] + 1;
  }
  __syncthreads();  // nobody leaves earlier
}

int main() {
  std::vector<float> host(kFloats);
  for (int i = 0; i < kFloats; ++i) host[i] = static_cast<float>(i);
  const auto in = lab::device_buffer<float>(kFloats), out = lab::device_buffer<float>(kFloats);
  lab::cuda_check(cudaMemcpy(in.get(), host.data(), kFloats * sizeof(float), cudaMemcpyHostToDevice),
                  "copy the input");
  lab::cuda_check(cudaMemset(out.get(), 0xFF, kFloats * sizeof(float)), "poison the output");
  add_one<<<1, kThreads>>>(in.get(), out.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("registers: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<float> got(kFloats);
  lab::cuda_check(cudaMemcpy(got.data(), out.get(), kFloats * sizeof(float), cudaMemcpyDeviceToHost),
                  "read the output");
  int wrong = 0;
  for (int i = 0; i < kFloats; ++i) wrong += !(got[i] == host[i] + 1);
  std::printf("registers: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong, kFloats);
  return wrong == 0 ? 0 : 1;
}
