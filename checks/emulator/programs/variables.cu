// __constant__, __device__ and __managed__ variables with initial values; copies to and from symbols; pinned memory
// that kernels read in place; 3-D copies; streams, events and host callbacks.
#include <cstring>

#include "program.cuh"

__constant__ float coefficients[5] = {1, 2, 3, 4, 5};
__constant__ struct {
  int n;
  double scale;
} settings = {3, 0.5};
__device__ int counter = 7;
__device__ int zeros[4];
__device__ int* pointer_to_counter = &counter;
__device__ const char text[] = "text";
__managed__ int shared_by_both = 100;

__global__ void polynomial(const float* x, float* y) {
  float v = 0;
  for (int k = 4; k >= 0; --k) v = v * x[threadIdx.x] + coefficients[k];
  y[threadIdx.x] = v * static_cast<float>(settings.scale) + settings.n;
}

__global__ void touch(int* out) {
  out[0] = atomicAdd(&counter, 5);
  out[1] = ++*pointer_to_counter;
  out[2] = zeros[0] + zeros[1] + zeros[2] + zeros[3];
  zeros[2] = 9;
  out[3] = text[1];
  shared_by_both += 11;
}

__global__ void add_one(int* pinned, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) ++pinned[i];
}

void on_host(void* data) {
  *static_cast<int*>(data) += 1;
}

int main() {
  const int n = 8;
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i) x[i] = i - 3.0f;
  float* y = to_device(std::vector<float>(n));
  float* dx = to_device(x);
  auto check = [&](const float* c, int add, float scale) {
    polynomial<<<1, n>>>(dx, y);
    OK(cudaGetLastError());
    std::vector<float> got = to_host(y, n);
    for (int i = 0; i < n; ++i) {
      float v = 0;
      for (int k = 4; k >= 0; --k) v = v * x[i] + c[k];
      expect("polynomial", i, got[i], v * scale + add);
    }
  };
  const float first[5] = {1, 2, 3, 4, 5};
  check(first, 3, 0.5f);
  const float second[5] = {1, -2, 3, -4, 5};
  const float odd[2] = {-2, 3};
  OK(cudaMemcpyToSymbol(coefficients, odd, sizeof odd, sizeof(float)));
  const float minus_four = -4;
  OK(cudaMemcpyToSymbol(coefficients, &minus_four, sizeof minus_four, 3 * sizeof(float)));
  check(second, 3, 0.5f);
  expect("a copy past the end of a symbol", 0,
         cudaMemcpyToSymbol(coefficients, first, sizeof first, sizeof(float)) == cudaErrorInvalidValue, true);
  cudaGetLastError();

  int* out = to_device(std::vector<int>(4));
  touch<<<1, 1>>>(out);
  OK(cudaDeviceSynchronize());
  std::vector<int> o = to_host(out, 4);
  expect("counter before", 0, o[0], 7);
  expect("counter through a pointer", 0, o[1], 13);
  expect("zeros", 0, o[2], 0);
  expect("text", 0, o[3], 'e');
  expect("managed", 0, shared_by_both, 111);
  int value = 0, four[4];
  OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  expect("counter after", 0, value, 13);
  OK(cudaMemcpyFromSymbol(four, zeros, sizeof four));
  expect("zeros[2]", 0, four[2], 9);
  void* address = nullptr;
  size_t bytes = 0;
  OK(cudaGetSymbolAddress(&address, zeros));
  OK(cudaGetSymbolSize(&bytes, zeros));
  expect("symbol size", 0, bytes, sizeof four);
  OK(cudaMemset(address, 0, bytes));
  shared_by_both = 1;
  touch<<<1, 1>>>(out);
  OK(cudaDeviceSynchronize());
  expect("zeros again", 0, to_host(out, 4)[2], 0);
  expect("managed again", 0, shared_by_both, 12);

  cudaStream_t stream;
  cudaEvent_t begin, end;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  int *pinned = nullptr, *view = nullptr;
  OK(cudaHostAlloc(&pinned, 100 * sizeof(int), cudaHostAllocMapped));
  OK(cudaHostGetDevicePointer(&view, pinned, 0));
  for (int i = 0; i < 100; ++i) pinned[i] = i;
  OK(cudaEventRecord(begin, stream));
  add_one<<<1, 32, 0, stream>>>(view, 100);
  OK(cudaEventRecord(end, stream));
  int calls = 0;
  OK(cudaLaunchHostFunc(stream, on_host, &calls));
  OK(cudaStreamSynchronize(stream));
  float ms = -1;
  OK(cudaEventElapsedTime(&ms, begin, end));
  expect("elapsed time is a time", 0, ms >= 0, true);
  expect("host function", 0, calls, 1);
  for (int i = 0; i < 100; ++i) expect("pinned", i, pinned[i], i + 1);
  OK(cudaFreeHost(pinned));
  OK(cudaEventDestroy(begin));
  OK(cudaEventDestroy(end));
  OK(cudaStreamDestroy(stream));

  const size_t w = 5, h = 4, d = 3;
  std::vector<char> box(w * h * d), back(w * h * d);
  for (size_t i = 0; i < box.size(); ++i) box[i] = static_cast<char>(i);
  cudaPitchedPtr volume;
  cudaExtent extent = make_cudaExtent(w, h, d);
  OK(cudaMalloc3D(&volume, extent));
  cudaMemcpy3DParms up = {};
  up.srcPtr = make_cudaPitchedPtr(box.data(), w, w, h);
  up.dstPtr = volume;
  up.extent = extent;
  up.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&up));
  cudaMemcpy3DParms down = {};
  down.srcPtr = volume;
  down.dstPtr = make_cudaPitchedPtr(back.data(), w, w, h);
  down.extent = extent;
  down.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&down));
  expect("3-D copy", 0, std::memcmp(box.data(), back.data(), box.size()), 0);
  return finish("variables");
}
