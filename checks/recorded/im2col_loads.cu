// cp.async.bulk.tensor in im2col mode: which pixels of the tensor arrive, in which order. The bounding box, the offsets, the
// wrap from row to row and image to image, what lies outside, element strides, channels, swizzles, bytes signalled.
#include "im2col.cuh"

using namespace record;

namespace {

struct Load {
  Im2colArguments map;
  Corner at{};
  Offsets by{};
  uint32_t tile = 0;  // offset in the window
};

std::string result(Load l) {
  std::vector<uint16_t> values(pixel_count(l.map) * pixel_pitch(l.map, 2));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(i + 1);
  Buffer<uint16_t> tensor(values);
  l.map.address = tensor.get();
  make_dense(l.map, 2);
  alignas(64) CUtensorMap map;
  if (const int code = encode(&map, l.map)) return "encode " + std::to_string(code);
  const Loaded loaded = im2col_load(map, static_cast<int>(l.map.rank), l.at, l.by, l.tile);
  char text[48];
  std::snprintf(text, sizeof text, "%u bytes, %08x,", loaded.signalled, checksum(loaded.window));
  return text + pixels_of(l.map, loaded, l.at.c[0], l.tile);
}

std::vector<Case> cases;

void add(const Load& l) {
  std::string name = describe(l.map) + " at " + list(l.at.c, l.map.rank);
  if (l.by.c[0] || l.by.c[1] || l.by.c[2]) name += "+" + list(l.by.c, l.map.rank - 2);
  if (l.tile) name += " to " + std::to_string(l.tile);
  cases.push_back({name, [l] { return result(l); }});
}

// A tensor of these sizes (C, W, H, D, N), its box and what is read.
Load of(std::vector<int> size, std::vector<int> lower, std::vector<int> upper, uint32_t pixels,
        uint32_t channels) {
  Load l;
  l.map.rank = static_cast<uint32_t>(size.size());
  for (size_t i = 0; i < size.size(); ++i) l.map.size[i] = static_cast<uint64_t>(size[i]);
  for (size_t i = 0; i < lower.size(); ++i) l.map.lower[i] = lower[i];
  for (size_t i = 0; i < upper.size(); ++i) l.map.upper[i] = upper[i];
  l.map.pixels = pixels;
  l.map.channels = channels;
  return l;
}

void read(Load l, std::vector<int> at, std::vector<int> by = {}) {
  for (size_t i = 0; i < at.size(); ++i) l.at.c[i] = at[i];
  for (size_t i = 0; i < by.size(); ++i) l.by.c[i] = by[i];
  add(l);
}

void the_manuals_examples() {
  read(of({64, 9, 14, 4}, {-1, -1}, {-1, -1}, 64, 8), {0, 7, 4, 0});
  read(of({8, 9, 14, 4}, {-1, -1}, {-1, -1}, 64, 8), {0, 7, 7, 0});
  read(of({8, 9, 14, 4}, {0, 0}, {-2, -2}, 64, 8), {0, 6, 4, 0}, {2, 2});
  Load l = of({16, 8, 14, 4}, {-1, -1}, {-1, -1}, 32, 16);
  l.map.step[1] = l.map.step[2] = 2;
  read(l, {0, 5, 5, 0}, {1, 1});
  read(l, {0, -1, -1, 0});
}

// Of a 3 x 3 filter with padding 1: each of its places.
void a_filter() {
  const Load l = of({8, 6, 5, 3}, {-1, -1}, {-1, -1}, 40, 8);
  for (int h = 0; h < 3; ++h)
    for (int w = 0; w < 3; ++w) read(l, {0, 2, 1, 1}, {w, h});
  read(l, {0, -1, -1, 2});  // to the last pixel and beyond
  read(l, {0, -1, -1, 2}, {1, 1});
  read(l, {0, 4, 3, 2}, {1, 1});
}

void ranks() {
  const Load line = of({8, 11, 4}, {-2}, {3}, 30, 8);
  for (int w : {-2, 0, 5, 13})
    for (int off : {0, 1, 4}) read(line, {0, w, 1}, {off});
  const Load solid = of({8, 4, 3, 3, 3}, {-1, 0, -1}, {1, -1, 0}, 60, 8);
  for (int d : {-1, 0, 2})
    for (int off : {0, 1}) read(solid, {0, 1, 1, d, 1}, {off, 1 - off, off});
  read(solid, {0, -1, 0, -1, 0});
  read(solid, {0, 4, 1, 2, 2}, {1, 1, 1});
}

// The box may reach to either side of the tensor, or lie beside it.
void boxes() {
  for (int lower : {-3, 0, 2})
    for (int upper : {-4, -1, 0, 2}) {
      const Load l = of({8, 7, 6, 3}, {lower, 0}, {upper, 0}, 24, 8);
      read(l, {0, lower, 0, 0});
      read(l, {0, lower, 4, 1}, {1, 0});
    }
  read(of({8, 7, 6, 3}, {8, 0}, {4, 0}, 12, 8), {0, 8, 0, 0});      // right of the tensor
  read(of({8, 7, 6, 3}, {-9, 0}, {-12, 0}, 12, 8), {0, -9, 0, 0});  // left of it
  read(of({8, 7, 6, 3}, {-9, 0}, {-12, 0}, 12, 8), {0, -9, 0, 0}, {9, 0});
  read(of({8, 7, 6, 3}, {3, 2}, {-3, -3}, 12, 8), {0, 3, 2, 0});  // of one pixel
  read(of({8, 7, 6, 3}, {-128, -128}, {127, 127}, 300, 8), {0, -2, -1, 0});
  read(of({8, 7, 6, 3}, {-128, -128}, {127, 127}, 300, 8), {0, -128, -128, 1}, {128, 128});
  read(of({8, 7, 3}, {-32768}, {32767}, 20, 8), {0, -5, 0});
  read(of({8, 7, 3}, {-32768}, {32767}, 20, 8), {0, 32770, 0});
  read(of({8, 7, 3}, {-32768}, {32767}, 20, 8), {0, -32768, 1}, {32766});
  read(of({8, 3, 3, 3, 2}, {-16, -16, -16}, {15, 15, 15}, 200, 8), {0, 15, 1, 1, 0});
  read(of({8, 3, 3, 3, 2}, {-16, -16, -16}, {15, 15, 15}, 200, 8), {0, -14, -15, -16, 1}, {14, 15, 16});
  read(of({8, 3, 3, 3, 2}, {0, 0, 0}, {0, 0, 0}, 70, 8), {0, 0, 0, 0, 0});
}

// Starts that the manual does not allow: the filter's corner lies outside the box.
void outside_the_box() {
  const Load l = of({8, 7, 6, 3}, {-1, -1}, {-1, -1}, 24, 8);  // W -1 .. 5, H -1 .. 4
  for (int w : {-2, -3, -9, 6, 7, 8, 20}) read(l, {0, w, 1, 0});
  for (int h : {-2, -3, -9, 5, 6, 7, 20}) read(l, {0, 1, h, 0});
  read(l, {0, 6, 4, 0});
  read(l, {0, 6, 5, 0});
  read(l, {0, -2, -2, 0});
  for (int n : {-1, -2, -5, 2, 3, 4, 1000}) read(l, {0, 1, 1, n});
  read(l, {0, 4, 4, -1});
  for (int far : {2147483647, -2147483647 - 1, 100000, -100000, 40000, 256, -256, 65536}) {
    read(l, {0, far, 1, 0});
    read(l, {0, 1, far, 0});
    read(l, {0, 1, 1, far});
  }
  const Load solid = of({8, 4, 3, 3, 3}, {-1, 0, -1}, {1, -1, 0}, 40, 8);  // W -1 .. 4, H 0 .. 1, D -1 .. 2
  for (int d : {-2, 3, 4}) read(solid, {0, 1, 1, d, 1});
  const Load line = of({8, 11, 4}, {-2}, {3}, 30, 8);  // W -2 .. 13
  for (int w : {-4, -3, 14, 15, 16}) read(line, {0, w, 1});
}

// The manual gives them 16 bits at rank 3, 8 at rank 4, 5 at rank 5.
void large_offsets() {
  const Load l = of({8, 7, 6, 3}, {-128, -128}, {0, 0}, 12, 8);
  for (int by : {127, 128, 129, 130, 255, 256, 257, 384, 65535}) {
    read(l, {0, -128, 0, 0}, {by, 0});
    read(l, {0, 0, -128, 0}, {0, by});
  }
  const Load line = of({8, 7, 3}, {-32768}, {0}, 12, 8);
  for (int by : {32767, 32768, 32770, 65535}) read(line, {0, -32768, 0}, {by});
  const Load solid = of({8, 3, 3, 3, 2}, {-16, -16, -16}, {0, 0, 0}, 12, 8);
  for (int by : {15, 16, 17, 31, 32, 33, 48, 256}) {
    read(solid, {0, -16, 0, 0, 0}, {by, 0, 0});
    read(solid, {0, 0, -16, 0, 0}, {0, by, 0});
    read(solid, {0, 0, 0, -16, 0}, {0, 0, by});
  }
  for (int w : {16, 17, 48, 49, 80, 1040})
    for (int h : {16, 17, 48, 49}) {
      read(l, {0, -16, -16, 0}, {w + 256 * (h % 2), h + 256 * (w % 2)});
      read(solid, {0, -16, -16, -16, 0}, {w, h, 16});
      read(solid, {0, -16, -16, -16, 0}, {w, h, 17});
    }
}

void element_strides() {
  for (uint32_t step : {2u, 3u, 8u}) {
    Load l = of({8, 10, 9, 3}, {-1, -1}, {0, -1}, 24, 8);  // W -1 .. 9, H -1 .. 7
    l.map.step[1] = step;
    read(l, {0, -1, -1, 0});
    read(l, {0, 0, 2, 0});
    read(l, {0, 8, 2, 0});
    read(l, {0, 9, 7, 1}, {1, 0});
    l.map.step[1] = 1;
    l.map.step[2] = step;
    read(l, {0, -1, -1, 0});
    read(l, {0, 6, 6, 0});
    read(l, {0, 6, 7, 0}, {0, 1});
    l.map.step[1] = 2;
    read(l, {0, 0, 0, 0});
    l.map.step[1] = l.map.step[2] = 1;
    l.map.step[3] = step;
    l.map.pixels = 150;
    read(l, {0, 5, 5, 0});
    read(l, {0, 5, 5, -1});
    l.map.step[3] = 1;
    l.map.step[0] = step;
    l.map.pixels = 12;
    read(l, {0, 5, 5, 0});
  }
  Load solid = of({8, 5, 5, 5, 2}, {0, 0, 0}, {0, 0, 0}, 40, 8);
  for (int i = 1; i <= 3; ++i) solid.map.step[i] = static_cast<uint32_t>(i + 1);
  read(solid, {0, 0, 0, 0, 0});
  read(solid, {0, 1, 2, 3, 0});
  Load line = of({8, 11, 4}, {-2}, {3}, 30, 8);
  line.map.step[1] = 3;
  for (int w : {-2, -1, 0, 13}) read(line, {0, w, 0}, {1});
}

void channels() {
  for (int c : {0, 8, 16, 24, 32, -8, -16, -24})
    for (int size : {12, 16, 24}) read(of({size, 5, 4, 2}, {0, 0}, {0, 0}, 6, 16), {c, 1, 1, 0});
  read(of({1, 5, 4, 2}, {0, 0}, {0, 0}, 6, 8), {0, 1, 1, 0});
  for (uint32_t size : {64u, 128u, 256u}) read(of({72, 5, 4, 2}, {0, 0}, {0, 0}, 9, size), {8, 1, 1, 0});
}

void counts() {
  for (uint32_t pixels : {1u, 2u, 7u, 8u, 9u, 255u, 256u, 257u, 1023u, 1024u})
    read(of({8, 20, 20, 3}, {0, 0}, {0, 0}, pixels, 8), {0, 3, 2, 0});
}

void swizzles() {
  for (int swizzle = 0; swizzle <= 3; ++swizzle)
    for (uint32_t channels = 8; channels <= (swizzle ? 8u << swizzle : 64u);
         channels += channels < 16 ? 8 : 16)
      for (uint32_t tile : {0u, 384u}) {
        Load l = of({64, 5, 4, 2}, {-1, -1}, {-1, -1}, 21, channels);
        l.map.swizzle = swizzle;
        l.tile = tile;
        read(l, {8, 2, 1, 0}, {1, 2});
      }
}

void nan_fill() {
  Load l = of({12, 5, 4, 2}, {-1, -1}, {1, 1}, 60, 16);
  l.map.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  l.map.oob_fill = 1;
  read(l, {0, 3, 2, 0});
  read(l, {8, 3, 2, 1}, {1, 1});
  read(l, {-8, 3, 2, 1}, {0, 2});
}

// strange: starts beside the box, and before the first image.
Load random_load(Random& r, uint32_t rank, bool strange) {
  Load l;
  Im2colArguments& m = l.map;
  m.rank = rank;
  m.size[0] = static_cast<uint64_t>(r.between(1, 5) * 4);
  for (uint32_t i = 1; i < rank; ++i) m.size[i] = static_cast<uint64_t>(r.between(1, rank == 5 ? 5 : 9));
  for (uint32_t i = 0; i < rank - 2; ++i) {
    const int size = static_cast<int>(m.size[i + 1]);
    const int first = r.between(-3, 3), extent = r.between(1, size + 3);
    m.lower[i] = first;
    m.upper[i] = first + extent - size;  // the last position is size - 1 + upper
    l.at.c[i + 1] = r.between(first, first + extent - 1);
    if (strange && r.once_in(2)) l.at.c[i + 1] = r.between(first - 4, first + extent + 3);
    l.by.c[i] = r.once_in(2) ? r.between(0, 5) : 0;
    if (r.once_in(4)) m.step[i + 1] = static_cast<uint32_t>(r.between(2, 4));
  }
  if (r.once_in(2)) l.at.c[0] = 8 * r.between(-1, 2);
  l.at.c[rank - 1] = r.between(strange ? -2 : 0, static_cast<int>(m.size[rank - 1]) - 1);
  if (r.once_in(12)) m.step[rank - 1] = 2;
  m.swizzle = r.between(0, 3);
  m.channels = 8u << r.between(0, m.swizzle ? m.swizzle : 3);
  m.pixels = static_cast<uint32_t>(r.between(1, 96));
  l.tile = 128u * static_cast<uint32_t>(r.once_in(4) ? r.between(1, 7) : 0);
  if (r.once_in(8)) {
    m.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    m.oob_fill = 1;
  }
  return l;
}

void random_loads(uint32_t rank, int count, bool strange) {
  Random r(1000 * rank + strange);
  for (int n = 0; n < count; ++n) add(random_load(r, rank, strange));
}

// Many more, of which only a sum is printed.
void random_sums(uint32_t rank, int groups) {
  for (int group = 0; group < groups; ++group)
    cases.push_back({"rank " + std::to_string(rank) + ", 50 random loads, number " + std::to_string(group),
                     [rank, group] {
                       Random r(rank * 100000 + static_cast<uint32_t>(group));
                       std::string all;
                       for (int n = 0; n < 50; ++n) all += result(random_load(r, rank, false)) + "\n";
                       char text[16];
                       std::snprintf(text, sizeof text, "%08x", checksum(all.data(), all.size()));
                       return std::string(text);
                     }});
}

// ---- one load for both CTAs of a cluster

__global__ void __cluster_dims__(2, 1, 1)
    load_for_two(const __grid_constant__ CUtensorMap map, uint32_t bytes, uint32_t* out) {
  __shared__ alignas(128) uint32_t tile[256];
  __shared__ alignas(8) uint64_t bar;
  for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) tile[i] = kUntouched;
  ptx::fence_proxy_async_shared_cta();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
    ptx::mbarrier_arrive_expect_tx(&bar, bytes);
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0 && blockIdx.x == 0)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %2, %2, %2}], [%3], {%4, %4}, %5;" ::"r"(ptx::smem_addr(tile)),
        "l"(&map), "r"(0), "r"(ptx::smem_addr(&bar)), "h"(uint16_t{1}), "h"(uint16_t{3})
        : "memory");
  if (threadIdx.x == 0) record::pause();
  __syncthreads();
  if (threadIdx.x == 0 && !phase_done(ptx::smem_addr(&bar), 0)) tile[0] = 0xBAD;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) out[blockIdx.x * 256 + i] = tile[i];
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

std::string multicast() {
  Load l = of({8, 5, 4, 2}, {0, 0}, {-1, -1}, 30, 8);
  Buffer<uint16_t> tensor(numbered(8 * 5 * 4 * 2));
  l.map.address = tensor.get();
  make_dense(l.map, 2);
  alignas(64) CUtensorMap map;
  if (const int code = encode(&map, l.map)) return "encode " + std::to_string(code);
  Buffer<uint32_t> out(512);
  load_for_two<<<2, 32>>>(map, 30 * 16, out.get());
  finish_kernel("load_for_two");
  const auto both = out.download();
  char text[64];
  std::snprintf(text, sizeof text, "%08x and %08x", checksum(both.data(), 1024),
                checksum(both.data() + 256, 1024));
  return text;
}

// ---- a prefetch brings nothing that could be seen

__global__ void prefetch(const __grid_constant__ CUtensorMap map, int w, int by) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%0, {%1, %2, %1, %1}], {%3, %3};" ::"l"(&map),
      "r"(0), "r"(w), "h"(static_cast<uint16_t>(by))
      : "memory");
}

std::string prefetched(int w, int by) {
  Load l = of({8, 5, 4, 2}, {0, 0}, {-1, -1}, 30, 8);
  Buffer<uint16_t> tensor(numbered(8 * 5 * 4 * 2));
  l.map.address = tensor.get();
  make_dense(l.map, 2);
  alignas(64) CUtensorMap map;
  if (const int code = encode(&map, l.map)) return "encode " + std::to_string(code);
  prefetch<<<1, 1>>>(map, w, by);
  finish_kernel("prefetch");
  return "done";
}

}  // namespace

int main() {
  the_manuals_examples();
  a_filter();
  ranks();
  boxes();
  outside_the_box();
  large_offsets();
  element_strides();
  channels();
  counts();
  swizzles();
  nan_fill();
  for (uint32_t rank = 3; rank <= 5; ++rank) random_loads(rank, 60, false);
  for (uint32_t rank = 3; rank <= 5; ++rank) random_loads(rank, 30, true);
  for (uint32_t rank = 3; rank <= 5; ++rank) random_sums(rank, 15);
  cases.push_back({"multicast to two CTAs", multicast});
  for (int w : {0, 3, 4, 5, -1})
    cases.push_back(
        {"prefetch at (0," + std::to_string(w) + ",0,0)+(1,1)", [w] { return prefetched(w, 1); }});
  cases.push_back({"prefetch at (0,0,0,0)+(256,256)", [] { return prefetched(0, 256); }});
  run_cases(cases);
}
