// Rows of a table, chosen by an index list, come one bulk copy a row: every lane of a warp issues its own, all on one
// mbarrier, and one lane announces their sum after the last was issued. Two buffers.
#include "pipeline.hpp"

constexpr int kWidth = 48, kBatch = 32, kBatches = 6, kTableRows = 100;  // rows of 48 floats, 192 bytes

__device__ unsigned window(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ void copy_row(float* to, const float* from, unsigned long long* done) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :
               : "r"(window(to)), "l"(from), "r"(static_cast<int>(kWidth * sizeof(float))), "r"(window(done))
               : "memory");
}
__device__ bool over(unsigned long long* done, unsigned parity) {
  unsigned yes;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
      : "=r"(yes)
      : "r"(window(done)), "r"(parity)
      : "memory");
  return yes;
}

// out[batch][column] = sum over the batch's rows of table[index[row]][column]. 64 threads.
__global__ void sum_rows(const float* table, const int* index, float* out) {
  __shared__ alignas(16) float rows[2][kBatch][kWidth];
  __shared__ unsigned long long done[2];
  if (threadIdx.x < 2) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(window(&done[threadIdx.x])) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  const auto issue = [&](int batch) {  // by the first warp
    copy_row(rows[batch % 2][threadIdx.x], table + index[batch * kBatch + threadIdx.x] * kWidth,
             &done[batch % 2]);
    __syncwarp();
    if (threadIdx.x == 0)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(window(&done[batch % 2])),
                   "r"(static_cast<int>(kBatch * kWidth * sizeof(float)))
                   : "memory");
  };
  if (threadIdx.x < 32) issue(0);
  for (int batch = 0; batch < kBatches; ++batch) {
    // the buffer of the next batch was read in the round before; the barrier at its end covers that
    if (threadIdx.x < 32 && batch + 1 < kBatches) issue(batch + 1);
    while (!over(&done[batch % 2], batch / 2 % 2)) {
    }
    if (threadIdx.x < kWidth) {
      float sum = 0;
      for (int r = 0; r < kBatch; ++r) sum += rows[batch % 2][r][threadIdx.x];
      out[batch * kWidth + threadIdx.x] = sum;
    }
    __syncthreads();
  }
}

int main() {
  return pipeline::run("gather", [](pipeline::Check& check) {
    std::vector<float> table(kTableRows * kWidth);
    std::vector<int> index(kBatches * kBatch);
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i % 503);
    for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int>(i * 37 % kTableRows);
    const auto d_table = pipeline::upload(table);
    const auto d_index = pipeline::upload(index);
    const auto out = pipeline::filled<float>(kBatches * kWidth);
    sum_rows<<<1, 64>>>(d_table.get(), d_index.get(), out.get());
    const auto got = pipeline::download(out, kBatches * kWidth);
    for (int i = 0; i < kBatches * kWidth; ++i) {
      float want = 0;
      for (int r = 0; r < kBatch; ++r) want += table[index[i / kWidth * kBatch + r] * kWidth + i % kWidth];
      check.equal(i, got[i], want);
    }
  });
}
