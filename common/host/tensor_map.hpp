// Encoding tensor maps, with every broken rule (rules/tensor_map.hpp) explained before the driver is asked.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace lab {

// What a copy in im2col mode takes: `pixels` pixels of `channels` channels, of a box whose corners are given for the dimensions
// between channels and images.
struct PixelBox {
  std::vector<int> lower_corner, upper_corner;  // pixelBoxLowerCorner, pixelBoxUpperCorner: rank - 2 entries
  uint32_t channels = 1, pixels = 1;            // channelsPerPixel, pixelsPerColumn
};

// The parameters of cuTensorMapEncodeTiled, or with `pixels` those of cuTensorMapEncodeIm2col. Dimension 0 is the innermost. Sizes, box and element strides are
// in elements; strides are in bytes, stride_bytes[i] being the step of dimension i + 1.
struct TensorMapSpec {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const void* address = nullptr;
  std::vector<uint64_t> size;            // globalDim: rank entries
  std::vector<uint64_t> stride_bytes;    // globalStrides: rank - 1 entries
  std::vector<uint32_t> box;             // boxDim: rank entries; none with `pixels`
  std::vector<uint32_t> element_stride;  // elementStrides: rank entries; empty: all 1
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  CUtensorMapFloatOOBfill oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  std::optional<PixelBox> pixels = std::nullopt;  // im2col mode
};

// Encodes the map; advice goes to stderr. Throws std::invalid_argument with all problems when a rule is broken,
// std::runtime_error when the driver does not have the call or refuses.
CUtensorMap make_tensor_map(const TensorMapSpec& spec);

// The driver's function, found at run time, with its parameters in its order; global_strides has one entry less than the
// others, and element_strides is not optional. Throws as make_tensor_map does, instead of returning an error code.
void cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* global_address,
                            const cuuint64_t* global_dim, const cuuint64_t* global_strides,
                            const cuuint32_t* box_dim, const cuuint32_t* element_strides,
                            CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill);

// The map of a row-major bf16 matrix (rows x cols) read in boxes of box_rows x box_cols with the 128-byte
// swizzle.
CUtensorMap make_tensor_map_2d(const void* matrix, uint64_t rows, uint64_t cols, uint32_t box_rows,
                               uint32_t box_cols);

}  // namespace lab
