// One tensor map serves several matrices in turn: a warp changes its address and its number of rows in shared memory,
// copies it to global memory, where the copy engine finds it, and hands it over to the tensormap proxy. Another warp
// does the same with the map of the results.
#include <cstdio>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"
#include "host/tensor_map.hpp"
#include "kernel/wait.cuh"
#include "ptx/bulk_group.cuh"
#include "ptx/cp_async_bulk_tensor.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/smem_addr.cuh"

constexpr int kGroups = 5, kRows = 8, kCols = 16, kStages = 2;  // a tile is 8 x 16 floats
constexpr int kTile = kRows * kCols;

struct Group {
  const float* in;
  float* out;
  int rows;  // at most kRows
};

// tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], address;
// tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 1, rows;  (sm_90a, PTX §9.7.9.28)
__device__ void change(CUtensorMap* smem_map, const void* address, int rows) {
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;"
               :
               : "r"(ptx::smem_addr(smem_map)), "l"(address)
               : "memory");
  asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;"
               :
               : "r"(ptx::smem_addr(smem_map)), "r"(rows)
               : "memory");
}

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [map], [smem_map], 128;
// The warp copies the 128 bytes together and releases them to the tensormap proxy.
__device__ void copy_and_release(CUtensorMap* map, const CUtensorMap* smem_map) {
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;"
      :
      : "l"(map), "r"(ptx::smem_addr(smem_map))
      : "memory");
}

// fence.proxy.tensormap::generic.acquire.gpu [map], 128;  before copies of this CTA use the map
__device__ void acquire(const CUtensorMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" : : "l"(map) : "memory");
}

// cp.async.bulk.wait_group 0;  the stores of this thread are complete, not only read
__device__ void cp_async_bulk_wait_group_0() {
  asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}

// out = 2 * in for every group. maps: room for two maps. One CTA of two warps.
__global__ void double_all(const __grid_constant__ CUtensorMap example, const Group* groups,
                           CUtensorMap* maps) {
  __shared__ alignas(128) CUtensorMap smem_map[2];
  __shared__ alignas(128) float tile[kStages][kTile];
  __shared__ uint64_t full_bar[kStages], empty_bar[kStages];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&full_bar[s], 1);
      ptx::mbarrier_init(&empty_bar[s], 1);
    }
    ptx::fence_mbarrier_init_release_cluster();
  }
  reinterpret_cast<uint32_t*>(&smem_map[warp])[lane] = reinterpret_cast<const uint32_t*>(&example)[lane];
  __syncthreads();
  CUtensorMap* map = &maps[warp];

  for (int g = 0; g < kGroups; ++g) {
    const int s = g % kStages, parity = g / kStages % 2;
    const Group group = groups[g];
    if (warp == 0) {  // ---- producer
      lab::wait(&empty_bar[s], parity ^ 1);
      if (g > 0) {  // the copy that uses the map as it is
        lab::wait(&full_bar[(g - 1) % kStages], (g - 1) / kStages % 2);
      }
      if (lane == 0) change(&smem_map[0], group.in, group.rows);
      __syncwarp();
      copy_and_release(map, &smem_map[0]);
      if (lane == 0) {
        acquire(map);
        ptx::mbarrier_arrive_expect_tx(&full_bar[s], sizeof(tile[s]));
        ptx::cp_async_bulk_tensor_2d(tile[s], map, 0, 0, &full_bar[s]);
      }
    } else {  // ---- consumer
      lab::wait(&full_bar[s], parity);
      for (int i = lane; i < kTile; i += 32) tile[s][i] *= 2;
      ptx::fence_proxy_async_shared_cta();
      if (lane == 0) change(&smem_map[1], group.out, group.rows);
      __syncwarp();
      copy_and_release(map, &smem_map[1]);
      if (lane == 0) {
        acquire(map);
        ptx::cp_async_bulk_tensor_2d_store(map, 0, 0, tile[s]);  // rows behind the last are clipped
        ptx::cp_async_bulk_commit_group();
        cp_async_bulk_wait_group_0();  // not .read: the store uses the map until it is complete
        ptx::mbarrier_arrive(&empty_bar[s]);
      }
      __syncwarp();  // the warp writes the map only after lane 0's wait
    }
  }
}

int main() {
  std::vector<float> host(kGroups * kTile);
  for (int i = 0; i < kGroups * kTile; ++i) host[i] = static_cast<float>(i + 1);
  const auto in = lab::device_buffer<float>(kGroups * kTile),
             out = lab::device_buffer<float>(kGroups * kTile);
  const auto maps = lab::device_buffer<CUtensorMap>(2);
  const auto groups = lab::device_buffer<Group>(kGroups);
  lab::cuda_check(cudaMemcpy(in.get(), host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice),
                  "copy the input");
  lab::cuda_check(cudaMemset(out.get(), 0, host.size() * sizeof(float)), "clear the output");
  std::vector<Group> list;
  for (int g = 0; g < kGroups; ++g)
    list.push_back({in.get() + g * kTile, out.get() + g * kTile, g % 2 ? kRows - 3 : kRows});
  lab::cuda_check(cudaMemcpy(groups.get(), list.data(), list.size() * sizeof(Group), cudaMemcpyHostToDevice),
                  "copy the groups");
  lab::TensorMapSpec spec;
  spec.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  spec.address = in.get();
  spec.size = {kCols, kRows};
  spec.stride_bytes = {kCols * sizeof(float)};
  spec.box = {kCols, kRows};
  double_all<<<1, 64>>>(lab::make_tensor_map(spec), groups.get(), maps.get());
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("edited_map: error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::vector<float> got(host.size());
  lab::cuda_check(cudaMemcpy(got.data(), out.get(), got.size() * sizeof(float), cudaMemcpyDeviceToHost),
                  "read the output");
  int wrong = 0;
  for (int i = 0; i < kGroups * kTile; ++i) {
    const bool inside = i % kTile / kCols < list[i / kTile].rows;
    wrong += !(got[i] == (inside ? 2 * host[i] : 0));
  }
  std::printf("edited_map: %s, %d of %d elements wrong\n", wrong == 0 ? "right" : "wrong", wrong,
              kGroups * kTile);
  return wrong == 0 ? 0 : 1;
}
