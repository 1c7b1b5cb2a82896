// wgmma: one warpgroup (128 threads) multiplies two tiles in shared memory.
// Everything here is .sync.aligned: all 128 threads of the warpgroup execute it together.
// (PTX §9.7.15, all sm_90a)
#pragma once

#include <cstdint>

#include "ptx/smem_addr.cuh"

namespace ptx {

// wgmma.fence.sync.aligned;
// wgmma fence: orders earlier accesses to the accumulator registers before the next wgmma. It says nothing
// about shared memory.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

// wgmma.commit_group.sync.aligned;
// Closes a group of all wgmma issued since the last commit.
__device__ __forceinline__ void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}

// wgmma.wait_group.sync.aligned N;
// Waits until at most the kPending newest groups are unfinished. Before it the accumulators may not be
// touched and the operand tiles may not be overwritten.
template <int kPending>
__device__ __forceinline__ void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(kPending) : "memory");
}

// [region descriptor]
// The 64-bit matrix descriptor of a K-major tile with 128-byte rows and the 128-byte swizzle:
//   bits 13:0   start address / 16 (shared window)
//   bits 29:16  leading dimension byte offset / 16: not used in this layout, 1 by convention
//   bits 45:32  stride dimension byte offset / 16: from one group of 8 rows to the next, 8 * 128 bytes
//   bits 63:62  1 = 128-byte swizzle (the tensor map's enumeration counts the other way round)
// The tile starts at a multiple of 1024 bytes, where the swizzle pattern begins. To step along K inside the
// 128-byte row, move `tile` by 32 bytes (16 bf16) and leave the rest. (PTX §9.7.15.5.1.2)
__device__ __forceinline__ uint64_t wgmma_descriptor_k_major_128B(const void* tile) {
  constexpr uint64_t kLeading = uint64_t{1} << 16;
  constexpr uint64_t kStride = uint64_t{8 * 128 / 16} << 32;
  constexpr uint64_t kSwizzle128B = uint64_t{1} << 62;
  return ((smem_addr(tile) & 0x3FFFF) >> 4) | kLeading | kStride | kSwizzle128B;
}
// [end region]

#define PTX_OUT4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define PTX_OUT16(d, i) PTX_OUT4(d, i), PTX_OUT4(d, i + 4), PTX_OUT4(d, i + 8), PTX_OUT4(d, i + 12)
#define PTX_OUT64(d) PTX_OUT16(d, 0), PTX_OUT16(d, 16), PTX_OUT16(d, 32), PTX_OUT16(d, 48)

// wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 d, a-desc, b-desc, scale-d, 1, 1, 0, 0;
// d = a * b^T + (accumulate ? d : 0). d: 64 x 128 floats, 64 registers per thread; a: 64 x 16, b: 128 x 16 bf16,
// both K-major in shared memory. Thread t holds in d[r] the element of row 16*(t/32) + t%32/4 + 8*((r>>1)&1)
// and column 8*(r>>2) + 2*(t%4) + (r&1). Asynchronous: needs wgmma_fence before, commit and wait after.
__device__ __forceinline__ void wgmma_m64n128k16_f32_bf16_bf16(float (&d)[64], uint64_t desc_a,
                                                               uint64_t desc_b, bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, p, 1, 1, 0, 0;\n"
      "}"
      : PTX_OUT64(d)
      : "l"(desc_a), "l"(desc_b), "r"(static_cast<int>(accumulate)));
}

#define PTX_OUT128(d) PTX_OUT64(d), PTX_OUT16(d, 64), PTX_OUT16(d, 80), PTX_OUT16(d, 96), PTX_OUT16(d, 112)

// wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 d, a-desc, b-desc, scale-d, 1, 1, 0, 0;
// The same with b: 256 x 16, d: 64 x 256 floats, 128 registers per thread.
__device__ __forceinline__ void wgmma_m64n256k16_f32_bf16_bf16(float (&d)[128], uint64_t desc_a,
                                                               uint64_t desc_b, bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, p, 1, 1, 0, 0;\n"
      "}"
      : PTX_OUT128(d)
      : "l"(desc_a), "l"(desc_b), "r"(static_cast<int>(accumulate)));
}

#undef PTX_OUT128
#undef PTX_OUT4
#undef PTX_OUT16
#undef PTX_OUT64

}  // namespace ptx
