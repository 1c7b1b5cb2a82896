// Every rule of cuTensorMapEncodeTiled, broken one at a time: the message names the parameter, its value and the fix. And the
// rules against what an H200 answered: host, emulated driver and record agree on every map.
#include "host/tensor_map.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>

#include "emulator/machine/tensor_map.hpp"
#include "host/tensor_map_problems.hpp"
#include "recorded/im2col_map_rules.hpp"
#include "recorded/tensor_map_rules.hpp"

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

// What an H200 answered, by the name of the map.
std::map<std::string, int> recorded_answers(const char* path) {
  std::ifstream file(path);
  REQUIRE(file.is_open());
  std::map<std::string, int> answers;
  for (std::string line; std::getline(file, line);)
    if (const size_t colon = line.rfind(": "); line[0] != '#' && colon != std::string::npos)
      answers[line.substr(0, colon)] = std::stoi(line.substr(colon + 2));
  return answers;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

const Broken kBroken[] = {
    {"unknown type",
     [](auto& s) { s.type = static_cast<CUtensorMapDataType>(16); },
     {"tensorDataType = 16", "0 to 15"}},
    {"packed type",
     [](auto& s) { s.type = static_cast<CUtensorMapDataType>(14); },
     {"16U4_ALIGN16B", "10.0"}},
    {"rank 0", [](auto& s) { s.size.clear(); }, {"size has 0 entries", "1 to 5 dimensions"}},
    {"rank 6", [](auto& s) { s.size.assign(6, 8); }, {"size has 6 entries", "1 to 5 dimensions"}},
    {"strides missing",
     [](auto& s) { s.stride_bytes.clear(); },
     {"stride_bytes has 0 entries", "rank 2 has 1"}},
    {"box of another rank", [](auto& s) { s.box = {64}; }, {"box has 1 entries", "rank 2 has 2"}},
    {"element strides of another rank",
     [](auto& s) { s.element_stride = {1}; },
     {"element_stride has 1 entries"}},
    {"interleave of a matrix",
     [](auto& s) { s.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; },
     {"tensorRank = 2", "interleave", "3 to 5"}},
    {"unknown interleave",
     [](auto& s) { s.interleave = static_cast<CUtensorMapInterleave>(3); },
     {"interleave = 3", "0 to 2"}},
    {"address",
     [](auto& s) { s.address = memory + 8; },
     {"globalAddress = 0x", "multiple of 16", "8 bytes past"}},
    {"size 0", [](auto& s) { s.size[1] = 0; }, {"globalDim[1] = 0", "1 to 2^32"}},
    {"size above 2^32",
     [](auto& s) { s.size[0] = (1ull << 32) + 1; },
     {"globalDim[0] = 4294967297", "split"}},
    {"stride not a multiple of 16",
     [](auto& s) { s.stride_bytes[0] = 150; },
     {"globalStrides[0] = 150", "multiple of 16", "160 bytes"}},
    {"stride of 2^40", [](auto& s) { s.stride_bytes[0] = 1ull << 40; }, {"globalStrides[0]", "below 2^40"}},
    {"box extent 0", [](auto& s) { s.box[1] = 0; }, {"boxDim[1] = 0", "1 to 256", "use 1"}},
    {"box extent 257", [](auto& s) { s.box[1] = 257; }, {"boxDim[1] = 257", "1 to 256", "more copies"}},
    {"inner box not a multiple of 16 bytes",
     [](auto& s) { s.box[0] = 12; },
     {"boxDim[0] = 12 elements of 2 bytes = 24 bytes", "multiple of 16 bytes", "make boxDim[0] 16"}},
    {"inner box wider than the swizzle",
     [](auto& s) { s.box[0] = 128; },
     {"boxDim[0] = 128", "256 bytes", "128-byte swizzle", "at most 64"}},
    {"box larger than shared memory",
     [](auto& s) {
       s.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
       s.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
       s.box = {256, 256};
     },
     {"262144 bytes", "233472"}},
    {"element stride 0",
     [](auto& s) {
       s.element_stride = {1, 0};
     },
     {"elementStrides[1] = 0", "1 to 8"}},
    {"element stride 9",
     [](auto& s) {
       s.element_stride = {1, 9};
     },
     {"elementStrides[1] = 9", "1 to 8"}},
    {"unknown swizzle",
     [](auto& s) { s.swizzle = static_cast<CUtensorMapSwizzle>(7); },
     {"swizzle = 7", "0 to 6"}},
    {"swizzle of larger atoms",
     [](auto& s) { s.swizzle = static_cast<CUtensorMapSwizzle>(4); },
     {"swizzle = 4", "compute capability 10.0"}},
    {"unknown L2 promotion",
     [](auto& s) { s.l2_promotion = static_cast<CUtensorMapL2promotion>(4); },
     {"l2Promotion = 4", "0 to 3"}},
    {"unknown fill", [](auto& s) { s.oob_fill = static_cast<CUtensorMapFloatOOBfill>(2); }, {"oobFill = 2"}},
    {"NaN fill of integers",
     [](auto& s) {
       s.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
       s.oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
     },
     {"oobFill", "UINT16", "floating-point"}},
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

TEST_CASE(
    "what is accepted although it is hardly meant is advice, with its value and a fix; a good map gets none") {
  const Broken advised[] = {
      {"interleave 32B without its swizzle",
       [](auto& s) {
         s = {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, memory, {64, 8, 2}, {128, 1024}, {64, 8, 2}, {}};
         s.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
       },
       {"swizzle = 0 with INTERLEAVE_32B", "SWIZZLE_32B"}},
      {"a box for all the shared memory of a multiprocessor",
       [](auto& s) {
         s.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
         s.type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
         s.size = {72, 100, 4};
         s.stride_bytes = {144, 14400};
         s.box = {64, 228, 16};
       },
       {"takes 233472 bytes", "at most 232448"}},
      {"a box whose rows are padded to the swizzle",
       [](auto& s) {
         s.size = {72, 100, 4};
         s.stride_bytes = {144, 14400};
         s.box = {8, 256, 16};
       },
       {"takes 524288 bytes", "at most 232448"}},
      {"a stride in elements",
       [](auto& s) { s.stride_bytes = {80}; },
       {"globalStrides[0] = 80", "144", "overlap", "bytes, not in elements"}},
      {"slices closer than one is long",
       [](auto& s) {
         s.size = {72, 100, 4};
         s.stride_bytes = {144, 14384};
         s.box = {64, 16, 1};
       },
       {"globalStrides[1] = 14384", "14400", "overlap"}},
      {"a step along the innermost dimension",
       [](auto& s) {
         s.element_stride = {2, 1};
       },
       {"elementStrides[0] = 2", "ignores"}},
  };
  for (const Broken& a : advised) {
    CAPTURE(a.name);
    TensorMapSpec spec = good_map();
    a.change(spec);
    CHECK(lab::tensor_map_problems(spec).empty());
    const std::vector<std::string> advice = lab::tensor_map_advice(spec);
    REQUIRE(advice.size() == 1);
    CAPTURE(advice[0]);
    for (const char* part : a.parts) CHECK(contains(advice[0], part));
  }
  CHECK(lab::tensor_map_advice(good_map()).empty());
  TensorMapSpec slices = good_map();  // dimensions in another order than memory, and one slice for all
  slices.size = {72, 4, 100};
  slices.stride_bytes = {14400, 144};
  slices.box = {64, 1, 16};
  CHECK(lab::tensor_map_advice(slices).empty());
  slices.stride_bytes = {0, 144};
  CHECK(lab::tensor_map_advice(slices).empty());
}

namespace {

TensorMapSpec spec_of(const rules::TensorMapArguments& a) {
  TensorMapSpec spec;
  spec.type = static_cast<CUtensorMapDataType>(a.type);
  spec.address = reinterpret_cast<const void*>(a.address);
  spec.size.assign(a.size, a.size + a.rank);
  spec.stride_bytes.assign(a.stride_bytes, a.stride_bytes + (a.rank ? a.rank - 1 : 0));
  spec.element_stride.assign(a.element_stride, a.element_stride + a.rank);
  spec.interleave = static_cast<CUtensorMapInterleave>(a.interleave);
  spec.swizzle = static_cast<CUtensorMapSwizzle>(a.swizzle);
  spec.l2_promotion = static_cast<CUtensorMapL2promotion>(a.l2_promotion);
  spec.oob_fill = static_cast<CUtensorMapFloatOOBfill>(a.oob_fill);
  if (!a.im2col) {
    spec.box.assign(a.box, a.box + a.rank);
    return spec;
  }
  const uint32_t corners = a.rank < 3 ? 0 : a.rank - 2;
  spec.pixels = {{a.lower_corner, a.lower_corner + corners},
                 {a.upper_corner, a.upper_corner + corners},
                 a.channels_per_pixel,
                 a.pixels_per_column};
  return spec;
}

// At least so many maps are accepted, and so many refused.
void compare(const char* record, const std::vector<recorded::MapRow>& rows, int least) {
  std::map<std::string, int> answers = recorded_answers(record);
  int accepted = 0, refused = 0;
  for (const recorded::MapRow& row : rows) {
    CAPTURE(row.name);
    REQUIRE(answers.count(row.name) == 1);
    const int answer = answers[row.name];
    (answer ? refused : accepted)++;
    bool broken = false;
    for (const rules::Broken& b : rules::broken_rules(row.map)) broken = broken || b.refused;
    CHECK(broken == (answer != 0));
    CHECK(lab::tensor_map_problems(spec_of(row.map)).empty() == (answer == 0));
    alignas(128) std::byte bytes[emu::kTensorMapBytes];
    std::string why;
    CHECK(emu::encode_tensor_map(bytes, row.map, &why) == answer);
    CHECK(why.empty() == (answer == 0));
  }
  CHECK(accepted >= least);
  CHECK(refused >= least);
}

}  // namespace

TEST_CASE("rules, host and emulated driver give an H200's answer to every recorded tensor map") {
  const auto tensor = reinterpret_cast<uintptr_t>(memory);
  compare("checks/recorded/tensor_map_rules.txt", recorded::tensor_map_rows(tensor), 81);
  compare("checks/recorded/im2col_map_rules.txt", recorded::im2col_map_rows(tensor), 151);
}

TEST_CASE("a map in im2col mode has corners instead of a box") {
  TensorMapSpec spec;
  spec.address = memory;
  spec.size = {64, 9, 7, 5};
  spec.stride_bytes = {128, 1152, 8064};
  spec.pixels = {{-1, -1}, {-1, -1}, 64, 16};
  CHECK(lab::tensor_map_problems(spec).empty());
  spec.pixels->channels = 12;
  REQUIRE(lab::tensor_map_problems(spec).size() == 1);
  CHECK(contains(lab::tensor_map_problems(spec)[0], "channelsPerPixel = 12"));
  spec.pixels->lower_corner = {0};
  spec.box = {64, 1, 1, 1};
  const std::vector<std::string> problems = lab::tensor_map_problems(spec);
  REQUIRE(problems.size() == 2);
  CHECK(contains(problems[0], "box has 4 entries"));
  CHECK(contains(problems[1], "lower_corner has 1 entries"));
  CHECK_THROWS_WITH_AS(lab::make_tensor_map(spec), doctest::Contains("cuTensorMapEncodeIm2col"),
                       std::invalid_argument);
}
