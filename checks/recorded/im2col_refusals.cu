// What the hardware refuses of copies in im2col mode, and of maps used in the other mode.
#include "im2col.cuh"

using namespace record;

namespace {

constexpr int kPixels = 6 * 5 * 3;

// Of a tensor of 16 channels, 6 x 5 pixels, 3 images.
Im2colArguments pixels_map(const void* tensor, int element_bytes = 2) {
  Im2colArguments a;
  a.address = tensor;
  a.size[0] = 16;
  a.size[1] = 6;
  a.size[2] = 5;
  a.size[3] = 3;
  for (int i = 0; i < 2; ++i) a.lower[i] = a.upper[i] = -1;
  a.channels = static_cast<uint32_t>(16 / element_bytes);
  a.pixels = 20;
  for (uint32_t i = 0; i < 3; ++i)
    a.stride_bytes[i] = (i ? a.stride_bytes[i - 1] * a.size[i] : static_cast<uint64_t>(16 * element_bytes));
  return a;
}

MapArguments tile_map(const void* tensor) {
  MapArguments a;
  a.rank = 4;
  a.address = tensor;
  const Im2colArguments p = pixels_map(tensor);
  std::memcpy(a.size, p.size, sizeof a.size);
  std::memcpy(a.stride_bytes, p.stride_bytes, sizeof a.stride_bytes);
  a.box[0] = 8;
  a.box[1] = 4;
  a.box[2] = 2;
  return a;
}

std::string sum(const std::vector<uint32_t>& window) {
  char text[16];
  std::snprintf(text, sizeof text, "done %08x", checksum(window));
  return text;
}

template <class Arguments>
CUtensorMap encoded(const Arguments& a) {
  CUtensorMap map;
  if (encode(&map, a) != 0) std::exit(1);
  return map;
}

std::string load_at(Corner at, uint32_t offset, int type = CU_TENSOR_MAP_DATA_TYPE_UINT16,
                    int element_bytes = 2, int swizzle = 0) {
  Buffer<uint16_t> tensor(numbered(kPixels * 16 * 2));
  Im2colArguments a = pixels_map(tensor.get(), element_bytes);
  a.type = type;
  a.swizzle = swizzle;
  return sum(im2col_load(encoded(a), 4, at, {}, offset).window);
}

// A copy of `rank` that takes this map; where: "im2col" or "tile".
template <class Arguments>
std::string load_of(Arguments (*make)(const void*), int rank, bool im2col) {
  Buffer<uint16_t> tensor(numbered(kPixels * 16 * 2));
  const CUtensorMap map = encoded(make(tensor.get()));
  return sum(im2col ? im2col_load(map, rank, {}, {}, 0).window : load(map, rank, {}, 0).window);
}

Im2colArguments pixels(const void* tensor) {
  return pixels_map(tensor);
}
Im2colArguments line(const void* tensor) {
  Im2colArguments a = pixels_map(tensor);
  a.rank = 3;
  return a;
}

__global__ void put(const __grid_constant__ CUtensorMap map, bool im2col, bool reduce) {
  __shared__ alignas(128) uint32_t tile[1024];
  for (int i = 0; i < 1024; ++i) tile[i] = static_cast<uint32_t>(i);
  ptx::fence_proxy_async_shared_cta();
  const uint32_t from = ptx::smem_addr(tile);
  if (im2col && !reduce)
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %1, %1, %1}], [%2];" ::
            "l"(&map),
        "r"(0), "r"(from)
        : "memory");
  if (!im2col && !reduce)
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %1, %1, %1}], [%2];" ::"l"(
            &map),
        "r"(0), "r"(from)
        : "memory");
  if (im2col && reduce)
    asm volatile(
        "cp.reduce.async.bulk.tensor.4d.global.shared::cta.max.im2col_no_offs.bulk_group [%0, {%1, %1, %1, %1}], [%2];" ::
            "l"(&map),
        "r"(0), "r"(from)
        : "memory");
  if (!im2col && reduce)
    asm volatile(
        "cp.reduce.async.bulk.tensor.4d.global.shared::cta.max.tile.bulk_group [%0, {%1, %1, %1, %1}], [%2];" ::
            "l"(&map),
        "r"(0), "r"(from)
        : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

template <class Arguments>
std::string put_of(Arguments (*make)(const void*), bool im2col, bool reduce, int type) {
  Buffer<uint32_t> tensor(std::vector<uint32_t>(kPixels * 16, 77));
  Arguments a = make(tensor.get());
  a.type = type;
  put<<<1, 1>>>(encoded(a), im2col, reduce);
  finish_kernel("put");
  return sum(tensor.download());
}

__global__ void fetch(const __grid_constant__ CUtensorMap map, int c, bool im2col) {
  if (im2col)
    asm volatile(
        "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%0, {%1, %2, %2, %2}], {%3, %3};" ::"l"(&map),
        "r"(c), "r"(0), "h"(uint16_t{0})
        : "memory");
  else
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %2, %2}];" ::"l"(&map),
                 "r"(c), "r"(0)
                 : "memory");
}

template <class Arguments>
std::string fetch_of(Arguments (*make)(const void*), bool im2col, int c) {
  Buffer<uint16_t> tensor(numbered(kPixels * 16 * 2));
  fetch<<<1, 1>>>(encoded(make(tensor.get())), c, im2col);
  finish_kernel("fetch");
  return "done";
}

}  // namespace

int main() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, std::function<std::string()> body) {
    cases.push_back({name, std::move(body)});
  };
  for (int c : {0, 8, -8, 1, 4, 12, -4})
    add("load, 2-byte elements, channel " + std::to_string(c), [c] { return load_at({{c, 0, 0, 0}}, 0); });
  for (int c : {8, 16})
    add("load, 1-byte elements, channel " + std::to_string(c), [c] {
      return load_at({{c, 0, 0, 0}}, 0, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1);
    });
  for (int c : {2, 4})
    add("load, 4-byte elements, channel " + std::to_string(c), [c] {
      return load_at({{c, 0, 0, 0}}, 0, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4);
    });
  for (uint32_t offset : {16u, 64u, 128u}) {
    add("load, tile at base + " + std::to_string(offset), [offset] { return load_at({}, offset); });
    add("load, swizzle 32B, tile at base + " + std::to_string(offset),
        [offset] { return load_at({}, offset, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, 1); });
  }
  for (int rank : {3, 4, 5})
    add("an im2col map of rank 4 in an im2col copy of rank " + std::to_string(rank),
        [rank] { return load_of(pixels, rank, true); });
  add("an im2col map of rank 3 in an im2col copy of rank 4", [] { return load_of(line, 4, true); });
  add("a tile map in an im2col copy", [] { return load_of(tile_map, 4, true); });
  add("an im2col map in a tile copy", [] { return load_of(pixels, 4, false); });
  constexpr int k16 = CU_TENSOR_MAP_DATA_TYPE_UINT16, k32 = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  add("a tile map in a store without offsets", [] { return put_of(tile_map, true, false, k16); });
  add("an im2col map in a tile store", [] { return put_of(pixels, false, false, k16); });
  add("an im2col map in a store without offsets", [] { return put_of(pixels, true, false, k16); });
  add("a tile map in a reduction without offsets", [] { return put_of(tile_map, true, true, k32); });
  add("an im2col map in a tile reduction", [] { return put_of(pixels, false, true, k32); });
  add("an im2col map in a reduction without offsets", [] { return put_of(pixels, true, true, k32); });
  add("an im2col map in a reduction without offsets, .max of UINT16",
      [] { return put_of(pixels, true, true, k16); });
  add("a tile map in an im2col prefetch", [] { return fetch_of(tile_map, true, 0); });
  add("an im2col map in a tile prefetch", [] { return fetch_of(pixels, false, 0); });
  add("an im2col map in an im2col prefetch, channel 4", [] { return fetch_of(pixels, true, 4); });
  run_cases(cases);
}
