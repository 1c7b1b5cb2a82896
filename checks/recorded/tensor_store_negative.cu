// A tensor store that starts at negative coordinates, which the manual does not allow: what is written.
#include "record.cuh"

using namespace record;

int main() {
  constexpr int kRows = 8, kColumns = 32;
  for (Corner start : {Corner{{-4, 0}}, Corner{{0, -2}}, Corner{{-3, -1}}, Corner{{-16, 0}}}) {
    Buffer<uint16_t> tensor(std::vector<uint16_t>(kRows * kColumns, 0xEEEE));
    MapArguments a;
    a.address = tensor.get();
    a.size[0] = kColumns;
    a.size[1] = kRows;
    a.stride_bytes[0] = kColumns * 2;
    a.box[0] = 16;
    a.box[1] = 4;
    CUtensorMap map;
    std::printf("start (%d, %d): encode %d", start.c[0], start.c[1], encode(&map, a));
    std::vector<uint32_t> window(64);
    for (uint32_t i = 0; i < 64; ++i) window[i] = 2 * i | (2 * i + 1) << 16;
    store(map, 2, start, 0, window);
    auto result = tensor.download();
    size_t written = 0;
    for (uint16_t v : result) written += v != 0xEEEE;
    std::printf(", %zu elements written, tensor %08x, element 0 is %04x\n", written, checksum(result),
                result[0]);
  }
}
