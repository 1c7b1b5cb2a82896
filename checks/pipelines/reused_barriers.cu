// One piece of shared memory, three lives: barriers of a first part, plain data, barriers of a second part with other
// counts. mbarrier.inval ends the first life and the last.
#include "pipeline.hpp"

constexpr int kThreads = 96, kFloats = 288;

__device__ unsigned sm(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ void create(uint64_t* b, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sm(b)), "r"(arrivals) : "memory");
}
__device__ void destroy(uint64_t* b) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(sm(b)) : "memory");
}
__device__ void bulk(void* to, const void* from, unsigned bytes, uint64_t* b) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(sm(b)), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(sm(to)),
      "l"(from), "r"(bytes), "r"(sm(b))
      : "memory");
}
__device__ void hit(uint64_t* b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sm(b)) : "memory");
}
__device__ void wait(uint64_t* b, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra D;\nbra "
      "T;\nD:\n}" ::"r"(sm(b)),
      "r"(parity)
      : "memory");
}

// out[i] = 2 * first[i] + second[i] + the sum of second
__global__ void three_lives(const float* first, const float* second, float* out) {
  __shared__ alignas(16) float tile[kFloats];
  __shared__ union {
    uint64_t bar[3];
    float partial[6];
  } room;
  const int t = threadIdx.x;
  // first life: three barriers, each with a third of the threads and of the tile
  if (t == 0)
    for (auto& b : room.bar) create(&b, 32);
  __syncthreads();
  uint64_t* mine = &room.bar[t / 32];
  float* part = tile + t / 32 * 96;
  if (t % 32 == 0) bulk(part, first + t / 32 * 96, 96 * sizeof(float), mine);
  __syncwarp();
  hit(mine);
  wait(mine, 0);
  float sum[3];
  for (int k = 0; k < 3; ++k) sum[k] = 2 * part[t % 32 + 32 * k];
  __syncthreads();
  if (t < 3) destroy(&room.bar[t]);
  __syncthreads();
  // second life: plain memory
  if (t < 6) room.partial[t] = 0;
  __syncthreads();
  float share = 0;
  for (int i = t; i < kFloats; i += kThreads) share += second[i];
  atomicAdd(&room.partial[t % 6], share);
  __syncthreads();
  float total = 0;
  for (float p : room.partial) total += p;
  __syncthreads();
  // third life: one barrier for everybody, and one arrival of the thread that copies
  if (t == 64) {
    create(&room.bar[0], kThreads + 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    bulk(tile, second, sizeof tile, &room.bar[0]);
    hit(&room.bar[0]);
  }
  __syncthreads();
  hit(&room.bar[0]);
  wait(&room.bar[0], 0);
  for (int k = 0; k < 3; ++k) {
    const int i = t / 32 * 96 + t % 32 + 32 * k;
    out[i] = sum[k] + tile[i] + total;
  }
  __syncthreads();
  if (t == 0) destroy(&room.bar[0]);
}

int main() {
  return pipeline::run("reused_barriers", [](pipeline::Check& check) {
    std::vector<float> first(kFloats), second(kFloats);
    float total = 0;
    for (int i = 0; i < kFloats; ++i) {
      first[i] = static_cast<float>(i * 5 % 61);
      total += second[i] = static_cast<float>(i * 3 % 47);
    }
    const auto a = pipeline::upload(first), b = pipeline::upload(second);
    const auto out = pipeline::filled<float>(kFloats);
    three_lives<<<1, kThreads>>>(a.get(), b.get(), out.get());
    const auto got = pipeline::download(out, kFloats);
    for (int i = 0; i < kFloats; ++i) check.equal(i, got[i], 2 * first[i] + second[i] + total);
  });
}
