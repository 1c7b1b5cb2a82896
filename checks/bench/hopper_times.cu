// What the parts of a pipeline take on a Hopper GPU, in cycles of one SM: the numbers that the timed schedule of the emulator
// is made of. Each kernel measures one thing with clock64 around it, in one CTA unless it says otherwise.
//
// Usage: hopper_times            Prints a CSV table: name, cycles (median, least, most of `samples` runs), what it is.
// Exit: 0 measured, 2 for bad arguments or environment, 77 without a device. The emulator answers, too, with EMU_SCHEDULE=timed,
// but for the time from grid to grid, which no cycle of an SM tells.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host/bf16.hpp"
#include "host/cuda_check.hpp"
#include "host/device.hpp"
#include "host/device_buffer.hpp"
#include "host/tensor_map.hpp"
#include "host/timing.hpp"
#include "kernel/wait.cuh"
#include "ptx/bulk_group.cuh"
#include "ptx/cluster.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/elect.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

namespace {

using lab::bf16;
int wanted_samples = 15;   // 1 on the emulator, where the same launch takes the same cycles
constexpr int kLaps = 64;  // repetitions inside a kernel whose mean is taken

struct Row {
  std::string name;
  lab::Statistics cycles;
  std::string what;
};
std::vector<Row> table;

// Runs `launch` wanted_samples times, each writing one number of cycles to *ticks.
void measure(const std::string& name, const std::string& what, long long* ticks, double per,
             const std::function<void(int)>& launch) {
  std::vector<double> samples;
  for (int i = 0; i < wanted_samples; ++i) {
    launch(i);
    long long cycles = 0;
    lab::cuda_check(cudaMemcpy(&cycles, ticks, sizeof cycles, cudaMemcpyDeviceToHost), name.c_str());
    samples.push_back(static_cast<double>(cycles) / per);
  }
  table.push_back({name, lab::statistics(samples), what});
}

// ---- copies

// One thread asks for `boxes` boxes of box_bytes and waits for all of them.
__global__ void tensor_load(const __grid_constant__ CUtensorMap tmap, int boxes, int box_bytes, int box_rows,
                            int row, long long* ticks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  __shared__ uint64_t full_bar;
  if (threadIdx.x != 0) return;
  ptx::mbarrier_init(&full_bar, 1);
  ptx::fence_mbarrier_init_release_cluster();
  const long long start = clock64();
  ptx::mbarrier_arrive_expect_tx(&full_bar, static_cast<uint32_t>(boxes * box_bytes));
  for (int i = 0; i < boxes; ++i)
    ptx::cp_async_bulk_tensor_2d(smem + i * box_bytes, &tmap, 0, row + i * box_rows, &full_bar);
  lab::wait(&full_bar, 0);
  *ticks = clock64() - start;
}

// The same thread asks for one box after another without waiting in between: what the issue of one takes.
__global__ void tensor_load_issue(const __grid_constant__ CUtensorMap tmap, int boxes, int box_bytes,
                                  long long* ticks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  __shared__ uint64_t full_bar;
  if (threadIdx.x != 0) return;
  ptx::mbarrier_init(&full_bar, 1);
  ptx::fence_mbarrier_init_release_cluster();
  ptx::mbarrier_arrive_expect_tx(&full_bar, static_cast<uint32_t>(boxes * box_bytes));
  const long long start = clock64();
  for (int i = 0; i < boxes; ++i) ptx::cp_async_bulk_tensor_2d(smem + i * box_bytes, &tmap, 0, 0, &full_bar);
  const long long end = clock64();
  lab::wait(&full_bar, 0);
  *ticks = end - start;
}

// Every CTA of the grid streams its own rows, from first_row on, through a ring of `stages` boxes; the time of the whole loop
// of CTA 0. rows: a power of two.
__global__ void tensor_stream(const __grid_constant__ CUtensorMap tmap, int stages, int box_bytes,
                              int box_rows, int rounds, int rows, int first_row, long long* ticks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  __shared__ uint64_t full_bar[16];
  if (threadIdx.x != 0) return;
  for (int s = 0; s < stages; ++s) ptx::mbarrier_init(&full_bar[s], 1);
  ptx::fence_mbarrier_init_release_cluster();
  int row = static_cast<int>(blockIdx.x) * rounds * box_rows + first_row;
  const auto start_copy = [&](int stage) {
    ptx::mbarrier_arrive_expect_tx(&full_bar[stage], static_cast<uint32_t>(box_bytes));
    ptx::cp_async_bulk_tensor_2d(smem + stage * box_bytes, &tmap, 0, row & (rows - 1), &full_bar[stage]);
    row += box_rows;
  };
  const long long start = clock64();
  for (int s = 0; s < stages; ++s) start_copy(s);
  int stage = 0;
  uint32_t parity = 0;
  for (int i = 0; i < rounds; ++i) {
    lab::wait(&full_bar[stage], parity);
    if (i + stages < rounds) start_copy(stage);
    if (++stage == stages) stage = 0, parity ^= 1;
  }
  const long long cycles = clock64() - start;
  if (blockIdx.x == 0) *ticks = cycles;
}

// A box of shared memory to global memory: until its source has been read, or until it is complete.
template <bool kRead>
__global__ void tensor_store(const __grid_constant__ CUtensorMap tmap, int boxes, int box_bytes, int box_rows,
                             long long* ticks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  if (threadIdx.x != 0) return;
  const long long start = clock64();
  for (int i = 0; i < boxes; ++i)
    ptx::cp_async_bulk_tensor_2d_store(&tmap, 0, i * box_rows, smem + i * box_bytes);
  ptx::cp_async_bulk_commit_group();
  if constexpr (kRead)
    ptx::cp_async_bulk_wait_group_read<0>();
  else
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  *ticks = clock64() - start;
}

// The same, asked for by all lanes of a warp alike.
__global__ void tensor_store_by_all(const __grid_constant__ CUtensorMap tmap, int boxes, int box_bytes,
                                    int box_rows, long long* ticks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const long long start = clock64();
  for (int i = 0; i < boxes; ++i)
    ptx::cp_async_bulk_tensor_2d_store(&tmap, 0, i * box_rows, smem + i * box_bytes);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read<0>();
  if (threadIdx.x == 0) *ticks = clock64() - start;
}

// Plain stores of a warpgroup: the lanes of an instruction write to `sectors` sectors of 32 bytes, by turns.
template <class T>
__global__ void plain_stores(T* out, int sectors, long long* ticks) {
  constexpr int kInSector = 32 / sizeof(T);
  const int warp = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  T* to = out + static_cast<size_t>(warp) * kLaps * 32 * kInSector + lane % sectors * kInSector +
          lane / sectors % kInSector;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int i = 0; i < kLaps; ++i) to[i * 32 * kInSector] = static_cast<T>(i);
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) *ticks = clock64() - start;
}

// A warpgroup copies `per_thread` chunks of 16 bytes a thread with cp.async and waits for them.
__global__ void cp_async_chunks(const uint4* in, int per_thread, long long* ticks, long long* issue) {
  extern __shared__ __align__(1024) unsigned char smem[];
  uint4* out = reinterpret_cast<uint4*>(smem);
  __syncthreads();
  const long long start = clock64();
  for (int i = 0; i < per_thread; ++i)
    ptx::cp_async_cg_16(out + i * blockDim.x + threadIdx.x, in + i * blockDim.x + threadIdx.x, 16);
  ptx::cp_async_commit_group();
  const long long issued = clock64();
  ptx::cp_async_wait_group<0>();
  if (threadIdx.x == 0) *ticks = clock64() - start, *issue = issued - start;
}

// `loads` independent 16-byte loads a thread, then stored to shared memory.
template <int kLoads>
__global__ void load_store(const uint4* in, long long* ticks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  uint4* out = reinterpret_cast<uint4*>(smem);
  uint4 held[kLoads];
  __syncthreads();
  const long long start = clock64();
#pragma unroll
  for (int i = 0; i < kLoads; ++i) held[i] = __ldg(in + i * blockDim.x + threadIdx.x);
#pragma unroll
  for (int i = 0; i < kLoads; ++i) out[i * blockDim.x + threadIdx.x] = held[i];
  __syncthreads();
  if (threadIdx.x == 0) *ticks = clock64() - start;
}

// ---- the tensor core

template <int kColumns>
__device__ void product(float (&acc)[kColumns / 2], uint64_t a, uint64_t b) {
  if constexpr (kColumns == 128)
    ptx::wgmma_m64n128k16_f32_bf16_bf16(acc, a, b, true);
  else
    ptx::wgmma_m64n256k16_f32_bf16_bf16(acc, a, b, true);
}

// Each warpgroup: `groups` groups of four wgmma (64 x kColumns x 64), at most `kPending` of them in flight.
template <int kColumns, int kPending>
__global__ void __launch_bounds__(kColumns == 256 ? 256 : 384, 1)
    products(int groups, long long* ticks, float* sink) {
  extern __shared__ __align__(1024) unsigned char smem[];
  float acc[kColumns / 2] = {};
  const uint64_t a = ptx::wgmma_descriptor_k_major_128B(smem + threadIdx.x / 128 * 8192);
  const uint64_t b = ptx::wgmma_descriptor_k_major_128B(smem + 32768);
  __syncthreads();
  const long long start = clock64();
  for (int g = 0; g < groups; ++g) {
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) product<kColumns>(acc, a + 2 * k, b + 2 * k);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<kPending>();
  }
  ptx::wgmma_wait_group<0>();
  const long long cycles = clock64() - start;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) sum += acc[i];
  if (sum == 1.5f)
    *sink = sum;  // never: the operands are what shared memory held, but the sum must be wanted
  if (threadIdx.x == 0) *ticks = cycles;
}

// ---- threads that wait for each other

__global__ void block_barrier(long long* ticks) {
  __syncthreads();
  const long long start = clock64();
  for (int i = 0; i < kLaps; ++i) __syncthreads();
  if (threadIdx.x == 0) *ticks = clock64() - start;
}

// Two warps hand a phase to and fro: two arrivals and two waits a lap.
__global__ void mbarrier_ping_pong(long long* ticks) {
  __shared__ uint64_t bar[2];
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar[0], 1);
    ptx::mbarrier_init(&bar[1], 1);
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 != 0) return;
  const long long start = clock64();
  for (int i = 0; i < kLaps; ++i) {
    if (warp == 0) {
      ptx::mbarrier_arrive(&bar[0]);
      lab::wait(&bar[1], i & 1);
    } else {
      lab::wait(&bar[0], i & 1);
      ptx::mbarrier_arrive(&bar[1]);
    }
  }
  if (warp == 0) *ticks = clock64() - start;
}

// A wait that finds its phase complete.
__global__ void mbarrier_open(long long* ticks) {
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 1);
  __syncthreads();
  const long long start = clock64();
  for (int i = 0; i < kLaps; ++i) lab::wait(&bar, 1);
  if (threadIdx.x == 0) *ticks = clock64() - start;
}

__global__ void mbarrier_arrivals(long long* ticks) {
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 1);
  __syncthreads();
  const long long start = clock64();
  for (int i = 0; i < kLaps; ++i)
    if (threadIdx.x == 0) ptx::mbarrier_arrive(&bar);
  if (threadIdx.x == 0) *ticks = clock64() - start;
}

__global__ void mbarrier_arrivals_of_all(long long* ticks) {
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 32);
  __syncthreads();
  const long long start = clock64();
  for (int i = 0; i < kLaps; ++i) ptx::mbarrier_arrive(&bar);
  if (threadIdx.x == 0) *ticks = clock64() - start;
}

__global__ void proxy_fence(long long* ticks) {
  __shared__ volatile int word[128];
  const long long start = clock64();
  for (int i = 0; i < kLaps; ++i) {
    word[threadIdx.x] = i;
    ptx::fence_proxy_async_shared_cta();
  }
  if (threadIdx.x == 0) *ticks = clock64() - start;
}

__global__ void __cluster_dims__(2, 1, 1) cluster_barrier(long long* ticks) {
  const long long start = clock64();
  for (int i = 0; i < kLaps; ++i) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) *ticks = clock64() - start;
}

// The same with what the end of lesson 09 has: the arrivals ordered behind stores to global memory, or not at all.
template <bool kRelaxed>
__global__ void __cluster_dims__(2, 1, 1) cluster_barrier_behind_stores(int* out, long long* ticks) {
  const long long start = clock64();
  for (int i = 0; i < kLaps; ++i) {
    out[(blockIdx.x * kLaps + i) * blockDim.x + threadIdx.x] = i;
    if constexpr (kRelaxed)
      ptx::barrier_cluster_arrive_relaxed();
    else
      ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) *ticks = clock64() - start;
}

// Behind stores of the copy engine, a box of each of eight warps, that have read their source.
template <bool kRelaxed>
__global__ void __cluster_dims__(2, 1, 1)
    cluster_barrier_behind_bulk_stores(const __grid_constant__ CUtensorMap tmap, int box_rows,
                                       long long* ticks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const int warp = threadIdx.x / 32;
  const long long start = clock64();
  for (int i = 0; i < kLaps; ++i) {
    if (warp >= 4 && ptx::elect_sync()) {
      const int box = (static_cast<int>(blockIdx.x) * kLaps + i) * 8 + warp - 4;
      ptx::cp_async_bulk_tensor_2d_store(&tmap, 0, box * box_rows, smem + (warp - 4) * box_rows * 128);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read<0>();
    }
    __syncwarp();
    if constexpr (kRelaxed)
      ptx::barrier_cluster_arrive_relaxed();
    else
      ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) *ticks = clock64() - start;
}

// ---- memory near an SM: a warp's words, `stride` words apart, are in as many banks as that leaves

constexpr int kUnrolled = 8;

__global__ void shared_loads(int stride, long long* ticks, unsigned* sink) {
  __shared__ unsigned words[32 * 32];
  const unsigned at = ptx::smem_addr(&words[threadIdx.x % 32 * stride]);
  unsigned sum = 0;
  for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x) words[i] = 0;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int i = 0; i < kLaps; ++i) {
    unsigned got[kUnrolled];
#pragma unroll
    for (unsigned& word : got) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(word) : "r"(at));
#pragma unroll
    for (const unsigned word : got) sum ^= word;
  }
  const long long cycles = clock64() - start;
  if (sum == 12345) *sink = sum;  // never
  if (threadIdx.x == 0) *ticks = cycles;
}

__global__ void shared_stores(int stride, long long* ticks) {
  __shared__ unsigned words[32 * 32];
  const unsigned at = ptx::smem_addr(&words[threadIdx.x % 32 * stride]);
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int i = 0; i < kLaps; ++i) {
#pragma unroll
    for (int j = 0; j < kUnrolled; ++j)
      asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at), "r"(i) : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) *ticks = clock64() - start;
}

// The same lines again and again, which are then in L1. They hold zeros, which only the program knows.
__global__ void l1_loads(const uint4* in, long long* ticks, unsigned* sink) {
  unsigned sum = 0;
  __syncthreads();
  long long start = 0;
#pragma unroll 1
  for (int i = -1; i < kLaps; ++i) {
    if (i == 0) start = clock64();  // behind the first, which comes from further away
    uint4 got[kUnrolled];
#pragma unroll
    for (int j = 0; j < kUnrolled; ++j)
      asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(got[j].x), "=r"(got[j].y), "=r"(got[j].z), "=r"(got[j].w)
                   : "l"(in + threadIdx.x + j * 128));
#pragma unroll
    for (const uint4& each : got) sum ^= each.x ^ each.w;
    in += sum;
  }
  const long long cycles = clock64() - start;
  if (sum == 12345) *sink = sum;  // never
  if (threadIdx.x == 0) *ticks = cycles;
}

// As a result leaves the accumulators of wgmma: an instruction of a warp writes 16 bytes to each of eight rows.
__global__ void row_stores(unsigned* out, int row_words, long long* ticks) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 8 + threadIdx.x % 32 / 4;
  unsigned* to = out + static_cast<size_t>(row) * row_words + threadIdx.x % 4;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int i = 0; i < kLaps; ++i) to[4 * i] = i;
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) *ticks = clock64() - start;
}

__global__ void nothing() {}
// With the shared memory of a GEMM, so that an SM holds one CTA at a time.
__global__ void nothing_alone() {}
__global__ void __cluster_dims__(2, 1, 1) nothing_in_pairs() {}

// ---- the list

template <int kColumns, int kPending>
void measure_products(int warpgroups, long long* ticks, float* sink) {
  constexpr int kGroups = 256, kSmem = 32768 + kColumns * 128;
  lab::cuda_check(
      cudaFuncSetAttribute(products<kColumns, kPending>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSmem),
      "shared memory");
  const std::string name = "wgmma_m64n" + std::to_string(kColumns) + "k64_" + std::to_string(warpgroups) +
                           "wg_" + (kPending ? "pipelined" : "waited");
  measure(name, "cycles for each group of four wgmma of every warpgroup", ticks, kGroups,
          [&](int) { products<kColumns, kPending><<<1, 128 * warpgroups, kSmem>>>(kGroups, ticks, sink); });
}

void measure_copies(long long* ticks) {
  constexpr int kRows = 1 << 22, kColumns = 64;  // 512 MiB: ten times the L2 cache
  const auto data = lab::device_buffer<bf16>(size_t{kRows} * kColumns);
  lab::cuda_check(cudaMemset(data.get(), 0, size_t{kRows} * kColumns * sizeof(bf16)), "fill the data");
  constexpr int kSmem = 200 * 1024;
  for (const void* kernel :
       {reinterpret_cast<const void*>(tensor_load), reinterpret_cast<const void*>(tensor_load_issue),
        reinterpret_cast<const void*>(tensor_stream), reinterpret_cast<const void*>(tensor_store<true>),
        reinterpret_cast<const void*>(tensor_store<false>),
        reinterpret_cast<const void*>(tensor_store_by_all)})
    lab::cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSmem),
                    "shared memory");
  for (const int box_rows : {8, 32, 64, 128, 256}) {
    const CUtensorMap tmap = lab::make_tensor_map_2d(data.get(), kRows, kColumns, box_rows, kColumns);
    const int bytes = box_rows * kColumns * 2;
    const std::string size = std::to_string(bytes);
    measure("tensor_load_l2_" + size, "one box, from the L2 cache, issue to the end of the wait", ticks, 1,
            [&](int) { tensor_load<<<1, 32, kSmem>>>(tmap, 1, bytes, box_rows, 0, ticks); });
    measure("tensor_load_dram_" + size, "one box nobody has read yet", ticks, 1, [&](int i) {
      tensor_load<<<1, 32, kSmem>>>(tmap, 1, bytes, box_rows, 4096 + i * 4096 + box_rows * 64, ticks);
    });
    const int boxes = std::min(16, kSmem / bytes);
    measure("tensor_load_issue_" + size, "issue of one box", ticks, boxes,
            [&](int) { tensor_load_issue<<<1, 32, kSmem>>>(tmap, boxes, bytes, ticks); });
    measure("tensor_load_many_l2_" + size,
            "one box of " + std::to_string(boxes) + " that are waited for together", ticks, boxes,
            [&](int) { tensor_load<<<1, 32, kSmem>>>(tmap, boxes, bytes, box_rows, 0, ticks); });
    measure(
        "tensor_store_read_" + size, "one box of eight, until the source has been read", ticks, 8,
        [&](int) { tensor_store<true><<<1, 32, kSmem>>>(tmap, std::min(8, boxes), bytes, box_rows, ticks); });
    measure("tensor_store_" + size, "one box of eight, until complete", ticks, 8, [&](int) {
      tensor_store<false><<<1, 32, kSmem>>>(tmap, std::min(8, boxes), bytes, box_rows, ticks);
    });
    measure("tensor_store_by_all_" + size, "the same until read, asked for by all lanes of a warp", ticks, 8,
            [&](int) {
              tensor_store_by_all<<<1, 32, kSmem>>>(tmap, std::min(8, boxes), bytes, box_rows, ticks);
            });
  }
  {
    constexpr int kBoxRows = 16;
    const CUtensorMap boxes = lab::make_tensor_map_2d(data.get(), kRows, kColumns, kBoxRows, kColumns);
    measure(
        "cluster_barrier_2_384_bulk_stores",
        "barrier.cluster of two CTAs of 384 threads, behind 16 stores of 2 KiB that have read", ticks, kLaps,
        [&](int) { cluster_barrier_behind_bulk_stores<false><<<2, 384, 32768>>>(boxes, kBoxRows, ticks); });
    measure(
        "cluster_barrier_2_384_bulk_stores_relaxed", "the same, arrivals relaxed", ticks, kLaps,
        [&](int) { cluster_barrier_behind_bulk_stores<true><<<2, 384, 32768>>>(boxes, kBoxRows, ticks); });
  }
  const CUtensorMap tmap = lab::make_tensor_map_2d(data.get(), kRows, kColumns, 128, kColumns);
  int sms = lab::current_device().multiprocessors;
  const std::pair<const char*, int> places[] = {{"l2", 128 * 1024}, {"dram", kRows}};
  for (const int ctas : {1, 16, 66, sms})
    for (const int stages : {1, 2, 4, 6, 8, 12}) {
      for (const auto& [where, rows] : places) {
        constexpr int kRounds = 96;
        measure("tensor_stream_" + std::string(where) + "_" + std::to_string(ctas) + "ctas_" +
                    std::to_string(stages) + "stages",
                "one box of 16384 bytes, of CTA 0", ticks, kRounds, [&, rows = rows](int i) {
                  const int first_row = rows == kRows ? i * ctas * kRounds * 128 : 0;
                  tensor_stream<<<ctas, 32, kSmem>>>(tmap, stages, 16384, 128, kRounds, rows, first_row,
                                                     ticks);
                });
      }
    }
}

void measure_threads(long long* ticks) {
  const auto data = lab::device_buffer<uint4>(1 << 20);
  lab::cuda_check(cudaMemset(data.get(), 0, size_t{1} << 24), "fill the data");
  const auto issue = lab::device_buffer<long long>(1);
  for (const int per_thread : {1, 4, 8}) {
    measure("cp_async_l2_" + std::to_string(per_thread) + "x128",
            "that many chunks of 16 bytes a thread, all waited for", ticks, 1,
            [&](int) { cp_async_chunks<<<1, 128, 16384>>>(data.get(), per_thread, ticks, issue.get()); });
    measure("cp_async_issue_" + std::to_string(per_thread) + "x128", "cycles to issue them", issue.get(), 1,
            [&](int) { cp_async_chunks<<<1, 128, 16384>>>(data.get(), per_thread, ticks, issue.get()); });
  }
  measure("load_store_l2_1x128", "a load of 16 bytes a thread, stored to shared memory, and a barrier", ticks,
          1, [&](int) { load_store<1><<<1, 128, 16384>>>(data.get(), ticks); });
  measure("load_store_l2_8x128", "eight of them", ticks, 1,
          [&](int) { load_store<8><<<1, 128, 16384>>>(data.get(), ticks); });
  for (const int threads : {128, 256, 384})
    measure("syncthreads_" + std::to_string(threads), "one __syncthreads", ticks, kLaps,
            [&](int) { block_barrier<<<1, threads>>>(ticks); });
  measure("mbarrier_round_trip", "two warps, an arrival and a wait each way", ticks, kLaps,
          [&](int) { mbarrier_ping_pong<<<1, 64>>>(ticks); });
  measure("mbarrier_open", "a wait whose phase is complete", ticks, kLaps,
          [&](int) { mbarrier_open<<<1, 128>>>(ticks); });
  measure("mbarrier_arrive", "an arrival of one thread, one after another", ticks, kLaps,
          [&](int) { mbarrier_arrivals<<<1, 32>>>(ticks); });
  measure("mbarrier_arrive_32", "an arrival of all lanes of a warp, one after another", ticks, kLaps,
          [&](int) { mbarrier_arrivals_of_all<<<1, 32>>>(ticks); });
  measure("proxy_fence_128", "a store to shared memory and fence.proxy.async, 128 threads", ticks, kLaps,
          [&](int) { proxy_fence<<<1, 128>>>(ticks); });
  measure("cluster_barrier_2", "barrier.cluster of two CTAs of 128 threads", ticks, kLaps,
          [&](int) { cluster_barrier<<<2, 128>>>(ticks); });
  measure("cluster_barrier_2_384", "the same of two CTAs of 384 threads", ticks, kLaps,
          [&](int) { cluster_barrier<<<2, 384>>>(ticks); });
  const auto words = lab::device_buffer<int>(2 * kLaps * 384);
  measure("cluster_barrier_2_384_stores", "the same behind a store of each thread to global memory", ticks,
          kLaps, [&](int) { cluster_barrier_behind_stores<false><<<2, 384>>>(words.get(), ticks); });
  measure("cluster_barrier_2_384_stores_relaxed", "the same, arrivals relaxed", ticks, kLaps,
          [&](int) { cluster_barrier_behind_stores<true><<<2, 384>>>(words.get(), ticks); });
}

void measure_near_memory(long long* ticks) {
  const auto data = lab::device_buffer<uint4>(1 << 10);
  lab::cuda_check(cudaMemset(data.get(), 0, (1 << 10) * sizeof(uint4)), "fill the data");
  const auto sink = lab::device_buffer<unsigned>(1);
  for (const int stride : {1, 2, 4, 8, 16, 32}) {
    const std::string name = std::to_string(stride);
    measure("shared_load_stride_" + name, "ld.shared of a word by each lane, so many words apart; four warps",
            ticks, kLaps * kUnrolled, [&](int) { shared_loads<<<1, 128>>>(stride, ticks, sink.get()); });
    measure("shared_store_stride_" + name, "st.shared likewise", ticks, kLaps * kUnrolled,
            [&](int) { shared_stores<<<1, 128>>>(stride, ticks); });
  }
  measure("l1_load_8x128", "ld.global of 16 bytes a thread that hits L1; four warps", ticks,
          kLaps * kUnrolled, [&](int) { l1_loads<<<1, 128>>>(data.get(), ticks, sink.get()); });
}

void measure_plain_stores(long long* ticks) {
  constexpr size_t kBytes = size_t{132} * 4 * kLaps * 32 * 32;
  const auto data = lab::device_buffer<unsigned char>(kBytes);
  for (const int ctas : {1, 132})
    for (const int sectors : {2, 4, 8, 16, 32}) {
      const std::string size = std::to_string(sectors) + "_" + std::to_string(ctas) + "ctas";
      measure(
          "store_2_bytes_" + size,
          "an instruction of each of four warps whose lanes write to that many sectors", ticks, kLaps,
          [&](int) { plain_stores<<<ctas, 128>>>(reinterpret_cast<uint16_t*>(data.get()), sectors, ticks); });
      if (sectors > 2)
        measure("store_4_bytes_" + size,
                "an instruction of each of four warps whose lanes write to that many sectors", ticks, kLaps,
                [&](int) {
                  plain_stores<<<ctas, 128>>>(reinterpret_cast<uint32_t*>(data.get()), sectors, ticks);
                });
    }
}

void measure_row_stores(long long* ticks) {
  constexpr int kRowWords = 4096 / 4;
  const auto data = lab::device_buffer<unsigned>(size_t{132} * 8 * 8 * kRowWords);
  for (const int ctas : {1, 132})
    for (const int threads : {128, 256})
      measure("store_rows_" + std::to_string(threads) + "_" + std::to_string(ctas) + "ctas",
              "a store of each warp of 16 bytes to each of eight rows", ticks, kLaps,
              [&](int) { row_stores<<<ctas, threads>>>(data.get(), kRowWords, ticks); });
}

// What it takes that one CTA with much shared memory follows another on an SM, alone and in clusters.
void measure_turnover() {
  constexpr int kSmem = 200 * 1024;
  for (void (*kernel)() : {nothing_alone, nothing_in_pairs})
    lab::cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSmem),
                    "shared memory");
  for (const int ctas : {132, 1188})
    for (const bool pairs : {false, true}) {
      std::vector<double> samples;
      for (int i = 0; i < wanted_samples; ++i)
        samples.push_back(lab::event_ms(
                              [&](int) {
                                pairs ? nothing_in_pairs<<<ctas, 384, kSmem>>>()
                                      : nothing_alone<<<ctas, 384, kSmem>>>();
                              },
                              50) *
                          1e6);
      table.push_back({std::string(pairs ? "launch_pairs_" : "launch_alone_") + std::to_string(ctas),
                       lab::statistics(samples),
                       "ns from one empty grid to the next, 200 KiB of shared memory per CTA"});
    }
}

void measure_launches() {
  for (const int ctas : {1, 132, 1056}) {
    std::vector<double> samples;
    for (int i = 0; i < wanted_samples; ++i)
      samples.push_back(lab::event_ms([&](int) { nothing<<<ctas, 128>>>(); }, 50) * 1e6);
    table.push_back(
        {"launch_" + std::to_string(ctas), lab::statistics(samples), "ns from one empty grid to the next"});
  }
}

}  // namespace

int main(int argc, char**) {
  if (argc != 1) {
    std::fprintf(stderr, "hopper_times: takes no arguments\n");
    return 2;
  }
  try {
    const char* schedule = std::getenv("EMU_SCHEDULE");
    const bool emulator = lab::current_device().emulator;
    if (emulator && !(schedule && std::string(schedule) == "timed")) {
      std::fprintf(stderr,
                   "hopper_times: skipped: the emulator knows cycles under EMU_SCHEDULE=timed alone\n");
      return 77;
    }
    if (emulator) wanted_samples = 1;
    const auto ticks = lab::device_buffer<long long>(1);
    const auto sink = lab::device_buffer<float>(1);
    for (const int warpgroups : {1, 2, 3}) {
      measure_products<128, 0>(warpgroups, ticks.get(), sink.get());
      measure_products<128, 1>(warpgroups, ticks.get(), sink.get());
      if (warpgroups == 3) continue;
      measure_products<256, 0>(warpgroups, ticks.get(), sink.get());
      measure_products<256, 1>(warpgroups, ticks.get(), sink.get());
    }
    measure_copies(ticks.get());
    measure_threads(ticks.get());
    measure_near_memory(ticks.get());
    measure_plain_stores(ticks.get());
    measure_row_stores(ticks.get());
    measure_launches();
    measure_turnover();
  } catch (const lab::NoDevice& error) {
    std::fprintf(stderr, "hopper_times: skipped: %s\n", error.what());
    return 77;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hopper_times: %s\n", error.what());
    return 2;
  }
  std::printf("name,cycles,least,most,samples,what\n");
  for (const Row& r : table)
    std::printf("%s,%.1f,%.1f,%.1f,%d,\"%s\"\n", r.name.c_str(), r.cycles.median, r.cycles.min, r.cycles.max,
                r.cycles.samples, r.what.c_str());
  return 0;
}
