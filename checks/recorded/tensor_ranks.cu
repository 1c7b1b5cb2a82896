// Boxes of tensors of rank 1 to 5, element strides, and what a zero or overlapping stride reads.
#include "record.cuh"

using namespace record;

namespace {

void show(const char* what, const MapArguments& a, const Corner& start, int words = 8) {
  CUtensorMap map;
  const int code = encode(&map, a);
  std::printf("%s: encode %d", what, code);
  if (code == 0) {
    Loaded loaded = load(map, static_cast<int>(a.rank), start, 0);
    std::printf(", start (%d", start.c[0]);
    for (uint32_t i = 1; i < a.rank; ++i) std::printf(", %d", start.c[i]);
    std::printf("), %u bytes, window %08x, chunks", loaded.signalled, checksum(loaded.window));
    for (int i = 0; i < words; ++i) std::printf(" %04x", loaded.at<uint16_t>(0, static_cast<size_t>(i) * 8));
  }
  std::printf("\n");
}

// 16 x 6 x 5 x 4 x 3 elements, dense.
MapArguments dense(const void* tensor, uint32_t rank) {
  static const uint32_t kSize[] = {16, 6, 5, 4, 3}, kBox[] = {16, 3, 2, 2, 2};
  MapArguments a;
  a.address = tensor;
  a.rank = rank;
  uint64_t stride = 2;
  for (uint32_t i = 0; i < rank; ++i) {
    a.size[i] = kSize[i];
    a.box[i] = kBox[i];
    stride *= kSize[i];
    if (i < 4) a.stride_bytes[i] = stride;
  }
  return a;
}

}  // namespace

int main() {
  Buffer<uint16_t> tensor(numbered(16 * 6 * 5 * 4 * 3));
  const Corner inside = {{0, 1, 2, 1, 0}}, over = {{8, 4, 4, 3, 2}}, before = {{-8, -1, -1, -1, -1}};
  for (uint32_t rank = 1; rank <= 5; ++rank) {
    const MapArguments a = dense(tensor.get(), rank);
    char name[32];
    std::snprintf(name, sizeof name, "rank %u", rank);
    show(name, a, inside);
    show(name, a, over);
    show(name, a, before);
  }
  for (int swizzle = 1; swizzle <= 3; ++swizzle) {
    MapArguments a = dense(tensor.get(), 3);
    a.box[0] = 16;
    a.swizzle = swizzle;
    if (swizzle == 1) show("rank 3, inner 32 bytes, swizzle 32B", a, {{0, 1, 2}});
  }
  for (uint32_t step : {1u, 2u, 3u, 5u, 8u}) {
    MapArguments a = dense(tensor.get(), 3);
    a.box[1] = 6;
    a.box[2] = 5;
    a.step[1] = step;
    char name[48];
    std::snprintf(name, sizeof name, "element stride %u in dimension 1", step);
    show(name, a, {{0, 0, 0}});
    show(name, a, {{0, -1, 0}});
    show(name, a, {{0, 1, 1}});
    a.step[2] = 2;
    std::snprintf(name, sizeof name, "element strides %u and 2 in dimensions 1, 2", step);
    show(name, a, {{0, 0, 0}});
  }
  for (uint32_t step : {0u, 2u, 8u, 9u}) {
    MapArguments a = dense(tensor.get(), 2);
    a.step[0] = step;
    char name[48];
    std::snprintf(name, sizeof name, "element stride %u in dimension 0", step);
    show(name, a, {{0, 0}});
  }
  MapArguments a = dense(tensor.get(), 2);
  a.stride_bytes[0] = 0;
  show("a row stride of zero", a, {{0, 0}});
  a.stride_bytes[0] = 16;
  show("rows that overlap by half", a, {{0, 0}});
}
