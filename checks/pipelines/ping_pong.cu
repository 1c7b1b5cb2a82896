// Two consumer warpgroups take turns on the tensor core: while one multiplies, the other writes its tile out. The turn
// is passed by named barriers, or by a pair of mbarriers. One producer warp feeds both through one ring.
#include <cuda_bf16.h>

#include "pipeline.hpp"

using bf16 = __nv_bfloat16;

constexpr int kTile = 64, kDepth = 3 * 64, kTiles = 5,
              kSlots = 2;  // tiles are 64 x 64; 3 steps of 64 along K
constexpr int kSteps = kDepth / kTile;
constexpr uint32_t kSlotBytes = 2 * kTile * kTile * sizeof(bf16);

__device__ uint32_t s32(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ void bar_make(uint64_t* b, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(s32(b)), "r"(n) : "memory");
}
__device__ void bar_hit(uint64_t* b) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(s32(b)) : "memory");
}
__device__ void bar_hit_bytes(uint64_t* b, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(s32(b)), "r"(bytes) : "memory");
}
__device__ void bar_block(uint64_t* b,
                          uint32_t lap) {  // until the phase with this lap number's parity is over
  asm volatile(
      "{\n.reg .pred done;\nAGAIN: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@done bra OVER;\n"
      "bra AGAIN;\nOVER:\n}" ::"r"(s32(b)),
      "r"(lap & 1)
      : "memory");
}
__device__ void fetch(bf16* to, const CUtensorMap* map, int x, int y, uint64_t* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(s32(to)),
      "l"(map), "r"(x), "r"(y), "r"(s32(b))
      : "memory");
}
__device__ uint64_t operand(const bf16* tile) {  // K-major, 128-byte rows, 128-byte swizzle
  return (s32(tile) >> 4 & 0x3FFF) | uint64_t{1} << 16 | uint64_t{64} << 32 | uint64_t{1} << 62;
}
#define R4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define R16(d, i) R4(d, i), R4(d, i + 4), R4(d, i + 8), R4(d, i + 12)
__device__ void mma_64x64x16(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
      "%11, %12, "
      "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, "
      "%33, 1, 1, "
      "1, 0, 0;"
      : R16(d, 0), R16(d, 16)
      : "l"(a), "l"(b));
}

// C[t] = A[t] * B^T for kTiles tiles of 64 rows. 3 warpgroups: the first holds the producer.
template <bool kNamedBarriers>
__global__ void __launch_bounds__(384)
    products(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* c) {
  extern __shared__ char raw[];
  bf16* ring = reinterpret_cast<bf16*>((reinterpret_cast<uintptr_t>(raw) + 1023) / 1024 * 1024);
  __shared__ uint64_t loaded[kSlots], freed[kSlots], turn[2];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kSlots; ++s) bar_make(&loaded[s], 1), bar_make(&freed[s], 4);
    for (int g = 0; g < 2; ++g) bar_make(&turn[g], 128);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / 128 - 1;
  if (group < 0) {
    if (threadIdx.x != 0) return;
    for (int i = 0; i < kTiles * kSteps; ++i) {
      const int s = i % kSlots;
      bf16* slot = ring + s * 2 * kTile * kTile;
      if (i >= kSlots) bar_block(&freed[s], i / kSlots - 1);
      bar_hit_bytes(&loaded[s], kSlotBytes);
      fetch(slot, &map_a, i % kSteps * kTile, i / kSteps * kTile, &loaded[s]);
      fetch(slot + kTile * kTile, &map_b, i % kSteps * kTile, 0, &loaded[s]);
    }
    return;
  }
  int turns = 0;
  for (int tile = group; tile < kTiles; tile += 2, ++turns) {
    if (tile > 0) {  // the first tile needs no permission
      if constexpr (kNamedBarriers)
        asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory");
      else
        bar_block(&turn[group], group ? turns : turns - 1);
    }
    float acc[32] = {};
    for (int i = tile * kSteps; i < (tile + 1) * kSteps; ++i) {
      const int s = i % kSlots;
      const bf16* slot = ring + s * 2 * kTile * kTile;
      bar_block(&loaded[s], i / kSlots);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (int k = 0; k < kTile; k += 16)
        mma_64x64x16(acc, operand(slot + k), operand(slot + kTile * kTile + k));
      asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (threadIdx.x % 32 == 0) bar_hit(&freed[s]);
    }
    if (tile + 1 < kTiles) {
      if constexpr (kNamedBarriers)
        asm volatile("bar.arrive %0, 256;" ::"r"(1 + (group ^ 1)) : "memory");
      else
        bar_hit(&turn[group ^ 1]);
    }
    const int t = threadIdx.x % 128, row = tile * kTile + t / 32 * 16 + t % 32 / 4;
    for (int r = 0; r < 32; ++r) c[(row + (r / 2 % 2) * 8) * kTile + r / 4 * 8 + t % 4 * 2 + r % 2] = acc[r];
  }
}

int main() {
  return pipeline::run("ping_pong", [](pipeline::Check& check) {
    constexpr int kRows = kTiles * kTile;
    std::vector<bf16> a(kRows * kDepth), b(kTile * kDepth);
    for (size_t i = 0; i < a.size(); ++i) a[i] = __float2bfloat16(static_cast<float>(i * 7 % 13) - 6);
    for (size_t i = 0; i < b.size(); ++i) b[i] = __float2bfloat16(static_cast<float>(i * 5 % 11) - 5);
    const auto da = pipeline::upload(a), db = pipeline::upload(b);
    const auto map = [](const bf16* p, int rows) {
      return lab::make_tensor_map_2d(p, rows, kDepth, kTile, kTile);
    };
    for (auto kernel : {products<true>, products<false>}) {
      const auto dc = pipeline::filled<float>(kRows * kTile);
      kernel<<<1, 384, kSlots * kSlotBytes + 1024>>>(map(da.get(), kRows), map(db.get(), kTile), dc.get());
      const auto c = pipeline::download(dc, kRows * kTile);
      for (int i = 0; i < kRows * kTile; ++i) {
        float want = 0;
        for (int k = 0; k < kDepth; ++k)
          want += __bfloat162float(a[i / kTile * kDepth + k]) * __bfloat162float(b[i % kTile * kDepth + k]);
        check.equal(i, c[i], want);
      }
    }
  });
}
