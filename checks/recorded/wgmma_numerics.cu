// How a wgmma rounds: products of chosen bit patterns, D printed as bits.
//
// Every run multiplies A (64 rows) by B (8 columns), 32 bytes of K each, and adds C. The rows are drawn from a fixed
// sequence in several regimes; the checksum covers all 512 elements, the first 8 rows are printed.
#include "wgmma_forms.cuh"

WGMMA(Bf16, "m64n8k16.f32.bf16.bf16", float, "+f", 4, 4, 5, 6, ", 1, 1, 0, 0")
WGMMA(Bf16NegateA, "m64n8k16.f32.bf16.bf16", float, "+f", 4, 4, 5, 6, ", -1, 1, 0, 0")
WGMMA(Bf16NegateB, "m64n8k16.f32.bf16.bf16", float, "+f", 4, 4, 5, 6, ", 1, -1, 0, 0")
WGMMA(Bf16NegateBoth, "m64n8k16.f32.bf16.bf16", float, "+f", 4, 4, 5, 6, ", -1, -1, 0, 0")
WGMMA(F16, "m64n8k16.f32.f16.f16", float, "+f", 4, 4, 5, 6, ", 1, 1, 0, 0")
WGMMA(F16ToF16, "m64n8k16.f16.f16.f16", uint32_t, "+r", 2, 2, 3, 4, ", 1, 1, 0, 0")
WGMMA(Tf32, "m64n8k8.f32.tf32.tf32", float, "+f", 4, 4, 5, 6, ", 1, 1")
WGMMA(E4m3, "m64n8k32.f32.e4m3.e4m3", float, "+f", 4, 4, 5, 6, ", 1, 1")
WGMMA(E5m2E4m3, "m64n8k32.f32.e5m2.e4m3", float, "+f", 4, 4, 5, 6, ", 1, 1")
WGMMA(E4m3ToF16, "m64n8k32.f16.e4m3.e4m3", uint32_t, "+r", 2, 2, 3, 4, ", 1, 1")
WGMMA(E5m2ToF16, "m64n8k32.f16.e5m2.e5m2", uint32_t, "+r", 2, 2, 3, 4, ", 1, 1")

// a: [64][32] bytes, b: [8][32] bytes, d: [128][registers] words, in and out.
template <class Form>
__global__ void __launch_bounds__(128)
    product(const uint32_t* a, const uint32_t* b, uint32_t* d, int accumulate) {
  __shared__ alignas(1024) uint32_t smem_a[64 * 8];
  __shared__ alignas(1024) uint32_t smem_b[8 * 8];
  const int t = threadIdx.x;
  // K-major, no swizzle: chunks of 16 bytes, 8 rows of a chunk 16 bytes apart, chunks 128, groups of rows 256 bytes.
  for (int i = t; i < 64 * 8; i += 128) {
    const int row = i / 8, word = i % 8;
    smem_a[row / 8 * 64 + word / 4 * 32 + row % 8 * 4 + word % 4] = a[i];
  }
  if (t < 64) smem_b[t % 8 / 4 * 32 + t / 8 * 4 + t % 4] = b[t];
  typename Form::Register registers[Form::kRegisters];
  for (int r = 0; r < Form::kRegisters; ++r) {
    const uint32_t word = d[t * Form::kRegisters + r];
    memcpy(&registers[r], &word, 4);
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  Form::call(registers, descriptor(shared_address(smem_a), 128, 256, 0),
             descriptor(shared_address(smem_b), 128, 256, 0), accumulate);
  for (int r = 0; r < Form::kRegisters; ++r) memcpy(&d[t * Form::kRegisters + r], &registers[r], 4);
}

// ---- element formats: sign, exponent and fraction bits
struct Format {
  int exponent_bits, fraction_bits;
  int bits() const { return 1 + exponent_bits + fraction_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint32_t pack(uint32_t sign, int exponent,
                uint32_t fraction) const {  // 2^exponent * 1.fraction; exponent clamped
    int field = exponent + bias();
    const int largest =
        (1 << exponent_bits) - (exponent_bits == 4 ? 1 : 2);  // e4m3 has finite numbers at the top
    if (field < 0) field = 0;
    if (field > largest) field = largest;
    fraction &= (1u << fraction_bits) - 1;
    if (exponent_bits == 4 && field == 15 && fraction == 7) fraction = 6;  // not its NaN
    return sign << (exponent_bits + fraction_bits) | static_cast<uint32_t>(field) << fraction_bits | fraction;
  }
};
const Format kBf16 = {8, 7}, kF16 = {5, 10}, kTf32 = {8, 23}, kE4m3 = {4, 3}, kE5m2 = {5, 2}, kF32 = {8, 23};

enum Regime {
  kNear,       // exponents -2..1
  kWide,       // exponents over 30 binary orders
  kExtreme,    // all exponents of the format
  kCancel,     // the second half of K is minus the first, but for one element
  kSubnormal,  // exponent field 0 and 1
  kZeros,    // zeros opposite the largest numbers, small ones elsewhere; C is zero, and every eighth row of A
  kSpecial,  // infinities and NaN among ordinary numbers
  kRegimes
};
const char* kNames[kRegimes] = {"near", "wide", "extreme", "cancel", "subnormal", "zeros", "special"};

uint32_t element(const Format& f, Regime regime, Sequence& s, int k, bool of_a) {
  const uint32_t r = s.next(), sign = r & 1, fraction = r >> 8;
  const int spread = static_cast<int>(s.next() & 0xFFFF);
  const int lowest = 1 - f.bias(), highest = f.bias();
  switch (regime) {
    case kNear:
      return f.pack(sign, spread % 4 - 2, fraction);
    case kWide:
      return f.pack(sign, spread % 15 - 7, fraction);
    case kExtreme:
      return f.pack(sign, lowest - 1 + spread % (highest - lowest + 2), fraction);
    case kCancel:
      return f.pack(sign, spread % 8 - 4, fraction);
    case kSubnormal:
      return f.pack(sign, lowest - 1 + (spread % 3 == 0), fraction);
    case kZeros:
      if (k % 4 == 0) return of_a ? 0 : f.pack(sign, highest, fraction);
      if (k % 4 == 1) return of_a ? f.pack(sign, highest, fraction) : 0;
      return f.pack(sign, (lowest < -30 ? -30 : lowest) + spread % 4, fraction);
    default:
      if (spread % 97 == 0 && f.exponent_bits != 4)
        return sign << (f.bits() - 1) | ((1u << f.exponent_bits) - 1) << f.fraction_bits;  // infinity
      if (spread % 193 == 1) return (1u << (f.bits() - 1)) - 1;                            // NaN
      return f.pack(sign, spread % 4, fraction);
  }
}

// `rows` rows of 32 bytes.
std::vector<uint32_t> operand(const Format& f, Regime regime, Sequence& s, int rows, bool of_a) {
  const int bits = f.bits(), depth = 256 / bits;
  std::vector<uint32_t> words(static_cast<size_t>(rows) * 8, 0);
  for (int row = 0; row < rows; ++row) {
    std::vector<uint32_t> drawn;
    for (int k = 0; k < depth; ++k) {
      uint32_t e = element(f, regime, s, k, of_a);
      if (regime == kCancel && k >= depth / 2 && k != depth - 1) {
        e = drawn[static_cast<size_t>(k - depth / 2)];
        if (of_a) e ^= 1u << (bits - 1);
      }
      if (regime == kZeros && of_a && row % 8 == 7) e &= 1u << (bits - 1);
      drawn.push_back(e);
      words[static_cast<size_t>(row * 8 + k * bits / 32)] |= e << k * bits % 32;
    }
  }
  return words;
}

std::vector<uint32_t> accumulators(bool f16, Regime regime, Sequence& s) {
  const Format& f = f16 ? kF16 : kF32;
  const auto draw = [&] {
    const uint32_t e = element(f, regime == kExtreme ? kWide : regime, s, 2, true);
    return regime == kZeros ? e & 1u << (f.bits() - 1) : e;
  };
  std::vector<uint32_t> words(128 * (f16 ? 2 : 4));
  for (uint32_t& word : words) {
    word = draw();
    if (f16) word |= draw() << 16;
  }
  return words;
}

template <class Form>
void ask(const char* name, const Format& fa, const Format& fb, bool f16, int accumulate = 1) {
  for (int regime = 0; regime < kRegimes; ++regime) {
    Sequence s = {static_cast<uint64_t>(regime) * 7919 + 17};
    const auto a = operand(fa, static_cast<Regime>(regime), s, 64, true);
    const auto b = operand(fb, static_cast<Regime>(regime), s, 8, false);
    auto d = accumulators(f16, static_cast<Regime>(regime), s);
    uint32_t *device_a, *device_b, *device_d;
    check(cudaMalloc(&device_a, a.size() * 4), "cudaMalloc");
    check(cudaMalloc(&device_b, b.size() * 4), "cudaMalloc");
    check(cudaMalloc(&device_d, d.size() * 4), "cudaMalloc");
    check(cudaMemcpy(device_a, a.data(), a.size() * 4, cudaMemcpyHostToDevice), "copy A");
    check(cudaMemcpy(device_b, b.data(), b.size() * 4, cudaMemcpyHostToDevice), "copy B");
    check(cudaMemcpy(device_d, d.data(), d.size() * 4, cudaMemcpyHostToDevice), "copy C");
    product<Form><<<1, 128>>>(device_a, device_b, device_d, accumulate);
    check(cudaMemcpy(d.data(), device_d, d.size() * 4, cudaMemcpyDeviceToHost), name);
    std::printf("%s %s%s checksum %016llx\n", name, kNames[regime], accumulate ? "" : ", scale-d 0",
                static_cast<unsigned long long>(checksum(d.data(), d.size())));
    // rows 0 to 7: registers 0 and 1 (f16: register 0) of warp 0
    const int registers = f16 ? 2 : 4;
    for (int row = 0; row < 8; ++row) {
      std::printf(" ");
      for (int q = 0; q < 4; ++q) {
        const uint32_t* thread = &d[static_cast<size_t>((row * 4 + q) * registers)];
        f16 ? std::printf(" %04x %04x", thread[0] & 0xFFFF, thread[0] >> 16)
            : std::printf(" %08x %08x", thread[0], thread[1]);
      }
      std::printf("\n");
    }
    check(cudaFree(device_a), "cudaFree");
    check(cudaFree(device_b), "cudaFree");
    check(cudaFree(device_d), "cudaFree");
  }
}

int main() {
  ask<Bf16>("f32.bf16.bf16", kBf16, kBf16, false);
  ask<Bf16>("f32.bf16.bf16", kBf16, kBf16, false, 0);
  ask<Bf16NegateA>("f32.bf16.bf16, A negated", kBf16, kBf16, false);
  ask<Bf16NegateB>("f32.bf16.bf16, B negated", kBf16, kBf16, false);
  ask<Bf16NegateBoth>("f32.bf16.bf16, both negated", kBf16, kBf16, false);
  ask<F16>("f32.f16.f16", kF16, kF16, false);
  ask<F16ToF16>("f16.f16.f16", kF16, kF16, true);
  ask<F16ToF16>("f16.f16.f16", kF16, kF16, true, 0);
  ask<Tf32>("f32.tf32.tf32", kTf32, kTf32, false);
  ask<E4m3>("f32.e4m3.e4m3", kE4m3, kE4m3, false);
  ask<E5m2E4m3>("f32.e5m2.e4m3", kE5m2, kE4m3, false);
  ask<E4m3ToF16>("f16.e4m3.e4m3", kE4m3, kE4m3, true);
  ask<E5m2ToF16>("f16.e5m2.e5m2", kE5m2, kE5m2, true);
  return 0;
}
