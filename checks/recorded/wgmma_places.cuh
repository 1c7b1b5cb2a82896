// Where a wgmma finds the elements of an operand, for a given descriptor.
//
// Every 16-bit slot of a 64 KiB area holds its own number, in two passes (low 7 bits, high 8 bits), because bf16 is
// exact up to 256. The other operand is the identity, so D is the operand itself, that is: the slot numbers.
#pragma once

#include <cuda_bf16.h>

#include "wgmma_forms.cuh"

constexpr int kAreaBytes = 64 * 1024, kSlots = kAreaBytes / 2;

struct Case {
  const char* name;
  bool of_a;     // which operand is asked about: A (64 rows) or B (128 rows)
  int mn_major;  // its imm-trans
  int mode;      // descriptor code: 0 none, 1 128B, 2 64B, 3 32B
  int start, leading, stride, base_offset;
};

WGMMA(AskA, "m64n16k16.f32.bf16.bf16", float, "+f", 8, 8, 9, 10, ", 1, 1, 0, 0")
WGMMA(AskAMn, "m64n16k16.f32.bf16.bf16", float, "+f", 8, 8, 9, 10, ", 1, 1, 1, 0")
WGMMA_REGISTER_A(AskB, "m64n128k16.f32.bf16.bf16", float, "+f", 64, 64, 65, 66, 67, 68, 69, ", 1, 1, 0")
WGMMA_REGISTER_A(AskBMn, "m64n128k16.f32.bf16.bf16", float, "+f", 64, 64, 65, 66, 67, 68, 69, ", 1, 1, 1")

__device__ uint16_t bf16_bits(float x) {
  return __bfloat16_as_ushort(__float2bfloat16(x));
}

// out: for A [64][16], for B [16][128] (k, n): slot numbers. One warpgroup.
__global__ void __launch_bounds__(128) locate(Case c, uint32_t* out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  uint16_t* area = reinterpret_cast<uint16_t*>(smem);
  uint16_t* identity = reinterpret_cast<uint16_t*>(smem + kAreaBytes);  // 16 x 16, K-major, no swizzle
  const int t = threadIdx.x, w = t / 32, g = t % 32 / 4, q = t % 4;
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = t; i < kSlots; i += 128) area[i] = bf16_bits(pass ? i >> 7 : i & 127);
    for (int i = t; i < 256; i += 128) {
      const int n = i / 16, k = i % 16;
      identity[n % 8 * 8 + n / 8 * 128 + k / 8 * 64 + k % 8] = bf16_bits(n == k);
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const uint64_t asked =
        descriptor(shared_address(smem) + c.start, c.leading, c.stride, c.mode, c.base_offset);
    const uint32_t factor = pass ? 128 : 1;
    if (c.of_a) {
      float d[8] = {};
      const uint64_t b = descriptor(shared_address(identity), 128, 256, 0);
      c.mn_major ? AskAMn::call(d, asked, b, 0) : AskA::call(d, asked, b, 0);
      for (int r = 0; r < 8; ++r)
        out[(16 * w + g + 8 * (r >> 1 & 1)) * 16 + 8 * (r >> 2) + 2 * q + (r & 1)] +=
            factor * static_cast<uint32_t>(d[r]);
    } else {
      // A fragment: register i, half h: row g + 8 * (i & 1) of this warp's 16, k = 2 * q + h + 8 * (i >> 1).
      uint32_t a[4];
      for (int i = 0; i < 4; ++i) {
        const int row = 16 * w + g + 8 * (i & 1), k = 2 * q + 8 * (i >> 1);
        a[i] = bf16_bits(row == k) | static_cast<uint32_t>(bf16_bits(row == k + 1)) << 16;
      }
      float d[64] = {};
      c.mn_major ? AskBMn::call(d, a, asked, 0) : AskB::call(d, a, asked, 0);
      if (w == 0)
        for (int r = 0; r < 64; ++r)
          out[(g + 8 * (r >> 1 & 1)) * 128 + 8 * (r >> 2) + 2 * q + (r & 1)] +=
              factor * static_cast<uint32_t>(d[r]);
    }
    __syncthreads();
  }
}

// Prints where each case finds its elements: byte offsets in the area, k = 0..15 of some rows, and a checksum of all.
inline void print_places(const std::vector<Case>& cases) {
  uint32_t* device;
  check(cudaMalloc(&device, 2048 * 4), "cudaMalloc");
  const int bytes = kAreaBytes + 512;
  check(cudaFuncSetAttribute(locate, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "shared memory");
  for (const Case& c : cases) {
    const int rows = c.of_a ? 64 : 128;
    std::vector<uint32_t> out(2048);
    check(cudaMemset(device, 0, 2048 * 4), "cudaMemset");
    locate<<<1, 128, bytes>>>(c, device);
    check(cudaMemcpy(out.data(), device, 2048 * 4, cudaMemcpyDeviceToHost), c.name);
    // offset of (row, k) in bytes
    std::vector<uint32_t> at(static_cast<size_t>(rows) * 16);
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < 16; ++k) at[row * 16 + k] = 2 * (c.of_a ? out[row * 16 + k] : out[k * 128 + row]);
    std::printf("%c %s: start %d leading %d stride %d base %d checksum %016llx\n", c.of_a ? 'A' : 'B', c.name,
                c.start, c.leading, c.stride, c.base_offset,
                static_cast<unsigned long long>(checksum(at.data(), at.size())));
    for (int row : {0, 1, 2, 7, 8, 17, 40, rows - 1}) {
      std::printf("  row %3d:", row);
      for (int k = 0; k < 16; ++k) std::printf(" %x", at[row * 16 + k]);
      std::printf("\n");
    }
  }
}
