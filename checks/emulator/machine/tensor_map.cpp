// cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col: what is accepted, what is refused and with which words.
#include "emulator/machine/tensor_map.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

using namespace emu;

namespace {

// bf16, 64 x 32 x 8 elements.
rules::TensorMapArguments good() {
  rules::TensorMapArguments a;
  a.type = 9;
  a.rank = 3;
  a.address = 0x10000;
  const uint64_t size[5] = {64, 32, 8, 4, 2}, stride[4] = {128, 4096, 32768, 131072};
  const uint32_t box[5] = {64, 8, 2, 1, 1};
  std::copy_n(size, 5, a.size);
  std::copy_n(stride, 4, a.stride_bytes);
  std::copy_n(box, 5, a.box);
  a.swizzle = 3;
  return a;
}

struct Result {
  int code;
  std::string why;
};

alignas(128) std::byte map_bytes[kTensorMapBytes];

using Arguments = rules::TensorMapArguments;

Result encode(const std::function<void(Arguments&)>& change = [](Arguments&) {}) {
  Arguments a = good();
  change(a);
  Result r;
  r.code = encode_tensor_map(map_bytes, a, &r.why);
  return r;
}

}  // namespace

TEST_CASE("tensor map: every argument comes back") {
  REQUIRE(encode([](Arguments& a) { a.element_stride[1] = 3; }).code == 0);
  TensorMap map;
  REQUIRE(decode_tensor_map(map_bytes, &map));
  CHECK(map.type == ElementType::bf16);
  CHECK(map.rank == 3);
  CHECK(map.address == 0x10000);
  CHECK(map.size[0] == 64);
  CHECK(map.size[2] == 8);
  CHECK(map.size[3] == 1);
  CHECK(map.stride[0] == 2);
  CHECK(map.stride[1] == 128);
  CHECK(map.stride[2] == 4096);
  CHECK(map.swizzle == Swizzle::span128);
  CHECK(map.box_count(1) == 3);  // ceil(8 / 3)
  CHECK(map.row_bytes() == 128);
  CHECK(map.tile_bytes() == 128 * 3 * 2);
}

TEST_CASE("tensor map: a changed byte makes it invalid") {
  REQUIRE(encode().code == 0);
  TensorMap map;
  for (size_t i = 0; i < kTensorMapBytes; ++i) {
    map_bytes[i] ^= std::byte{1};
    CHECK_FALSE(decode_tensor_map(map_bytes, &map));
    map_bytes[i] ^= std::byte{1};
  }
  CHECK(decode_tensor_map(map_bytes, &map));
  std::memset(map_bytes, 0, kTensorMapBytes);
  CHECK_FALSE(decode_tensor_map(map_bytes, &map));
}

TEST_CASE("tensor map: bit 21 of the second 8 bytes may be cleared, as CUTLASS does") {
  REQUIRE(encode().code == 0);
  TensorMap before, after;
  REQUIRE(decode_tensor_map(map_bytes, &before));
  map_bytes[8 + 21 / 8] &= ~std::byte{1 << 21 % 8};
  REQUIRE(decode_tensor_map(map_bytes, &after));
  CHECK(after.address == before.address);
  CHECK(after.size[0] == before.size[0]);
  CHECK(after.box[0] == before.box[0]);
  CHECK_FALSE(after.edited);
}

TEST_CASE("tensor map: each broken rule is refused and named") {
  struct Row {
    const char* text;
    std::function<void(Arguments&)> change;
  };
  const std::vector<Row> rows = {
      {"tensorDataType = 16", [](Arguments& a) { a.type = 16; }},
      {"tensorDataType = 16U4_ALIGN8B", [](Arguments& a) { a.type = 13; }},
      {"tensorRank = 0", [](Arguments& a) { a.rank = 0; }},
      {"tensorRank = 6", [](Arguments& a) { a.rank = 6; }},
      {"tensorRank = 2",
       [](Arguments& a) {
         a.rank = 2;
         a.interleave = 1;
       }},
      {"globalAddress = 0x10008", [](Arguments& a) { a.address += 8; }},
      {"globalAddress = 0x10010",
       [](Arguments& a) {
         a.address += 16;
         a.interleave = 2;
         a.swizzle = 1;
       }},
      {"globalDim[1] = 0", [](Arguments& a) { a.size[1] = 0; }},
      {"globalDim[2] = 4294967297", [](Arguments& a) { a.size[2] = (1ull << 32) + 1; }},
      {"globalStrides[0] = 120 bytes", [](Arguments& a) { a.stride_bytes[0] = 120; }},
      {"globalStrides[1] = 1099511627776 bytes", [](Arguments& a) { a.stride_bytes[1] = 1ull << 40; }},
      {"boxDim[1] = 0", [](Arguments& a) { a.box[1] = 0; }},
      {"boxDim[2] = 257", [](Arguments& a) { a.box[2] = 257; }},
      {"make boxDim[0] 16", [](Arguments& a) { a.box[0] = 12; }},
      {"make boxDim[0] at most 64", [](Arguments& a) { a.box[0] = 72; }},
      {"make boxDim[0] at most 16", [](Arguments& a) { a.swizzle = 1; }},
      {"elementStrides[1] = 9", [](Arguments& a) { a.element_stride[1] = 9; }},
      {"elementStrides[2] = 0", [](Arguments& a) { a.element_stride[2] = 0; }},
      {"interleave = 3", [](Arguments& a) { a.interleave = 3; }},
      {"swizzle = 7", [](Arguments& a) { a.swizzle = 7; }},
      {"swizzle = 4", [](Arguments& a) { a.swizzle = 4; }},
      {"elementStrides[0] = 9", [](Arguments& a) { a.element_stride[0] = 9; }},
      {"a box of 237568 bytes",  // 232 KiB
       [](Arguments& a) {
         a.box[1] = 232;
         a.box[2] = 8;
       }},
      {"a box of 262144 bytes",
       [](Arguments& a) {
         a.box[1] = 256;
         a.box[2] = 8;
       }},
      {"l2Promotion = 4", [](Arguments& a) { a.l2_promotion = 4; }},
      {"oobFill = 2", [](Arguments& a) { a.oob_fill = 2; }},
      {"oobFill = 1 with tensorDataType = INT32: NaN fill needs a floating-point type",
       [](Arguments& a) {
         a.oob_fill = 1;
         a.type = 3;
         a.box[0] = 32;
       }},
  };
  for (const Row& row : rows) {
    const Result r = encode(row.change);
    CAPTURE(row.text);
    CAPTURE(r.why);
    CHECK(r.code == kTensorMapInvalidValue);
    CHECK(r.why.find(row.text) != std::string::npos);
  }
}

TEST_CASE("tensor map: limits that are still legal") {
  CHECK(encode([](Arguments& a) { a.size[0] = 1ull << 32; }).code == 0);
  CHECK(encode([](Arguments& a) { a.stride_bytes[1] = (1ull << 40) - 16; }).code == 0);
  CHECK(encode([](Arguments& a) {
          a.box[1] = 256;
          a.box[2] = 7;
        }).code == 0);
  CHECK(encode([](Arguments& a) {  // 228 KiB: more than a CTA can have
          a.box[1] = 228;
          a.box[2] = 8;
        })
            .code == 0);
  CHECK(encode([](Arguments& a) { a.element_stride[1] = 8; }).code == 0);
  CHECK(encode([](Arguments& a) { a.interleave = 1; }).code == 0);
  CHECK(encode([](Arguments& a) { a.address = 0; }).code == 0);
  CHECK(encode([](Arguments& a) { a.oob_fill = 1; }).code == 0);
  CHECK(encode([](Arguments& a) { a.rank = 1; }).code == 0);
  CHECK(encode([](Arguments& a) { a.rank = 5; }).code == 0);
}

TEST_CASE("tensor map: all broken rules are named, not only the first") {
  const Result r = encode([](Arguments& a) {
    a.address += 8;
    a.stride_bytes[0] = 120;
  });
  CHECK(r.why.find("globalAddress = 0x10008") != std::string::npos);
  CHECK(r.why.find("globalStrides[0] = 120") != std::string::npos);
}

TEST_CASE("tensor map: the address can be replaced") {
  REQUIRE(encode().code == 0);
  std::string why;
  CHECK(replace_tensor_map_address(map_bytes, 0x20008, &why) == 1);
  REQUIRE(replace_tensor_map_address(map_bytes, 0x20010, &why) == 0);
  TensorMap map;
  REQUIRE(decode_tensor_map(map_bytes, &map));
  CHECK(map.address == 0x20010);
  CHECK(map.size[1] == 32);
  map_bytes[0] ^= std::byte{1};
  CHECK(replace_tensor_map_address(map_bytes, 0x20010, &why) == 1);
}

namespace {

// bf16, 64 channels of 9 x 7 pixels of 5 images; a 3 x 3 filter with a padding of 1.
Result encode_pixels(const std::function<void(Arguments&)>& change = [](Arguments&) {}) {
  return encode([&](Arguments& a) {
    a.im2col = true;
    a.rank = 4;
    const uint64_t size[5] = {64, 9, 7, 5, 3}, stride[4] = {128, 1152, 8064, 40320};
    std::copy_n(size, 5, a.size);
    std::copy_n(stride, 4, a.stride_bytes);
    for (int i : {0, 1}) a.lower_corner[i] = a.upper_corner[i] = -1;
    a.channels_per_pixel = 64;
    a.pixels_per_column = 700;
    change(a);
  });
}

}  // namespace

TEST_CASE("im2col map: every argument comes back") {
  REQUIRE(encode_pixels([](Arguments& a) {
            a.upper_corner[1] = 3;
            a.element_stride[2] = 2;
          }).code == 0);
  TensorMap map;
  REQUIRE(decode_tensor_map(map_bytes, &map));
  CHECK(map.im2col);
  CHECK(map.rank == 4);
  CHECK(map.lower[0] == -1);
  CHECK(map.lower[2] == 0);
  CHECK(map.last_pixel(1) == 7);
  CHECK(map.last_pixel(2) == 9);
  CHECK(map.step[2] == 2);
  CHECK(map.rows() == 700);
  CHECK(map.row_bytes() == 128);
  CHECK(map.tile_bytes() == 700 * 128);
  REQUIRE(encode().code == 0);
  REQUIRE(decode_tensor_map(map_bytes, &map));
  CHECK_FALSE(map.im2col);
}

TEST_CASE("im2col map: each rule that is broken is named") {
  struct Row {
    const char* text;
    std::function<void(Arguments&)> change;
  };
  const Row rows[] = {
      {"tensorRank = 2", [](Arguments& a) { a.rank = 2; }},
      {"tensorRank = 6", [](Arguments& a) { a.rank = 6; }},
      {"globalDim[0] = 0", [](Arguments& a) { a.size[0] = 0; }},
      {"a box of -2147483647 pixels along dimension 2: ", [](Arguments& a) { a.size[2] = (1ull << 31) + 1; }},
      {"globalStrides[2] = 8 bytes", [](Arguments& a) { a.stride_bytes[2] = 8; }},
      {"pixelBoxLowerCorner[0] = -129: with 4 dimensions a corner is -128 to 127",
       [](Arguments& a) { a.lower_corner[0] = -129; }},
      {"pixelBoxUpperCorner[1] = 128", [](Arguments& a) { a.upper_corner[1] = 128; }},
      {"pixelBoxUpperCorner[2] = 16: with 5 dimensions a corner is -16 to 15",
       [](Arguments& a) {
         a.rank = 5;
         a.upper_corner[2] = 16;
       }},
      {"a box of 0 pixels along dimension 1", [](Arguments& a) { a.upper_corner[0] = -10; }},
      {"channelsPerPixel = 0: a copy takes 1 to 256 channels",
       [](Arguments& a) { a.channels_per_pixel = 0; }},
      {"channelsPerPixel = 257", [](Arguments& a) { a.channels_per_pixel = 257; }},
      {"channelsPerPixel = 12 elements of 2 bytes = 24 bytes: the inner dimension",
       [](Arguments& a) { a.channels_per_pixel = 12; }},
      {"make channelsPerPixel at most 64", [](Arguments& a) { a.channels_per_pixel = 72; }},
      {"pixelsPerColumn = 0: a copy takes 1 to 1024 pixels", [](Arguments& a) { a.pixels_per_column = 0; }},
      {"pixelsPerColumn = 1025", [](Arguments& a) { a.pixels_per_column = 1025; }},
      {"elementStrides[1] = 9", [](Arguments& a) { a.element_stride[1] = 9; }},
  };
  for (const Row& row : rows) {
    const Result r = encode_pixels(row.change);
    CAPTURE(row.text);
    CAPTURE(r.why);
    CHECK(r.code == kTensorMapInvalidValue);
    CHECK(r.why.find(row.text) != std::string::npos);
    CHECK(r.why.find("boxDim") == std::string::npos);
  }
}

TEST_CASE("im2col map: the address can be replaced, and a field of tile mode cannot") {
  REQUIRE(encode_pixels().code == 0);
  std::string why;
  REQUIRE(replace_tensor_map_address(map_bytes, 0x20010, &why) == 0);
  CHECK(replace_tensor_map_field(map_bytes, MapField::box_dim, 0, 8, &why) == kTensorMapInvalidValue);
  CHECK(why.find("im2col") != std::string::npos);
  REQUIRE(replace_tensor_map_field(map_bytes, MapField::global_dim, 1, 3, &why) == 0);
  TensorMap map;
  REQUIRE(decode_tensor_map(map_bytes, &map));
  CHECK(map.address == 0x20010);
  CHECK(broken_rule(map) == "");
  REQUIRE(replace_tensor_map_field(map_bytes, MapField::global_dim, 1, 1, &why) == 0);
  REQUIRE(decode_tensor_map(map_bytes, &map));
  CHECK(broken_rule(map).find("a box of 1 pixels") == std::string::npos);
}
