// The tensor maps whose answers are recorded in tensor_map_rules.txt: each legal limit, and the value beyond it.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "rules/tensor_map.hpp"

namespace recorded {

using Map = rules::TensorMapArguments;

struct MapRow {
  std::string name;
  Map map;
};

// Of a tensor at this address, a multiple of 128.
inline std::vector<MapRow> tensor_map_rows(uint64_t t) {
  std::vector<MapRow> rows;
  const auto probe = [&](const char* name, uint64_t tensor, auto change) {
    Map a;  // a 3-dimensional map that is right: 64 x 32 x 8 elements of 2 bytes
    a.type = 1;
    a.rank = 3;
    a.address = tensor;
    a.size[0] = 64;
    a.size[1] = 32;
    a.size[2] = 8;
    a.stride_bytes[0] = 128;
    a.stride_bytes[1] = 4096;
    a.box[0] = 64;
    a.box[1] = 8;
    a.box[2] = 2;
    change(a);
    rows.push_back({name, a});
  };
  probe("as it should be", t, [](Map&) {});

  for (int type = 0; type <= 16; ++type) {
    char name[48];
    std::snprintf(name, sizeof name, "type %d, inner box of 128 elements", type);
    probe(name, t, [&](Map& a) {
      a.type = type;
      a.box[0] = 128;
      a.size[0] = 128;
      a.stride_bytes[0] = 1024;
      a.stride_bytes[1] = 32768;
    });
  }
  for (uint32_t rank : {0u, 1u, 2u, 3u, 4u, 5u}) {
    char name[32];
    std::snprintf(name, sizeof name, "rank %u", rank);
    probe(name, t, [&](Map& a) {
      a.rank = rank;
      a.stride_bytes[2] = a.stride_bytes[3] = 32768;
    });
  }
  for (int offset : {0, 8, 16, 32, 64}) {
    char name[48];
    std::snprintf(name, sizeof name, "address + %d", offset);
    probe(name, t + static_cast<uint64_t>(offset), [](Map&) {});
    std::snprintf(name, sizeof name, "address + %d, swizzle 128B", offset);
    probe(name, t + static_cast<uint64_t>(offset), [](Map& a) { a.swizzle = 3; });
  }
  probe("address NULL", 0, [](Map&) {});
  for (uint64_t size : {0ull, 1ull, 1ull << 31, (1ull << 32) - 1, 1ull << 32, (1ull << 32) + 1}) {
    char name[48];
    std::snprintf(name, sizeof name, "globalDim[0] %llu", static_cast<unsigned long long>(size));
    probe(name, t, [&](Map& a) { a.size[0] = size; });
    std::snprintf(name, sizeof name, "globalDim[2] %llu", static_cast<unsigned long long>(size));
    probe(name, t, [&](Map& a) { a.size[2] = size; });
  }
  for (uint64_t stride : {0ull, 8ull, 16ull, 120ull, 136ull, (1ull << 40) - 16, 1ull << 40}) {
    char name[64];
    std::snprintf(name, sizeof name, "globalStrides[0] %llu", static_cast<unsigned long long>(stride));
    probe(name, t, [&](Map& a) { a.stride_bytes[0] = stride; });
    std::snprintf(name, sizeof name, "globalStrides[1] %llu", static_cast<unsigned long long>(stride));
    probe(name, t, [&](Map& a) { a.stride_bytes[1] = stride; });
  }
  for (uint32_t box : {0u, 1u, 8u, 12u, 256u, 257u, 264u}) {
    char name[32];
    std::snprintf(name, sizeof name, "boxDim[0] %u", box);
    probe(name, t, [&](Map& a) { a.box[0] = box; });
    std::snprintf(name, sizeof name, "boxDim[1] %u", box);
    probe(name, t, [&](Map& a) { a.box[1] = box; });
  }
  probe("a box of 256 x 256 x 256", t, [](Map& a) { a.box[0] = a.box[1] = a.box[2] = 256; });
  for (uint32_t rows : {128u, 220u, 224u, 226u, 227u, 228u, 232u, 255u, 256u}) {  // of 1024 bytes
    char name[72];
    std::snprintf(name, sizeof name, "a box of 64 x 8 x %u elements, %u KiB", rows, rows);
    probe(name, t, [&](Map& a) { a.box[2] = rows; });
    std::snprintf(name, sizeof name, "a box of 8 x 64 x %u elements, %u KiB, swizzle 128B", rows, rows);
    probe(name, t, [&](Map& a) {
      a.box[0] = 8;
      a.box[1] = 64;
      a.box[2] = rows;
      a.swizzle = 3;
    });
  }
  for (uint32_t rows : {13u, 14u, 15u, 16u}) {  // of 16 KiB as they are read, 2 KiB as they are kept
    char name[64];
    std::snprintf(name, sizeof name, "a box of 128 x 256 x %u elements, stride 8", rows);
    probe(name, t, [&](Map& a) {
      a.box[0] = 64;
      a.box[1] = 256;
      a.box[2] = rows;
      a.element_stride[1] = 8;
    });
  }
  probe("boxDim[2] larger than globalDim[2]", t, [](Map& a) { a.box[2] = 100; });
  for (int swizzle = -1; swizzle <= 7; ++swizzle) {
    for (uint32_t inner : {8u, 16u, 24u, 32u, 40u, 64u, 72u}) {
      char name[64];
      std::snprintf(name, sizeof name, "swizzle %d, inner box %u bytes", swizzle, inner * 2);
      probe(name, t, [&](Map& a) {
        a.swizzle = swizzle;
        a.box[0] = inner;
      });
    }
  }
  for (uint32_t step : {0u, 1u, 2u, 8u, 9u}) {
    char name[40];
    std::snprintf(name, sizeof name, "elementStrides[0] %u", step);
    probe(name, t, [&](Map& a) { a.element_stride[0] = step; });
    std::snprintf(name, sizeof name, "elementStrides[1] %u", step);
    probe(name, t, [&](Map& a) { a.element_stride[1] = step; });
  }
  for (int promotion = -1; promotion <= 4; ++promotion) {
    char name[32];
    std::snprintf(name, sizeof name, "l2Promotion %d", promotion);
    probe(name, t, [&](Map& a) { a.l2_promotion = promotion; });
  }
  for (int fill = -1; fill <= 2; ++fill) {
    for (int type : {1, 6, 9}) {
      char name[32];
      std::snprintf(name, sizeof name, "oobFill %d, type %d", fill, type);
      probe(name, t, [&](Map& a) {
        a.oob_fill = fill;
        a.type = type;
      });
    }
  }
  for (int interleave : {-1, 3}) {
    char name[32];
    std::snprintf(name, sizeof name, "interleave %d", interleave);
    probe(name, t, [&](Map& a) { a.interleave = interleave; });
  }
  probe("interleave 16B of rank 2", t, [](Map& a) {
    a.interleave = 1;
    a.rank = 2;
  });
  probe("interleave 32B without swizzle", t, [](Map& a) { a.interleave = 2; });
  probe("interleave 32B at address + 16", t + 16, [](Map& a) {
    a.interleave = 2;
    a.swizzle = 1;
  });
  return rows;
}

}  // namespace recorded
