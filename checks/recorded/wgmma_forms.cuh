// What the wgmma recording programs share: inline PTX for the forms they ask about, each with its fence, commit and
// wait, so that a call is a synchronous product; checksums; and a check of CUDA calls.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// FNV-1a over 32-bit words.
inline uint64_t checksum(const uint32_t* words, size_t count) {
  uint64_t h = 1469598103934665603ull;
  for (size_t i = 0; i < count; ++i) h = (h ^ words[i]) * 1099511628211ull;
  return h;
}

// A fixed sequence of pseudo-random words.
struct Sequence {
  uint64_t state;
  uint32_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>(state >> 33);
  }
};

__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Bits of a matrix descriptor; mode: 0 none, 1 128B, 2 64B, 3 32B.
__device__ inline uint64_t descriptor(uint32_t start, uint32_t leading, uint32_t stride, uint64_t mode,
                                      uint64_t base_offset = 0) {
  return uint64_t{(start & 0x3FFFF) >> 4} | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 |
         base_offset << 49 | mode << 62;
}

// Registers d[i] to d[i + 3] as operands of an asm statement.
#define OUT4(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define OUT8(c, i) OUT4(c, i), OUT4(c, i + 4)
#define OUT32(c, i) OUT8(c, i), OUT8(c, i + 8), OUT8(c, i + 16), OUT8(c, i + 24)
#define OUT64(c, i) OUT32(c, i), OUT32(c, i + 32)
#define OUT128(c, i) OUT64(c, i), OUT64(c, i + 64)
#define NAMES2 "%0, %1"
#define NAMES4 "%0, %1, %2, %3"
#define NAMES8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NAMES32                                                                                     \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES64                                                                                     \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, " \
  "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, " \
  "%59, %60, %61, %62, %63"
#define NAMES128                                                                                    \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, " \
  "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, " \
  "%59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, " \
  "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, " \
  "%97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, "   \
  "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// Defines name(d, a, b, accumulate): wgmma.mma_async.sync.aligned.`form` with both operands in shared memory.
// T, C: type and constraint of a register of d; n of them; ia, ib, ip: operand numbers n, n + 1, n + 2; tail: what
// follows scale-d.
#define WGMMA(name, form, T, C, n, ia, ib, ip, tail)                                       \
  struct name {                                                                            \
    static constexpr int kRegisters = n;                                                   \
    using Register = T;                                                                    \
    __device__ static void call(T (&d)[n], uint64_t a, uint64_t b, int accumulate) {       \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #ip                                \
                   ", 0;\nwgmma.fence.sync.aligned;\n"                                     \
                   "wgmma.mma_async.sync.aligned." form " {" NAMES##n                      \
                   "}, %" #ia ", %" #ib ", p" tail                                         \
                   ";\n"                                                                   \
                   "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}" \
                   : OUT##n(C, 0)                                                          \
                   : "l"(a), "l"(b), "r"(accumulate)                                       \
                   : "memory");                                                            \
    }                                                                                      \
  };
#define OUT2(c, i) c(d[i]), c(d[i + 1])

// The same with A in four registers; ia is the number of the first.
#define WGMMA_REGISTER_A(name, form, T, C, n, a0, a1, a2, a3, ib, ip, tail)                      \
  struct name {                                                                                  \
    static constexpr int kRegisters = n;                                                         \
    using Register = T;                                                                          \
    __device__ static void call(T (&d)[n], const uint32_t (&a)[4], uint64_t b, int accumulate) { \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #ip                                      \
                   ", 0;\nwgmma.fence.sync.aligned;\n"                                           \
                   "wgmma.mma_async.sync.aligned." form " {" NAMES##n                            \
                   "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #ib ", p" tail               \
                   ";\n"                                                                         \
                   "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}"       \
                   : OUT##n(C, 0)                                                                \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate)         \
                   : "memory");                                                                  \
    }                                                                                            \
  };
