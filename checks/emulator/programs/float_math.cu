// Single-precision math: the library's functions, the fast intrinsics, every rounding mode, conversions with
// saturation, NaN and infinity.
#include <cmath>
#include <limits>

#include "program.cuh"

constexpr int kFunctions = 16;

__global__ void functions(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], a = fabsf(x);
  float* o = out + i * kFunctions;
  o[0] = sinf(x);
  o[1] = cosf(x);
  o[2] = expf(x);
  o[3] = logf(a + 0.01f);
  o[4] = powf(a + 0.5f, 2.3f);
  o[5] = sqrtf(a);
  o[6] = rsqrtf(a + 1.0f);
  o[7] = tanhf(x);
  o[8] = atan2f(x, 2.0f);
  o[9] = erff(x);
  o[10] = cbrtf(x);
  o[11] = fmodf(x, 0.7f);
  o[12] = x / (a + 0.3f);
  o[13] = log2f(a + 0.01f);
  o[14] = exp2f(x);
  o[15] = hypotf(x, 3.0f);
}

__global__ void fast(const float* in, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float x = in[i], a = fabsf(x);
  float* o = out + i * 4;
  o[0] = __expf(x);
  o[1] = __logf(a + 0.01f);
  o[2] = __fdividef(x, a + 0.3f);
  o[3] = __sinf(x);
}

__global__ void rounding(float* out, int* whole) {
  float third = 1.0f, three = 3.0f;
  if (blockDim.x == 2) third = 2.0f;  // keeps the compiler from computing the results
  out[0] = __fdiv_rn(third, three);
  out[1] = __fdiv_rz(third, three);
  out[2] = __fdiv_ru(third, three);
  out[3] = __fdiv_rd(-third, three);
  out[4] = __fadd_ru(third, 1e-10f);
  out[5] = __fadd_rd(third, 1e-10f);
  out[6] = __fmul_rz(third + 1.1920929e-7f, third + 1.1920929e-7f);
  out[7] = __fmaf_ru(third, third, 1e-20f);
  out[8] = __fsqrt_rd(three);
  out[9] = __frcp_ru(three);
  out[10] = __saturatef(third + 5);
  out[11] = __saturatef(-third);
  out[12] = fmaxf(nanf(""), third);
  out[13] = fminf(third, -INFINITY);
  float big = 3e9f * third, nothing = (third - 1) / (third - 1);
  whole[0] = __float2int_rn(2.5f * third);
  whole[1] = __float2int_rz(-2.7f * third);
  whole[2] = __float2int_ru(2.1f * third);
  whole[3] = __float2int_rd(-2.1f * third);
  whole[4] = __float2int_rz(big);
  whole[5] = __float2int_rz(-big);
  whole[6] = __float2int_rz(nothing);
  whole[7] = static_cast<int>(__float2uint_rz(-third));
  whole[8] = __float_as_int(__int2float_rn(16777217));
  whole[9] = __float_as_int(__int2float_ru(16777217));
  whole[10] = __float_as_int(rintf(-0.4f * third));
  whole[11] = __double2int_rn(1e10 * third);
  whole[12] = __float_as_int(__double2float_rd(0.1));
  whole[13] = isnan(nothing) && !isinf(nothing) && isinf(big * 1e38f);
}

unsigned distance(float a, float b) {  // in units of the last place
  auto key = [](float f) {
    int bits;
    __builtin_memcpy(&bits, &f, 4);
    return bits < 0 ? static_cast<int>(0x80000000u) - bits : bits;
  };
  long long d = static_cast<long long>(key(a)) - key(b);
  return static_cast<unsigned>(d < 0 ? -d : d);
}

int bits_of(float f) {
  int bits;
  __builtin_memcpy(&bits, &f, 4);
  return bits;
}

int main() {
  std::vector<float> in = {0.0f,  -0.0f,      1e-30f, 0.1f,   -0.5f, 1.0f,
                           -1.5f, 3.1415927f, 10.0f,  -20.5f, 60.0f, 1000.5f};
  const int n = static_cast<int>(in.size());
  float *device = to_device(in), *out = to_device(std::vector<float>(n * kFunctions)),
        *quick = to_device(std::vector<float>(n * 4));
  functions<<<1, 32>>>(device, out, n);
  fast<<<1, 32>>>(device, quick, n);
  OK(cudaGetLastError());
  std::vector<float> got = to_host(out, n * kFunctions), q = to_host(quick, n * 4);
  // Largest error of each function in units of the last place (CUDA programming guide, mathematical functions).
  const unsigned most[kFunctions] = {2, 2, 2, 1, 4, 0, 2, 2, 3, 2, 1, 0, 0, 1, 2, 3};
  for (int i = 0; i < n; ++i) {
    double x = in[i], a = std::fabs(x), low = static_cast<float>(a) + 0.01f,
           half = static_cast<float>(a) + 0.5f;
    const double want[kFunctions] = {std::sin(x),
                                     std::cos(x),
                                     std::exp(x),
                                     std::log(low),
                                     std::pow(half, static_cast<double>(2.3f)),
                                     std::sqrt(a),
                                     1 / std::sqrt(static_cast<double>(static_cast<float>(a) + 1.0f)),
                                     std::tanh(x),
                                     std::atan2(x, 2.0),
                                     std::erf(x),
                                     std::cbrt(x),
                                     std::fmod(x, static_cast<double>(0.7f)),
                                     x / static_cast<double>(static_cast<float>(a) + 0.3f),
                                     std::log2(low),
                                     std::exp2(x),
                                     std::hypot(x, 3.0)};
    for (int k = 0; k < kFunctions; ++k) {
      float g = got[i * kFunctions + k], w = static_cast<float>(want[k]);
      if (!(distance(g, w) <= most[k] + 1)) expect_near("function", i * 100 + k, g, want[k], 0);
    }
    expect_near("__expf", i, q[i * 4], std::exp(x), std::exp(x) * 1e-5 + 1e-37);
    expect_near("__logf", i, q[i * 4 + 1], std::log(low), 1e-5 * (1 + std::fabs(std::log(low))));
    expect_near("__fdividef", i, q[i * 4 + 2], x / (a + 0.3f), 1e-6);
    if (a < 4) expect_near("__sinf", i, q[i * 4 + 3], std::sin(x), 1e-6);
  }

  float* rounded = to_device(std::vector<float>(14));
  int* whole = to_device(std::vector<int>(14));
  rounding<<<1, 1>>>(rounded, whole);
  OK(cudaGetLastError());
  std::vector<float> r = to_host(rounded, 14);
  std::vector<int> w = to_host(whole, 14);
  const float third = 1.0f / 3, below = std::nextafter(third, 0.0f);
  const float want[14] = {third,
                          below,
                          third,
                          -third,
                          std::nextafter(1.0f, 2.0f),
                          1.0f,
                          1.0f + 2.3841858e-7f,
                          std::nextafter(1.0f, 2.0f),
                          1.7320508f,
                          third,
                          1.0f,
                          0.0f,
                          1.0f,
                          -std::numeric_limits<float>::infinity()};
  for (int k = 0; k < 14; ++k) expect("rounding", k, bits_of(r[k]), bits_of(want[k]));
  const int want_whole[14] = {2,
                              -2,
                              3,
                              -3,
                              2147483647,
                              -2147483647 - 1,
                              0,
                              0,
                              bits_of(16777216.0f),
                              bits_of(16777218.0f),
                              bits_of(-0.0f),
                              2147483647,
                              bits_of(std::nextafter(0.1f, 0.0f)),
                              1};
  for (int k = 0; k < 14; ++k) expect("conversion", k, w[k], want_whole[k]);
  return finish("float_math");
}
