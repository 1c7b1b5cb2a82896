// Loads in im2col mode of every element type, with both fills: a hash of what arrives, the first pixel, and one outside.
#include "im2col.cuh"

using namespace record;

namespace {

constexpr unsigned kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr const char* kNames[] = {"UINT8",       "UINT16",   "UINT32",      "INT32",   "UINT64",
                                  "INT64",       "FLOAT16",  "FLOAT32",     "FLOAT64", "BFLOAT16",
                                  "FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ"};

std::string hex(const Loaded& loaded, uint32_t offset, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", loaded.at<uint8_t>(offset + i, 0));
    text += byte;
  }
  return text;
}

// Images of 32 bytes a pixel less one element, 6 x 5, of which 48 bytes a pixel are read.
std::string result(int type, int fill, int swizzle) {
  std::vector<uint32_t> values(8 * 6 * 5 * 2);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i) * 2654435761u;
  Buffer<uint32_t> tensor(values);
  Im2colArguments a;
  const unsigned bytes = kBytes[type];
  a.type = type;
  a.address = tensor.get();
  a.size[0] = 32 / bytes - 1;
  a.size[1] = 6;
  a.size[2] = 5;
  a.size[3] = 2;
  a.stride_bytes[0] = 32;
  a.stride_bytes[1] = 32 * 6;
  a.stride_bytes[2] = 32 * 6 * 5;
  a.lower[0] = a.lower[1] = a.upper[0] = a.upper[1] = -1;
  a.channels = 48 / bytes;
  a.pixels = 60;
  a.oob_fill = fill;
  a.swizzle = swizzle;
  alignas(64) CUtensorMap map;
  if (const int code = encode(&map, a)) return "encode " + std::to_string(code);
  const Loaded loaded = im2col_load(map, 4, {{0, 3, 0, 0}}, {{1, 1, 0}}, 0);
  char text[48];
  std::snprintf(text, sizeof text, "%u bytes, %08x", loaded.signalled, checksum(loaded.window));
  return swizzle ? text : text + (", " + hex(loaded, 0, 48));
}

}  // namespace

int main() {
  std::vector<Case> cases;
  for (int type = 0; type <= 12; ++type)
    for (int fill : {0, 1})
      for (int swizzle : {0, 2})
        cases.push_back({std::string(kNames[type]) + ", fill " + std::to_string(fill) + ", swizzle " +
                             swizzle_name(swizzle),
                         [=] { return result(type, fill, swizzle); }});
  run_cases(cases);
}
