// The im2col maps whose answers are recorded in im2col_map_rules.txt: each legal limit, and the value beyond it.
#pragma once

#include "map_rows.hpp"

namespace recorded {

// Of a tensor at this address, a multiple of 128.
inline std::vector<MapRow> im2col_map_rows(uint64_t t) {
  const uint64_t sizes[] = {64, 9, 7, 5, 3};
  Map good;  // 64 channels, 9 x 7 pixels, 5 images
  good.im2col = true;
  good.type = 1;
  good.rank = 4;
  good.address = t;
  uint64_t step = 2;
  for (int i = 0; i < 5; ++i) {
    good.size[i] = sizes[i];
    step *= sizes[i];
    if (i < 4) good.stride_bytes[i] = step;
  }
  good.channels_per_pixel = 64;
  good.pixels_per_column = 16;
  MapRows all(good);
  const auto probe = [&](const std::string& name, auto change) { all.probe(name, change); };
  const auto str = [](auto value) { return std::to_string(value); };

  for (int type = -1; type <= 16; ++type)
    probe("type " + str(type) + ", 128 channels", [&](Map& a) {
      a.type = type;
      a.channels_per_pixel = 128;
      a.size[0] = 128;
      for (uint64_t& stride : a.stride_bytes) stride *= 8;
    });
  for (uint32_t rank = 0; rank <= 5; ++rank) probe("rank " + str(rank), [&](Map& a) { a.rank = rank; });
  for (uint64_t offset : {8ull, 16ull, 32ull, 64ull})
    for (int swizzle : {0, 3})
      probe("address + " + str(offset) + ", swizzle " + str(swizzle), [&](Map& a) {
        a.address = t + offset;
        a.swizzle = swizzle;
      });
  probe("address NULL", [](Map& a) { a.address = 0; });
  for (int i : {0, 1, 2, 3})
    for (uint64_t size : {0ull, 1ull, 1ull << 16, 1ull << 31, (1ull << 32) - 1, 1ull << 32, (1ull << 32) + 1})
      probe("globalDim[" + str(i) + "] " + str(size), [&](Map& a) { a.size[i] = size; });
  for (int i : {0, 1, 2})
    for (uint64_t stride : {0ull, 8ull, 16ull, 120ull, 136ull, (1ull << 40) - 16, 1ull << 40})
      probe("globalStrides[" + str(i) + "] " + str(stride), [&](Map& a) { a.stride_bytes[i] = stride; });

  // Corners, in a tensor that is large enough for any box to hold a pixel, and in the small one.
  const int limits[] = {0, 0, 0, 32768, 128, 16};
  for (uint32_t rank : {3u, 4u, 5u})
    for (uint32_t i = 0; i < rank - 2; ++i)
      for (int value :
           {-limits[rank] - 1, -limits[rank], limits[rank] - 1, limits[rank], 2147483647, -2147483647 - 1}) {
        const std::string at = "[" + str(i) + "] " + str(value) + " of rank " + str(rank);
        const auto large = [&](Map& a) {
          a.rank = rank;
          for (uint64_t& size : a.size) size = 100000;
        };
        probe("lower" + at, [&](Map& a) {
          large(a);
          a.lower_corner[i] = value;
        });
        probe("upper" + at, [&](Map& a) {
          large(a);
          a.upper_corner[i] = value;
        });
      }
  for (uint32_t i : {0u, 1u}) {
    const int size = i == 0 ? 9 : 7;
    for (int extent : {-3, -1, 0, 1, 2})
      for (int lower : {-2, 0, 3})
        probe("dimension " + str(i) + ", a box of " + str(extent) + " pixels from " + str(lower),
              [&](Map& a) {
                a.lower_corner[i] = lower;
                a.upper_corner[i] = lower + extent - size;
              });
  }
  for (int i : {1, 2, 3})
    for (uint64_t size : {(1ull << 31) - 129, (1ull << 31) - 2, (1ull << 31) - 1, 1ull << 31,
                          (1ull << 31) + 1, (1ull << 31) + 200, (1ull << 32) - 2, 1ull << 32})
      for (int corner : {-128, -1, 0, 1, 127})
        for (bool lower : {false, true})
          probe("globalDim[" + str(i) + "] " + str(size) + ", " + (lower ? "lower " : "upper ") + str(corner),
                [&](Map& a) {
                  a.size[i] = size;
                  (lower ? a.lower_corner : a.upper_corner)[i < 3 ? i - 1 : 0] = corner;
                });
  probe("lower (5,5), upper (5,5)",
        [](Map& a) { a.lower_corner[0] = a.lower_corner[1] = a.upper_corner[0] = a.upper_corner[1] = 5; });
  probe("lower (5,5), upper (4,4)", [](Map& a) {
    a.lower_corner[0] = a.lower_corner[1] = 5;
    a.upper_corner[0] = a.upper_corner[1] = 4;
  });
  probe("lower (-128,-128), upper (127,127)", [](Map& a) {
    a.lower_corner[0] = a.lower_corner[1] = -128;
    a.upper_corner[0] = a.upper_corner[1] = 127;
  });
  probe("lower (20,0), upper (20,0)", [](Map& a) { a.lower_corner[0] = a.upper_corner[0] = 20; });

  for (uint32_t channels : {0u, 1u, 4u, 8u, 12u, 16u, 72u, 128u, 248u, 256u, 257u, 264u, 512u})
    probe("channelsPerPixel " + str(channels), [&](Map& a) { a.channels_per_pixel = channels; });
  for (uint32_t channels : {8u, 15u, 16u, 17u, 32u})
    probe("channelsPerPixel " + str(channels) + " of 1 byte", [&](Map& a) {
      a.type = 0;
      a.channels_per_pixel = channels;
    });
  for (uint32_t pixels : {0u, 1u, 7u, 8u, 255u, 256u, 257u, 512u, 1023u, 1024u, 1025u, 2048u})
    probe("pixelsPerColumn " + str(pixels), [&](Map& a) {
      a.pixels_per_column = pixels;
      a.channels_per_pixel = 8;
    });
  for (uint32_t pixels : {448u, 452u, 454u, 455u, 456u, 457u, 458u, 460u, 463u, 464u, 512u, 1024u})
    probe(str(pixels) + " pixels of 512 bytes, " + str(pixels / 2) + (pixels % 2 ? ".5" : "") + " KiB",
          [&](Map& a) {
            a.pixels_per_column = pixels;
            a.channels_per_pixel = 256;
          });
  for (uint32_t pixels : {1024u, 1025u})
    probe(str(pixels) + " pixels of 16 bytes, swizzle 128B", [&](Map& a) {
      a.pixels_per_column = pixels;
      a.channels_per_pixel = 8;
      a.swizzle = 3;
    });

  for (int swizzle = -1; swizzle <= 7; ++swizzle)
    for (uint32_t channels : {8u, 16u, 24u, 32u, 40u, 64u, 72u})
      probe("swizzle " + str(swizzle) + ", " + str(channels * 2) + " bytes of channels", [&](Map& a) {
        a.swizzle = swizzle;
        a.channels_per_pixel = channels;
      });
  for (int i : {0, 1, 2, 3})
    for (uint32_t step : {0u, 1u, 2u, 8u, 9u})
      probe("elementStrides[" + str(i) + "] " + str(step), [&](Map& a) { a.element_stride[i] = step; });
  for (uint32_t pixels : {456u, 912u, 1024u})
    probe(str(pixels) + " pixels of 512 bytes, stride 2", [&](Map& a) {
      a.pixels_per_column = pixels;
      a.channels_per_pixel = 256;
      a.element_stride[1] = 2;
    });
  for (int promotion = -1; promotion <= 4; ++promotion)
    probe("l2Promotion " + str(promotion), [&](Map& a) { a.l2_promotion = promotion; });
  for (int fill = -1; fill <= 2; ++fill)
    for (int type : {1, 6, 9})
      probe("oobFill " + str(fill) + ", type " + str(type), [&](Map& a) {
        a.oob_fill = fill;
        a.type = type;
      });
  for (int interleave : {-1, 1, 2, 3})
    for (uint32_t rank : {3u, 4u, 5u})
      for (uint32_t channels : {8u, 16u, 64u, 256u})
        for (int swizzle : {0, 1, 2, 3})
          if (swizzle == 0 || channels == 8)
            probe("interleave " + str(interleave) + " of rank " + str(rank) + ", " + str(channels) +
                      " channels, swizzle " + str(swizzle),
                  [&](Map& a) {
                    a.interleave = interleave;
                    a.rank = rank;
                    a.channels_per_pixel = channels;
                    a.swizzle = swizzle;
                  });
  for (int interleave : {1, 2})
    for (uint64_t offset : {8ull, 16ull, 32ull})
      probe("interleave " + str(interleave) + " at address + " + str(offset), [&](Map& a) {
        a.interleave = interleave;
        a.swizzle = interleave == 2;
        a.channels_per_pixel = 8;
        a.address = t + offset;
      });
  for (uint64_t stride : {16ull, 32ull})
    probe("interleave 32B, globalStrides[0] " + str(stride), [&](Map& a) {
      a.interleave = 2;
      a.swizzle = 1;
      a.stride_bytes[0] = stride;
    });
  for (uint32_t step : {0u, 2u, 9u})
    probe("interleave 16B, elementStrides[0] " + str(step), [&](Map& a) {
      a.interleave = 1;
      a.element_stride[0] = step;
    });
  return all.rows;
}

}  // namespace recorded
