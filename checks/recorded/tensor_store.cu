// Tensor stores: swizzled sources, boxes clipped by the tensor, element strides; what is left untouched.
#include "record.cuh"

using namespace record;

namespace {

constexpr int kRows = 20, kColumns = 72;

void show(const char* what, MapArguments a, const Corner& start, uint32_t offset) {
  Buffer<uint16_t> tensor(std::vector<uint16_t>(kRows * kColumns, 0xEEEE));
  a.address = tensor.get();
  CUtensorMap map;
  const int code = encode(&map, a);
  std::printf("%s, start (%d, %d), base + %u: encode %d", what, start.c[0], start.c[1], offset, code);
  if (code == 0) {
    std::vector<uint32_t> window(kWindowBytes / 4);
    for (size_t i = 0; i < window.size(); ++i) window[i] = static_cast<uint32_t>(2 * i | (2 * i + 1) << 16);
    store(map, static_cast<int>(a.rank), start, offset, window);
    auto result = tensor.download();
    size_t written = 0;
    for (uint16_t v : result) written += v != 0xEEEE;
    std::printf(", %zu elements written, tensor %08x, row 1:", written, checksum(result));
    for (int i = 0; i < kColumns; i += i < 64 ? 8 : 1) std::printf(" %04x", result[kColumns + i]);
  }
  std::printf("\n");
}

}  // namespace

int main() {
  MapArguments a;
  a.size[0] = kColumns - 3;
  a.size[1] = kRows - 2;
  a.stride_bytes[0] = kColumns * 2;
  a.box[1] = 8;
  for (int swizzle = 0; swizzle <= 3; ++swizzle) {
    a.swizzle = swizzle;
    a.box[0] = swizzle == 0 ? 64 : 8u << swizzle;
    for (uint32_t offset : {0u, 128u, 384u}) show(swizzle_name(swizzle), a, {{0, 0}}, offset);
    show(swizzle_name(swizzle), a, {{56, 15}}, 0);
    show(swizzle_name(swizzle), a, {{8, 17}}, 0);
    show(swizzle_name(swizzle), a, {{64, 0}}, 0);
    show(swizzle_name(swizzle), a, {{72, 0}}, 0);
    show(swizzle_name(swizzle), a, {{0, 1000}}, 0);
  }
  a.swizzle = 0;
  a.box[0] = 16;
  a.step[1] = 3;
  show("element stride 3", a, {{0, 0}}, 0);
  show("element stride 3", a, {{0, 16}}, 0);
}
