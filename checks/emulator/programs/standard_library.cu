// libcu++: atomics with memory orders and scopes, a latch, a semaphore, atomic_ref on plain memory, spans and tuples.
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/tuple>

#include "program.cuh"

using Counter = cuda::atomic<int, cuda::thread_scope_device>;

// Blocks hand a message round: each waits for the one before (release and acquire).
__global__ void chain(Counter* ready, int* message, int* out) {
  if (threadIdx.x != 0) return;
  int me = static_cast<int>(blockIdx.x);
  while (ready->load(cuda::memory_order_acquire) != me) {
  }
  *message = *message * 2 + me;
  out[me] = *message;
  ready->store(me + 1, cuda::memory_order_release);
}

__global__ void references(int* sums, float* floats, unsigned long long* most) {
  cuda::atomic_ref<int, cuda::thread_scope_block>(sums[threadIdx.x % 4])
      .fetch_add(static_cast<int>(threadIdx.x));
  cuda::atomic_ref<float, cuda::thread_scope_device>(*floats).fetch_add(0.5f);
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_system>(*most).fetch_max(threadIdx.x *
                                                                                   1000000007ull);
}

__global__ void guarded(int* value, int* order) {
  using Semaphore = cuda::binary_semaphore<cuda::thread_scope_block>;
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(Semaphore) char semaphore_storage[sizeof(Semaphore)];
  __shared__ alignas(Latch) char latch_storage[sizeof(Latch)];
  Semaphore& semaphore = *reinterpret_cast<Semaphore*>(semaphore_storage);
  Latch& latch = *reinterpret_cast<Latch*>(latch_storage);
  if (threadIdx.x == 0) {
    new (&semaphore) Semaphore(1);
    new (&latch) Latch(blockDim.x);
  }
  __syncthreads();
  semaphore.acquire();
  int before = *reinterpret_cast<volatile int*>(value);
  *reinterpret_cast<volatile int*>(value) = before + 1;
  semaphore.release();
  latch.arrive_and_wait();
  order[threadIdx.x] = *reinterpret_cast<volatile int*>(value);
}

__global__ void types(double* out) {
  cuda::std::complex<double> z(1.0, 2.0);
  z = z * z + cuda::std::complex<double>(threadIdx.x, 0);
  cuda::std::array<int, 4> a = {1, 2, 3, 4};
  auto t = cuda::std::make_tuple(z.real(), z.imag(), a[threadIdx.x % 4]);
  out[threadIdx.x] = cuda::std::get<0>(t) + 10 * cuda::std::get<1>(t) + 100 * cuda::std::get<2>(t);
}

int main() {
  const int blocks = 20;
  Counter* ready = nullptr;
  OK(cudaMalloc(&ready, sizeof(Counter)));
  OK(cudaMemset(ready, 0, sizeof(Counter)));
  int *message = to_device(std::vector<int>(1)), *out = to_device(std::vector<int>(blocks));
  chain<<<blocks, 32>>>(ready, message, out);
  OK(cudaGetLastError());
  std::vector<int> got = to_host(out, blocks);
  for (int b = 0, want = 0; b < blocks; ++b) expect("chain", b, got[b], want = want * 2 + b);

  int* sums = to_device(std::vector<int>(4));
  float* floats = to_device(std::vector<float>(1));
  unsigned long long* most = to_device(std::vector<unsigned long long>(1));
  references<<<1, 64>>>(sums, floats, most);
  OK(cudaGetLastError());
  std::vector<int> s = to_host(sums, 4);
  for (int k = 0; k < 4; ++k) expect("atomic_ref int", k, s[k], 480 + 16 * k);
  expect("atomic_ref float", 0, to_host(floats, 1)[0], 32);
  expect("atomic_ref max", 0, to_host(most, 1)[0], 63 * 1000000007ull);

  int *value = to_device(std::vector<int>(1)), *order = to_device(std::vector<int>(48));
  guarded<<<1, 48>>>(value, order);
  OK(cudaGetLastError());
  std::vector<int> o = to_host(order, 48);
  for (int i = 0; i < 48; ++i) expect("latch", i, o[i], 48);

  double* results = to_device(std::vector<double>(8));
  types<<<1, 8>>>(results);
  OK(cudaGetLastError());
  std::vector<double> r = to_host(results, 8);
  for (int i = 0; i < 8; ++i) expect("types", i, r[i], (-3.0 + i) + 40 + 100 * (i % 4 + 1));
  return finish("standard_library");
}
