// What these programs share: stop at a failed call, count wrong values, end with 1 when there was one.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

inline void ok(cudaError_t error, const char* what, int line) {
  if (error == cudaSuccess) return;
  std::printf("line %d: %s: %s (%s)\n", line, what, cudaGetErrorName(error), cudaGetErrorString(error));
  std::exit(1);
}
#define OK(call) ok((call), #call, __LINE__)

inline int& failures() {
  static int count = 0;
  return count;
}

template <class T, class U>
inline void expect(const char* what, long long index, T got, U want) {
  if (got == static_cast<T>(want)) return;
  if (++failures() <= 10)
    std::printf("%s [%lld]: got %.9g, want %.9g\n", what, index, static_cast<double>(got),
                static_cast<double>(want));
}

// |got - want| <= tolerance; a NaN is never near.
inline void expect_near(const char* what, long long index, double got, double want, double tolerance) {
  if (got == want || (got - want <= tolerance && want - got <= tolerance)) return;
  if (++failures() <= 10) std::printf("%s [%lld]: got %.9g, want %.9g\n", what, index, got, want);
}

inline int finish(const char* name) {
  OK(cudaDeviceSynchronize());
  std::printf("%s: %s\n", name, failures() ? "wrong" : "right");
  return failures() ? 1 : 0;
}

template <class T>
T* to_device(const std::vector<T>& host) {
  T* device = nullptr;
  OK(cudaMalloc(&device, host.size() * sizeof(T)));
  OK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

template <class T>
std::vector<T> to_host(const T* device, size_t count) {
  std::vector<T> host(count);
  OK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}
