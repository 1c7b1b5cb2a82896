#include "host/tensor_map.hpp"

#include <cuda_runtime_api.h>

#include <stdexcept>

#include "host/cuda_check.hpp"

namespace lab {
namespace {

constexpr uint64_t kMaxSize = uint64_t{1} << 32;
constexpr uint64_t kMaxStride = uint64_t{1} << 40;
constexpr uint64_t kSharedBytes = 227 * 1024;  // what a CTA may have on compute capability 9.0

struct TypeFacts {
  const char* name;
  uint32_t bits;
  bool floating;
};

// Indexed by CUtensorMapDataType. The last three are packed types of less than a byte.
constexpr TypeFacts kTypes[] = {
    {"UINT8", 8, false},        {"UINT16", 16, false},      {"UINT32", 32, false},
    {"INT32", 32, false},       {"UINT64", 64, false},      {"INT64", 64, false},
    {"FLOAT16", 16, true},      {"FLOAT32", 32, true},      {"FLOAT64", 64, true},
    {"BFLOAT16", 16, true},     {"FLOAT32_FTZ", 32, true},  {"TFLOAT32", 32, true},
    {"TFLOAT32_FTZ", 32, true}, {"16U4_ALIGN8B", 4, false}, {"16U4_ALIGN16B", 4, false},
    {"16U6_ALIGN16B", 6, false}};
constexpr int kTypeCount = sizeof kTypes / sizeof kTypes[0];
constexpr int k16U4Align8 = 13;  // the first of the packed types, which Hopper does not have

std::string str(uint64_t value) {
  return std::to_string(value);
}
std::string at(const char* name, size_t i) {
  return std::string(name) + "[" + str(i) + "]";
}
uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

// Collects the problems of one specification. Each method holds the rules of one parameter.
class Inspector {
 public:
  explicit Inspector(const TensorMapSpec& spec) : spec_(spec) {}

  std::vector<std::string> problems() {
    if (!enumerations() || !lengths()) return problems_;  // nothing further can be judged
    address();
    sizes();
    strides();
    box();
    element_strides();
    return problems_;
  }

 private:
  void problem(const std::string& what, const std::string& rule, const std::string& fix) {
    problems_.push_back(what + ": " + rule + "; " + fix);
  }

  bool enumerations() {
    const int type = spec_.type, swizzle = spec_.swizzle, interleave = spec_.interleave;
    if (type < 0 || type >= kTypeCount) {
      problem("type = " + std::to_string(type), "not a value of CUtensorMapDataType (0 to 15)",
              "use one of its names");
    } else if (type >= k16U4Align8) {
      problem(std::string("type = ") + kTypes[type].name,
              "packed types need compute capability 10.0, Hopper has 9.0", "unpack the elements to UINT8");
    }
    if (interleave < 0 || interleave > CU_TENSOR_MAP_INTERLEAVE_32B) {
      problem("interleave = " + std::to_string(interleave), "not a value of CUtensorMapInterleave (0 to 2)",
              "use INTERLEAVE_NONE for a plain tensor");
    }
    if (swizzle < 0 || swizzle > 6) {
      problem("swizzle = " + std::to_string(swizzle), "not a value of CUtensorMapSwizzle (0 to 6)",
              "use SWIZZLE_NONE, _32B, _64B or _128B");
    } else if (swizzle > CU_TENSOR_MAP_SWIZZLE_128B) {
      problem("swizzle = " + std::to_string(swizzle), "swizzles of larger atoms need compute capability 10.0",
              "use SWIZZLE_NONE, _32B, _64B or _128B on Hopper");
    }
    if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B && swizzle != CU_TENSOR_MAP_SWIZZLE_32B) {
      problem("swizzle = " + std::to_string(swizzle), "interleave 32B demands SWIZZLE_32B",
              "use SWIZZLE_32B");
    }
    if (spec_.l2_promotion < 0 || spec_.l2_promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {
      problem("l2_promotion = " + std::to_string(static_cast<int>(spec_.l2_promotion)),
              "not a value of CUtensorMapL2promotion (0 to 3)", "use L2_PROMOTION_L2_128B");
    }
    if (spec_.oob_fill < 0 || spec_.oob_fill > 1) {
      problem("oob_fill = " + std::to_string(static_cast<int>(spec_.oob_fill)),
              "not a value of CUtensorMapFloatOOBfill (0 or 1)", "use FLOAT_OOB_FILL_NONE for zeros");
    } else if (spec_.oob_fill == 1 && type >= 0 && type < kTypeCount && !kTypes[type].floating) {
      problem(std::string("oob_fill = NAN_REQUEST_ZERO_FMA with type ") + kTypes[type].name,
              "NaN fill exists only for floating-point types", "use FLOAT_OOB_FILL_NONE");
    }
    return type >= 0 && type < k16U4Align8;
  }

  bool lengths() {
    const size_t rank = spec_.size.size();
    const size_t before = problems_.size();
    if (rank < 1 || rank > 5) {
      problem("size has " + str(rank) + " entries", "the rank is 1 to 5", "give one size for each dimension");
      return false;
    }
    if (spec_.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && rank < 3) {
      problem("rank = " + str(rank), "with interleave the rank is 3 to 5", "use INTERLEAVE_NONE");
    }
    if (spec_.stride_bytes.size() != rank - 1) {
      problem("stride_bytes has " + str(spec_.stride_bytes.size()) + " entries",
              "a tensor of rank " + str(rank) + " has " + str(rank - 1) +
                  " (the innermost step is the element size)",
              "give the step of every dimension but the innermost");
    }
    if (spec_.box.size() != rank) {
      problem("box has " + str(spec_.box.size()) + " entries",
              "a tensor of rank " + str(rank) + " has " + str(rank), "give one extent for each dimension");
    }
    if (!spec_.element_stride.empty() && spec_.element_stride.size() != rank) {
      problem("element_stride has " + str(spec_.element_stride.size()) + " entries",
              "a tensor of rank " + str(rank) + " has " + str(rank), "leave it empty for 1 everywhere");
    }
    return problems_.size() == before || (spec_.stride_bytes.size() == rank - 1 && spec_.box.size() == rank);
  }

  void address() {
    const uint64_t step = interleave_32() ? 32 : 16;
    const uint64_t value = reinterpret_cast<uintptr_t>(spec_.address);
    if (value % step == 0) return;
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    problem(
        std::string("address = ") + text,
        "it is a multiple of " + str(step) + " bytes; this one is " + str(value % step) + " bytes past one",
        "start at an allocation of cudaMalloc, and select the part by coordinates");
  }

  void sizes() {
    for (size_t i = 0; i < spec_.size.size(); ++i) {
      if (spec_.size[i] >= 1 && spec_.size[i] <= kMaxSize) continue;
      problem(at("size", i) + " = " + str(spec_.size[i]), "a size is 1 to 2^32 elements",
              spec_.size[i] == 0 ? "skip the copy when there is nothing to copy" : "split the tensor");
    }
  }

  void strides() {
    const uint64_t step = interleave_32() ? 32 : 16;
    for (size_t i = 0; i < spec_.stride_bytes.size(); ++i) {
      const uint64_t value = spec_.stride_bytes[i];
      if (value % step != 0) {
        problem(at("stride_bytes", i) + " = " + str(value),
                "a stride is a multiple of " + str(step) + " bytes",
                "pad the rows of the tensor to " + str(round_up(value, step)) + " bytes");
      }
      if (value >= kMaxStride) {
        problem(at("stride_bytes", i) + " = " + str(value), "a stride is below 2^40 bytes",
                "check that it is in bytes and did not overflow");
      }
    }
  }

  void box() {
    bool countable = true;
    uint64_t box_bytes = element_bytes();
    for (size_t i = 0; i < spec_.box.size(); ++i) {
      if (spec_.box[i] < 1 || spec_.box[i] > 256) {
        problem(
            at("box", i) + " = " + str(spec_.box[i]), "a box extent is 1 to 256 elements",
            spec_.box[i] == 0 ? "use 1 for a dimension that the box does not span" : "use several copies");
        countable = false;
      }
      if (countable) box_bytes *= spec_.box[i];
    }
    if (countable && box_bytes > kSharedBytes) {
      problem("the box has " + str(box_bytes) + " bytes",
              "it must fit a CTA's shared memory of " + str(kSharedBytes), "make an extent smaller");
    }
    if (spec_.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || spec_.box.empty()) return;
    const uint64_t inner = spec_.box[0] * element_bytes();
    const std::string what = at("box", 0) + " = " + str(spec_.box[0]) + " elements of " +
                             str(element_bytes()) + " bytes = " + str(inner) + " bytes";
    if (inner % 16 != 0) {
      problem(what, "the innermost extent is a multiple of 16 bytes",
              "use " + str(round_up(inner, 16) / element_bytes()) + " elements");
    }
    const uint64_t span = swizzle_span();
    if (span != 0 && inner > span) {
      problem(
          what,
          "with the " + str(span) + "-byte swizzle the innermost extent is at most " + str(span) + " bytes",
          "use " + str(span / element_bytes()) + " elements, and more copies");
    }
  }

  void element_strides() {
    for (size_t i = 0; i < spec_.element_stride.size(); ++i) {
      if (spec_.element_stride[i] >= 1 && spec_.element_stride[i] <= 8) continue;
      problem(at("element_stride", i) + " = " + str(spec_.element_stride[i]), "an element stride is 1 to 8",
              "use 1 to take every element");
    }
  }

  bool interleave_32() const { return spec_.interleave == CU_TENSOR_MAP_INTERLEAVE_32B; }
  uint64_t element_bytes() const { return kTypes[spec_.type].bits / 8; }
  uint64_t swizzle_span() const {
    switch (spec_.swizzle) {
      case CU_TENSOR_MAP_SWIZZLE_32B:
        return 32;
      case CU_TENSOR_MAP_SWIZZLE_64B:
        return 64;
      case CU_TENSOR_MAP_SWIZZLE_128B:
        return 128;
      default:
        return 0;
    }
  }

  const TensorMapSpec& spec_;
  std::vector<std::string> problems_;
};

// cuTensorMapEncodeTiled, found through the runtime: no program links the driver's library.
decltype(&cuTensorMapEncodeTiled) driver_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  constexpr unsigned kSince = 12000;
  cuda_check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kSince, cudaEnableDefault,
                                              &found),
             "look up cuTensorMapEncodeTiled in the driver");
#else
  cuda_check(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found),
             "look up cuTensorMapEncodeTiled in the driver");
#endif
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw std::runtime_error(
        "the driver has no cuTensorMapEncodeTiled: it needs a driver for CUDA 12.0 or newer");
  }
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

}  // namespace

std::vector<std::string> tensor_map_problems(const TensorMapSpec& spec) {
  return Inspector(spec).problems();
}

CUtensorMap make_tensor_map(const TensorMapSpec& spec) {
  const std::vector<std::string> problems = tensor_map_problems(spec);
  if (!problems.empty()) {
    std::string text = "tensor-map-invalid: cuTensorMapEncodeTiled would refuse this tensor map";
    for (const std::string& problem : problems) text += "\n  " + problem;
    throw std::invalid_argument(text);
  }
  const uint32_t rank = static_cast<uint32_t>(spec.size.size());
  const std::vector<uint32_t> ones(rank, 1);
  const std::vector<uint64_t> no_strides(1, 0);  // rank 1 has no strides, but the driver wants a pointer
  CUtensorMap map;
  const CUresult status =
      driver_encode()(&map, spec.type, rank, const_cast<void*>(spec.address), spec.size.data(),
                      spec.stride_bytes.empty() ? no_strides.data() : spec.stride_bytes.data(),
                      spec.box.data(), spec.element_stride.empty() ? ones.data() : spec.element_stride.data(),
                      spec.interleave, spec.swizzle, spec.l2_promotion, spec.oob_fill);
  if (status != CUDA_SUCCESS) {
    throw std::runtime_error("cuTensorMapEncodeTiled failed with CUresult " +
                             std::to_string(static_cast<int>(status)) +
                             ", although every documented rule is kept");
  }
  return map;
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
