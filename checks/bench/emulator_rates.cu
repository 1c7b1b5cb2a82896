// What `make bench-emulator` runs besides the lessons: one kernel of ordinary instructions, one of nothing but wgmma.
// Usage: emulator_rates threads|wgmma REPEAT. Prints the milliseconds of each launch, one a line.
// Exit: 0 if the kernel computed what it should, 1 if not, 2 for bad arguments or environment.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernel/gemm_tile.cuh"
#include "ptx/fence.cuh"
#include "ptx/wgmma.cuh"

namespace {

constexpr int kCtas = 4, kThreads = 256, kSteps = 512;

// The state of a 32-bit xorshift generator after one step.
__host__ __device__ uint32_t xorshift(uint32_t x) {
  x ^= x << 13;
  x ^= x >> 17;
  return x ^ x << 5;
}

// out[i]: kSteps of a generator, an fma, a shared-memory exchange with a neighbour. Integer and float arithmetic, a
// branch, loads and stores: what the emulator spends its time on outside the tensor core.
__global__ void thread_work(uint32_t* out) {
  __shared__ uint32_t exchange[kThreads];
  const uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  uint32_t x = index + 1;
  float sum = 0.0f;
  for (int step = 0; step < kSteps; ++step) {
    x = xorshift(x);
    if (x & 1) sum = fmaf(sum, 0.5f, 1.0f);
    exchange[threadIdx.x] = x;
    __syncwarp();
    x += exchange[threadIdx.x ^ 1];
    __syncwarp();
  }
  out[index] = sum <= 2.0f ? x : 0;  // sum converges to 2
}

// The same for threads 2 * pair and 2 * pair + 1, on the host.
bool thread_work_right(const std::vector<uint32_t>& out) {
  for (size_t i = 0; i < out.size(); i += 2) {
    uint32_t x[2] = {static_cast<uint32_t>(i) + 1, static_cast<uint32_t>(i) + 2};
    for (int step = 0; step < kSteps; ++step) {
      const uint32_t a = xorshift(x[0]), b = xorshift(x[1]);
      x[0] = a + b;
      x[1] = b + a;
    }
    if (out[i] != x[0] || out[i + 1] != x[1]) return false;
  }
  return true;
}

// out[i]: the sum of thread i's accumulators after kSteps / 8 products of two 64-deep tiles of ones.
__global__ void __launch_bounds__(128) wgmma_work(uint32_t* out) {
  constexpr lab::bf16 kOne = {0x3F80};
  __shared__ alignas(1024) lab::bf16 a[64 * 64], b[128 * 64];
  for (int i = threadIdx.x; i < 64 * 64; i += 128) a[i] = kOne;
  for (int i = threadIdx.x; i < 128 * 64; i += 128) b[i] = kOne;
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  float acc[64] = {};
  for (int step = 0; step < kSteps / 8; ++step) {
    ptx::wgmma_fence();
    lab::multiply_tile<64>(acc, a, b);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
  }
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += acc[i];
  out[blockIdx.x * 128 + threadIdx.x] = static_cast<uint32_t>(sum);
}

bool wgmma_work_right(const std::vector<uint32_t>& out) {
  for (uint32_t value : out) {
    if (value != 64u * 64u * (kSteps / 8)) return false;
  }
  return true;
}

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "emulator_rates: %s: %s\n", call, cudaGetErrorString(error));
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const bool threads = argc == 3 && std::strcmp(argv[1], "threads") == 0;
  const bool wgmma = argc == 3 && std::strcmp(argv[1], "wgmma") == 0;
  const int repeat = argc == 3 ? std::atoi(argv[2]) : 0;
  if (!(threads || wgmma) || repeat < 1) {
    std::fprintf(stderr, "usage: emulator_rates threads|wgmma REPEAT, REPEAT at least 1\n");
    return 2;
  }
  std::vector<uint32_t> out(kCtas * (threads ? kThreads : 128));
  uint32_t* device_out = nullptr;
  check(cudaMalloc(&device_out, out.size() * sizeof(uint32_t)), "cudaMalloc");
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");
  for (int i = 0; i < repeat; ++i) {
    check(cudaEventRecord(start), "cudaEventRecord");
    if (threads) {
      thread_work<<<kCtas, kThreads>>>(device_out);
    } else {
      wgmma_work<<<kCtas, 128>>>(device_out);
    }
    check(cudaEventRecord(stop), "cudaEventRecord");
    check(cudaEventSynchronize(stop), "the kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
    std::printf("%.6f\n", ms);
  }
  check(cudaMemcpy(out.data(), device_out, out.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  if (threads ? thread_work_right(out) : wgmma_work_right(out)) return 0;
  std::fprintf(stderr, "emulator_rates: wrong result\n");
  return 1;
}
