// Where the chunks of a numbered tile lie for every swizzle, at bases that are and are not aligned to the pattern;
// where the shared window of dynamic shared memory starts.
#include <algorithm>

#include "record.cuh"

using namespace record;

__global__ void window_address(uint32_t* out) {
  extern __shared__ char dynamic[];
  out[0] = ptx::smem_addr(dynamic);
}

__global__ void window_after_static(uint32_t* out) {
  __shared__ uint32_t before[5];
  extern __shared__ char dynamic[];
  before[threadIdx.x] = 7;
  out[0] = ptx::smem_addr(before) + before[threadIdx.x] - 7;
  out[1] = ptx::smem_addr(dynamic);
}

int main() {
  Buffer<uint32_t> addresses(2);
  window_address<<<1, 1, 64>>>(addresses.get());
  finish_kernel("window_address");
  std::printf("dynamic shared memory alone starts at %u\n", addresses.download()[0]);
  window_after_static<<<1, 1, 64>>>(addresses.get());
  finish_kernel("window_after_static");
  auto both = addresses.download();
  std::printf("20 static bytes at %u, dynamic shared memory at %u\n", both[0], both[1]);

  constexpr int kRows = 32;
  for (int swizzle = 0; swizzle <= 3; ++swizzle) {
    const uint32_t columns = swizzle == 0 ? 64 : 8u << swizzle;  // elements: the span, or 128 bytes
    Buffer<uint16_t> tensor(numbered(columns * kRows));
    MapArguments a;
    a.address = tensor.get();
    a.size[0] = columns;
    a.size[1] = kRows;
    a.stride_bytes[0] = columns * 2;
    a.box[0] = columns;
    a.box[1] = kRows;
    a.swizzle = swizzle;
    CUtensorMap map;
    std::printf("swizzle %s: encode %d\n", swizzle_name(swizzle), encode(&map, a));
    for (uint32_t offset : {0u, 128u, 256u, 384u, 512u, 640u, 896u}) {
      Loaded loaded = load(map, 2, {}, offset);
      std::printf("swizzle %s, %u x %d elements of 2 bytes at base + %u: %u bytes, window %08x\n",
                  swizzle_name(swizzle), columns, kRows, offset, loaded.signalled, checksum(loaded.window));
      if (offset <= 256) print_chunks(loaded, std::min(17u, (offset + columns * 2 * kRows) / 128 + 1));
    }
  }
}
