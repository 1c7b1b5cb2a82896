// cuda_fp16.h and cuda_bf16.h: conversions, arithmetic in pairs, comparisons, atomics, and fp8 storage.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstring>

#include "program.cuh"

constexpr int kHalf = 14, kBf16 = 9, kFp8 = 4;

__global__ void halves(const float* in, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  half a = __float2half(in[i]), b = __float2half(in[(i + 1) % n]);
  half2 pair = __halves2half2(a, b), twos = __float2half2_rn(2.0f);
  half2 sum = __hadd2(pair, twos), product = __hfma2(pair, twos, sum);
  float* o = out + i * kHalf;
  o[0] = __half2float(a);
  o[1] = __low2float(sum);
  o[2] = __high2float(product);
  o[3] = __half2float(__hmul(a, b));
  o[4] = __half2float(__hsub(a, b));
  o[5] = __half2float(__hdiv(a, __hadd(__hmul(b, b), __float2half(1.0f))));
  o[6] = __hlt(a, b) ? 1.0f : 0.0f;
  o[7] = __half2float(__hmax(a, b));
  o[8] = static_cast<float>(__half2int_rn(a));
  o[9] = __half2float(hsqrt(__habs(a)));
  o[10] = __half2float(__hneg(a));
  o[11] = __half2float(__float2half_rz(in[i]));
  o[12] = static_cast<float>(__half_as_ushort(a));
  o[13] = __half2float(__hfma_relu(a, b, a));
}

__global__ void bf16s(const float* in, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  __nv_bfloat16 a = __float2bfloat16(in[i]), b = __float2bfloat16(in[(i + 1) % n]);
  __nv_bfloat162 pair = __halves2bfloat162(a, b);
  __nv_bfloat162 squares = __hmul2(pair, pair);
  float* o = out + i * kBf16;
  o[0] = __bfloat162float(a);
  o[1] = __low2float(squares);
  o[2] = __high2float(squares);
  o[3] = __bfloat162float(__hadd(a, b));
  o[4] = __bfloat162float(__hfma(a, b, a));
  o[5] = __bfloat162float(__hmin(a, b));
  o[6] = __hge(a, b) ? 1.0f : 0.0f;
  o[7] = static_cast<float>(__bfloat16_as_ushort(a));
  o[8] = __bfloat162float(__float2bfloat162_rn(in[i]).y);
}

__global__ void fp8s(const float* in, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  __nv_fp8_e4m3 a(in[i]);
  __nv_fp8_e5m2 b(in[i]);
  out[i * kFp8] = float(a);
  out[i * kFp8 + 1] = float(b);
  out[i * kFp8 + 2] = static_cast<float>(a.__x);
  out[i * kFp8 + 3] = static_cast<float>(b.__x);
}

__global__ void sums(half2* h, __nv_bfloat162* b, half* one) {
  atomicAdd(h, __floats2half2_rn(1.0f, 0.5f));
  atomicAdd(b, __floats2bfloat162_rn(2.0f, -1.0f));
  atomicAdd(one, __float2half(0.25f));
}

// Round to nearest even with `bits` bits of mantissa after the leading one, for values in the normal range.
double rounded(double x, int bits) {
  if (x == 0) return x;
  int exponent;
  std::frexp(x, &exponent);
  double unit = std::ldexp(1.0, exponent - 1 - bits);
  return std::nearbyint(x / unit) * unit;
}

unsigned bits_of(float f) {
  unsigned u;
  std::memcpy(&u, &f, 4);
  return u;
}

int main() {
  const std::vector<float> in = {1.0f,     -2.5f, 0.333333f, 1000.75f, -0.0625f,
                                 3.14159f, 17.0f, -100.125f, 0.5f,     2.0009765f};
  const int n = static_cast<int>(in.size());
  float* device = to_device(in);
  float *h = to_device(std::vector<float>(n * kHalf)), *b = to_device(std::vector<float>(n * kBf16)),
        *q = to_device(std::vector<float>(n * kFp8));
  halves<<<1, 32>>>(device, h, n);
  bf16s<<<1, 32>>>(device, b, n);
  fp8s<<<1, 32>>>(device, q, n);
  OK(cudaGetLastError());
  std::vector<float> gh = to_host(h, n * kHalf), gb = to_host(b, n * kBf16), gq = to_host(q, n * kFp8);
  auto f16 = [](double x) { return rounded(x, 10); };
  auto bf16 = [](double x) { return rounded(x, 7); };
  for (int i = 0; i < n; ++i) {
    double x = f16(in[i]), y = f16(in[(i + 1) % n]);
    const float* o = &gh[i * kHalf];
    expect("half", i, o[0], x);
    expect("hadd2", i, o[1], f16(x + 2));
    expect("hfma2", i, o[2], f16(y * 2 + f16(y + 2)));
    expect("hmul", i, o[3], f16(x * y));
    expect("hsub", i, o[4], f16(x - y));
    expect_near("hdiv", i, o[5], x / f16(f16(y * y) + 1), std::fabs(x) * 1e-3);
    expect("hlt", i, o[6], x < y ? 1 : 0);
    expect("hmax", i, o[7], x < y ? y : x);
    expect("half2int_rn", i, o[8], std::nearbyint(x));
    expect("hsqrt", i, o[9], f16(std::sqrt(std::fabs(x))));
    expect("hneg", i, o[10], -x);
    float toward_zero = o[11];
    expect("half_rz is not larger", i, std::fabs(toward_zero) <= std::fabs(in[i]), true);
    expect_near("half_rz", i, toward_zero, in[i], std::fabs(in[i]) / 1024);
    expect("hfma_relu", i, o[13], f16(x * y + x) > 0 ? f16(x * y + x) : 0);
    double u = bf16(in[i]), v = bf16(in[(i + 1) % n]);
    const float* p = &gb[i * kBf16];
    expect("bf16", i, p[0], u);
    expect("bf16 mul2 low", i, p[1], bf16(u * u));
    expect("bf16 mul2 high", i, p[2], bf16(v * v));
    expect("bf16 add", i, p[3], bf16(u + v));
    expect("bf16 fma", i, p[4], bf16(u * v + u));
    expect("bf16 min", i, p[5], u < v ? u : v);
    expect("bf16 ge", i, p[6], u >= v ? 1 : 0);
    expect("bf16 bits", i, p[7], bits_of(static_cast<float>(u)) >> 16);
    expect("bf16x2", i, p[8], u);
    double e4m3 = std::fabs(in[i]) > 448 ? std::copysign(448.0, in[i]) : rounded(in[i], 3);
    expect("e4m3", i, gq[i * kFp8], e4m3);
    expect("e5m2", i, gq[i * kFp8 + 1], rounded(in[i], 2));
  }
  expect("bits of half 1", 0, gh[12], 0x3C00);
  expect("bits of half -2.5", 0, gh[kHalf + 12], 0xC100);
  expect("bits of e4m3 1", 0, gq[2], 0x38);
  expect("bits of e5m2 1", 0, gq[3], 0x3C);

  half2* sum_h = to_device(std::vector<half2>(1, __floats2half2_rn(0, 0)));
  __nv_bfloat162* sum_b = to_device(std::vector<__nv_bfloat162>(1, __floats2bfloat162_rn(0, 0)));
  half* sum_one = to_device(std::vector<half>(2, __float2half(0)));
  sums<<<2, 32>>>(sum_h, sum_b, sum_one + 1);
  OK(cudaGetLastError());
  half2 rh = to_host(sum_h, 1)[0];
  __nv_bfloat162 rb = to_host(sum_b, 1)[0];
  expect("half2 atomic low", 0, __low2float(rh), 64);
  expect("half2 atomic high", 0, __high2float(rh), 32);
  expect("bf162 atomic low", 0, __low2float(rb), 128);
  expect("bf162 atomic high", 0, __high2float(rb), -64);
  expect("half atomic", 0, __half2float(to_host(sum_one, 2)[1]), 16);
  return finish("half_precision");
}
