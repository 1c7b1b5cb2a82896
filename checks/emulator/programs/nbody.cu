// An n-body step in double precision, tiles of bodies through shared memory; and double math functions.
#include <cmath>

#include "program.cuh"

constexpr int kBlock = 64;

struct alignas(16) Body {
  double x, y, z, w;  // w: mass
};

__global__ void accelerate(const Body* bodies, double3* out, int n, double softening) {
  __shared__ Body tile[kBlock];
  int i = blockIdx.x * kBlock + threadIdx.x;
  Body me = i < n ? bodies[i] : Body{0, 0, 0, 0};
  double3 a = make_double3(0, 0, 0);
  for (int start = 0; start < n; start += kBlock) {
    tile[threadIdx.x] = start + threadIdx.x < n ? bodies[start + threadIdx.x] : Body{0, 0, 0, 0};
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < kBlock; ++j) {
      double dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
      double inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
      double pull = tile[j].w * inverse * inverse * inverse;
      a.x += pull * dx;
      a.y += pull * dy;
      a.z += pull * dz;
    }
    __syncthreads();
  }
  if (i < n) out[i] = a;
}

constexpr int kFunctions = 9;
__global__ void functions(const double* in, double* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  double x = in[i];
  double* o = out + i * kFunctions;
  o[0] = sin(x);
  o[1] = exp(x);
  o[2] = log(fabs(x) + 0.1);
  o[3] = sqrt(fabs(x));
  o[4] = pow(fabs(x) + 0.5, 1.7);
  o[5] = atan2(x, 1.5);
  o[6] = erf(x);
  o[7] = cbrt(x);
  o[8] = fma(x, x, -1.0) / (x * x + 1.0);
}

int main() {
  const int n = 150;
  const double softening = 0.01;
  std::vector<Body> bodies(n);
  for (int i = 0; i < n; ++i)
    bodies[i] = {std::cos(i * 1.1) * (1 + i % 7), std::sin(i * 0.7) * 3, (i * 29 % 31) * 0.1, 1.0 + i % 3};
  double3* device = to_device(std::vector<double3>(n));
  accelerate<<<(n + kBlock - 1) / kBlock, kBlock>>>(to_device(bodies), device, n, softening);
  OK(cudaGetLastError());
  std::vector<double3> got = to_host(device, n);
  for (int i = 0; i < n; ++i) {
    double x = 0, y = 0, z = 0;
    for (const Body& b : bodies) {
      double dx = b.x - bodies[i].x, dy = b.y - bodies[i].y, dz = b.z - bodies[i].z;
      double inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + softening);
      double pull = b.w * inverse * inverse * inverse;
      x += pull * dx;
      y += pull * dy;
      z += pull * dz;
    }
    expect_near("x", i, got[i].x, x, 1e-9 * (1 + std::fabs(x)));
    expect_near("y", i, got[i].y, y, 1e-9 * (1 + std::fabs(y)));
    expect_near("z", i, got[i].z, z, 1e-9 * (1 + std::fabs(z)));
  }

  const std::vector<double> xs = {-3.25, -1, -0.3, -0.0, 1e-9, 0.2, 0.75, 1, 2.5, 7};
  const int count = static_cast<int>(xs.size());
  double* out = to_device(std::vector<double>(count * kFunctions));
  functions<<<1, 32>>>(to_device(xs), out, count);
  OK(cudaGetLastError());
  std::vector<double> f = to_host(out, count * kFunctions);
  for (int i = 0; i < count; ++i) {
    double x = xs[i];
    const double want[kFunctions] = {std::sin(x),
                                     std::exp(x),
                                     std::log(std::fabs(x) + 0.1),
                                     std::sqrt(std::fabs(x)),
                                     std::pow(std::fabs(x) + 0.5, 1.7),
                                     std::atan2(x, 1.5),
                                     std::erf(x),
                                     std::cbrt(x),
                                     std::fma(x, x, -1.0) / (x * x + 1.0)};
    for (int k = 0; k < kFunctions; ++k)
      expect_near("function", i * kFunctions + k, f[i * kFunctions + k], want[k],
                  4e-15 * (1 + std::fabs(want[k])));
  }
  return finish("nbody");
}
