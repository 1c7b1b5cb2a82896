// What the programs about the rules of tensor maps share: the driver's answer to each map of a list.
#pragma once

#include "im2col.cuh"
#include "map_rows.hpp"

namespace record {

inline int answer(CUtensorMap* map, const recorded::Map& m) {
  const auto common = [&](AnyMapArguments& a) {
    a.type = m.type;
    a.rank = m.rank;
    a.address = reinterpret_cast<const void*>(m.address);
    std::memcpy(a.size, m.size, sizeof a.size);
    std::memcpy(a.stride_bytes, m.stride_bytes, sizeof a.stride_bytes);
    std::memcpy(a.step, m.element_stride, sizeof a.step);
    a.interleave = m.interleave;
    a.swizzle = m.swizzle;
    a.l2_promotion = m.l2_promotion;
    a.oob_fill = m.oob_fill;
  };
  if (m.im2col) {
    Im2colArguments a;
    common(a);
    std::memcpy(a.lower, m.lower_corner, sizeof a.lower);
    std::memcpy(a.upper, m.upper_corner, sizeof a.upper);
    a.channels = m.channels_per_pixel;
    a.pixels = m.pixels_per_column;
    return encode(map, a);
  }
  MapArguments a;
  common(a);
  std::memcpy(a.box, m.box, sizeof a.box);
  return encode(map, a);
}

// `rows_at` makes the list for a tensor at an address.
template <class Rows>
void print_answers(Rows rows_at) {
  const Buffer<uint16_t> buffer(64 * 1024);
  const std::vector<recorded::MapRow> rows = rows_at(reinterpret_cast<uint64_t>(buffer.get()));
  alignas(128) CUtensorMap maps[2];
  for (const recorded::MapRow& row : rows) std::printf("%s: %d\n", row.name.c_str(), answer(maps, row.map));
  auto* misplaced = reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(maps) + 16);
  std::printf("tensorMap at 16 mod 64: %d\n", answer(misplaced, rows[0].map));
  misplaced = reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(maps) + 64);
  std::printf("tensorMap at 64 mod 128: %d\n", answer(misplaced, rows[0].map));
}

}  // namespace record
