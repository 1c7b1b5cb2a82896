// The rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (CUDA Driver API, "Tensor Map Object Management"), each
// once. The host's check of a specification, the emulated driver and the recorded answers of an H200 all go by this list.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/broken.hpp"

namespace rules {

// The arguments of either call. Dimension 0 is the innermost. The enumerations are numbers, as a caller may pass any.
struct TensorMapArguments {
  int type = 0;
  uint32_t rank = 1;
  uint64_t address = 0;
  uint64_t size[5] = {1, 1, 1, 1, 1};
  uint64_t stride_bytes[4] = {0, 0, 0, 0};  // [i]: the step of dimension i + 1
  uint32_t box[5] = {1, 1, 1, 1, 1};        // of cuTensorMapEncodeTiled
  uint32_t element_stride[5] = {1, 1, 1, 1, 1};
  int interleave = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;
  bool im2col = false;  // of cuTensorMapEncodeIm2col, which has these instead of a box:
  // Dimensions are C, W, H, D, N, of which rank 3 has no H and D and rank 4 no D; corners[i] are of dimension i + 1.
  int lower_corner[3] = {0, 0, 0}, upper_corner[3] = {0, 0, 0};
  uint32_t channels_per_pixel = 1, pixels_per_column = 1;
};

struct TensorMapType {
  const char* name;  // of CUtensorMapDataType, without its prefix
  uint32_t bytes;    // 0: a packed type of less than a byte
  bool floating;
};
constexpr int kTensorMapTypes = 16;
const TensorMapType& tensor_map_type(int type);  // 0 .. 15

// 32, 64 or 128 bytes; 0 without a swizzle, and for a code that is none of Hopper's.
uint32_t tensor_map_swizzle_span(int swizzle);

constexpr uint64_t kMaxTensorSize = uint64_t{1} << 32;    // elements along a dimension
constexpr uint64_t kMaxTensorStride = uint64_t{1} << 40;  // bytes, exclusive
constexpr uint32_t kMaxBoxDim = 256;
constexpr uint32_t kMaxChannelsPerPixel = 256;
constexpr uint32_t kMaxPixelsPerColumn = 1024;
constexpr uint32_t kMaxElementStride = 8;
constexpr uint32_t kTensorAlignment = 16;  // of the address and the strides, in bytes

// The corners of a box of pixels lie in [-limit, limit - 1]: 16 bits for one, 8 for each of two, 5 for each of three.
constexpr int corner_limit(uint32_t rank) {
  return rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
}

// Every rule that the arguments break, in the order of the parameters. Those that are refused come first; the others are
// stated by the manual, or follow from it, and the driver does not check them: advice.
std::vector<Broken> broken_rules(const TensorMapArguments& arguments);

}  // namespace rules
