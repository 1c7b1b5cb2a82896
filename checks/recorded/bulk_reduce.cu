// cp.async.bulk to and from shared memory, and every reduction of cp.reduce.async.bulk to global memory on edge values.
#include "record.cuh"

using namespace record;

namespace {

// clang-format off
#define REDUCTIONS(X) \
  X("add.u32", 4) X("add.s32", 4) X("add.u64", 8) X("add.f32", 4) X("add.f64", 8) \
  X("add.noftz.f16", 2) X("add.noftz.bf16", 2) X("min.u32", 4) X("min.s32", 4) X("min.u64", 8) \
  X("min.s64", 8) X("min.f16", 2) X("min.bf16", 2) X("max.u32", 4) X("max.s32", 4) \
  X("max.u64", 8) X("max.s64", 8) X("max.f16", 2) X("max.bf16", 2) X("inc.u32", 4) \
  X("dec.u32", 4) X("and.b32", 4) X("and.b64", 8) X("or.b32", 4) X("or.b64", 8) \
  X("xor.b32", 4) X("xor.b64", 8)
// clang-format on
struct Reduction {
  const char* name;
  int bytes;
};
constexpr Reduction kReductions[] = {
#define ROW(name, bytes) {name, bytes},
    REDUCTIONS(ROW)
#undef ROW
};
constexpr int kCount = sizeof kReductions / sizeof kReductions[0];
constexpr int kBytes = 256;

__device__ void reduce(int which, void* global, uint32_t shared) {
  int i = 0;
#define ISSUE(name, bytes)                                                  \
  if (which == i++)                                                         \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." name \
                 " [%0], [%1], %2;" ::"l"(global),                          \
                 "r"(shared), "r"(kBytes)                                   \
                 : "memory");
  REDUCTIONS(ISSUE)
#undef ISSUE
}

__global__ void run(int which, uint32_t* memory, const uint32_t* values) {
  __shared__ alignas(16) uint32_t tile[kBytes / 4];
  tile[threadIdx.x] = values[threadIdx.x];
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    reduce(which, memory, ptx::smem_addr(tile));
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

__global__ void there_and_back(const uint32_t* in, uint32_t* out, uint32_t bytes, uint32_t* done) {
  __shared__ alignas(16) uint32_t tile[1024];
  __shared__ uint64_t bar;
  const uint32_t bar_address = ptx::smem_addr(&bar), tile_address = ptx::smem_addr(tile);
  ptx::mbarrier_init(&bar, 1);
  ptx::fence_mbarrier_init_release_cluster();
  ptx::mbarrier_arrive_expect_tx(&bar, bytes);
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          tile_address),
      "l"(in), "r"(bytes), "r"(bar_address)
      : "memory");
  pause();
  *done = phase_done(bar_address, 0);
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(tile_address),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\ncp.async.bulk.wait_group 0;" ::
                   : "memory");
}

// Edge values of 2-, 4- and 8-byte elements; every old value meets every new one.
std::vector<uint64_t> edges(int bytes, bool bf16) {
  if (bytes == 4)
    return {0,          1,          0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x00000001, 0x807FFFFF, 0x00800000,
            0x3F800000, 0xBF800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00400000, 0x33800000};
  if (bytes == 8)
    return {0,
            1,
            0x7FFFFFFFFFFFFFFFull,
            0x8000000000000000ull,
            ~0ull,
            0x3FF0000000000000ull,
            0xBFF0000000000000ull,
            0x0010000000000000ull,
            0x7FEFFFFFFFFFFFFFull,
            0x7FF0000000000000ull,
            0xFFF0000000000000ull,
            0x7FF8000000000000ull,
            0x0000000100000000ull,
            0x3CA0000000000000ull,
            0x8000000000000001ull,
            2};
  if (bf16)
    return {0,      0x8000, 1,      0x8001, 0x007F, 0x0080, 0x3F80, 0xBF80,
            0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x3B80, 0x7F81, 0xFFC1, 0x4049};
  return {0,      0x8000, 1,      0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00,
          0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x1000, 0x7C01, 0xFE01, 0x4248};
}

}  // namespace

int main() {
  for (uint32_t bytes : {16u, 48u, 4096u}) {
    std::vector<uint32_t> values(1024);
    for (uint32_t i = 0; i < 1024; ++i) values[i] = i * 2654435761u;
    Buffer<uint32_t> in(values), out(std::vector<uint32_t>(1024, 0xEEEEEEEE)), done(1);
    there_and_back<<<1, 1>>>(in.get(), out.get(), bytes, done.get());
    finish_kernel("there_and_back");
    std::printf("bulk copy of %u bytes in and out: done %u, checksum %08x\n", bytes, done.download()[0],
                checksum(out.download()));
  }
  for (int which = 0; which < kCount; ++which) {
    const Reduction& r = kReductions[which];
    const auto list = edges(r.bytes, std::strstr(r.name, "bf16") != nullptr);
    std::printf("%s\n", r.name);
    for (size_t turn = 0; turn < list.size(); ++turn) {
      std::vector<uint32_t> memory(kBytes / 4), values(kBytes / 4);
      for (size_t i = 0; i < list.size(); ++i) {
        std::memcpy(reinterpret_cast<char*>(memory.data()) + i * r.bytes, &list[i], r.bytes);
        std::memcpy(reinterpret_cast<char*>(values.data()) + i * r.bytes, &list[(i + turn) % list.size()],
                    r.bytes);
      }
      Buffer<uint32_t> at(memory), with(values);
      run<<<1, kBytes / 4>>>(which, at.get(), with.get());
      finish_kernel(r.name);
      auto result = at.download();
      std::printf(" ");
      for (size_t i = 0; i < list.size(); ++i) {
        uint64_t v = 0;
        std::memcpy(&v, reinterpret_cast<const char*>(result.data()) + i * r.bytes, r.bytes);
        std::printf(" %0*llx", r.bytes * 2, static_cast<unsigned long long>(v));
      }
      std::printf("\n");
    }
  }
}
