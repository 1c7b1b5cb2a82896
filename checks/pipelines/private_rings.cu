// Every warp has a ring of its own, filled with cp.async: no barrier of the block, no mbarrier, only wait_group and
// __syncwarp. The tail is filled with zeros, and a group is committed in every round, also when nothing is copied.
#include "pipeline.hpp"

constexpr int kWarps = 3, kDepth = 4, kFloats = 128, kRounds = 7, kLength = kRounds * kFloats - 50;

__device__ void copy16(float* to, const float* from, int valid_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(valid_bytes)
               : "memory");
}

// out[warp] = sum over i of i * in[warp][i]; rows of `pitch` floats, kLength of them valid
__global__ void moments(const float* in, float* out, int pitch) {
  __shared__ alignas(16) float ring[kWarps][kDepth][kFloats];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float* row = in + warp * pitch;
  const auto fetch = [&](int round) {
    if (round < kRounds) {
      const int at = round * kFloats + 4 * lane, left = 4 * (kLength - at);
      copy16(&ring[warp][round % kDepth][4 * lane], row + min(at, kLength / 4 * 4), max(0, min(16, left)));
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int round = 0; round < kDepth - 1; ++round) fetch(round);
  float sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kDepth - 2) : "memory");
    __syncwarp();  // what the other lanes have copied, too; and they are done with the stage that comes next
    fetch(round + kDepth - 1);
    for (int i = 0; i < kFloats; i += 32)
      sum += static_cast<float>(round * kFloats + i + lane) * ring[warp][round % kDepth][i + lane];
  }
  for (int width = 16; width; width /= 2) sum += __shfl_down_sync(~0u, sum, width);
  if (lane == 0) out[warp] = sum;
}

int main() {
  return pipeline::run("private_rings", [](pipeline::Check& check) {
    constexpr int kPitch = (kLength + 3) / 4 * 4;
    std::vector<float> in(kWarps * kPitch, 0.0f);
    std::vector<float> want(kWarps, 0.0f);
    for (int w = 0; w < kWarps; ++w)
      for (int i = 0; i < kLength; ++i) want[w] += static_cast<float>(i) * (in[w * kPitch + i] = (i + w) % 3);
    const auto d_in = pipeline::upload(in);
    const auto out = pipeline::filled<float>(kWarps);
    moments<<<1, 32 * kWarps>>>(d_in.get(), out.get(), kPitch);
    const auto got = pipeline::download(out, kWarps);
    for (int w = 0; w < kWarps; ++w) check.equal(w, got[w], want[w]);
  });
}
