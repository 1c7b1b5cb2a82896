// Two kernels, the second launched before the first has ended: it prepares its barriers, then waits with
// griddepcontrol.wait until the first grid is complete and its writes are visible, and only then fetches them.
#include "pipeline.hpp"

constexpr int kCtas = 3, kFloats = 256;

__device__ uint32_t in_window(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// mid = in + 1, through the copy engine
__global__ void first(const float* in, float* mid) {
  __shared__ alignas(16) float tile[kFloats];
  asm volatile("griddepcontrol.launch_dependents;" ::
                   : "memory");  // the second may start now; it waits for our end
  for (int i = threadIdx.x; i < kFloats; i += blockDim.x) tile[i] = in[blockIdx.x * kFloats + i] + 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;\n"
        "cp.async.bulk.wait_group 0;" ::"l"(mid + blockIdx.x * kFloats),
        "r"(in_window(tile)), "n"(kFloats * 4)
        : "memory");
}

// out = 2 * mid
__global__ void second(const float* mid, float* out) {
  __shared__ alignas(16) float tile[kFloats];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(in_window(&bar)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_window(&bar)),
                 "n"(kFloats * 4)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            in_window(tile)),
        "l"(mid + blockIdx.x * kFloats), "n"(kFloats * 4), "r"(in_window(&bar))
        : "memory");
  }
  __syncthreads();
  asm volatile(
      "{\n.reg .pred p;\nV: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra V;\n}" ::"r"(
          in_window(&bar))
      : "memory");
  for (int i = threadIdx.x; i < kFloats; i += blockDim.x) out[blockIdx.x * kFloats + i] = 2 * tile[i];
}

int main() {
  return pipeline::run("dependent_launch", [](pipeline::Check& check) {
    std::vector<float> in(kCtas * kFloats);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
    const auto d_in = pipeline::upload(in);
    const auto mid = pipeline::filled<float>(in.size()), out = pipeline::filled<float>(in.size());
    cudaStream_t stream;
    lab::cuda_check(cudaStreamCreate(&stream), "make a stream");
    first<<<kCtas, 64, 0, stream>>>(d_in.get(), mid.get());
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = kCtas;
    config.blockDim = 64;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    lab::cuda_check(cudaLaunchKernelEx(&config, second, static_cast<const float*>(mid.get()), out.get()),
                    "launch the second kernel");
    lab::cuda_check(cudaStreamSynchronize(stream), "run the kernels");
    const auto got = pipeline::download(out, in.size());
    for (size_t i = 0; i < in.size(); ++i) check.equal(i, got[i], 2 * (in[i] + 1));
    lab::cuda_check(cudaStreamDestroy(stream), "end the stream");
  });
}
