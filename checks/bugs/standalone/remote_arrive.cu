// Two CTAs of a cluster: one writes a tile in its own shared memory and arrives on a barrier of the other, which reads
// the tile where it lies, and says that it has done so before the tile is written anew.
#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "ptx/cluster.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/smem_addr.cuh"

constexpr int kThreads = 64, kRounds = 4;

// mapa.shared::cluster.u32 r, p, rank;
__device__ uint32_t in_cta(const void* p, uint32_t rank) {
  uint32_t address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(ptx::smem_addr(p)), "r"(rank));
  return address;
}

// mbarrier.arrive.release.cluster.shared::cluster.b64 _, [bar];
// Release for the cluster: what this thread wrote before is visible to the CTA that waits.
__device__ void arrive_release_cluster(uint32_t bar) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" : : "r"(bar) : "memory");
}

// mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [bar], parity;
__device__ void wait_acquire_cluster(uint64_t* bar, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again;\n"
      "}"
      :
      : "r"(ptx::smem_addr(bar)), "r"(parity)
      : "memory");
}

__device__ float load_cluster(uint32_t address) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

// out[round * kThreads + t] = in[...] + 1, written by one CTA and read by the other. One cluster of two CTAs.
__global__ void __cluster_dims__(2, 1, 1) pass_on(const float* in, float* out) {
  __shared__ float tile[kThreads];  // the writer's
  __shared__ uint64_t full_bar;     // the reader's
  __shared__ uint64_t empty_bar;    // the writer's
  const int t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&full_bar, kThreads);
    ptx::mbarrier_init(&empty_bar, kThreads);
    ptx::fence_mbarrier_init_release_cluster();
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (ptx::cluster_ctarank() == 0) {  // ---- writer
    for (int round = 0; round < kRounds; ++round) {
      if (round > 0) wait_acquire_cluster(&empty_bar, (round - 1) & 1);
      tile[t] = in[round * kThreads + t] + 1;
      arrive_release_cluster(in_cta(&full_bar, 1));
    }
  } else {  // ---- reader
    for (int round = 0; round < kRounds; ++round) {
      wait_acquire_cluster(&full_bar, round & 1);
      out[round * kThreads + t] = load_cluster(in_cta(&tile[t ^ 1], 0));
      if (round + 1 < kRounds) arrive_release_cluster(in_cta(&empty_bar, 0));
    }
  }
  ptx::barrier_cluster_arrive();  // the writer's shared memory is read to the end
  ptx::barrier_cluster_wait();
}

int main() {
  constexpr int kAll = kRounds * kThreads;
  std::vector<float> host(kAll);
  for (int i = 0; i < kAll; ++i) host[i] = static_cast<float>(i);
  const auto in = lab::device_buffer<float>(kAll), out = lab::device_buffer<float>(kAll);
  lab::cuda_check(cudaMemcpy(in.get(), host.data(), kAll * sizeof(float), cudaMemcpyHostToDevice),
                  "copy the input");
  lab::cuda_check(cudaMemset(out.get(), 0xFF, kAll * sizeof(float)), "poison the output");
  pass_on<<<2, kThreads>>>(in.get(), out.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("remote_arrive: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<float> got(kAll);
  lab::cuda_check(cudaMemcpy(got.data(), out.get(), kAll * sizeof(float), cudaMemcpyDeviceToHost),
                  "read the output");
  int wrong = 0;
  for (int i = 0; i < kAll; ++i) wrong += !(got[i] == host[i ^ 1] + 1);
  std::printf("remote_arrive: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong, kAll);
  return wrong == 0 ? 0 : 1;
}
