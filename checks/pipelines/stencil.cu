// A sum over the 27 neighbours in a volume: boxes with a halo come from a rank-3 map, starting before its first element
// (a box starts at a multiple of 16 bytes) and hanging over at the far end, so that the fill is the boundary condition.
// Planes live in a ring and are used by three outputs each.
#include "pipeline.hpp"

constexpr int kX = 20, kY = 14, kZ = 9;  // of the volume
constexpr int kTile = 16, kHalo = 4, kBoxX = kTile + 2 * kHalo, kBoxY = kTile + 2, kPlanes = 5;
constexpr int kPlane = kBoxX * kBoxY, kPlaneFloats = (kPlane + 31) / 32 * 32;

__device__ uint32_t a32(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// One CTA a column of kTile x kTile; 256 threads, one an element of the plane.
__global__ void neighbours(const __grid_constant__ CUtensorMap volume, float* out) {
  __shared__ alignas(128) float plane[kPlanes][kPlaneFloats];
  __shared__ uint64_t bar[kPlanes];
  const int t = threadIdx.x, x0 = blockIdx.x * kTile, y0 = blockIdx.y * kTile;
  const auto fetch = [&](int z) {  // plane z of the volume, z from -1; slot z + 1
    const int s = (z + 1) % kPlanes;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(a32(&bar[s])), "n"(kPlane * 4)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
        "%3, %4}], "
        "[%5];" ::"r"(a32(plane[s])),
        "l"(&volume), "r"(x0 - kHalo), "r"(y0 - 1), "r"(z), "r"(a32(&bar[s]))
        : "memory");
  };
  const auto landed = [&](int z) {
    const int s = (z + 1) % kPlanes, lap = (z + 1) / kPlanes;
    asm volatile(
        "{\n.reg .pred p;\nG: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra G;\n}" ::"r"(
            a32(&bar[s])),
        "r"(lap & 1)
        : "memory");
  };
  if (t == 0) {
    for (uint64_t& b : bar) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(a32(&b)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int z = -1; z < 3; ++z) fetch(z);
  }
  __syncthreads();
  landed(-1);
  landed(0);
  for (int z = 0; z < kZ; ++z) {
    landed(z + 1);
    const int x = t % kTile, y = t / kTile;
    float sum = 0;
    for (int dz = 0; dz < 3; ++dz)
      for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx)
          sum += plane[(z + dz) % kPlanes][(y + dy) * kBoxX + x + kHalo - 1 + dx];
    if (x0 + x < kX && y0 + y < kY) out[(z * kY + y0 + y) * kX + x0 + x] = sum;
    __syncthreads();                          // plane z - 1 has had its last use
    if (t == 0 && z + 3 <= kZ) fetch(z + 3);  // into the slot of plane z - 2
  }
}

int main() {
  return pipeline::run("stencil", [](pipeline::Check& check) {
    constexpr int kAll = kX * kY * kZ;
    std::vector<float> in(kAll);
    for (int i = 0; i < kAll; ++i) in[i] = static_cast<float>(i * 13 % 37);
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<float>(kAll);
    lab::TensorMapSpec spec;
    spec.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    spec.address = d_in.get();
    spec.size = {kX, kY, kZ};
    spec.stride_bytes = {kX * 4, kX * kY * 4};
    spec.box = {kBoxX, kBoxY, 1};
    neighbours<<<dim3((kX + kTile - 1) / kTile, (kY + kTile - 1) / kTile), kTile * kTile>>>(
        lab::make_tensor_map(spec), out.get());
    const auto got = pipeline::download(out, kAll);
    for (int z = 0; z < kZ; ++z)
      for (int y = 0; y < kY; ++y)
        for (int x = 0; x < kX; ++x) {
          float want = 0;
          for (int dz = -1; dz < 2; ++dz)
            for (int dy = -1; dy < 2; ++dy)
              for (int dx = -1; dx < 2; ++dx) {
                const int u = x + dx, v = y + dy, w = z + dz;
                if (u >= 0 && u < kX && v >= 0 && v < kY && w >= 0 && w < kZ)
                  want += in[(w * kY + v) * kX + u];
              }
          check.equal((z * kY + y) * kX + x, got[(z * kY + y) * kX + x], want);
        }
  });
}
