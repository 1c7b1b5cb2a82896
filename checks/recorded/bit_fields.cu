// bfe and bfi with positions and lengths up to and beyond the width of their operand.
#include "record.cuh"

using namespace record;

namespace {

const std::vector<uint32_t> kEdges = {0,  1,  5,   31,  32,  33,  63,         64,
                                      65, 96, 128, 200, 255, 256, 0x80000000, 0xFFFFFFFF};
constexpr uint64_t kField = 0x9ABCDEF012345678ull, kBase = 0x0F1E2D3C4B5A6978ull;

struct BfeU32 {
  static constexpr const char* kName = "bfe.u32";
  __device__ static uint64_t of(uint32_t at, uint32_t length) {
    uint32_t d;
    asm volatile("bfe.u32 %0, %1, %2, %3;"
                 : "=r"(d)
                 : "r"(static_cast<uint32_t>(kField >> 32)), "r"(at), "r"(length));
    return d;
  }
};
struct BfeS32 {
  static constexpr const char* kName = "bfe.s32";
  __device__ static uint64_t of(uint32_t at, uint32_t length) {
    uint32_t d;
    asm volatile("bfe.s32 %0, %1, %2, %3;"
                 : "=r"(d)
                 : "r"(static_cast<uint32_t>(kField >> 32)), "r"(at), "r"(length));
    return d;
  }
};
struct BfeU64 {
  static constexpr const char* kName = "bfe.u64";
  __device__ static uint64_t of(uint32_t at, uint32_t length) {
    uint64_t d;
    asm volatile("bfe.u64 %0, %1, %2, %3;" : "=l"(d) : "l"(kField), "r"(at), "r"(length));
    return d;
  }
};
struct BfeS64 {
  static constexpr const char* kName = "bfe.s64";
  __device__ static uint64_t of(uint32_t at, uint32_t length) {
    uint64_t d;
    asm volatile("bfe.s64 %0, %1, %2, %3;" : "=l"(d) : "l"(kField), "r"(at), "r"(length));
    return d;
  }
};
struct BfiB32 {
  static constexpr const char* kName = "bfi.b32";
  __device__ static uint64_t of(uint32_t at, uint32_t length) {
    uint32_t d;
    asm volatile("bfi.b32 %0, %1, %2, %3, %4;"
                 : "=r"(d)
                 : "r"(static_cast<uint32_t>(kField)), "r"(static_cast<uint32_t>(kBase)), "r"(at),
                   "r"(length));
    return d;
  }
};
struct BfiB64 {
  static constexpr const char* kName = "bfi.b64";
  __device__ static uint64_t of(uint32_t at, uint32_t length) {
    uint64_t d;
    asm volatile("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(d) : "l"(kField), "l"(kBase), "r"(at), "r"(length));
    return d;
  }
};

// out[row][column] for position edges[row] and length edges[column]
template <class Op>
__global__ void apply(const uint32_t* edges, uint64_t* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = Op::of(edges[blockIdx.x], edges[threadIdx.x]);
}

template <class Op>
void show() {
  const auto n = static_cast<unsigned>(kEdges.size());
  Buffer<uint32_t> edges(kEdges);
  Buffer<uint64_t> out(n * n);
  apply<Op><<<n, n>>>(edges.get(), out.get());
  finish_kernel(Op::kName);
  const std::vector<uint64_t> result = out.download();
  for (unsigned i = 0; i < n * n; ++i)
    std::printf("%s position %x length %x: %llx\n", Op::kName, kEdges[i / n], kEdges[i % n],
                static_cast<unsigned long long>(result[i]));
}

}  // namespace

int main() {
  show<BfeU32>();
  show<BfeS32>();
  show<BfeU64>();
  show<BfeS64>();
  show<BfiB32>();
  show<BfiB64>();
}
