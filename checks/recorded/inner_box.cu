// How the rows of a tile lie when the inner box is smaller than the swizzle span, and how many bytes are signalled.
#include "record.cuh"

using namespace record;

int main() {
  constexpr int kRows = 12;
  constexpr uint32_t kColumns = 64;
  Buffer<uint16_t> tensor(numbered(kColumns * kRows));
  for (int swizzle = 0; swizzle <= 3; ++swizzle) {
    const uint32_t span = swizzle == 0 ? 128 : 16u << swizzle;
    for (uint32_t inner = 16; inner < span; inner += 16) {
      MapArguments a;
      a.address = tensor.get();
      a.size[0] = kColumns;
      a.size[1] = kRows;
      a.stride_bytes[0] = kColumns * 2;
      a.box[0] = inner / 2;
      a.box[1] = kRows;
      a.swizzle = swizzle;
      CUtensorMap map;
      const int code = encode(&map, a);
      std::printf("swizzle %s, inner box %u bytes, %d rows: encode %d", swizzle_name(swizzle), inner, kRows,
                  code);
      if (code != 0) {
        std::printf("\n");
        continue;
      }
      Loaded loaded = load(map, 2, {}, 0);
      std::printf(", %u bytes, window %08x\n", loaded.signalled, checksum(loaded.window));
      print_chunks(loaded, 13);
    }
  }
}
