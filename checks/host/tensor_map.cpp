// Every rule of cuTensorMapEncodeTiled, broken one at a time: the message names the parameter, its value and the fix.
#include "host/tensor_map.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>

using lab::TensorMapSpec;

namespace {

alignas(128) char memory[256];

// A good map: 100 x 72 bf16 in boxes of 16 x 64 elements.
TensorMapSpec good_map() {
  TensorMapSpec spec;
  spec.address = memory;
  spec.size = {72, 100};
  spec.stride_bytes = {144};
  spec.box = {64, 16};
  spec.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  return spec;
}

struct Broken {
  const char* name;
  std::function<void(TensorMapSpec&)> change;
  std::vector<const char*> parts;  // what the message must contain
};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

const Broken kBroken[] = {
    {"unknown type",
     [](auto& s) { s.type = static_cast<CUtensorMapDataType>(16); },
     {"type = 16", "0 to 15"}},
    {"packed type",
     [](auto& s) { s.type = static_cast<CUtensorMapDataType>(14); },
     {"16U4_ALIGN16B", "10.0"}},
    {"rank 0", [](auto& s) { s.size.clear(); }, {"size has 0 entries", "1 to 5"}},
    {"rank 6", [](auto& s) { s.size.assign(6, 8); }, {"size has 6 entries", "1 to 5"}},
    {"strides missing",
     [](auto& s) { s.stride_bytes.clear(); },
     {"stride_bytes has 0 entries", "rank 2 has 1"}},
    {"box of another rank", [](auto& s) { s.box = {64}; }, {"box has 1 entries", "rank 2 has 2"}},
    {"element strides of another rank",
     [](auto& s) { s.element_stride = {1}; },
     {"element_stride has 1 entries"}},
    {"interleave of a matrix",
     [](auto& s) { s.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; },
     {"rank = 2", "interleave", "3 to 5"}},
    {"interleave 32B without its swizzle",
     [](auto& s) { s.interleave = CU_TENSOR_MAP_INTERLEAVE_32B; },
     {"swizzle = 3", "SWIZZLE_32B"}},
    {"unknown interleave",
     [](auto& s) { s.interleave = static_cast<CUtensorMapInterleave>(3); },
     {"interleave = 3", "0 to 2"}},
    {"address", [](auto& s) { s.address = memory + 8; }, {"address = 0x", "multiple of 16", "8 bytes past"}},
    {"size 0", [](auto& s) { s.size[1] = 0; }, {"size[1] = 0", "1 to 2^32"}},
    {"size above 2^32", [](auto& s) { s.size[0] = (1ull << 32) + 1; }, {"size[0] = 4294967297", "split"}},
    {"stride not a multiple of 16",
     [](auto& s) { s.stride_bytes[0] = 150; },
     {"stride_bytes[0] = 150", "multiple of 16", "160 bytes"}},
    {"stride of 2^40", [](auto& s) { s.stride_bytes[0] = 1ull << 40; }, {"stride_bytes[0]", "below 2^40"}},
    {"box extent 0", [](auto& s) { s.box[1] = 0; }, {"box[1] = 0", "1 to 256", "use 1"}},
    {"box extent 257", [](auto& s) { s.box[1] = 257; }, {"box[1] = 257", "1 to 256", "several copies"}},
    {"inner box not a multiple of 16 bytes",
     [](auto& s) { s.box[0] = 12; },
     {"box[0] = 12 elements of 2 bytes = 24 bytes", "multiple of 16 bytes", "use 16 elements"}},
    {"inner box wider than the swizzle",
     [](auto& s) { s.box[0] = 128; },
     {"box[0] = 128", "256 bytes", "128-byte swizzle", "use 64 elements"}},
    {"box larger than shared memory",
     [](auto& s) {
       s.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
       s.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
       s.box = {256, 256};
     },
     {"262144 bytes", "232448"}},
    {"element stride 0",
     [](auto& s) {
       s.element_stride = {1, 0};
     },
     {"element_stride[1] = 0", "1 to 8"}},
    {"element stride 9",
     [](auto& s) {
       s.element_stride = {1, 9};
     },
     {"element_stride[1] = 9", "1 to 8"}},
    {"unknown swizzle",
     [](auto& s) { s.swizzle = static_cast<CUtensorMapSwizzle>(7); },
     {"swizzle = 7", "0 to 6"}},
    {"swizzle of larger atoms",
     [](auto& s) { s.swizzle = static_cast<CUtensorMapSwizzle>(4); },
     {"swizzle = 4", "compute capability 10.0"}},
    {"unknown L2 promotion",
     [](auto& s) { s.l2_promotion = static_cast<CUtensorMapL2promotion>(4); },
     {"l2_promotion = 4", "0 to 3"}},
    {"unknown fill", [](auto& s) { s.oob_fill = static_cast<CUtensorMapFloatOOBfill>(2); }, {"oob_fill = 2"}},
    {"NaN fill of integers",
     [](auto& s) {
       s.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
       s.oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
     },
     {"oob_fill", "UINT16", "floating-point"}},
};

}  // namespace

TEST_CASE("a good tensor map has no problem") {
  CHECK(lab::tensor_map_problems(good_map()).empty());
  TensorMapSpec line;
  line.address = memory;
  line.size = {1000};
  line.box = {256};
  CHECK(lab::tensor_map_problems(line).empty());
  TensorMapSpec limits = good_map();
  limits.size = {72, 1ull << 32};
  limits.box = {64, 256};
  limits.element_stride = {1, 8};
  limits.stride_bytes = {(1ull << 40) - 16};
  CHECK(lab::tensor_map_problems(limits).empty());
}

TEST_CASE("each broken rule is named with its value and a fix, and nothing else is") {
  for (const Broken& broken : kBroken) {
    CAPTURE(broken.name);
    TensorMapSpec spec = good_map();
    broken.change(spec);
    const std::vector<std::string> problems = lab::tensor_map_problems(spec);
    REQUIRE(!problems.empty());
    bool named = false;
    for (const std::string& problem : problems) {
      bool all = true;
      for (const char* part : broken.parts) all = all && contains(problem, part);
      named = named || all;
      CHECK(contains(problem, "; "));  // the fix
    }
    CAPTURE(problems[0]);
    CHECK(named);
  }
}

TEST_CASE("all problems are reported, not only the first") {
  TensorMapSpec spec = good_map();
  spec.address = memory + 1;
  spec.stride_bytes = {17};
  spec.box = {65, 0};
  spec.element_stride = {0, 9};
  CHECK(lab::tensor_map_problems(spec).size() == 7);
}

TEST_CASE("make_tensor_map refuses a broken specification before it asks the driver") {
  TensorMapSpec spec = good_map();
  spec.box[0] = 128;
  CHECK_THROWS_WITH_AS(lab::make_tensor_map(spec), doctest::Contains("tensor-map-invalid"),
                       std::invalid_argument);
}
