// A test as any other: it knows nothing of the emulator.
#include <cstdio>
#include <vector>

#include "scale.cuh"

int main() {
  const int n = 4096;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i % 100);
  float *device_in, *device_out;
  cudaMalloc(&device_in, n * sizeof(float));
  cudaMalloc(&device_out, n * sizeof(float));
  cudaMemcpy(device_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  scale(device_in, device_out, n);
  const cudaError_t error = cudaMemcpy(out.data(), device_out, n * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += out[i] != 3 * in[i];
  std::printf("%s, %d of %d wrong\n", cudaGetErrorString(error), wrong, n);
  return error != cudaSuccess || wrong;
}
