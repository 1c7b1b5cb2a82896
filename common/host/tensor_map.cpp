#include "host/tensor_map.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "host/cuda_check.hpp"
#include "host/device.hpp"
#include "host/entry_point.hpp"
#include "host/tensor_map_problems.hpp"
#include "rules/tensor_map.hpp"

namespace lab {
namespace {

std::string entries(const char* field, size_t count, const char* parameter) {
  return std::string(field) + " has " + std::to_string(count) + " entries (" + parameter + ")";
}

// The lengths of the specification's vectors: the driver only sees a rank and pointers.
std::vector<std::string> broken_lengths(const TensorMapSpec& spec) {
  std::vector<std::string> out;
  const size_t rank = spec.size.size();
  const std::string of_rank = "a tensor of rank " + std::to_string(rank) + " has ";
  if (rank < 1 || rank > 5)
    return {entries("size", rank, "globalDim") +
            ": a tensor has 1 to 5 dimensions; give one size for each of them"};
  if (spec.stride_bytes.size() != rank - 1)
    out.push_back(entries("stride_bytes", spec.stride_bytes.size(), "globalStrides") + ": " + of_rank +
                  std::to_string(rank - 1) +
                  "; give the step of every dimension but the innermost, in bytes");
  if (!spec.pixels && spec.box.size() != rank)
    out.push_back(entries("box", spec.box.size(), "boxDim") + ": " + of_rank + std::to_string(rank) +
                  "; give one extent for each dimension");
  if (spec.pixels && !spec.box.empty())
    out.push_back(entries("box", spec.box.size(), "boxDim") +
                  ": a map in im2col mode has none; leave it empty, or leave pixels away for tile mode");
  if (spec.pixels && rank >= 3) {
    const std::string corners = ": " + of_rank + std::to_string(rank - 2) +
                                "; give one for each dimension between channels and images";
    if (spec.pixels->lower_corner.size() != rank - 2)
      out.push_back(entries("lower_corner", spec.pixels->lower_corner.size(), "pixelBoxLowerCorner") +
                    corners);
    if (spec.pixels->upper_corner.size() != rank - 2)
      out.push_back(entries("upper_corner", spec.pixels->upper_corner.size(), "pixelBoxUpperCorner") +
                    corners);
  }
  if (!spec.element_stride.empty() && spec.element_stride.size() != rank)
    out.push_back(entries("element_stride", spec.element_stride.size(), "elementStrides") + ": " + of_rank +
                  std::to_string(rank) + "; leave it empty for 1 everywhere");
  return out;
}

rules::TensorMapArguments arguments_of(const TensorMapSpec& spec) {
  rules::TensorMapArguments a;
  a.type = spec.type;
  a.rank = static_cast<uint32_t>(spec.size.size());
  a.address = reinterpret_cast<uintptr_t>(spec.address);
  std::copy(spec.size.begin(), spec.size.end(), a.size);
  std::copy(spec.stride_bytes.begin(), spec.stride_bytes.end(), a.stride_bytes);
  std::copy(spec.box.begin(), spec.box.end(), a.box);
  std::copy(spec.element_stride.begin(), spec.element_stride.end(), a.element_stride);
  a.interleave = spec.interleave;
  a.swizzle = spec.swizzle;
  a.l2_promotion = spec.l2_promotion;
  a.oob_fill = spec.oob_fill;
  if (!spec.pixels) return a;
  a.im2col = true;
  if (a.rank >= 3) {  // else its rule is broken
    std::copy(spec.pixels->lower_corner.begin(), spec.pixels->lower_corner.end(), a.lower_corner);
    std::copy(spec.pixels->upper_corner.begin(), spec.pixels->upper_corner.end(), a.upper_corner);
  }
  a.channels_per_pixel = spec.pixels->channels;
  a.pixels_per_column = spec.pixels->pixels;
  return a;
}

std::vector<std::string> sentences(const TensorMapSpec& spec, bool refused) {
  std::vector<std::string> out = broken_lengths(spec);
  if (!out.empty()) return refused ? out : std::vector<std::string>();
  for (const rules::Broken& broken : rules::broken_rules(arguments_of(spec)))
    if (broken.refused == refused) out.push_back(broken.text());
  return out;
}

// A call of the driver, found through the runtime: no program links the driver's library.
template <class Call>
Call* driver_call(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  cuda_check(driver_entry_point(name, &function, &found),
             (std::string("look up ") + name + " in the driver").c_str());
  if (found != cudaDriverEntryPointSuccess || function == nullptr)
    throw std::runtime_error(std::string("the driver has no ") + name +
                             ": it needs a driver for CUDA 12.0 or newer");
  return reinterpret_cast<Call*>(function);
}

const char* name_of_call(const TensorMapSpec& spec) {
  return spec.pixels ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled";
}

CUresult encode(CUtensorMap* map, const TensorMapSpec& spec) {
  const rules::TensorMapArguments a = arguments_of(spec);
  void* const address = const_cast<void*>(spec.address);
  if (spec.pixels)
    return driver_call<decltype(::cuTensorMapEncodeIm2col)>(name_of_call(spec))(
        map, spec.type, a.rank, address, a.size, a.stride_bytes, a.lower_corner, a.upper_corner,
        a.channels_per_pixel, a.pixels_per_column, a.element_stride, spec.interleave, spec.swizzle,
        spec.l2_promotion, spec.oob_fill);
  return driver_call<decltype(::cuTensorMapEncodeTiled)>(name_of_call(spec))(
      map, spec.type, a.rank, address, a.size, a.stride_bytes, a.box, a.element_stride, spec.interleave,
      spec.swizzle, spec.l2_promotion, spec.oob_fill);
}

}  // namespace

std::vector<std::string> tensor_map_problems(const TensorMapSpec& spec) {
  return sentences(spec, true);
}

std::vector<std::string> tensor_map_advice(const TensorMapSpec& spec) {
  return sentences(spec, false);
}

CUtensorMap make_tensor_map(const TensorMapSpec& spec) {
  const std::vector<std::string> problems = tensor_map_problems(spec);
  if (!problems.empty()) {
    std::string text =
        std::string("tensor-map-invalid: ") + name_of_call(spec) + " would refuse this tensor map";
    for (const std::string& problem : problems) text += "\n  " + problem;
    throw std::invalid_argument(text);
  }
  CUtensorMap map;
  const CUresult status = encode(&map, spec);
  if (status != CUDA_SUCCESS)
    throw std::runtime_error(std::string(name_of_call(spec)) + " failed with CUresult " +
                             std::to_string(static_cast<int>(status)) +
                             ", although no rule is known that this tensor map breaks");
  // The emulated driver says it itself.
  if (!current_device().emulator)
    for (const std::string& advice : tensor_map_advice(spec))
      std::fprintf(stderr, "tensor-map-advice: %s\n", advice.c_str());
  return map;
}

void cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* global_address,
                            const cuuint64_t* global_dim, const cuuint64_t* global_strides,
                            const cuuint32_t* box_dim, const cuuint32_t* element_strides,
                            CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill) {
  TensorMapSpec spec;
  spec.type = type;
  spec.address = global_address;
  spec.size.assign(global_dim, global_dim + rank);
  spec.stride_bytes.assign(global_strides, global_strides + rank - 1);
  spec.box.assign(box_dim, box_dim + rank);
  spec.element_stride.assign(element_strides, element_strides + rank);
  spec.interleave = interleave;
  spec.swizzle = swizzle;
  spec.l2_promotion = l2_promotion;
  spec.oob_fill = oob_fill;
  *map = make_tensor_map(spec);
}

CUtensorMap make_tensor_map_2d(const void* matrix, uint64_t rows, uint64_t cols, uint32_t box_rows,
                               uint32_t box_cols) {
  TensorMapSpec spec;
  spec.address = matrix;
  spec.size = {cols, rows};
  spec.stride_bytes = {cols * 2};
  spec.box = {box_cols, box_rows};
  spec.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  return make_tensor_map(spec);
}

}  // namespace lab
