#include "emulator/numerics/matrix_operands.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "emulator/numerics/wide.hpp"

namespace emu {
namespace {

// Calls f(row, k, bits) for every element.
template <class T, class F>
void for_each_element(bool mn_major, int rows, const std::vector<uint8_t>& image, F f) {
  constexpr int kDepth = 32 / sizeof(T);
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < kDepth; ++k) {
      const size_t index = mn_major
                               ? static_cast<size_t>(k) * static_cast<size_t>(rows) + static_cast<size_t>(row)
                               : static_cast<size_t>(row) * kDepth + static_cast<size_t>(k);
      T bits;
      std::memcpy(&bits, image.data() + index * sizeof(T), sizeof(T));
      f(row, k, static_cast<uint32_t>(bits));
    }
}

// The same with the type fixed, so that the compiler sees one decoding in the loop.
template <class F>
void for_each_decoded(Type type, bool mn_major, int rows, const std::vector<uint8_t>& image, F f) {
  const auto decoded = [&f](auto tag) {
    return [&f](int row, int k, uint32_t bits) {
      constexpr Type kType = decltype(tag)::value;
      if constexpr (kType == Type::bf16)
        f(row, k, mma_element_of_f32(bits << 16));
      else
        f(row, k, mma_element(kType, bits));
    };
  };
  switch (type) {
    case Type::bf16:
      return for_each_element<uint16_t>(mn_major, rows, image,
                                        decoded(std::integral_constant<Type, Type::bf16>()));
    case Type::f16:
      return for_each_element<uint16_t>(mn_major, rows, image,
                                        decoded(std::integral_constant<Type, Type::f16>()));
    case Type::tf32:
      return for_each_element<uint32_t>(mn_major, rows, image,
                                        decoded(std::integral_constant<Type, Type::tf32>()));
    case Type::e4m3:
      return for_each_element<uint8_t>(mn_major, rows, image,
                                       decoded(std::integral_constant<Type, Type::e4m3>()));
    default:
      return for_each_element<uint8_t>(mn_major, rows, image,
                                       decoded(std::integral_constant<Type, Type::e5m2>()));
  }
}

struct KnownColumns {
  Type type = Type::none;
  bool mn_major = false;
  std::vector<uint8_t> image;
  MmaColumns columns;
};
constexpr size_t kKnown = 16;

}  // namespace

namespace {

// MmaRows::set() for a row of elements that are the upper bits of an f32, without branches, for the compiler to use vectors.
template <int Depth>
inline __attribute__((always_inline)) void set_row(MmaRows& rows, int row, const uint32_t* elements,
                                                   uint32_t sign) {
  int32_t strange = 0, highest = rows.bits.highest, lowest = rows.bits.lowest;
#pragma GCC unroll 1
  for (int k = 0; k < Depth; ++k) {
    const uint32_t f = elements[k] ^ sign;
    const int32_t field = static_cast<int32_t>(f >> 23 & 0xFF), raised = field + (field == 0);
    const int32_t zero = -static_cast<int32_t>((f & 0x7FFFFFFF) == 0);  // all bits, or none
    const int32_t exponent = (zero & kMmaZeroExponent) | (~zero & (raised - 127));
    std::memcpy(&rows.value[row][k], &f, sizeof f);
    rows.exponent[row][k] = static_cast<int16_t>(exponent);
    rows.exponent_twice[row][k] = static_cast<int32_t>((static_cast<uint32_t>(exponent) & 0xFFFF) * 0x10001u);
    // Negative when it is not plain.
    strange |= ~zero & ((field - (127 - kMmaPlainExponent)) | (127 + kMmaPlainExponent - field));
    const int32_t significand = static_cast<int32_t>(f & 0x7FFFFF) | (field != 0) << 23;
    const float lowest_bit = static_cast<float>(significand & -significand);  // its exponent says which
    uint32_t bits;
    std::memcpy(&bits, &lowest_bit, sizeof bits);
    const int32_t low =
        (zero & -kMmaZeroExponent) | (~zero & (raised - 150 - 127 + static_cast<int32_t>(bits >> 23)));
    highest = highest > exponent ? highest : exponent;
    lowest = lowest < low ? lowest : low;
  }
  rows.plain[row] = strange >= 0;
  rows.bits.highest = highest;
  rows.bits.lowest = lowest;
}

EMU_WIDE void unpack_bf16_rows(bool mn_major, uint32_t sign, const uint16_t* image, MmaRows& rows) {
  constexpr int kDepth = 16;
  for (int row = 0; row < kMmaRows; ++row) {
    uint32_t elements[kDepth];
    const uint16_t* from = image + row * (mn_major ? 1 : kDepth);
    for (int k = 0; k < kDepth; ++k) elements[k] = uint32_t{from[k * (mn_major ? kMmaRows : 1)]} << 16;
    set_row<kDepth>(rows, row, elements, sign);
  }
}

}  // namespace

void unpack_rows(Type type, bool mn_major, bool negate, const std::vector<uint8_t>& image, MmaRows& rows) {
  rows.clear();
  if (type == Type::bf16)
    return unpack_bf16_rows(mn_major, negate ? 0x80000000u : 0,
                            reinterpret_cast<const uint16_t*>(image.data()), rows);
  for_each_decoded(type, mn_major, kMmaRows, image, [&](int row, int k, MmaElement e) {
    if (negate) e.value = -e.value;
    rows.set(row, k, e);
  });
}

void unpack_columns(Type type, bool mn_major, int n, const std::vector<uint8_t>& image, MmaColumns& columns) {
  columns.clear(n);
  for_each_decoded(type, mn_major, n, image,
                   [&](int column, int k, MmaElement e) { columns.set(k, column, e); });
}

const MmaColumns& unpacked_columns(Type type, bool mn_major, int n, const std::vector<uint8_t>& image) {
  static thread_local std::unique_ptr<KnownColumns[]> known = std::make_unique<KnownColumns[]>(kKnown);
  static thread_local size_t next = 0;
  for (size_t i = 0; i < kKnown; ++i)
    if (known[i].type == type && known[i].mn_major == mn_major && known[i].image == image)
      return known[i].columns;
  KnownColumns& entry = known[next];
  next = (next + 1) % kKnown;
  entry.type = type;
  entry.mn_major = mn_major;
  entry.image = image;
  unpack_columns(type, mn_major, n, image, entry.columns);
  return entry.columns;
}

namespace {

template <class A, class B>
void multiply_bytes_of(bool saturate, const uint8_t (*a)[32], const uint8_t (*b)[32], int n, MmaIntegers& d) {
  for (int row = 0; row < kMmaRows; ++row)
    for (int column = 0; column < n; ++column) {
      int32_t& element = d[column / kMmaBlock][row][column % kMmaBlock];
      int32_t sum = 0;
      for (int k = 0; k < 32; ++k)
        sum += static_cast<int32_t>(static_cast<A>(a[row][k])) *
               static_cast<int32_t>(static_cast<B>(b[column][k]));
      int64_t total = static_cast<int64_t>(element) + sum;
      if (saturate)
        total = std::clamp<int64_t>(total, std::numeric_limits<int32_t>::min(),
                                    std::numeric_limits<int32_t>::max());
      element = static_cast<int32_t>(static_cast<uint32_t>(total));
    }
}

}  // namespace

void multiply_bytes(Type a_type, Type b_type, bool saturate, const uint8_t (*a)[32], const uint8_t (*b)[32],
                    int n, MmaIntegers& d) {
  if (a_type == Type::s8)
    b_type == Type::s8 ? multiply_bytes_of<int8_t, int8_t>(saturate, a, b, n, d)
                       : multiply_bytes_of<int8_t, uint8_t>(saturate, a, b, n, d);
  else
    b_type == Type::s8 ? multiply_bytes_of<uint8_t, int8_t>(saturate, a, b, n, d)
                       : multiply_bytes_of<uint8_t, uint8_t>(saturate, a, b, n, d);
}

void multiply_bits(const uint8_t (*a)[32], const uint8_t (*b)[32], int n, MmaIntegers& d) {
  for (int row = 0; row < kMmaRows; ++row)
    for (int column = 0; column < n; ++column) {
      int32_t& element = d[column / kMmaBlock][row][column % kMmaBlock];
      uint32_t ones = 0;
      for (int k = 0; k < 32; k += 8) {
        uint64_t x, y;
        std::memcpy(&x, a[row] + k, 8);
        std::memcpy(&y, b[column] + k, 8);
        ones += static_cast<uint32_t>(__builtin_popcountll(x & y));
      }
      element = static_cast<int32_t>(static_cast<uint32_t>(element) + ones);
    }
}

}  // namespace emu
