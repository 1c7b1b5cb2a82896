// The tensor maps whose answers are recorded in tensor_map_rules.txt: each legal limit, and the value beyond it.
#pragma once

#include "map_rows.hpp"

namespace recorded {

// Of a tensor at this address, a multiple of 128.
inline std::vector<MapRow> tensor_map_rows(uint64_t t) {
  Map good;  // 64 x 32 x 8 elements of 2 bytes
  good.type = 1;
  good.rank = 3;
  good.address = t;
  good.size[0] = 64;
  good.size[1] = 32;
  good.size[2] = 8;
  good.stride_bytes[0] = 128;
  good.stride_bytes[1] = 4096;
  good.box[0] = 64;
  good.box[1] = 8;
  good.box[2] = 2;
  MapRows all(good);
  const auto probe = [&](const std::string& name, auto change) { all.probe(name, change); };
  const auto str = [](auto value) { return std::to_string(value); };

  for (int type = 0; type <= 16; ++type) {
    probe("type " + str(type) + ", inner box of 128 elements", [&](Map& a) {
      a.type = type;
      a.box[0] = 128;
      a.size[0] = 128;
      a.stride_bytes[0] = 1024;
      a.stride_bytes[1] = 32768;
    });
  }
  for (uint32_t rank : {0u, 1u, 2u, 3u, 4u, 5u}) {
    probe("rank " + str(rank), [&](Map& a) {
      a.rank = rank;
      a.stride_bytes[2] = a.stride_bytes[3] = 32768;
    });
  }
  for (uint64_t offset : {0ull, 8ull, 16ull, 32ull, 64ull}) {
    probe("address + " + str(offset), [&](Map& a) { a.address = t + offset; });
    probe("address + " + str(offset) + ", swizzle 128B", [&](Map& a) {
      a.address = t + offset;
      a.swizzle = 3;
    });
  }
  probe("address NULL", [](Map& a) { a.address = 0; });
  for (uint64_t size : {0ull, 1ull, 1ull << 31, (1ull << 32) - 1, 1ull << 32, (1ull << 32) + 1}) {
    probe("globalDim[0] " + str(size), [&](Map& a) { a.size[0] = size; });
    probe("globalDim[2] " + str(size), [&](Map& a) { a.size[2] = size; });
  }
  for (uint64_t stride : {0ull, 8ull, 16ull, 120ull, 136ull, (1ull << 40) - 16, 1ull << 40}) {
    probe("globalStrides[0] " + str(stride), [&](Map& a) { a.stride_bytes[0] = stride; });
    probe("globalStrides[1] " + str(stride), [&](Map& a) { a.stride_bytes[1] = stride; });
  }
  for (uint32_t box : {0u, 1u, 8u, 12u, 256u, 257u, 264u}) {
    probe("boxDim[0] " + str(box), [&](Map& a) { a.box[0] = box; });
    probe("boxDim[1] " + str(box), [&](Map& a) { a.box[1] = box; });
  }
  probe("a box of 256 x 256 x 256", [](Map& a) { a.box[0] = a.box[1] = a.box[2] = 256; });
  for (uint32_t rows : {128u, 220u, 224u, 226u, 227u, 228u, 232u, 255u, 256u}) {  // of 1024 bytes
    probe("a box of 64 x 8 x " + str(rows) + " elements, " + str(rows) + " KiB",
          [&](Map& a) { a.box[2] = rows; });
    probe("a box of 8 x 64 x " + str(rows) + " elements, " + str(rows) + " KiB, swizzle 128B", [&](Map& a) {
      a.box[0] = 8;
      a.box[1] = 64;
      a.box[2] = rows;
      a.swizzle = 3;
    });
  }
  for (uint32_t rows : {13u, 14u, 15u, 16u}) {  // of 16 KiB as they are read, 2 KiB as they are kept
    probe("a box of 128 x 256 x " + str(rows) + " elements, stride 8", [&](Map& a) {
      a.box[0] = 64;
      a.box[1] = 256;
      a.box[2] = rows;
      a.element_stride[1] = 8;
    });
  }
  probe("boxDim[2] larger than globalDim[2]", [](Map& a) { a.box[2] = 100; });
  for (int swizzle = -1; swizzle <= 7; ++swizzle) {
    for (uint32_t inner : {8u, 16u, 24u, 32u, 40u, 64u, 72u}) {
      probe("swizzle " + str(swizzle) + ", inner box " + str(inner * 2) + " bytes", [&](Map& a) {
        a.swizzle = swizzle;
        a.box[0] = inner;
      });
    }
  }
  for (uint32_t step : {0u, 1u, 2u, 8u, 9u}) {
    probe("elementStrides[0] " + str(step), [&](Map& a) { a.element_stride[0] = step; });
    probe("elementStrides[1] " + str(step), [&](Map& a) { a.element_stride[1] = step; });
  }
  for (int promotion = -1; promotion <= 4; ++promotion) {
    probe("l2Promotion " + str(promotion), [&](Map& a) { a.l2_promotion = promotion; });
  }
  for (int fill = -1; fill <= 2; ++fill) {
    for (int type : {1, 6, 9}) {
      probe("oobFill " + str(fill) + ", type " + str(type), [&](Map& a) {
        a.oob_fill = fill;
        a.type = type;
      });
    }
  }
  for (int interleave : {-1, 3}) {
    probe("interleave " + str(interleave), [&](Map& a) { a.interleave = interleave; });
  }
  probe("interleave 16B of rank 2", [](Map& a) {
    a.interleave = 1;
    a.rank = 2;
  });
  probe("interleave 32B without swizzle", [](Map& a) { a.interleave = 2; });
  probe("interleave 32B at address + 16", [&](Map& a) {
    a.address = t + 16;
    a.interleave = 2;
    a.swizzle = 1;
  });
  for (int interleave : {1, 2})
    for (int type : {0, 1, 7, 8})
      for (uint32_t inner : {1u, 2u, 4u, 8u, 12u, 16u, 24u, 64u, 256u})
        probe("interleave " + str(interleave) + ", type " + str(type) + ", boxDim[0] " + str(inner),
              [&](Map& a) {
                a.interleave = interleave;
                a.swizzle = interleave == 2;
                a.type = type;
                a.box[0] = inner;
                a.box[1] = a.box[2] = 1;
                a.size[0] = 256;
                a.stride_bytes[0] = 8192;
                a.stride_bytes[1] = 8192 * 32;
              });
  for (uint32_t slices : {1u, 2u, 7u, 8u, 9u, 16u, 64u, 256u})
    for (uint32_t rank : {3u, 4u, 5u})
      probe("interleave 16B of rank " + str(rank) + ", box of " + str(slices) +
                " along the dimension before the last",
            [&](Map& a) {
              a.interleave = 1;
              a.rank = rank;
              for (int i = 1; i < 5; ++i) {
                a.size[i] = 256;
                a.box[i] = 1;
              }
              a.stride_bytes[1] = a.stride_bytes[2] = a.stride_bytes[3] = 32768;
              a.box[rank - 2] = slices;
            });
  for (uint32_t step : {0u, 1u, 2u, 8u, 9u})
    probe("interleave 16B, elementStrides[0] " + str(step), [&](Map& a) {
      a.interleave = 1;
      a.element_stride[0] = step;
    });
  for (uint32_t inner : {16u, 64u, 72u})
    for (int swizzle : {1, 2, 3})
      probe("interleave 16B, inner box of " + str(inner) + ", swizzle " + str(swizzle), [&](Map& a) {
        a.interleave = 1;
        a.box[0] = inner;
        a.swizzle = swizzle;
      });
  return all.rows;
}

}  // namespace recorded
