#include "rules/tensor_map.hpp"

#include <algorithm>
#include <cstdio>

#include "rules/limits.hpp"

namespace rules {
namespace {

using Map = TensorMapArguments;

constexpr const char* kDriver = nullptr;  // the page of the call itself
constexpr char kTiledCall[] = "CUDA Driver API, cuTensorMapEncodeTiled";
constexpr char kIm2colCall[] = "CUDA Driver API, cuTensorMapEncodeIm2col";
constexpr char kGuide[] = "CUDA Programming Guide, technical specifications of compute capability 9.0";
constexpr char kPtx[] = "PTX ISA 5.5, Tensors";

// CU_TENSOR_MAP_INTERLEAVE_32B, CU_TENSOR_MAP_SWIZZLE_32B
constexpr int kInterleave32 = 2, kSwizzle32 = 1;
constexpr int kLastInterleave = 2, kLastSwizzle = 6, kLastHopperSwizzle = 3, kLastPromotion = 3,
              kLastFill = 1;
constexpr int kFirstPackedType = 13;
// All the shared memory of a multiprocessor, of which a CTA can have 1 KiB less (recorded to within 4 KiB).
constexpr uint64_t kMaxBoxBytes = kSharedPerMultiprocessor;

std::string str(uint64_t value) {
  return std::to_string(value);
}
std::string named(const char* parameter, int64_t value) {
  return std::string(parameter) + " = " + std::to_string(value);
}
template <class T>
std::string named(const char* parameter, unsigned i, T value) {
  return std::string(parameter) + "[" + str(i) + "] = " + std::to_string(value);
}
std::string named_type(const Map& m) {
  return std::string("tensorDataType = ") + tensor_map_type(m.type).name;
}
std::string named_address(const Map& m) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(m.address));
  return std::string("globalAddress = ") + text;
}
const char* inner_name(const Map& m) {
  return m.im2col ? "channelsPerPixel" : "boxDim[0]";
}
uint64_t inner_elements(const Map& m) {
  return m.im2col ? m.channels_per_pixel : m.box[0];
}
std::string named_inner_box(const Map& m) {
  const uint64_t bytes = tensor_map_type(m.type).bytes;
  return std::string(inner_name(m)) + " = " + str(inner_elements(m)) + " elements of " + str(bytes) +
         " bytes = " + str(inner_elements(m) * bytes) + " bytes";
}

uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}
bool within(int value, int last) {
  return value >= 0 && value <= last;
}
uint64_t alignment(const Map& m) {
  return m.interleave == kInterleave32 ? 32 : kTensorAlignment;
}
uint64_t inner_bytes(const Map& m) {
  return inner_elements(m) * tensor_map_type(m.type).bytes;
}
// What of the box is copied: without interleave, dimension 0 has no traversal stride.
uint64_t rows(const Map& m) {
  if (m.im2col) return m.pixels_per_column;
  uint64_t count = 1;
  for (unsigned i = 1; i < m.rank; ++i)
    count *= (uint64_t{m.box[i]} + m.element_stride[i] - 1) / std::max(1u, m.element_stride[i]);
  return count;
}
uint64_t box_bytes(const Map& m) {
  return rows(m) * inner_bytes(m);
}
// With a swizzle every row takes a whole span (recorded: inner_box).
uint64_t shared_bytes(const Map& m) {
  return rows(m) * std::max<uint64_t>(inner_bytes(m), tensor_map_swizzle_span(m.swizzle));
}

// The dimension of corner i: W is the first of an interleaved tensor.
unsigned pixel_dimension(const Map& m, unsigned i) {
  return m.interleave ? i : i + 1;
}
// Of a box of pixels: its extent along the dimension of corner i. The driver counts to its end in 32 bits (recorded:
// im2col_map_rules).
int64_t pixel_extent(const Map& m, unsigned i) {
  const unsigned dimension = pixel_dimension(m, i);
  const uint32_t end = static_cast<uint32_t>(m.size[dimension]) + static_cast<uint32_t>(m.upper_corner[i]);
  return int64_t{static_cast<int32_t>(end)} - m.lower_corner[i];
}
bool is_corner(const Map& m, int value) {
  return value >= -corner_limit(m.rank) && value < corner_limit(m.rank);
}
std::string corner_rule(const Map& m) {
  return "with " + str(m.rank) + " dimensions a corner is " + std::to_string(-corner_limit(m.rank)) + " to " +
         std::to_string(corner_limit(m.rank) - 1);
}

// The first dimension (1 .. 4) that moves by less than the dimensions inside it cover, so that elements share addresses;
// 0 when there is none. A step of 0 repeats a slice on purpose.
struct Overlap {
  unsigned dimension = 0;
  uint64_t covered = 0;
};
Overlap overlap(const Map& m) {
  std::vector<unsigned> outer;  // by step: the dimensions need not be in the order of memory
  for (unsigned i = 1; i < m.rank; ++i)
    if (m.size[i] > 1 && m.stride_bytes[i - 1] > 0) outer.push_back(i);
  std::stable_sort(outer.begin(), outer.end(),
                   [&](unsigned a, unsigned b) { return m.stride_bytes[a - 1] < m.stride_bytes[b - 1]; });
  uint64_t covered = tensor_map_type(m.type).bytes * m.size[0];
  for (unsigned i : outer) {
    if (m.stride_bytes[i - 1] < covered) return {i, covered};
    covered = m.stride_bytes[i - 1] * m.size[i];
  }
  return {};
}

// One rule. `words` is asked for what, rule and fix where `holds` does not. Per dimension, stride or corner, i is its index.
struct Words {
  std::string what, rule, fix;
};
enum class Per { map, dimension, stride, corner };
struct Rule {
  Per per;
  const char* manual;
  bool (*holds)(const Map& m, unsigned i);
  Words (*words)(const Map& m, unsigned i);
};

// Nothing else can be judged while one of these is broken.
const Rule kShape[] = {
    {Per::map, kDriver, [](const Map& m, unsigned) { return within(m.type, kTensorMapTypes - 1); },
     [](const Map& m, unsigned) -> Words {
       return {named("tensorDataType", m.type), "not a value of CUtensorMapDataType (0 to 15)",
               "use one of its names"};
     }},
    {Per::map, kPtx,
     [](const Map& m, unsigned) { return m.type < kFirstPackedType || m.type >= kTensorMapTypes; },
     [](const Map& m, unsigned) -> Words {
       return {named_type(m), "the packed 4- and 6-bit types need compute capability 10.0, Hopper has 9.0",
               "unpack the elements to whole bytes"};
     }},
    {Per::map, kDriver, [](const Map& m, unsigned) { return m.im2col || (m.rank >= 1 && m.rank <= 5); },
     [](const Map& m, unsigned) -> Words {
       return {named("tensorRank", m.rank), "a tensor has 1 to 5 dimensions",
               "fold dimensions that follow each other"};
     }},
    {Per::map, kDriver, [](const Map& m, unsigned) { return !m.im2col || (m.rank >= 3 && m.rank <= 5); },
     [](const Map& m, unsigned) -> Words {
       return {named("tensorRank", m.rank),
               "images have 3 to 5 dimensions: C, W, N; C, W, H, N; or C, W, H, D, N",
               "give a dimension that is not there the size 1"};
     }},
};

const Rule kRefused[] = {
    {Per::map, kDriver, [](const Map& m, unsigned) { return within(m.interleave, kLastInterleave); },
     [](const Map& m, unsigned) -> Words {
       return {named("interleave", m.interleave), "not a value of CUtensorMapInterleave (0 to 2)",
               "use CU_TENSOR_MAP_INTERLEAVE_NONE for a plain tensor"};
     }},
    {Per::map, kDriver,
     [](const Map& m, unsigned) {
       return m.interleave == 0 || !within(m.interleave, kLastInterleave) || m.rank >= 3;
     },
     [](const Map& m, unsigned) -> Words {
       return {named("tensorRank", m.rank), "with interleave a tensor has 3 to 5 dimensions",
               "use CU_TENSOR_MAP_INTERLEAVE_NONE"};
     }},
    {Per::map, kDriver, [](const Map& m, unsigned) { return within(m.swizzle, kLastSwizzle); },
     [](const Map& m, unsigned) -> Words {
       return {named("swizzle", m.swizzle), "not a value of CUtensorMapSwizzle (0 to 6)",
               "use CU_TENSOR_MAP_SWIZZLE_NONE, _32B, _64B or _128B"};
     }},
    {Per::map, kPtx,
     [](const Map& m, unsigned) { return m.swizzle <= kLastHopperSwizzle || m.swizzle > kLastSwizzle; },
     [](const Map& m, unsigned) -> Words {
       return {
           named("swizzle", m.swizzle),
           "the 128-byte patterns with 32- and 64-byte atoms need compute capability 10.0, Hopper has 9.0",
           "use CU_TENSOR_MAP_SWIZZLE_NONE, _32B, _64B or _128B"};
     }},
    {Per::map, kDriver, [](const Map& m, unsigned) { return within(m.l2_promotion, kLastPromotion); },
     [](const Map& m, unsigned) -> Words {
       return {named("l2Promotion", m.l2_promotion), "not a value of CUtensorMapL2promotion (0 to 3)",
               "use CU_TENSOR_MAP_L2_PROMOTION_L2_128B"};
     }},
    {Per::map, kDriver, [](const Map& m, unsigned) { return within(m.oob_fill, kLastFill); },
     [](const Map& m, unsigned) -> Words {
       return {named("oobFill", m.oob_fill), "not a value of CUtensorMapFloatOOBfill (0 or 1)",
               "use CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE for zeros"};
     }},
    {Per::map, kDriver,
     [](const Map& m, unsigned) { return m.oob_fill != 1 || tensor_map_type(m.type).floating; },
     [](const Map& m, unsigned) -> Words {
       return {named("oobFill", m.oob_fill) + " with " + named_type(m),
               "NaN fill needs a floating-point type", "use CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE"};
     }},
    {Per::map, kDriver, [](const Map& m, unsigned) { return m.address % alignment(m) == 0; },
     [](const Map& m, unsigned) -> Words {
       return {named_address(m),
               "the address is a multiple of " + str(alignment(m)) + " bytes" +
                   (m.interleave == kInterleave32 ? " with INTERLEAVE_32B" : "") + ", this one lies " +
                   str(m.address % alignment(m)) + " bytes past one",
               "start at an allocation of cudaMalloc, and select a part of it by coordinates"};
     }},
    {Per::dimension, kDriver,
     [](const Map& m, unsigned i) { return m.size[i] >= 1 && m.size[i] <= kMaxTensorSize; },
     [](const Map& m, unsigned i) -> Words {
       return {named("globalDim", i, m.size[i]), "a tensor has 1 to 2^32 elements along a dimension",
               m.size[i] == 0 ? "skip the copy where there is nothing to copy" : "split the tensor"};
     }},
    {Per::stride, kDriver, [](const Map& m, unsigned i) { return m.stride_bytes[i] % alignment(m) == 0; },
     [](const Map& m, unsigned i) -> Words {
       return {named("globalStrides", i, m.stride_bytes[i]) + " bytes",
               "a stride is a multiple of " + str(alignment(m)) + " bytes",
               m.stride_bytes[i] < m.size[0] * tensor_map_type(m.type).bytes
                   ? "strides count bytes: a row of " + str(m.size[0]) + " elements has " +
                         str(m.size[0] * tensor_map_type(m.type).bytes)
                   : "pad the rows of the tensor to " + str(round_up(m.stride_bytes[i], alignment(m))) +
                         " bytes"};
     }},
    {Per::stride, kDriver, [](const Map& m, unsigned i) { return m.stride_bytes[i] < kMaxTensorStride; },
     [](const Map& m, unsigned i) -> Words {
       return {named("globalStrides", i, m.stride_bytes[i]) + " bytes", "a stride is below 2^40 bytes",
               "see whether it is in bytes, and whether it overflowed"};
     }},
    {Per::corner, kDriver, [](const Map& m, unsigned i) { return is_corner(m, m.lower_corner[i]); },
     [](const Map& m, unsigned i) -> Words {
       return {named("pixelBoxLowerCorner", i, m.lower_corner[i]), corner_rule(m),
               "see whether it is the padding with a minus sign"};
     }},
    {Per::corner, kDriver, [](const Map& m, unsigned i) { return is_corner(m, m.upper_corner[i]); },
     [](const Map& m, unsigned i) -> Words {
       return {named("pixelBoxUpperCorner", i, m.upper_corner[i]), corner_rule(m),
               "see whether it counts from the last pixel: the padding, less the filter's size and one"};
     }},
    {Per::corner, kDriver, [](const Map& m, unsigned i) { return pixel_extent(m, i) >= 1; },
     [](const Map& m, unsigned i) -> Words {
       return {
           "a box of " + std::to_string(pixel_extent(m, i)) + " pixels along dimension " +
               str(pixel_dimension(m, i)),
           "from pixelBoxLowerCorner to globalDim + pixelBoxUpperCorner - 1 there is at least one pixel, and the last is below 2^31",
           "see whether the filter is larger than the padded image, or the image larger than 2^31"};
     }},
    {Per::map, kDriver,
     [](const Map& m, unsigned) {
       return !m.im2col || (m.channels_per_pixel >= 1 && m.channels_per_pixel <= kMaxChannelsPerPixel);
     },
     [](const Map& m, unsigned) -> Words {
       return {named("channelsPerPixel", m.channels_per_pixel), "a copy takes 1 to 256 channels of a pixel",
               "use fewer channels and more copies"};
     }},
    {Per::map, kDriver,
     [](const Map& m, unsigned) {
       return !m.im2col || (m.pixels_per_column >= 1 && m.pixels_per_column <= kMaxPixelsPerColumn);
     },
     [](const Map& m, unsigned) -> Words {
       return {named("pixelsPerColumn", m.pixels_per_column), "a copy takes 1 to 1024 pixels",
               "use fewer pixels and more copies"};
     }},
    {Per::dimension, kDriver,
     [](const Map& m, unsigned i) { return m.im2col || (m.box[i] >= 1 && m.box[i] <= kMaxBoxDim); },
     [](const Map& m, unsigned i) -> Words {
       return {named("boxDim", i, m.box[i]), "a box has 1 to 256 elements along a dimension",
               m.box[i] == 0 ? "use 1 for a dimension that the box does not span"
                             : "use a smaller box and more copies"};
     }},
    {Per::map, kDriver, [](const Map& m, unsigned) { return inner_bytes(m) % 16 == 0; },
     [](const Map& m, unsigned) -> Words {
       return {named_inner_box(m), "the inner dimension of a box is a multiple of 16 bytes",
               std::string("make ") + inner_name(m) + " " +
                   str(round_up(inner_bytes(m), 16) / tensor_map_type(m.type).bytes)};
     }},
    {Per::map, kDriver,
     [](const Map& m, unsigned) {
       const uint32_t span = tensor_map_swizzle_span(m.swizzle);
       return m.interleave != 0 || span == 0 || inner_bytes(m) <= span;
     },
     [](const Map& m, unsigned) -> Words {
       const uint32_t span = tensor_map_swizzle_span(m.swizzle);
       return {named_inner_box(m),
               "with the " + str(span) + "-byte swizzle the inner dimension of a box is at most " +
                   str(span) + " bytes",
               std::string("make ") + inner_name(m) + " at most " +
                   str(span / tensor_map_type(m.type).bytes) + ", and use more copies"};
     }},
    {Per::dimension, kDriver,
     [](const Map& m, unsigned i) {
       return m.element_stride[i] >= 1 && m.element_stride[i] <= kMaxElementStride;
     },
     [](const Map& m, unsigned i) -> Words {
       return {named("elementStrides", i, m.element_stride[i]), "an element stride is 1 to 8",
               "use 1 to take every element"};
     }},
    {Per::map, kGuide, [](const Map& m, unsigned) { return box_bytes(m) <= kMaxBoxBytes; },
     [](const Map& m, unsigned) -> Words {
       return {"a box of " + str(box_bytes(m)) + " bytes",
               "it must fit into the " + str(kMaxBoxBytes) + " bytes of shared memory of a multiprocessor",
               "use a smaller box and more copies"};
     }},
};

const Rule kAdvice[] = {
    {Per::map, kDriver,
     [](const Map& m, unsigned) { return m.interleave != kInterleave32 || m.swizzle == kSwizzle32; },
     [](const Map& m, unsigned) -> Words {
       return {named("swizzle", m.swizzle) + " with INTERLEAVE_32B",
               "the manual asks for CU_TENSOR_MAP_SWIZZLE_32B there", "use CU_TENSOR_MAP_SWIZZLE_32B"};
     }},
    {Per::map, kDriver, [](const Map& m, unsigned) { return m.interleave != 0 || m.element_stride[0] == 1; },
     [](const Map& m, unsigned) -> Words {
       return {named("elementStrides", 0, m.element_stride[0]),
               "the copy engine takes every element of dimension 0 and ignores this stride",
               "make it 1, or give the dimension you want to step through a place further out"};
     }},
    {Per::map, kDriver, [](const Map& m, unsigned) { return overlap(m).dimension == 0; },
     [](const Map& m, unsigned) -> Words {
       const Overlap o = overlap(m);
       const unsigned i = o.dimension - 1;
       return {named("globalStrides", i, m.stride_bytes[i]) + " bytes",
               "one step covers " + str(o.covered) + " bytes of the tensor, so its elements overlap",
               "give strides in bytes, not in elements: without padding this one is " + str(o.covered)};
     }},
    {Per::map, kGuide,
     [](const Map& m, unsigned) {
       return shared_bytes(m) <= static_cast<uint64_t>(kSharedPerBlockOptin) || box_bytes(m) > kMaxBoxBytes;
     },
     [](const Map& m, unsigned) -> Words {
       return {"a box that takes " + str(shared_bytes(m)) + " bytes of shared memory",
               "a CTA has at most " + str(kSharedPerBlockOptin) + ", so nothing can copy it",
               "use a smaller box and more copies"};
     }},
};

unsigned count(Per per, const Map& m) {
  switch (per) {
    case Per::dimension:
      return m.rank;
    case Per::stride:
      return m.rank - 1;
    case Per::corner:
      return m.im2col ? m.rank - 2 : 0;
    default:
      return 1;
  }
}

template <size_t N>
void judge(const Rule (&rules)[N], const Map& m, bool refused, std::vector<Broken>& out) {
  for (const Rule& rule : rules) {
    const unsigned end = count(rule.per, m);
    for (unsigned i = 0; i < end; ++i) {
      if (rule.holds(m, i)) continue;
      const Words words = rule.words(m, i);
      const char* manual = rule.manual ? rule.manual : m.im2col ? kIm2colCall : kTiledCall;
      out.push_back({words.what, words.rule, words.fix, manual, refused});
    }
  }
}

}  // namespace

const TensorMapType& tensor_map_type(int type) {
  static const TensorMapType kTypes[kTensorMapTypes] = {
      {"UINT8", 1, false},        {"UINT16", 2, false},       {"UINT32", 4, false},
      {"INT32", 4, false},        {"UINT64", 8, false},       {"INT64", 8, false},
      {"FLOAT16", 2, true},       {"FLOAT32", 4, true},       {"FLOAT64", 8, true},
      {"BFLOAT16", 2, true},      {"FLOAT32_FTZ", 4, true},   {"TFLOAT32", 4, true},
      {"TFLOAT32_FTZ", 4, true},  {"16U4_ALIGN8B", 0, false}, {"16U4_ALIGN16B", 0, false},
      {"16U6_ALIGN16B", 0, false}};
  return kTypes[type];
}

uint32_t tensor_map_swizzle_span(int swizzle) {
  return swizzle >= 1 && swizzle <= kLastHopperSwizzle ? 16u << swizzle : 0;
}

std::vector<Broken> broken_rules(const TensorMapArguments& arguments) {
  std::vector<Broken> out;
  judge(kShape, arguments, true, out);
  if (!out.empty()) return out;
  judge(kRefused, arguments, true, out);
  if (out.empty()) judge(kAdvice, arguments, false, out);
  return out;
}

}  // namespace rules
