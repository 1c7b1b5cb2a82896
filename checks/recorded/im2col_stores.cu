// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor in im2col_no_offs mode: which pixels of the tensor are written, from
// which rows of the tile; what lies outside the box or the tensor is left alone.
#include "im2col.cuh"

using namespace record;

namespace {

__device__ void store(const CUtensorMap* map, int rank, Corner at, uint32_t src, bool add) {
#define RECORD_STORE(op, dim, list)                                                              \
  asm volatile(op ".im2col_no_offs.bulk_group [%0, {" list "}], [%6];" ::"l"(map), "r"(at.c[0]), \
               "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]), "r"(src)                  \
               : "memory")
#define RECORD_STORES(dim, list)                                                           \
  if (add)                                                                                 \
    RECORD_STORE("cp.reduce.async.bulk.tensor." dim ".global.shared::cta.add", dim, list); \
  else                                                                                     \
    RECORD_STORE("cp.async.bulk.tensor." dim ".global.shared::cta", dim, list)
  if (rank == 3) {
    RECORD_STORES("3d", "%1, %2, %3");
  }
  if (rank == 4) {
    RECORD_STORES("4d", "%1, %2, %3, %4");
  }
  if (rank == 5) {
    RECORD_STORES("5d", "%1, %2, %3, %4, %5");
  }
#undef RECORD_STORES
#undef RECORD_STORE
}

__global__ void store_pixels(const __grid_constant__ CUtensorMap map, int rank, Corner at, uint32_t offset,
                             bool add, const uint32_t* bytes) {
  char* window = window_start();
  for (uint32_t i = threadIdx.x; i < kWindowBytes / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(window)[i] = bytes[i];
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    store(&map, rank, at, ptx::smem_addr(window) + offset, add);
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

struct Store {
  Im2colArguments map;
  Corner at{};
  uint32_t tile = 0;  // offset in the window
  bool add = false;   // 1, 2, 3, ... is added to what is there, in 32-bit elements
};

constexpr uint16_t kThere = 0xEEEE;

// The pixels that were written, in their order in the tensor: "4-6=0-2" are pixels 4 to 6 from rows 0 to 2; "[8+4]" when
// not all of the pixel's channels from the first on, but those.
template <class T>
std::string written(const Store& s, const std::vector<T>& tensor, T there) {
  const uint32_t pitch = pixel_pitch(s.map, sizeof(T));
  std::string text;
  long from = -1, to = -1, row = 0;  // of the present run
  std::string part;
  const auto end = [&] {
    if (from < 0) return;
    text += " " + std::to_string(from) + (to > from ? "-" + std::to_string(to) : "") + "=" +
            std::to_string(row) + (to > from ? "-" + std::to_string(row + to - from) : "") + part;
    from = -1;
  };
  for (uint32_t p = 0; p < pixel_count(s.map); ++p) {
    uint32_t first = 0, count = 0;
    while (first < pitch && tensor[p * pitch + first] == there) ++first;
    while (first + count < pitch && tensor[p * pitch + first + count] != there) ++count;
    if (count == 0) {
      end();
      continue;
    }
    const uint32_t value = static_cast<uint32_t>(tensor[p * pitch + first] - (s.add ? there : T{0})) - 1;
    bool follows = true;
    for (uint32_t k = 0; k < pitch; ++k) {
      const bool inside = k >= first && k < first + count;
      const auto want = static_cast<T>(inside ? (s.add ? there : T{0}) + value + 1 + k - first : there);
      follows = follows && tensor[p * pitch + k] == want;
    }
    const uint32_t k = value % s.map.channels;
    std::string here;
    if (first != static_cast<uint32_t>(s.at.c[0]) || k != 0 || first + count != pitch)
      here = "[" + std::to_string(first) + "+" + std::to_string(count) + (k ? "<" + std::to_string(k) : "") +
             "]";
    if (!follows) here = "?";
    const long now = value / s.map.channels;
    if (from >= 0 && here == part && now == row + p - from) {
      to = p;
      continue;
    }
    end();
    from = to = p;
    row = now;
    part = here;
  }
  end();
  return text;
}

template <class T>
std::string result_in(Store s, T there) {
  std::vector<T> values(pixel_count(s.map) * pixel_pitch(s.map, sizeof(T)), there);
  Buffer<T> tensor(values);
  s.map.address = tensor.get();
  make_dense(s.map, sizeof(T));
  alignas(64) CUtensorMap map;
  if (const int code = encode(&map, s.map)) return "encode " + std::to_string(code);
  std::vector<uint32_t> window(kWindowBytes / 4, kUntouched);
  for (uint32_t row = 0; row < s.map.pixels; ++row)
    for (uint32_t k = 0; k < s.map.channels; ++k) {
      const uint32_t at = place_in_window(s.map, sizeof(T), s.tile, row, k);
      const T value = static_cast<T>(row * s.map.channels + k + 1);
      if (at + sizeof(T) <= kWindowBytes)
        std::memcpy(reinterpret_cast<char*>(window.data()) + at, &value, sizeof value);
    }
  Buffer<uint32_t> bytes(window);
  check(cudaFuncSetAttribute(store_pixels, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
        "shared memory");
  store_pixels<<<1, 128, kSharedBytes>>>(map, static_cast<int>(s.map.rank), s.at, s.tile, s.add, bytes.get());
  finish_kernel("store_pixels");
  values = tensor.download();
  char text[16];
  std::snprintf(text, sizeof text, "%08x,", checksum(values));
  return text + written<T>(s, values, there);
}

std::string result(const Store& s) {
  return s.add ? result_in<uint32_t>(s, 0xEEEE0000u) : result_in<uint16_t>(s, kThere);
}

std::vector<Case> cases;

void add(const Store& s) {
  std::string name = (s.add ? "add " : "") + describe(s.map) + " at " + list(s.at.c, s.map.rank);
  if (s.tile) name += " from " + std::to_string(s.tile);
  cases.push_back({name, [s] { return result(s); }});
}

Store of(std::vector<int> size, std::vector<int> lower, std::vector<int> upper, uint32_t pixels,
         uint32_t channels, bool add = false) {
  Store s;
  s.map.rank = static_cast<uint32_t>(size.size());
  for (size_t i = 0; i < size.size(); ++i) s.map.size[i] = static_cast<uint64_t>(size[i]);
  for (size_t i = 0; i < lower.size(); ++i) s.map.lower[i] = lower[i];
  for (size_t i = 0; i < upper.size(); ++i) s.map.upper[i] = upper[i];
  s.map.pixels = pixels;
  s.map.channels = channels;
  s.add = add;
  if (add) s.map.type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  return s;
}

void write(Store s, std::vector<int> at) {
  for (size_t i = 0; i < at.size(); ++i) s.at.c[i] = at[i];
  add(s);
}

Store random_store(Random& r, uint32_t rank, bool reduce) {
  Store s;
  Im2colArguments& m = s.map;
  s.add = reduce;
  const int chunk = reduce ? 4 : 8;
  if (reduce) m.type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  m.rank = rank;
  m.size[0] = static_cast<uint64_t>(r.between(1, 5) * chunk / 2);
  for (uint32_t i = 1; i < rank; ++i) m.size[i] = static_cast<uint64_t>(r.between(1, rank == 5 ? 5 : 9));
  for (uint32_t i = 0; i < rank - 2; ++i) {
    const int size = static_cast<int>(m.size[i + 1]);
    if (r.once_in(2)) m.lower[i] = r.between(0, size - 1);
    const int last = r.once_in(2) ? size - 1 : r.between(m.lower[i], size - 1);
    m.upper[i] = last - (size - 1);
    s.at.c[i + 1] = r.between(m.lower[i], last);
    if (r.once_in(5)) m.step[i + 1] = static_cast<uint32_t>(r.between(2, 4));
  }
  if (r.once_in(2)) s.at.c[0] = chunk * r.between(0, 2);
  s.at.c[rank - 1] = r.between(0, static_cast<int>(m.size[rank - 1]) - 1);
  m.swizzle = r.between(0, 3);
  m.channels = static_cast<uint32_t>(chunk) << r.between(0, m.swizzle ? m.swizzle : 3);
  m.pixels = static_cast<uint32_t>(r.between(1, 96));
  s.tile = 128u * static_cast<uint32_t>(r.once_in(4) ? r.between(1, 7) : 0);
  return s;
}

void random_stores(uint32_t rank, int count, bool reduce) {
  Random r(7000 * rank + reduce);
  for (int n = 0; n < count; ++n) add(random_store(r, rank, reduce));
}

// Many more, of which only a sum is printed.
void random_sums(uint32_t rank, int groups) {
  for (int group = 0; group < groups; ++group)
    cases.push_back({"rank " + std::to_string(rank) + ", 50 random stores, number " + std::to_string(group),
                     [rank, group] {
                       Random r(rank * 200000 + static_cast<uint32_t>(group));
                       std::string all;
                       for (int n = 0; n < 50; ++n) all += result(random_store(r, rank, n % 5 == 0)) + "\n";
                       char text[16];
                       std::snprintf(text, sizeof text, "%08x", checksum(all.data(), all.size()));
                       return std::string(text);
                     }});
}

}  // namespace

// A store must keep to a box in the tensor: one thing wrong at a time.
void beside() {
  const Store inner = of({8, 6, 5, 3}, {1, 1}, {-1, -2}, 20, 8);  // W 1 .. 4, H 1 .. 2
  for (int w : {-1, 0, 1, 4, 5, 6}) write(inner, {0, w, 1, 0});
  for (int h : {-1, 0, 1, 2, 3, 4, 5}) write(inner, {0, 2, h, 0});
  for (int n : {-2, -1, 2, 3, 4, 1000, 2147483647}) write(inner, {0, 2, 1, n});
  for (int c : {-8, 8, 16}) write(inner, {c, 2, 1, 0});
  for (bool add : {false, true}) {
    const int channels = add ? 4 : 8;
    write(of({channels, 6, 5, 3}, {-1, 0}, {0, 0}, 9, 8, add), {0, 2, 1, 0});
    write(of({channels, 6, 5, 3}, {0, -1}, {0, 0}, 9, 8, add), {0, 2, 1, 0});
    write(of({channels, 6, 5, 3}, {0, 0}, {1, 0}, 9, 8, add), {0, 2, 1, 0});
    write(of({channels, 6, 5, 3}, {0, 0}, {0, 1}, 9, 8, add), {0, 2, 1, 0});
    write(of({channels, 6, 5, 3}, {0, 0}, {0, 1}, 1, 8, add), {0, 2, 1, 0});
    write(of({channels, 6, 5, 3}, {5, 4}, {0, 0}, 4, 8, add), {0, 5, 4, 0});
  }
}

int main() {
  const Store whole = of({8, 6, 5, 3}, {0, 0}, {0, 0}, 40, 8);
  write(whole, {0, 0, 0, 0});
  write(whole, {0, 2, 1, 1});
  write(whole, {0, 5, 4, 2});
  const Store inner = of({8, 6, 5, 3}, {1, 1}, {-1, -2}, 20, 8);
  write(inner, {0, 1, 1, 0});
  write(inner, {0, 3, 2, 1});
  beside();
  for (int c : {0, 8, 16, 24, -8}) {
    write(of({20, 5, 4, 2}, {0, 0}, {0, 0}, 6, 16), {c, 1, 1, 0});
    write(of({10, 5, 4, 2}, {0, 0}, {0, 0}, 6, 8, true), {c, 1, 1, 0});
  }
  for (uint32_t step : {2u, 3u}) {
    Store s = of({8, 10, 9, 3}, {0, 0}, {0, -1}, 24, 8);
    s.map.step[1] = step;
    write(s, {0, 0, 0, 0});
    write(s, {0, 3, 2, 0});
    s.map.step[2] = step;
    write(s, {0, 3, 2, 1});
    s.map.step[1] = s.map.step[2] = 1;
    s.map.step[3] = step;
    s.map.pixels = 150;
    write(s, {0, 5, 5, 0});
  }
  write(of({8, 20, 20, 3}, {0, 0}, {0, 0}, 1024, 8), {0, 3, 2, 0});
  write(of({8, 11, 4}, {2}, {-3}, 30, 8), {0, 3, 1});
  write(of({8, 4, 3, 3, 3}, {1, 0, 1}, {0, -1, 0}, 60, 8), {0, 1, 1, 1, 1});
  write(of({4, 6, 5, 3}, {0, 1}, {0, 0}, 100, 4, true), {0, 3, 2, 1});
  for (uint32_t rank = 3; rank <= 5; ++rank) random_stores(rank, 30, false);
  for (uint32_t rank = 3; rank <= 5; ++rank) random_stores(rank, 12, true);
  for (uint32_t rank = 3; rank <= 5; ++rank) random_sums(rank, 6);
  run_cases(cases);
}
