// Memory through the driver's functions, which libraries look up by name: fills by elements of 1, 2 and 4 bytes, and copies,
// at once and in a stream, of rows and areas, too.
#include <cuda.h>

#include <string>

#include "host/entry_point.hpp"
#include "program.cuh"

template <class F>
F* find(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  OK(lab::driver_entry_point(name, &function, &found));
  expect(name, 0, found, cudaDriverEntryPointSuccess);
  if (!function) std::exit(finish("driver_memory"));
  return reinterpret_cast<F*>(function);
}

template <class T>
void fill(const char* name, T value, cudaStream_t stream) {
  const size_t count = 100;
  T* memory = to_device(std::vector<T>(count, 1));
  const CUdeviceptr from = reinterpret_cast<CUdeviceptr>(memory + 10);
  const std::string later = std::string(name) + "Async";
  expect(name, 0, find<CUresult(CUdeviceptr, T, size_t)>(name)(from, value, 50), CUDA_SUCCESS);
  expect(later.c_str(), 0,
         find<CUresult(CUdeviceptr, T, size_t, CUstream)>(later.c_str())(from + 50 * sizeof(T), value + 1, 20,
                                                                         stream),
         CUDA_SUCCESS);
  OK(cudaDeviceSynchronize());
  const std::vector<T> got = to_host(memory, count);
  for (size_t i = 0; i < count; ++i)
    expect(name, i, got[i], i < 10 || i >= 80 ? 1 : i < 60 ? value : value + 1);
  if (sizeof(T) > 1)
    expect(name, -1, find<CUresult(CUdeviceptr, T, size_t)>(name)(from + 1, value, 1),
           CUDA_ERROR_INVALID_VALUE);
  expect(name, -3, find<CUresult(CUdeviceptr, T, size_t)>(name)(from, value, size_t{1} << 40),
         CUDA_ERROR_INVALID_VALUE);
  expect(name, -2, cudaGetLastError(), cudaSuccess);  // the driver's functions answer by their value alone
  OK(cudaFree(memory));
}

// 3 rows of 8 elements out of pitched rows, into the middle of others and back, and a fill around them.
void areas() {
  size_t pitch = 0;
  char* there = nullptr;
  OK(cudaMallocPitch(&there, &pitch, 64, 5));
  const CUdeviceptr at = reinterpret_cast<CUdeviceptr>(there);
  expect("fill", 0,
         find<CUresult(CUdeviceptr, size_t, unsigned, size_t, size_t)>("cuMemsetD2D32")(at, pitch, 7, 16, 5),
         CUDA_SUCCESS);
  std::vector<unsigned> from(24), back(80);
  for (unsigned i = 0; i < 24; ++i) from[i] = 100 + i;
  CUDA_MEMCPY2D in = {};
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = from.data();
  in.srcPitch = in.WidthInBytes = 32;
  in.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  in.dstDevice = at;
  in.dstPitch = pitch;
  in.dstXInBytes = 16;
  in.dstY = 1;
  in.Height = 3;
  expect("in", 0, find<CUresult(const CUDA_MEMCPY2D*)>("cuMemcpy2D")(&in), CUDA_SUCCESS);
  CUDA_MEMCPY3D out = {};
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = at;
  out.srcPitch = pitch;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = back.data();
  out.dstPitch = out.WidthInBytes = 64;
  out.Height = 5;
  out.Depth = 1;
  expect("out", 0, find<CUresult(const CUDA_MEMCPY3D*)>("cuMemcpy3D")(&out), CUDA_SUCCESS);
  for (unsigned i = 0; i < 80; ++i) {
    const unsigned row = i / 16, column = i % 16;
    const bool copied = row >= 1 && row < 4 && column >= 4 && column < 12;
    expect("area", i, back[i], copied ? 100 + (row - 1) * 8 + column - 4 : 7);
  }
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  OK(cudaMemPoolCreate(&pool, &properties));
  void* memory = nullptr;
  OK(cudaMallocFromPoolAsync(&memory, 64, pool, nullptr));
  OK(cudaFreeAsync(memory, nullptr));
  OK(cudaMemPoolDestroy(pool));
  OK(cudaFree(there));
}

int main() {
  OK(cudaFree(nullptr));
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  fill<unsigned char>("cuMemsetD8", 0xA5, stream);
  fill<unsigned short>("cuMemsetD16", 0xA55A, stream);
  fill<unsigned>("cuMemsetD32", 0xA55A1234, stream);

  const std::vector<int> there = {1, 2, 3, 4};
  std::vector<int> back(4);
  int *a = to_device(std::vector<int>(4)), *b = to_device(std::vector<int>(4));
  const CUdeviceptr at = reinterpret_cast<CUdeviceptr>(a), to = reinterpret_cast<CUdeviceptr>(b);
  expect("in", 0,
         find<CUresult(CUdeviceptr, const void*, size_t, CUstream)>("cuMemcpyHtoDAsync")(at, there.data(), 16,
                                                                                         stream),
         CUDA_SUCCESS);
  expect("on", 0,
         find<CUresult(CUdeviceptr, CUdeviceptr, size_t, CUstream)>("cuMemcpyDtoDAsync")(to, at, 16, stream),
         CUDA_SUCCESS);
  expect(
      "out", 0,
      find<CUresult(void*, CUdeviceptr, size_t, CUstream)>("cuMemcpyDtoHAsync")(back.data(), to, 16, stream),
      CUDA_SUCCESS);
  OK(cudaStreamSynchronize(stream));
  for (int i = 0; i < 4; ++i) expect("copied", i, back[i], there[i]);
  areas();
  return finish("driver_memory");
}
