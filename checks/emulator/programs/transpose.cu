// Tiled transpose through padded shared memory, with 2-D copies and pitched memory on the host side, and dynamic
// shared memory beyond 48 KiB.
#include "program.cuh"

constexpr int kTile = 32;

__global__ void transpose(const float* in, size_t in_pitch, float* out, size_t out_pitch, int width,
                          int height) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += blockDim.y)
    if (x < width && y + j < height)
      tile[threadIdx.y + j][threadIdx.x] = *reinterpret_cast<const float*>(
          reinterpret_cast<const char*>(in) + (y + j) * in_pitch + x * sizeof(float));
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += blockDim.y)
    if (x < height && y + j < width)
      *reinterpret_cast<float*>(reinterpret_cast<char*>(out) + (y + j) * out_pitch + x * sizeof(float)) =
          tile[threadIdx.x][threadIdx.y + j];
}

// Turns rows of 16 bytes round through dynamic shared memory.
__global__ void reverse(const int4* in, int4* out, int n) {
  extern __shared__ int4 buffer[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int4 v = buffer[n - 1 - i];
    out[i] = make_int4(v.w, v.z, v.y, v.x);
  }
}

int main() {
  const int width = 75, height = 53;
  std::vector<float> in(width * height), got(width * height, -1);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  float *a = nullptr, *b = nullptr;
  size_t a_pitch = 0, b_pitch = 0;
  OK(cudaMallocPitch(&a, &a_pitch, width * sizeof(float), height));
  OK(cudaMallocPitch(&b, &b_pitch, height * sizeof(float), width));
  OK(cudaMemcpy2D(a, a_pitch, in.data(), width * sizeof(float), width * sizeof(float), height,
                  cudaMemcpyHostToDevice));
  dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
  transpose<<<grid, dim3(kTile, 8)>>>(a, a_pitch, b, b_pitch, width, height);
  OK(cudaGetLastError());
  OK(cudaMemcpy2D(got.data(), height * sizeof(float), b, b_pitch, height * sizeof(float), width,
                  cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      expect("transpose", y * width + x, got[x * height + y], in[y * width + x]);

  const int n = 6000, bytes = n * sizeof(int4);  // 96000 bytes
  std::vector<int> numbers(n * 4);
  for (int i = 0; i < n * 4; ++i) numbers[i] = i;
  int* source = to_device(numbers);
  int* target = to_device(std::vector<int>(n * 4));
  reverse<<<1, 128, bytes>>>(reinterpret_cast<int4*>(source), reinterpret_cast<int4*>(target), n);
  expect("more than 48 KiB without asking", 0, cudaGetLastError() == cudaErrorInvalidValue, true);
  OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  reverse<<<1, 128, bytes>>>(reinterpret_cast<int4*>(source), reinterpret_cast<int4*>(target), n);
  OK(cudaGetLastError());
  std::vector<int> reversed = to_host(target, n * 4);
  for (int i = 0; i < n * 4; ++i) expect("reverse", i, reversed[i], numbers[n * 4 - 1 - i]);
  return finish("transpose");
}
