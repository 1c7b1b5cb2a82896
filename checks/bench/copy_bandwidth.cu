// Bytes in flight against bandwidth: the copy engine (TMA) streams device memory through shared memory, with rings of
// different lengths. "load" reads only, "copy" also writes the bytes back elsewhere; cudaMemcpy is measured beside them.
//
// Usage: copy_bandwidth [MIB]   MIB: the size of the data, 2048 on a GPU, 1 on the emulator.
// Prints a CSV table: ms are medians and extremes of `samples` runs; bytes_moved counts bytes read plus bytes written.
// Exit: 0 if every byte arrived, 1 if not, 2 for bad arguments or environment, 77 without a device.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device.hpp"
#include "host/device_buffer.hpp"
#include "host/parallel.hpp"
#include "host/timing.hpp"
#include "kernel/wait.cuh"
#include "ptx/bulk_group.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"

namespace {

constexpr int kThreads = 288;  // a warp that asks for copies, eight that read what has landed
constexpr int kReaders = kThreads - 32;
constexpr int kMostStages = 16;
constexpr size_t kMostSmem = 216 * 1024;

// A ring of `stages` buffers of stage_bytes each: which buffer the tile number `i` of this CTA uses, and the parity of
// the phase in which it is full.
struct Ring {
  int stages;
  uint32_t stage_bytes;
  __device__ int stage(size_t i) const { return static_cast<int>(i % stages); }
  __device__ uint32_t parity(size_t i) const { return static_cast<uint32_t>(i / stages) & 1; }
};

struct Barriers {
  uint64_t full_bar[kMostStages];   // one arrival, the expect_tx, and the bytes
  uint64_t empty_bar[kMostStages];  // `readers` arrivals: the stage may be filled again
};

__device__ void init_barriers(Barriers& bars, int stages, uint32_t readers) {
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      ptx::mbarrier_init(&bars.full_bar[s], 1);
      ptx::mbarrier_init(&bars.empty_bar[s], readers);
    }
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
}

// One thread: asks for this CTA's tiles, every gridDim-th of `tiles`, as the stages fall empty.
__device__ void produce(const char* in, size_t tiles, Ring ring, char* smem, Barriers& bars) {
  for (size_t i = 0, tile = blockIdx.x; tile < tiles; ++i, tile += gridDim.x) {
    const int s = ring.stage(i);
    lab::wait(&bars.empty_bar[s], ring.parity(i) ^ 1);
    ptx::mbarrier_arrive_expect_tx(&bars.full_bar[s], ring.stage_bytes);
    ptx::cp_async_bulk(smem + s * ring.stage_bytes, in + tile * ring.stage_bytes, ring.stage_bytes,
                       &bars.full_bar[s]);
  }
}

// *sum += all 32-bit words of `in`, which has tiles * stage_bytes bytes.
__global__ void __launch_bounds__(kThreads)
    load(const char* in, size_t tiles, Ring ring, unsigned long long* sum) {
  extern __shared__ __align__(1024) char smem[];
  __shared__ Barriers bars;
  init_barriers(bars, ring.stages, kReaders / 32);
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) produce(in, tiles, ring, smem, bars);
    return;
  }
  unsigned long long mine = 0;
  for (size_t i = 0, tile = blockIdx.x; tile < tiles; ++i, tile += gridDim.x) {
    const int s = ring.stage(i);
    lab::wait(&bars.full_bar[s], ring.parity(i));
    const uint4* words = reinterpret_cast<const uint4*>(smem + s * ring.stage_bytes);
    for (uint32_t at = threadIdx.x - 32; at < ring.stage_bytes / sizeof(uint4); at += kReaders) {
      const uint4 w = words[at];
      mine += static_cast<unsigned long long>(w.x) + w.y + w.z + w.w;
    }
    __syncwarp();  // the arrival is for the whole warp
    if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&bars.empty_bar[s]);
  }
  atomicAdd(sum, mine);
}

// Copies `in` to `out`. kPending: stores that may still be reading their stage when the next one is asked for, fewer
// than there are stages.
template <int kPending>
__global__ void __launch_bounds__(64) copy(const char* in, char* out, size_t tiles, Ring ring) {
  extern __shared__ __align__(1024) char smem[];
  __shared__ Barriers bars;
  init_barriers(bars, ring.stages, 1);
  if (threadIdx.x == 0) produce(in, tiles, ring, smem, bars);
  if (threadIdx.x == 32) {
    size_t i = 0;
    for (size_t tile = blockIdx.x; tile < tiles; ++i, tile += gridDim.x) {
      const int s = ring.stage(i);
      lab::wait(&bars.full_bar[s], ring.parity(i));
      ptx::cp_async_bulk_store(out + tile * ring.stage_bytes, smem + s * ring.stage_bytes, ring.stage_bytes);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read<kPending>();
      if (i + 1 > kPending) ptx::mbarrier_arrive(&bars.empty_bar[ring.stage(i - kPending)]);
    }
    ptx::cp_async_bulk_wait_group_read<0>();
  }
}

// The data: word i is a mixture of the bits of i.
__host__ __device__ uint32_t word(size_t i) {
  uint32_t x = static_cast<uint32_t>(i) * 0x9E3779B9u + 1;
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  return x ^ x >> 13;
}

__global__ void fill(uint32_t* data, size_t words) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += step)
    data[i] = word(i);
}

// *wrong += the words that are not what `fill` writes.
__global__ void count_wrong(const uint32_t* data, size_t words, unsigned long long* wrong) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += step) {
    if (data[i] != word(i)) atomicAdd(wrong, 1ull);
  }
}

unsigned long long sum_on_host(size_t words) {
  constexpr size_t kChunk = 1 << 16;
  unsigned long long sum = 0;
  std::mutex mutex;
  lab::for_rows(static_cast<int>((words + kChunk - 1) / kChunk), 16, [&](int first, int last) {
    unsigned long long part = 0;
    for (size_t i = first * kChunk; i < std::min(last * kChunk, words); ++i) part += word(i);
    const std::lock_guard<std::mutex> lock(mutex);
    sum += part;
  });
  return sum;
}

class Bench {
 public:
  Bench(const lab::Device& device, size_t bytes)
      : ctas_(device.multiprocessors),
        samples_(device.emulator ? 1 : 9),
        bytes_(bytes),
        in_(lab::device_buffer<char>(bytes)),
        out_(lab::device_buffer<char>(bytes)),
        result_(lab::device_buffer<unsigned long long>(1)),
        want_(sum_on_host(bytes / 4)) {
    fill<<<1024, 256>>>(reinterpret_cast<uint32_t*>(in_.get()), bytes / 4);
    lab::cuda_check(cudaGetLastError(), "fill the data");
    std::printf(
        "kind,ctas,stages,stage_bytes,bytes_in_flight,bytes_moved,ms_median,ms_min,ms_max,samples,gb_per_"
        "s\n");
  }

  void memcpy_rate() {
    poison();
    const auto launch = [this](int) {
      lab::cuda_check(cudaMemcpyAsync(out_.get(), in_.get(), bytes_, cudaMemcpyDeviceToDevice), "copy");
    };
    print("cudaMemcpy", {0, 0}, 2 * bytes_, measure(launch));
    check_copy("cudaMemcpy", {0, 0});
  }

  void load_rate(Ring ring) {
    give_smem(reinterpret_cast<const void*>(load), ring);
    clear_result();
    int launches = 0;
    const auto launch = [&](int) {
      load<<<ctas_, kThreads, smem_bytes(ring)>>>(in_.get(), bytes_ / ring.stage_bytes, ring, result_.get());
      ++launches;
    };
    print("load", ring, bytes_, measure(launch));
    if (result() != want_ * launches) complain("load", ring, "the sum of what was read is wrong");
  }

  template <int kPending>
  void copy_rate(Ring ring) {
    give_smem(reinterpret_cast<const void*>(copy<kPending>), ring);
    poison();
    const auto launch = [&](int) {
      copy<kPending><<<ctas_, 64, smem_bytes(ring)>>>(in_.get(), out_.get(), bytes_ / ring.stage_bytes, ring);
    };
    print("copy", ring, 2 * bytes_, measure(launch));
    check_copy("copy", ring);
  }

  bool right() const { return right_; }

 private:
  static size_t smem_bytes(Ring ring) { return static_cast<size_t>(ring.stages) * ring.stage_bytes; }

  static void give_smem(const void* kernel, Ring ring) {
    lab::cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(smem_bytes(ring))),
                    "give the kernel its shared memory");
  }

  lab::Statistics measure(const std::function<void(int)>& launch) const {
    lab::event_ms(launch, 1);  // warm-up
    std::vector<double> ms;
    for (int i = 0; i < samples_; ++i) ms.push_back(lab::event_ms(launch, 1));
    return lab::statistics(ms);
  }

  void print(const char* kind, Ring ring, size_t moved, const lab::Statistics& ms) const {
    const int ctas = ring.stages == 0 ? 0 : ctas_;
    std::printf("%s,%d,%d,%u,%zu,%zu,%.6g,%.6g,%.6g,%d,%.6g\n", kind, ctas, ring.stages, ring.stage_bytes,
                ctas * smem_bytes(ring), moved, ms.median, ms.min, ms.max, ms.samples,
                moved / ms.median * 1e-6);
  }

  void poison() { lab::cuda_check(cudaMemset(out_.get(), 0xFF, bytes_), "poison the target"); }
  void clear_result() {
    lab::cuda_check(cudaMemset(result_.get(), 0, sizeof(unsigned long long)), "clear the result");
  }
  unsigned long long result() const {
    unsigned long long value = 0;
    lab::cuda_check(cudaMemcpy(&value, result_.get(), sizeof value, cudaMemcpyDeviceToHost),
                    "read the result");
    return value;
  }

  void check_copy(const char* kind, Ring ring) {
    clear_result();
    count_wrong<<<1024, 256>>>(reinterpret_cast<const uint32_t*>(out_.get()), bytes_ / 4, result_.get());
    if (result() != 0) complain(kind, ring, "the target differs from the source");
  }

  void complain(const char* kind, Ring ring, const char* what) {
    std::fprintf(stderr, "copy_bandwidth: %s, %d stages of %u bytes: %s\n", kind, ring.stages,
                 ring.stage_bytes, what);
    right_ = false;
  }

  const int ctas_, samples_;
  const size_t bytes_;
  std::shared_ptr<char> in_, out_;
  std::shared_ptr<unsigned long long> result_;
  const unsigned long long want_;
  bool right_ = true;
};

int run(size_t mib) {
  const lab::Device device = lab::current_device();
  if (mib == 0) mib = device.emulator ? 1 : 2048;
  Bench bench(device, mib << 20);
  bench.memcpy_rate();
  for (uint32_t stage_bytes : {2048u, 8192u, 16384u, 32768u}) {
    for (int stages : {1, 2, 3, 4, 6, 8, 12, 16}) {
      if (stages * stage_bytes > kMostSmem) continue;
      const Ring ring{stages, stage_bytes};
      bench.load_rate(ring);
      // Half of the ring or more is for loads on their way.
      if (stages < 3) bench.copy_rate<0>(ring);
      if (stages >= 3 && stages < 6) bench.copy_rate<1>(ring);
      if (stages >= 6) bench.copy_rate<3>(ring);
    }
  }
  return bench.right() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int mib = argc == 2 ? std::atoi(argv[1]) : 0;
  if (argc > 2 || (argc == 2 && (mib < 1 || mib > 16384))) {
    std::fprintf(stderr, "usage: copy_bandwidth [MIB], MIB from 1 to 16384\n");
    return 2;
  }
  try {
    return run(static_cast<size_t>(mib));
  } catch (const lab::NoDevice& error) {
    std::fprintf(stderr, "copy_bandwidth: skipped: %s\n", error.what());
    return 77;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "copy_bandwidth: %s\n", error.what());
    return 2;
  }
}
