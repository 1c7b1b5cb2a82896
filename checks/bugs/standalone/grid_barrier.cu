// Four blocks go on in rounds: each adds its right neighbour's number to its own. The grid's barrier stands between the rounds.
#include <cooperative_groups.h>

#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"

constexpr int kBlocks = 4, kRounds = 3;

// numbers: two rows of kBlocks; a round reads one and writes the other.
__global__ void add_neighbours(float* numbers) {
  const auto grid = cooperative_groups::this_grid();
  const int block = blockIdx.x;
  for (int round = 0; round < kRounds; ++round) {
    const float* from = numbers + round % 2 * kBlocks;
    float* to = numbers + (round + 1) % 2 * kBlocks;
    if (threadIdx.x == 0) to[block] = from[block] + from[(block + 1) % kBlocks];
    grid.sync();
  }
}

int main() {
  std::vector<float> numbers = {1, 2, 3, 4, 0, 0, 0, 0};
  const auto device = lab::device_buffer<float>(2 * kBlocks);
  lab::cuda_check(
      cudaMemcpy(device.get(), numbers.data(), 2 * kBlocks * sizeof(float), cudaMemcpyHostToDevice),
      "copy the numbers");
  float* argument = device.get();
  void* arguments[] = {&argument};
  lab::cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(add_neighbours), kBlocks, 32,
                                              arguments, 0, nullptr),
                  "launch");
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("grid_barrier: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<float> got(2 * kBlocks);
  lab::cuda_check(cudaMemcpy(got.data(), device.get(), 2 * kBlocks * sizeof(float), cudaMemcpyDeviceToHost),
                  "read the numbers");
  for (int round = 0; round < kRounds; ++round)
    for (int b = 0; b < kBlocks; ++b)
      numbers[(round + 1) % 2 * kBlocks + b] =
          numbers[round % 2 * kBlocks + b] + numbers[round % 2 * kBlocks + (b + 1) % kBlocks];
  const bool right = got == numbers;
  std::printf("grid_barrier: %s, %d numbers\n", right ? "right" : "wrong", 2 * kBlocks);
  return right ? 0 : 1;
}
