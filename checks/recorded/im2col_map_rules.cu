// What cuTensorMapEncodeIm2col answers to each legal limit and to the value beyond it.
#include "im2col.cuh"
#include "im2col_map_rules.hpp"

using namespace record;

namespace {

int answer(CUtensorMap* map, const rules::TensorMapArguments& r) {
  Im2colArguments a;
  a.type = r.type;
  a.rank = r.rank;
  a.address = reinterpret_cast<const void*>(r.address);
  std::memcpy(a.size, r.size, sizeof a.size);
  std::memcpy(a.stride_bytes, r.stride_bytes, sizeof a.stride_bytes);
  std::memcpy(a.lower, r.lower_corner, sizeof a.lower);
  std::memcpy(a.upper, r.upper_corner, sizeof a.upper);
  a.channels = r.channels_per_pixel;
  a.pixels = r.pixels_per_column;
  std::memcpy(a.step, r.element_stride, sizeof a.step);
  a.interleave = r.interleave;
  a.swizzle = r.swizzle;
  a.l2_promotion = r.l2_promotion;
  a.oob_fill = r.oob_fill;
  return encode(map, a);
}

}  // namespace

int main() {
  Buffer<uint16_t> buffer(64 * 1024);
  const auto rows = recorded::im2col_map_rows(reinterpret_cast<uint64_t>(buffer.get()));
  alignas(128) CUtensorMap maps[2];
  for (const recorded::Im2colRow& row : rows)
    std::printf("%s: %d\n", row.name.c_str(), answer(maps, row.map));
  auto* misplaced = reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(maps) + 16);
  std::printf("tensorMap at 16 mod 64: %d\n", answer(misplaced, rows[0].map));
  misplaced = reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(maps) + 64);
  std::printf("tensorMap at 64 mod 128: %d\n", answer(misplaced, rows[0].map));
}
