// The accumulator fragment for several N, A from registers, scale-d, integer types: exact products of small integers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "wgmma_forms.cuh"

WGMMA(N8, "m64n8k16.f32.bf16.bf16", float, "+f", 4, 4, 5, 6, ", 1, 1, 0, 0")
WGMMA(N64, "m64n64k16.f32.bf16.bf16", float, "+f", 32, 32, 33, 34, ", 1, 1, 0, 0")
WGMMA(N128, "m64n128k16.f32.bf16.bf16", float, "+f", 64, 64, 65, 66, ", 1, 1, 0, 0")
WGMMA(N256, "m64n256k16.f32.bf16.bf16", float, "+f", 128, 128, 129, 130, ", 1, 1, 0, 0")
WGMMA(N256Transposed, "m64n256k16.f32.bf16.bf16", float, "+f", 128, 128, 129, 130, ", 1, 1, 1, 1")
WGMMA(F16N16, "m64n16k16.f16.f16.f16", uint32_t, "+r", 4, 4, 5, 6, ", 1, 1, 0, 0")
WGMMA(F16N128, "m64n128k16.f16.f16.f16", uint32_t, "+r", 32, 32, 33, 34, ", 1, 1, 0, 0")
WGMMA(F16N256, "m64n256k16.f16.f16.f16", uint32_t, "+r", 64, 64, 65, 66, ", -1, 1, 0, 0")
WGMMA(S8N64, "m64n64k32.s32.s8.s8", uint32_t, "+r", 32, 32, 33, 34, "")
WGMMA(U8S8N8, "m64n8k32.s32.u8.s8", uint32_t, "+r", 4, 4, 5, 6, "")
WGMMA(S8U8N256, "m64n256k32.s32.s8.u8", uint32_t, "+r", 128, 128, 129, 130, "")
WGMMA(S8N8Saturated, "m64n8k32.satfinite.s32.s8.s8", uint32_t, "+r", 4, 4, 5, 6, "")
WGMMA(B1N8, "m64n8k256.s32.b1.b1.and.popc", uint32_t, "+r", 4, 4, 5, 6, "")
WGMMA(Tf32N64, "m64n64k8.f32.tf32.tf32", float, "+f", 32, 32, 33, 34, ", 1, 1")
WGMMA_REGISTER_A(N64A, "m64n64k16.f32.bf16.bf16", float, "+f", 32, 32, 33, 34, 35, 36, 37, ", 1, 1, 0")
WGMMA_REGISTER_A(Tf32A, "m64n64k8.f32.tf32.tf32", float, "+f", 32, 32, 33, 34, 35, 36, 37, ", 1, 1")
WGMMA_REGISTER_A(S8A, "m64n64k32.s32.s8.s8", uint32_t, "+r", 32, 32, 33, 34, 35, 36, 37, "")
WGMMA_REGISTER_A(B1A, "m64n8k256.s32.b1.b1.and.popc", uint32_t, "+r", 4, 4, 5, 6, 7, 8, 9, "")
WGMMA_REGISTER_A(E4m3A, "m64n8k32.f32.e4m3.e4m3", float, "+f", 4, 4, 5, 6, 7, 8, 9, ", 1, 1")

enum Fill { kBf16, kF16, kTf32, kBytes, kBits, kE4m3 };

// A word of an operand: small integers, different in every row and column, not symmetric.
__device__ uint32_t word_of(int fill, int row, int word, int seed) {
  if (fill == kBits) return (row * 2654435761u + word * 40503u + seed) * 2246822519u;
  if (fill == kBytes) return (row * 2654435761u + word * 97u + seed) * 3266489917u;
  uint32_t out = 0;
  const int bits = fill == kTf32 ? 32 : fill == kE4m3 ? 8 : 16;
  for (int i = 0; i < 32 / bits; ++i) {
    const int k = word * (32 / bits) + i,
              value = (row * 5 + k * 3 + seed * (row / 8 + k) + row / 16) % 13 - 6;
    const float x = static_cast<float>(value);
    const uint32_t e = fill == kBf16   ? __bfloat16_as_ushort(__float2bfloat16(x))
                       : fill == kF16  ? __half_as_ushort(__float2half(x))
                       : fill == kTf32 ? __float_as_uint(x)
                                       : (row + 3 * k + seed) % 5 * 8u + 0x30u + (k & 1) * 0x80u;
    out |= e << i * bits;
  }
  return out;
}

// 128-byte swizzle codes are asked about elsewhere; here K-major without swizzle, or MN-major when `transposed`.
template <class Form, bool kRegisterA>
__global__ void __launch_bounds__(128)
    multiply(int fill, int n, int transposed, int accumulate, uint32_t start, uint32_t* out) {
  __shared__ alignas(1024) unsigned char smem_a[64 * 32];
  __shared__ alignas(1024) unsigned char smem_b[256 * 32];
  const int t = threadIdx.x, w = t / 32, g = t % 32 / 4, q = t % 4;
  for (int i = t; i < (64 + n) * 8; i += 128) {
    const bool a = i < 64 * 8;
    const int row = (a ? i : i - 64 * 8) / 8, word = i % 8;
    const uint32_t value = word_of(fill, row, word, a ? 1 : 2);
    unsigned char* tile = a ? smem_a : smem_b;
    if (!transposed) {  // [row / 8][chunk][row % 8][16 bytes]
      memcpy(tile + row / 8 * 256 + word / 4 * 128 + row % 8 * 16 + word % 4 * 4, &value, 4);
    } else {  // [k / 8][row / 8][k % 8][row % 8], 16-bit elements
      const int rows = a ? 64 : n;
      for (int h = 0; h < 2; ++h) {
        const int k = word * 2 + h;
        const uint16_t e = static_cast<uint16_t>(value >> 16 * h);
        memcpy(tile + ((k / 8 * (rows / 8) + row / 8) * 64 + k % 8 * 8 + row % 8) * 2, &e, 2);
      }
    }
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  typename Form::Register d[Form::kRegisters];
  for (int r = 0; r < Form::kRegisters; ++r) {
    const uint32_t word = start;
    memcpy(&d[r], &word, 4);
  }
  const uint64_t desc_b = transposed ? descriptor(shared_address(smem_b), n * 16, 128, 0)
                                     : descriptor(shared_address(smem_b), 128, 256, 0);
  if constexpr (kRegisterA) {
    uint32_t a[4];
    for (int i = 0; i < 4; ++i) a[i] = word_of(fill, 16 * w + g + 8 * (i & 1), q + 4 * (i >> 1), 1);
    Form::call(d, a, desc_b, accumulate);
  } else {
    Form::call(d,
               transposed ? descriptor(shared_address(smem_a), 1024, 128, 0)
                          : descriptor(shared_address(smem_a), 128, 256, 0),
               desc_b, accumulate);
  }
  for (int r = 0; r < Form::kRegisters; ++r) memcpy(&out[t * Form::kRegisters + r], &d[r], 4);
}

template <class Form, bool kRegisterA = false>
void ask(const char* name, int fill, int n, int accumulate = 1, uint32_t start = 0, int transposed = 0) {
  std::vector<uint32_t> d(128 * Form::kRegisters);
  uint32_t* device;
  check(cudaMalloc(&device, d.size() * 4), "cudaMalloc");
  multiply<Form, kRegisterA><<<1, 128>>>(fill, n, transposed, accumulate, start, device);
  check(cudaMemcpy(d.data(), device, d.size() * 4, cudaMemcpyDeviceToHost), name);
  check(cudaFree(device), "cudaFree");
  std::printf("%s checksum %016llx\n", name, static_cast<unsigned long long>(checksum(d.data(), d.size())));
  for (int t : {0, 5, 31, 32, 66, 127}) {
    std::printf("  thread %3d:", t);
    for (int r = 0; r < Form::kRegisters && r < 12; ++r)
      std::printf(" %08x", d[static_cast<size_t>(t * Form::kRegisters + r)]);
    std::printf("\n");
  }
}

int main() {
  const uint32_t three = 0x40400000, half_three = 0x42004200, poison = 0x7FFF7FFF;
  ask<N8>("bf16 n8", kBf16, 8);
  ask<N64>("bf16 n64", kBf16, 64);
  ask<N128>("bf16 n128", kBf16, 128);
  ask<N256>("bf16 n256", kBf16, 256);
  ask<N256Transposed>("bf16 n256, both MN-major", kBf16, 256, 1, 0, 1);
  ask<N64>("bf16 n64, D was 3", kBf16, 64, 1, three);
  ask<N64>("bf16 n64, D was NaN, scale-d 0", kBf16, 64, 0, poison);
  ask<N64>("bf16 n64, D was NaN", kBf16, 64, 1, poison);
  ask<N64A, true>("bf16 n64, A in registers", kBf16, 64);
  ask<F16N16>("f16 n16", kF16, 16, 1, half_three);
  ask<F16N128>("f16 n128", kF16, 128);
  ask<F16N256>("f16 n256, A negated", kF16, 256, 1, half_three);
  ask<Tf32N64>("tf32 n64", kTf32, 64, 1, three);
  ask<Tf32A, true>("tf32 n64, A in registers", kTf32, 64);
  ask<S8N64>("s8 n64", kBytes, 64, 1, 1000);
  ask<U8S8N8>("u8 s8 n8", kBytes, 8);
  ask<S8U8N256>("s8 u8 n256", kBytes, 256, 0, poison);
  ask<S8A, true>("s8 n64, A in registers", kBytes, 64);
  ask<S8N8Saturated>("s8 n8, satfinite at the top", kBytes, 8, 1, 0x7FFFFF00u);
  ask<S8N8Saturated>("s8 n8, satfinite at the bottom", kBytes, 8, 1, 0x80000100u);
  ask<U8S8N8>("u8 s8 n8, wraps", kBytes, 8, 1, 0x7FFFFF00u);
  ask<B1N8>("b1 n8", kBits, 8, 1, 7);
  ask<B1A, true>("b1 n8, A in registers", kBits, 8);
  ask<E4m3A, true>("e4m3 n8, A in registers", kE4m3, 8);
  return 0;
}
