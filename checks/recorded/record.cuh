// What the recording programs share: tensor maps without any check before the driver's, one box in or out of shared
// memory, and compact printing. A recording program prints the same lines on every Hopper GPU and on the emulator;
// nothing in it waits without an end.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/entry_point.hpp"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/smem_addr.cuh"

namespace record {

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

inline void finish_kernel(const char* what) {
  check(cudaGetLastError(), what);
  check(cudaDeviceSynchronize(), what);
}

// Device memory of `count` elements, copied from the host and back.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) {
    check(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  T* get() const { return data_; }
  std::vector<T> download() const {
    std::vector<T> values(count_);
    check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// The arguments that the calls of tile mode and of im2col mode have.
struct AnyMapArguments {
  int type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
  uint32_t rank = 2;
  const void* address = nullptr;
  uint64_t size[5] = {1, 1, 1, 1, 1};
  uint64_t stride_bytes[4] = {0, 0, 0, 0};
  uint32_t step[5] = {1, 1, 1, 1, 1};
  int interleave = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;
};

// The arguments of cuTensorMapEncodeTiled.
struct MapArguments : AnyMapArguments {
  uint32_t box[5] = {1, 1, 1, 1, 1};
};

inline int encode(CUtensorMap* map, const MapArguments& a) {
  using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                              const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  static Encode function = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    check(lab::driver_entry_point("cuTensorMapEncodeTiled", &entry, &found), "driver_entry_point");
    return reinterpret_cast<Encode>(entry);
  }();
  return static_cast<int>(function(
      map, static_cast<CUtensorMapDataType>(a.type), a.rank, const_cast<void*>(a.address), a.size,
      a.stride_bytes, a.box, a.step, static_cast<CUtensorMapInterleave>(a.interleave),
      static_cast<CUtensorMapSwizzle>(a.swizzle), static_cast<CUtensorMapL2promotion>(a.l2_promotion),
      static_cast<CUtensorMapFloatOOBfill>(a.oob_fill)));
}

struct Corner {
  int c[5];
};

// ---- one copy

__device__ inline void tensor_load(uint32_t dst, const CUtensorMap* map, int rank, Corner at, uint32_t bar) {
#define RECORD_LOAD(dim, list)                                                                          \
  asm volatile("cp.async.bulk.tensor." dim                                                              \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" list            \
               "}], [%7];" ::"r"(dst),                                                                  \
               "l"(map), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]), "r"(bar) \
               : "memory")
  if (rank == 1) RECORD_LOAD("1d", "%2");
  if (rank == 2) RECORD_LOAD("2d", "%2, %3");
  if (rank == 3) RECORD_LOAD("3d", "%2, %3, %4");
  if (rank == 4) RECORD_LOAD("4d", "%2, %3, %4, %5");
  if (rank == 5) RECORD_LOAD("5d", "%2, %3, %4, %5, %6");
#undef RECORD_LOAD
}

// One copy to shared memory in tile mode.
struct BoxCopy {
  int rank;
  Corner at;
  __device__ void operator()(uint32_t dst, const CUtensorMap* map, uint32_t bar) const {
    tensor_load(dst, map, rank, at, bar);
  }
};

__device__ inline void tensor_store(const CUtensorMap* map, int rank, Corner at, uint32_t src) {
#define RECORD_STORE(dim, list)                                                               \
  asm volatile("cp.async.bulk.tensor." dim ".global.shared::cta.tile.bulk_group [%0, {" list  \
               "}], [%6];" ::"l"(map),                                                        \
               "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]), "r"(src) \
               : "memory")
  if (rank == 1) RECORD_STORE("1d", "%1");
  if (rank == 2) RECORD_STORE("2d", "%1, %2");
  if (rank == 3) RECORD_STORE("3d", "%1, %2, %3");
  if (rank == 4) RECORD_STORE("4d", "%1, %2, %3, %4");
  if (rank == 5) RECORD_STORE("5d", "%1, %2, %3, %4, %5");
#undef RECORD_STORE
}

// mbarrier.test_wait.parity, asked once.
__device__ inline uint32_t phase_done(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(bar), "r"(parity)
      : "memory");
  return done;
}

// mbarrier.arrive: one arrival.
__device__ inline void arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

// Long enough for a copy of a few KiB to land.
__device__ inline void pause() {
  for (long long until = clock64() + 100000; clock64() < until;) __nanosleep(1000);
}

constexpr uint32_t kUntouched = 0xA5A5A5A5u;
constexpr uint32_t kWindowBytes = 32768;
constexpr uint32_t kSharedBytes = kWindowBytes + 1024;

// The first multiple of 1024 in dynamic shared memory.
__device__ inline char* window_start() {
  extern __shared__ char dynamic[];
  return dynamic + (1024 - ptx::smem_addr(dynamic) % 1024) % 1024;
}

// Copies to `offset` in a window of shared memory and returns the whole window. signalled: the bytes by which the copy
// lowered the tx-count, found by completing the rest in steps of 16.
template <class Copy>
__global__ void load_window(const __grid_constant__ CUtensorMap map, Copy copy, uint32_t offset,
                            uint32_t* out, uint32_t* signalled) {
  __shared__ alignas(8) uint64_t bar;
  char* window = window_start();
  for (uint32_t i = threadIdx.x; i < kWindowBytes / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(window)[i] = kUntouched;
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t bar_address = ptx::smem_addr(&bar);
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
    ptx::mbarrier_arrive_expect_tx(&bar, kWindowBytes + 16);
    copy(ptx::smem_addr(window) + offset, &map, bar_address);
    pause();
    uint32_t completed = 0;
    while (completed <= kWindowBytes && !phase_done(bar_address, 0)) {
      asm volatile("mbarrier.complete_tx.shared::cta.b64 [%0], 16;" ::"r"(bar_address) : "memory");
      completed += 16;
    }
    *signalled = kWindowBytes + 16 - completed;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < kWindowBytes / 4; i += blockDim.x)
    out[i] = reinterpret_cast<uint32_t*>(window)[i];
}

struct Loaded {
  std::vector<uint32_t> window;
  uint32_t signalled;
  template <class T>
  T at(uint32_t offset, size_t i) const {
    T value;
    std::memcpy(&value, reinterpret_cast<const char*>(window.data()) + offset + i * sizeof(T), sizeof(T));
    return value;
  }
};

template <class Copy>
Loaded load(const CUtensorMap& map, Copy copy, uint32_t offset) {
  Buffer<uint32_t> out(kWindowBytes / 4), signalled(1);
  check(cudaFuncSetAttribute(load_window<Copy>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
        "shared memory");
  load_window<<<1, 128, kSharedBytes>>>(map, copy, offset, out.get(), signalled.get());
  finish_kernel("load_window");
  return {out.download(), signalled.download()[0]};
}

inline Loaded load(const CUtensorMap& map, int rank, Corner at, uint32_t offset) {
  return load(map, BoxCopy{rank, at}, offset);
}

// Stores one box from `offset` in a window of shared memory, whose bytes are given.
__global__ void store_box(const __grid_constant__ CUtensorMap map, int rank, Corner at, uint32_t offset,
                          const uint32_t* bytes) {
  char* window = window_start();
  for (uint32_t i = threadIdx.x; i < kWindowBytes / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(window)[i] = bytes[i];
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    tensor_store(&map, rank, at, ptx::smem_addr(window) + offset);
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

inline void store(const CUtensorMap& map, int rank, Corner at, uint32_t offset,
                  std::vector<uint32_t> window) {
  window.resize(kWindowBytes / 4, kUntouched);
  Buffer<uint32_t> bytes(window);
  check(cudaFuncSetAttribute(store_box, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
        "shared memory");
  store_box<<<1, 128, kSharedBytes>>>(map, rank, at, offset, bytes.get());
  finish_kernel("store_box");
}

// ---- printing

inline uint32_t checksum(const void* bytes, size_t count) {  // FNV-1a
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<const uint8_t*>(bytes)[i]) * 16777619u;
  return hash;
}

template <class T>
uint32_t checksum(const std::vector<T>& values) {
  return checksum(values.data(), values.size() * sizeof(T));
}

// A window of 16-bit elements, as lines of eight 16-byte chunks: the number (element / 8) of the chunk that lies
// there when its eight elements follow each other, .. when nothing was written, ** when it is something else.
inline void print_chunks(const Loaded& loaded, uint32_t lines) {
  for (uint32_t line = 0; line < lines; ++line) {
    std::printf("  %04x:", line * 128);
    for (uint32_t chunk = 0; chunk < 8; ++chunk) {
      const uint16_t first = loaded.at<uint16_t>(line * 128 + chunk * 16, 0);
      bool follows = first % 8 == 0, untouched = true;
      for (size_t i = 0; i < 8; ++i) {
        const uint16_t e = loaded.at<uint16_t>(line * 128 + chunk * 16, i);
        follows = follows && e == first + i;
        untouched = untouched && e == static_cast<uint16_t>(kUntouched);
      }
      if (untouched)
        std::printf("   ..");
      else if (follows)
        std::printf("  %3x", first / 8);
      else
        std::printf("   **");
    }
    std::printf("\n");
  }
}

inline const char* swizzle_name(int swizzle) {
  static const char* const kNames[] = {"none", "32B", "64B", "128B"};
  return kNames[swizzle];
}

// 0, 1, 2, ... in 16-bit elements.
inline std::vector<uint16_t> numbered(size_t count) {
  std::vector<uint16_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint16_t>(i);
  return values;
}

}  // namespace record
