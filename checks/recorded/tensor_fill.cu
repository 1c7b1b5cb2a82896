// What arrives for elements outside the tensor: zeros and the out-of-bounds NaN, for every element type; boxes that
// hang over each edge, lie wholly outside, or are larger than the tensor; bytes signalled.
#include "record.cuh"

using namespace record;

namespace {

constexpr unsigned kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr const char* kNames[] = {"UINT8",       "UINT16",   "UINT32",      "INT32",   "UINT64",
                                  "INT64",       "FLOAT16",  "FLOAT32",     "FLOAT64", "BFLOAT16",
                                  "FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ"};

void print_element(const Loaded& loaded, uint32_t offset, unsigned bytes) {
  for (unsigned i = bytes; i-- > 0;) std::printf("%02x", loaded.at<uint8_t>(offset, i));
}

// A tensor of 4 rows of 32 bytes less one element, read in a box that starts 16 bytes before its rows and one above.
void every_type(int fill) {
  for (int type = 0; type <= 12; ++type) {
    const unsigned bytes = kBytes[type], columns = 32 / bytes, ahead = 16 / bytes;
    Buffer<uint8_t> tensor(std::vector<uint8_t>(4 * 32, 0x40));  // the same finite number in every element
    MapArguments a;
    a.type = type;
    a.address = tensor.get();
    a.size[0] = columns - 1;
    a.size[1] = 4;
    a.stride_bytes[0] = 32;
    a.box[0] = columns + ahead;
    a.box[1] = 6;
    a.oob_fill = fill;
    CUtensorMap map;
    const int code = encode(&map, a);
    std::printf("%s, fill %d: encode %d", kNames[type], fill, code);
    if (code == 0) {
      Loaded loaded = load(map, 2, {{-static_cast<int>(ahead), -1}}, 0);
      std::printf(", above ");
      print_element(loaded, 0, bytes);
      std::printf(", left ");
      print_element(loaded, 48 + 16 - bytes, bytes);
      std::printf(", inside ");
      print_element(loaded, 48 + 16, bytes);
      std::printf(", last ");
      print_element(loaded, 48 + 48 - 2 * bytes, bytes);
      std::printf(", right ");
      print_element(loaded, 48 + 48 - bytes, bytes);
      std::printf(", below ");
      print_element(loaded, 5 * 48 + 16, bytes);
      std::printf(", %u bytes, window %08x", loaded.signalled, checksum(loaded.window));
    }
    std::printf("\n");
  }
}

void corners(int swizzle, int fill) {
  constexpr int kRows = 10, kColumns = 24;
  Buffer<uint16_t> tensor(numbered(kRows * kColumns));
  MapArguments a;
  a.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  a.address = tensor.get();
  a.size[0] = kColumns - 3;  // rows of 21 elements, 24 apart
  a.size[1] = kRows;
  a.stride_bytes[0] = kColumns * 2;
  a.box[0] = 16;
  a.box[1] = 8;
  a.swizzle = swizzle;
  a.oob_fill = fill;
  CUtensorMap map;
  std::printf("21 x 10 bf16 tensor, box 16 x 8, swizzle %s, fill %d: encode %d\n", swizzle_name(swizzle),
              fill, encode(&map, a));
  const Corner starts[] = {{{0, 0}},
                           {{8, 4}},
                           {{-8, -3}},
                           {{16, 2}},
                           {{16, 9}},
                           {{-16, 0}},
                           {{-24, 0}},
                           {{24, 0}},
                           {{0, 10}},
                           {{0, -8}},
                           {{8, -1}},
                           {{1000000, 1000000}},
                           {{-2147483647 - 1, 0}},
                           {{2147483640, 2147483647}}};
  for (const Corner& start : starts) {
    Loaded loaded = load(map, 2, start, 0);
    std::printf("  start (%d, %d): %u bytes, window %08x\n", start.c[0], start.c[1], loaded.signalled,
                checksum(loaded.window));
  }
  Loaded loaded = load(map, 2, {{16, -1}}, 0);
  std::printf("  start (16, -1), rows 0 and 1:");
  for (size_t i = 0; i < 32; ++i) std::printf(" %04x", loaded.at<uint16_t>(0, i));
  std::printf("\n");
}

void box_beyond_tensor() {
  Buffer<uint16_t> tensor(numbered(64));
  MapArguments a;
  a.address = tensor.get();
  a.size[0] = 8;
  a.size[1] = 3;
  a.stride_bytes[0] = 16;
  a.box[0] = 64;
  a.box[1] = 16;
  a.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  CUtensorMap map;
  const int code = encode(&map, a);
  std::printf("box 64 x 16 of an 8 x 3 tensor: encode %d", code);
  if (code == 0) {
    Loaded loaded = load(map, 2, {}, 0);
    std::printf(", %u bytes, window %08x", loaded.signalled, checksum(loaded.window));
  }
  std::printf("\n");
}

}  // namespace

int main() {
  every_type(0);
  every_type(1);
  for (int swizzle : {0, 1})
    for (int fill : {0, 1}) corners(swizzle, fill);
  box_beyond_tensor();
}
