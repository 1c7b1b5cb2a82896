// What the element type of a tensor map does to the bits of an element on the way in and out.
#include "record.cuh"

using namespace record;

int main() {
  const std::vector<uint32_t> probes = {
      0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00400000, 0x00800000,
      0x00800001, 0x3F800000, 0x3F800001, 0x3F800FFF, 0x3F801000, 0x3F801001, 0x3F801FFF, 0x3F802000,
      0x3F803000, 0x3F803001, 0xBF801000, 0xBF801001, 0x7F7FFFFF, 0x7F7FE000, 0x7F7FEFFF, 0x7F7FF000,
      0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x7FFFFFFF, 0xFFC12345, 0x00001FFF, 0x80001000};
  const int types[] = {CU_TENSOR_MAP_DATA_TYPE_UINT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                       CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
                       CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ};
  const char* const names[] = {"UINT32", "FLOAT32", "FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ"};
  std::vector<uint32_t> in[5], out[5];
  for (int t = 0; t < 5; ++t) {
    Buffer<uint32_t> from(probes), to(probes.size());
    MapArguments a;
    a.type = types[t];
    a.rank = 1;
    a.address = from.get();
    a.size[0] = a.box[0] = probes.size();
    CUtensorMap load_map, store_map;
    std::printf("%s: encode %d", names[t], encode(&load_map, a));
    a.address = to.get();
    std::printf(" %d\n", encode(&store_map, a));
    Loaded loaded = load(load_map, 1, {}, 0);
    in[t].assign(loaded.window.begin(), loaded.window.begin() + static_cast<long>(probes.size()));
    store(store_map, 1, {}, 0, probes);
    out[t] = to.download();
  }
  std::printf(
      "bits      loaded as UINT32   FLOAT32  FLOAT32_FTZ TFLOAT32 TFLOAT32_FTZ, stored as the same\n");
  for (size_t i = 0; i < probes.size(); ++i) {
    std::printf("%08x ", probes[i]);
    for (auto& column : in) std::printf(" %08x", column[i]);
    std::printf(" ->");
    for (auto& column : out) std::printf(" %08x", column[i]);
    std::printf("\n");
  }
}
