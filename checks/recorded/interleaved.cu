// Interleaved tensor maps: dimension 0 counts pieces of 16 or 32 bytes, the dimension before the last one counts slices of
// channels. Which pieces a box is made of, where they lie, what stores and reductions write, and im2col mode.
#include "im2col.cuh"

using namespace record;

namespace {

constexpr size_t kChunks = 8000;  // of 16 bytes, eight 16-bit elements 8 * chunk + 1 and on

struct Copy {
  MapArguments map;
  Corner at{};
  uint32_t tile = 0;  // offset in the window
  bool add = false;
};

const Buffer<uint16_t>& tensor() {
  static const Buffer<uint16_t>* const kept = [] {
    std::vector<uint16_t> values(kChunks * 8);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(i + 1);
    return new Buffer<uint16_t>(values);
  }();
  return *kept;
}

// The number of the chunk in eight elements that follow each other: "untouched", "fill", "?" for anything else.
void add_chunk(Runs& runs, const uint16_t* v, long place) {
  bool untouched = true, zero = true, nan = true, follow = true;
  for (int i = 0; i < 8; ++i) {
    untouched = untouched && v[i] == static_cast<uint16_t>(kUntouched);
    zero = zero && v[i] == 0;
    nan = nan && v[i] == 0x7FF7;
    follow = follow && v[i] == v[0] + i;
  }
  if (untouched)
    runs.add("_", place);
  else if (zero || nan)
    runs.add("fill", place);
  else if (follow && v[0] % 8 == 1)
    runs.add("pixel", v[0] / 8);
  else
    runs.add("?", place);
}

std::string image(const Loaded& loaded) {
  uint32_t end = 0;
  for (uint32_t c = 0; c < kWindowBytes / 16; ++c)
    for (int i = 0; i < 4; ++i)
      if (loaded.at<uint32_t>(c * 16, i) != kUntouched) end = c + 1;
  Runs runs;
  for (uint32_t c = 0; c < end && c < 200; ++c) {
    uint16_t v[8];
    for (int i = 0; i < 8; ++i) v[i] = loaded.at<uint16_t>(c * 16, i);
    add_chunk(runs, v, c);
  }
  char text[48];
  std::snprintf(text, sizeof text, "%u bytes, %08x,", loaded.signalled, checksum(loaded.window));
  return text + runs.text();
}

// A dense tensor of 16 x ... pieces in which the slices number 20 (tile mode) or 4 (im2col mode).
template <class Arguments>
void shape(Arguments& a, const std::vector<uint64_t>& sizes) {
  a.rank = static_cast<uint32_t>(sizes.size());
  uint64_t stride = a.interleave == 1 ? 16 : 32;
  for (uint32_t i = 0; i < a.rank; ++i) {
    a.size[i] = sizes[i];
    stride *= sizes[i];
    if (i + 1 < a.rank) a.stride_bytes[i] = stride;
  }
}

std::string name_of(const char* what, const Copy& c) {
  std::string name = what + std::string(" ") + (c.map.interleave == 1 ? "16B" : "32B") + " type " +
                     std::to_string(c.map.type) + " box";
  bool steps = false;
  for (uint32_t i = 0; i < c.map.rank; ++i) {
    name += (i ? "x" : " ") + std::to_string(c.map.box[i]);
    steps = steps || c.map.step[i] != 1;
  }
  for (uint32_t i = 0; steps && i < c.map.rank; ++i)
    name += (i ? "," : " step ") + std::to_string(c.map.step[i]);
  if (c.map.swizzle) name += std::string(" ") + swizzle_name(c.map.swizzle);
  name += " at " + list(c.at.c, c.map.rank);
  return c.tile ? name + (what[0] == 'l' ? " to " : " from ") + std::to_string(c.tile) : name;
}

std::vector<Case> cases;

void add_load(const Copy& c) {
  cases.push_back({name_of("load", c), [c] {
                     MapArguments a = c.map;
                     a.address = tensor().get();
                     alignas(64) CUtensorMap map;
                     if (const int code = encode(&map, a)) return "encode " + std::to_string(code);
                     return image(load(map, static_cast<int>(a.rank), c.at, c.tile));
                   }});
}

__global__ void add_box(const __grid_constant__ CUtensorMap map, Corner at, uint32_t offset,
                        const uint32_t* bytes) {
  char* window = window_start();
  for (uint32_t i = threadIdx.x; i < kWindowBytes / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(window)[i] = bytes[i];
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2, %3}], [%4];\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(&map),
        "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(ptx::smem_addr(window) + offset)
        : "memory");
  }
}

// Chunk numbers of the window, where the tensor was 0; changed chunks as "to=from".
std::string written(const std::vector<uint16_t>& now) {
  std::string text;
  long first = -1, from = 0, last = 0;
  const auto end = [&] {
    if (first >= 0)
      text += " " + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "") + "=" +
              std::to_string(from);
    first = -1;
  };
  for (size_t c = 0; c < kChunks; ++c) {
    const uint16_t* v = now.data() + c * 8;
    bool zero = true, follow = true;
    for (int i = 0; i < 8; ++i) {
      zero = zero && v[i] == 0;
      follow = follow && v[i] == v[0] + i;
    }
    const long source = zero ? -1 : follow ? v[0] / 8 : -2;
    if (first >= 0 && source >= 0 && static_cast<long>(c) == last + 1 && source == from + last + 1 - first) {
      last = static_cast<long>(c);
      continue;
    }
    end();
    if (source == -2) text += " " + std::to_string(c) + "=?";
    if (source < 0) continue;
    first = last = static_cast<long>(c);
    from = source;
  }
  end();
  return text;
}

std::vector<uint32_t> numbered_window() {
  std::vector<uint32_t> window(kWindowBytes / 4);
  for (uint32_t i = 0; i < window.size(); ++i) window[i] = (2 * i + 1) | (2 * i + 2) << 16;
  return window;
}

void add_store(const Copy& c) {
  cases.push_back(
      {name_of(c.add ? "add" : "store", c), [c] {
         Buffer<uint16_t> out(std::vector<uint16_t>(kChunks * 8, 0));
         MapArguments a = c.map;
         a.address = out.get();
         alignas(64) CUtensorMap map;
         if (const int code = encode(&map, a)) return "encode " + std::to_string(code);
         if (c.add) {
           Buffer<uint32_t> bytes(numbered_window());
           check(cudaFuncSetAttribute(add_box, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
                 "shared memory");
           for (int i = 0; i < 2; ++i) add_box<<<1, 128, kSharedBytes>>>(map, c.at, c.tile, bytes.get());
           finish_kernel("add_box");
           const auto now = out.download();
           char text[16];
           std::snprintf(text, sizeof text, "%08x", checksum(now));
           return std::string(text);
         }
         store(map, static_cast<int>(a.rank), c.at, c.tile, numbered_window());
         const auto now = out.download();
         char text[16];
         std::snprintf(text, sizeof text, "%08x,", checksum(now));
         return text + written(now);
       }});
}

Copy of(int interleave, int type, std::vector<uint32_t> box, std::vector<int> at,
        std::vector<uint32_t> step = {}) {
  Copy c;
  c.map.interleave = interleave;
  c.map.swizzle = interleave == 2;
  c.map.type = type;
  std::vector<uint64_t> sizes(box.size(), 3);
  sizes[0] = 16;
  sizes[box.size() - 2] = 20;
  shape(c.map, sizes);
  for (size_t i = 0; i < box.size(); ++i) {
    c.map.box[i] = box[i];
    c.at.c[i] = at[i];
    if (i < step.size()) c.map.step[i] = step[i];
  }
  return c;
}

void boxes(int interleave) {
  const auto read = [&](int type, std::vector<uint32_t> box, std::vector<int> at,
                        std::vector<uint32_t> step = {}) { add_load(of(interleave, type, box, at, step)); };
  for (uint32_t slices : {1u, 7u, 8u, 9u, 16u, 64u}) read(1, {8, slices, 1}, {0, 0, 0});
  read(1, {8, 16, 2}, {0, 0, 0});
  read(1, {8, 16, 1}, {0, 0, 0}, {1, 2, 1});
  read(1, {8, 64, 1}, {0, 19, 0});
  read(1, {8, 64, 1}, {0, 2, 0});
  read(1, {8, 1, 3}, {-2, 1, 0}, {3, 1, 2});
  for (uint32_t step = 2; step <= 8; ++step) read(1, {16, 1, 2}, {1, 1, 1}, {step, 1, 1});
  read(1, {16, 1, 1}, {0, 20, 0});
  read(1, {16, 1, 1}, {0, -1, 0});
  read(1, {8, 2, 16, 2}, {0, 0, 0, 0});
  read(1, {8, 2, 8, 2}, {0, 1, 3, 1});
  read(1, {8, 5, 8, 2}, {3, -1, 3, -1}, {2, 2, 1, 1});
  read(1, {8, 2, 2, 16, 1}, {0, 0, 0, 1, 0});
  if (interleave == 1) read(1, {8, 3, 3, 16, 2}, {5, 1, 0, 1, 2}, {1, 1, 2, 1, 1});
  for (uint32_t inner : {16u, 32u, 48u}) read(0, {inner, 1, 1}, {0, 0, 0});
  read(0, {16, 16, 1}, {1, 0, 0});
  read(0, {16, 32, 2}, {0, 0, 0});
  read(7, {4, 1, 1}, {1, 0, 0});
  read(7, {8, 4, 2}, {0, 0, 0});
  read(7, {12, 4, 2}, {0, 0, 0});
  read(8, {2, 4, 1}, {0, 0, 0});
  read(8, {6, 4, 3}, {11, 0, 0});
  read(1, {256, 256, 2}, {0, 0, 0});
  Copy nan = of(interleave, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, {8, 1, 1}, {12, 0, 0});
  nan.map.oob_fill = 1;
  add_load(nan);
  nan.at.c[0] = -3;
  add_load(nan);
  read(CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, {8, 1, 1}, {0, 0, 0});
  read(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, {8, 1, 1}, {13, 0, 0});
  for (uint32_t tile : {16u, 64u, 128u, 384u}) {
    Copy c = of(interleave, 1, {8, 1, 3}, {2, 1, 0});
    c.tile = tile;
    add_load(c);
  }
  for (int swizzle = 0; swizzle <= 3; ++swizzle)
    for (uint32_t inner : {8u, 16u, 24u})
      for (uint32_t tile : {0u, 128u, 384u}) {
        if (interleave == 2 && swizzle == 1) continue;
        Copy c = of(interleave, 1, {inner, 1, 2}, {1, 1, 0});
        c.map.swizzle = swizzle;
        c.tile = tile;
        add_load(c);
      }
  for (uint32_t inner : {2u, 4u, 6u})
    for (int swizzle = 0; swizzle <= 3; ++swizzle) {
      Copy c = of(interleave, 8, {inner, 1, 2, 3}, {1, 1, 0, 0});
      c.map.swizzle = swizzle;
      add_load(c);
    }
}

void stores(int interleave) {
  const auto write = [&](int type, std::vector<uint32_t> box, std::vector<int> at,
                         std::vector<uint32_t> step = {}) { add_store(of(interleave, type, box, at, step)); };
  write(1, {8, 1, 1}, {0, 0, 0});
  write(1, {8, 16, 2}, {1, 1, 0});
  write(1, {8, 1, 2}, {12, 0, 0});
  write(1, {8, 2, 8, 2}, {0, 1, 3, 1});
  write(7, {4, 1, 1}, {1, 0, 0});
  write(1, {8, 1, 3}, {2, 1, 0}, {3, 1, 2});
  write(1, {8, 1, 3}, {2, 1, 2});
  write(1, {8, 1, 1}, {2, 20, 0});
  write(1, {8, 1, 1}, {-1, 1, 0});
  write(1, {8, 1, 1}, {1, -1, 0});
  write(1, {8, 1, 1}, {1, 1, -1});
  Copy c = of(interleave, 1, {16, 1, 2}, {1, 1, 0});
  c.map.swizzle = 2;
  c.tile = 384;
  add_store(c);
  for (int type :
       {CU_TENSOR_MAP_DATA_TYPE_UINT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_UINT64})
    for (int x : {0, 13}) {
      c = of(interleave, type, {8, 1, 2}, {x, 1, 0});
      c.add = true;
      add_store(c);
    }
}

// ---- im2col mode: dimensions are W, slices, N; W, H, slices, N; W, H, D, slices, N

struct Column {
  Im2colArguments map;
  Corner at{};
  Offsets by{};
  uint32_t tile = 0;
};

Column column(int interleave, std::vector<uint64_t> sizes, std::vector<int> lower, std::vector<int> upper,
              uint32_t pixels, uint32_t channels, std::vector<int> at, std::vector<int> by = {},
              std::vector<uint32_t> step = {}) {
  Column c;
  c.map.interleave = interleave;
  c.map.swizzle = interleave == 2;
  shape(c.map, sizes);
  c.map.pixels = pixels;
  c.map.channels = channels;
  for (size_t i = 0; i < lower.size(); ++i) c.map.lower[i] = lower[i];
  for (size_t i = 0; i < upper.size(); ++i) c.map.upper[i] = upper[i];
  for (size_t i = 0; i < at.size(); ++i) c.at.c[i] = at[i];
  for (size_t i = 0; i < by.size(); ++i) c.by.c[i] = by[i];
  for (size_t i = 0; i < step.size(); ++i) c.map.step[i] = step[i];
  return c;
}

std::string name_of(const char* what, const Column& c) {
  std::string name = what + std::string(" ") + (c.map.interleave == 1 ? "16B" : "32B");
  for (uint32_t i = 0; i < c.map.rank; ++i) name += (i ? "x" : " ") + std::to_string(c.map.size[i]);
  name += " box " + list(c.map.lower, c.map.rank - 2) + list(c.map.upper, c.map.rank - 2) + " " +
          std::to_string(c.map.pixels) + "x" + std::to_string(c.map.channels);
  bool steps = false;
  for (uint32_t i = 0; i < c.map.rank; ++i) steps = steps || c.map.step[i] != 1;
  for (uint32_t i = 0; steps && i < c.map.rank; ++i)
    name += (i ? "," : " step ") + std::to_string(c.map.step[i]);
  name += std::string(" ") + swizzle_name(c.map.swizzle) + " at " + list(c.at.c, c.map.rank);
  if (c.by.c[0] || c.by.c[1] || c.by.c[2]) name += "+" + list(c.by.c, c.map.rank - 2);
  return c.tile ? name + " to " + std::to_string(c.tile) : name;
}

void add_column(const Column& c) {
  cases.push_back({name_of("im2col", c), [c] {
                     Im2colArguments a = c.map;
                     a.address = tensor().get();
                     alignas(64) CUtensorMap map;
                     if (const int code = encode(&map, a)) return "encode " + std::to_string(code);
                     return image(im2col_load(map, static_cast<int>(a.rank), c.at, c.by, c.tile));
                   }});
}

__global__ void store_column(const __grid_constant__ CUtensorMap map, Corner at, const uint32_t* bytes) {
  char* window = window_start();
  for (uint32_t i = threadIdx.x; i < kWindowBytes / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(window)[i] = bytes[i];
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %2, %3, %4}], [%5];\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(&map),
        "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(ptx::smem_addr(window))
        : "memory");
}

void add_column_store(const Column& c) {
  cases.push_back(
      {name_of("im2col store", c), [c] {
         Buffer<uint16_t> out(std::vector<uint16_t>(kChunks * 8, 0));
         Im2colArguments a = c.map;
         a.address = out.get();
         alignas(64) CUtensorMap map;
         if (const int code = encode(&map, a)) return "encode " + std::to_string(code);
         Buffer<uint32_t> bytes(numbered_window());
         check(cudaFuncSetAttribute(store_column, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
               "shared memory");
         store_column<<<1, 128, kSharedBytes>>>(map, c.at, bytes.get());
         finish_kernel("store_column");
         const auto now = out.download();
         char text[16];
         std::snprintf(text, sizeof text, "%08x,", checksum(now));
         return text + written(now);
       }});
}

void columns(int n) {
  add_column(column(n, {16, 5, 2}, {0}, {-1}, 4, 8, {0, 0, 0}));
  add_column(column(n, {16, 5, 2}, {0}, {-1}, 4, 8, {0, 1, 0}, {1}));
  add_column(column(n, {16, 5, 4, 3}, {0, 0}, {-1, -1}, 6, 8, {0, 0, 0, 0}));
  add_column(column(n, {16, 5, 4, 3}, {0, 0}, {-1, -1}, 6, 16, {1, 0, 1, 0}, {1, 0}));
  add_column(column(n, {16, 5, 4, 3, 2}, {0, 0, 0}, {-1, -1, -1}, 6, 8, {0, 1, 0, 1, 0}, {0, 1, 0}));
  add_column(column(n, {16, 5, 4, 3}, {0, 0}, {-1, -1}, 5, 64, {0, 2, 0, 0}, {1, 1}));
  // Round the end of a row, an image, the tensor.
  for (int w : {-1, 3, 5, 6, -2})
    add_column(column(n, {7, 5, 4, 3}, {-1, -1}, {-1, -1}, 40, 8, {w, 2, 1, 1}, {1, 2}));
  for (int h : {-1, 3, 4, -2}) add_column(column(n, {7, 5, 4, 3}, {-1, -1}, {-1, -1}, 30, 8, {2, h, 3, 1}));
  for (int slice : {-1, 4, 100})
    add_column(column(n, {7, 5, 4, 3}, {-1, -1}, {-1, -1}, 20, 8, {2, 1, slice, 1}));
  for (int image : {-1, 2, 3})
    add_column(column(n, {7, 5, 4, 3}, {-1, -1}, {-1, -1}, 40, 8, {2, 1, 2, image}, {1, 1}));
  add_column(column(n, {9, 3, 3}, {-2}, {3}, 30, 8, {4, 1, 0}, {2}));
  add_column(column(n, {9, 3, 3}, {-2}, {3}, 30, 8, {12, 1, 0}));
  add_column(column(n, {9, 3, 3}, {-2}, {3}, 30, 8, {11, 1, 0}));
  add_column(column(n, {4, 3, 3, 3, 2}, {-1, 0, -1}, {1, -1, 0}, 60, 8, {1, 1, 0, 1, 0}, {1, 0, 1}));
  add_column(column(n, {4, 3, 3, 3, 2}, {-1, 0, -1}, {1, -1, 0}, 60, 8, {4, 1, 2, 2, 0}, {1, 1, 1}));
  // A box without a pixel, by W or by H.
  for (int upper : {-1, -2, -3, -5})
    for (int other : {0, -5}) {
      add_column(column(n, {2, 5, 6, 3}, {0, 0}, {upper, other}, 4, 8, {0, 0, 0, 0}));
      add_column(column(n, {6, 2, 5, 3}, {0, 0}, {other, upper}, 4, 8, {0, 0, 0, 0}));
    }
  // Element strides.
  for (uint32_t step : {2u, 3u}) {
    add_column(column(n, {10, 9, 4, 3}, {-1, -1}, {0, -1}, 24, 8, {0, 2, 1, 0}, {}, {step, 1, 1, 1}));
    add_column(column(n, {10, 9, 4, 3}, {-1, -1}, {0, -1}, 24, 8, {0, 2, 1, 0}, {1, 1}, {1, step, 1, 1}));
    add_column(column(n, {10, 9, 4, 3}, {-1, -1}, {0, -1}, 24, 8, {0, 2, 1, 0}, {}, {1, 1, step, 1}));
    add_column(column(n, {10, 9, 4, 3}, {-1, -1}, {0, -1}, 200, 8, {0, 2, 1, 0}, {}, {1, 1, 1, step}));
    add_column(column(n, {10, 9, 4, 3}, {-1, -1}, {0, -1}, 100, 8, {8, 5, 1, 0}, {}, {step, 2, 1, 1}));
  }
  for (int swizzle = 0; swizzle <= 3; ++swizzle)
    for (uint32_t tile : {0u, 384u}) {
      Column c = column(n, {7, 5, 4, 3}, {-1, -1}, {-1, -1}, 19, 8, {2, 1, 1, 0}, {1, 1});
      c.map.swizzle = swizzle;
      c.tile = tile;
      add_column(c);
    }
  add_column_store(column(n, {7, 5, 4, 3}, {0, 0}, {0, 0}, 12, 8, {2, 1, 1, 0}));
  add_column_store(column(n, {7, 5, 4, 3}, {0, 0}, {0, 0}, 50, 16, {5, 3, 3, 1}));
  add_column_store(column(n, {7, 5, 4, 3}, {1, 1}, {-2, -1}, 20, 8, {2, 1, 2, 0}));
  add_column_store(column(n, {7, 5, 4, 3}, {0, 0}, {0, 0}, 12, 8, {2, 1, 4, 0}));
  add_column_store(column(n, {7, 5, 4, 3}, {-1, 0}, {0, 0}, 12, 8, {2, 1, 1, 0}));
  add_column_store(column(n, {7, 5, 4, 3}, {0, 0}, {0, 0}, 12, 8, {2, 1, -1, 0}));
  add_column_store(column(n, {7, 5, 4, 3}, {0, 0}, {0, 0}, 12, 8, {7, 1, 1, 0}));
}

}  // namespace

int main() {
  for (int interleave : {1, 2}) {
    boxes(interleave);
    stores(interleave);
    columns(interleave);
  }
  run_cases(cases);
}
