// Matrices of a whole warp whose fragments are opaque: wmma.load, wmma.mma, wmma.store (PTX ISA 9.7.14.4).
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/isa/access.hpp"
#include "emulator/isa/operands.hpp"
#include "emulator/isa/warp_matrix.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/numerics/matrix_operands.hpp"

namespace emu {
namespace {

// ---- fragments
// Which elements a lane holds is nobody's business but these three instructions'. A and B lie in the lanes row by row, as often
// as they fit; 16 x 16 accumulators lie as mma.sync leaves two of its results, side by side.
struct Fragment {
  int rows, columns;
  int elements;  // of a lane
  Type type;
  int size() const { return static_cast<int>(size_of(type)); }
};
struct Place {
  int row, column;
};

Place place(const Fragment& f, bool accumulator, int lane, int i) {
  if (accumulator && f.rows == 16)
    return {lane / 4 + 8 * (i >> 1 & 1), 2 * (lane % 4) + (i & 1) + 8 * (i >> 2)};
  const int e = (lane * f.elements + i) % (f.rows * f.columns);
  return {e / f.columns, e % f.columns};
}

// In Extra::numbers: the shape, the types of a, b, c and d, and of one that is loaded or stored: which it is.
enum Number { kM, kN, kK, kTypeA, kTypeB, kTypeC, kTypeD, kMatrix, kSaturate, kLeading };
enum Matrix { kA, kB, kC };

// Registers of a lane: f16 operands are held twice, others once (PTX ISA 9.7.14.4.1).
Fragment fragment(const std::vector<int64_t>& x, int matrix, Type type) {
  const int m = static_cast<int>(x[kM]), n = static_cast<int>(x[kN]), k = static_cast<int>(x[kK]);
  Fragment f{matrix == kB ? k : m, matrix == kA ? k : n, 0, type};
  f.elements = f.rows * f.columns / 32;
  if (matrix != kC && type == Type::f16) f.elements = 16;
  return f;
}
size_t registers_of(const Fragment& f) {
  return static_cast<size_t>(f.elements * f.size()) / 4;
}

uint32_t element(Warp& w, const Ref* registers, const Fragment& f, int lane, int i) {
  const int at = i * f.size();
  const uint32_t bits = w.lanes<uint32_t>(registers[at / 4]).slots[lane] >> 8 * (at % 4);
  return f.size() == 4 ? bits : bits & ((1u << 8 * f.size()) - 1);
}
void set_element(Warp& w, const Ref* registers, const Fragment& f, int lane, int i, uint32_t bits) {
  const int at = i * f.size(), shift = 8 * (at % 4);
  uint32_t& slot = w.lanes<uint32_t>(registers[at / 4]).slots[lane];
  const uint32_t mask = (f.size() == 4 ? ~0u : (1u << 8 * f.size()) - 1) << shift;
  slot = (slot & ~mask) | (bits << shift & mask);
}

constexpr uint32_t kColumnMajor = 1u << 8;  // in Inst::flags

// The places of element i of all lanes.
Places places(Warp& w, const Inst& in, const Fragment& f, bool accumulator, int i, AccessKind kind) {
  Places p;
  for (int lane = 0; lane < 32; ++lane) {
    const Place at = place(f, accumulator, lane, i);
    const uint64_t leading =
        in.b == kNoRef ? static_cast<uint64_t>(in.extra->numbers[kLeading]) : w.lanes<uint32_t>(in.b)[lane];
    const bool by_columns = in.flags & kColumnMajor;
    const uint64_t offset = static_cast<uint64_t>(by_columns ? at.column : at.row) * leading +
                            static_cast<uint64_t>(by_columns ? at.row : at.column);
    const At who{w, in, lane};
    p.set(lane, resolve_access(who, in.space, lane_address(who) + offset * static_cast<uint64_t>(f.size()),
                               static_cast<unsigned>(f.size()), kind));
  }
  observe_access(w, in, ~0u, p, static_cast<unsigned>(f.size()), kind, false, false);
  return p;
}

Fragment fragment_in_memory(const Inst& in) {
  const auto& x = in.extra->numbers;
  const int matrix = static_cast<int>(x[kMatrix]);
  return fragment(x, matrix, static_cast<Type>(x[static_cast<size_t>(kTypeA + matrix)]));
}

// wmma.load.a|b|c.sync.aligned.layout.shape{.ss}.type r, [p]{, stride};
Flow load(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  const Fragment f = fragment_in_memory(in);
  for (int i = 0; i < f.elements; ++i) {
    const Places from = places(w, in, f, in.extra->numbers[kMatrix] == kC, i, AccessKind::read);
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t bits = 0;
      std::memcpy(&bits, from.bytes[lane], static_cast<size_t>(f.size()));
      set_element(w, in.extra->refs.data(), f, lane, i, bits);
    }
  }
  return Flow::next;
}

// wmma.store.d.sync.aligned.layout.shape{.ss}.type [p], r{, stride};
Flow store(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  const Fragment f = fragment_in_memory(in);
  for (int i = 0; i < f.elements; ++i) {
    const Places to = places(w, in, f, true, i, AccessKind::write);
    for (int lane = 0; lane < 32; ++lane) {
      const uint32_t bits = element(w, in.extra->refs.data(), f, lane, i);
      std::memcpy(to.bytes[lane], &bits, static_cast<size_t>(f.size()));
    }
  }
  ++w.machine.effects;
  return Flow::next;
}

// ---- the product
template <class F>
void for_each_element(const Fragment& f, bool accumulator, F use) {  // use(lane, i, place)
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < f.elements; ++i) use(lane, i, place(f, accumulator, lane, i));
}

constexpr int kImageRow = 32;  // bytes of a row of an operand image

// tf32 is multiplied in two steps of four columns of K (recorded: wmma_products).
// A step's share of K, at the beginning of the rows; what lies behind it is not read.
std::vector<uint8_t> part(const std::vector<uint8_t>& image, int step, int steps) {
  if (steps == 1) return image;
  std::vector<uint8_t> out(image.size());
  const size_t bytes = static_cast<size_t>(kImageRow / steps);
  for (size_t row = 0; row < image.size(); row += kImageRow)
    std::copy_n(image.begin() + static_cast<std::ptrdiff_t>(row + bytes * static_cast<size_t>(step)), bytes,
                out.begin() + static_cast<std::ptrdiff_t>(row));
  return out;
}

// 16 rows of the result, from `first` on.
void multiply_rows(Warp& w, const Inst& in, int first, const std::vector<uint8_t>& row_image,
                   const std::vector<uint8_t>& column_image) {
  static thread_local MmaRows rows;
  static thread_local MmaColumns columns;
  static thread_local MmaAccumulator sums;
  static thread_local MmaIntegers integers;
  const auto& x = in.extra->numbers;
  const Type type_a = static_cast<Type>(x[kTypeA]), type_b = static_cast<Type>(x[kTypeB]);
  const Fragment c = fragment(x, kC, static_cast<Type>(x[kTypeC])),
                 d = fragment(x, kC, static_cast<Type>(x[kTypeD]));
  const Ref* to = in.extra->refs.data();
  const Ref* from = to + in.extra->refs.size() - registers_of(c);
  const int n = static_cast<int>(x[kN]);
  const bool integer = d.type == Type::s32;
  std::memset(integer ? static_cast<void*>(integers) : sums.value, 0,
              integer ? sizeof integers : sizeof sums.value);
  const auto here = [&](const Place& p) { return p.row >= first && p.row < first + kMmaRows; };
  for_each_element(c, true, [&](int lane, int i, Place p) {
    if (!here(p)) return;
    const uint32_t bits = element(w, from, c, lane, i);
    const int row = p.row - first;
    if (integer)
      integers[p.column / kMmaBlock][row][p.column % kMmaBlock] = static_cast<int32_t>(bits);
    else if (c.type == Type::f16)
      sums.at(row, p.column) = f16_to_f32(static_cast<uint16_t>(bits));
    else
      std::memcpy(&sums.at(row, p.column), &bits, 4);
  });
  if (integer) {
    multiply_bytes(type_a, type_b, x[kSaturate], reinterpret_cast<const uint8_t(*)[32]>(row_image.data()),
                   reinterpret_cast<const uint8_t(*)[32]>(column_image.data()), n, integers);
  } else {
    MmaFormat format = mma_format(type_a, type_b, d.type);
    format.depth = static_cast<int>(x[kK]);
    const int steps = type_a == Type::tf32 ? 2 : 1;
    format.depth /= steps;
    for (int step = 0; step < steps; ++step) {
      unpack_rows(type_a, false, false, part(row_image, step, steps), rows);
      unpack_columns(type_b, false, n, part(column_image, step, steps), columns);
      mma_multiply(format, rows, columns, n, sums);
    }
  }
  for_each_element(d, true, [&](int lane, int i, Place p) {
    if (!here(p)) return;
    const int row = p.row - first;
    uint32_t bits;
    if (integer)
      bits = static_cast<uint32_t>(integers[p.column / kMmaBlock][row][p.column % kMmaBlock]);
    else if (d.type == Type::f16)
      bits = f16_from_double(static_cast<double>(sums.at(row, p.column)));
    else
      std::memcpy(&bits, &sums.at(row, p.column), 4);
    set_element(w, to, d, lane, i, bits);
  });
}

// wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype d, a, b, c;                                of f16
// wmma.mma.sync.aligned.alayout.blayout.shape.f32.bf16.bf16.f32 d, a, b, c;                          and tf32
// wmma.mma.sync.aligned.alayout.blayout.shape.s32.s8|u8.s8|u8.s32{.satfinite} d, a, b, c;
// The layouts are those that the fragments were loaded with: these know it already.
Flow mma(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  const auto& x = in.extra->numbers;
  const Fragment a = fragment(x, kA, static_cast<Type>(x[kTypeA])),
                 b = fragment(x, kB, static_cast<Type>(x[kTypeB])),
                 d = fragment(x, kC, static_cast<Type>(x[kTypeD]));
  const Ref* of_a = in.extra->refs.data() + registers_of(d);
  const Ref* of_b = of_a + registers_of(a);
  std::vector<uint8_t> rows(static_cast<size_t>(std::max(a.rows, kMmaRows) * kImageRow)),
      columns(static_cast<size_t>(b.columns * kImageRow));
  const auto put = [&](const Ref* registers, const Fragment& f, int lane, int i, std::vector<uint8_t>& image,
                       int row, int k) {
    const uint32_t bits = element(w, registers, f, lane, i);
    std::memcpy(&image[static_cast<size_t>(row * kImageRow + k * f.size())], &bits,
                static_cast<size_t>(f.size()));
  };
  for_each_element(a, false, [&](int lane, int i, Place p) { put(of_a, a, lane, i, rows, p.row, p.column); });
  for_each_element(b, false,
                   [&](int lane, int i, Place p) { put(of_b, b, lane, i, columns, p.column, p.row); });
  for (int first = 0; first < a.rows; first += kMmaRows) {
    const auto begin = rows.begin() + first * kImageRow;
    multiply_rows(w, in, first, std::vector<uint8_t>(begin, begin + kMmaRows * kImageRow), columns);
  }
  return Flow::next;
}

// ---- decoding

// "m16n16k16"
void parse_shape(const std::string& text, std::vector<int64_t>& x) {
  x[kM] = std::stoi(text.substr(1));
  x[kN] = std::stoi(text.substr(text.find('n') + 1));
  x[kK] = std::stoi(text.substr(text.find('k') + 1));
}

void add_registers(Decoder& d, Extra& x, size_t operand, const Fragment& f, bool destination) {
  const Type type = f.type == Type::f32 || f.type == Type::s32 ? f.type : Type::b32;
  add_registers(d, x, operand, registers_of(f), destination, type);
}

void decode_access(Decoder& d, const Match& m, Inst& in) {
  const bool is_load = m.has("load");
  if (d.operand_count() != 3) expect_operands(d, 2);
  in.cls = Class::memory;
  in.exec = is_load ? load : store;
  Extra& x = d.extra(in);
  x.numbers.assign(kLeading + 1, 0);
  parse_shape(m.slots[5], x.numbers);
  const int matrix = m.has("a") ? kA : m.has("b") ? kB : kC;
  const Type type = m.type(0);
  x.numbers[kMatrix] = matrix;
  x.numbers[static_cast<size_t>(kTypeA + matrix)] = static_cast<int64_t>(type);
  const Fragment f = fragment(x.numbers, matrix, type);
  in.bytes = static_cast<uint8_t>(f.size());
  add_registers(d, x, is_load ? 0 : 1, f, is_load);
  const std::string space = m.any_of({"shared", "shared::cta", "global"});
  d.address(d.operand(is_load ? 1 : 0),
            space.empty()       ? Space::generic
            : space == "global" ? Space::global
                                : Space::shared,
            in);
  if (m.has("col")) in.flags |= kColumnMajor;
  x.numbers[kLeading] = m.has("col") ? f.rows : f.columns;
  if (d.operand_count() == 3) in.b = d.source(d.operand(2), Type::b32);
}

void decode_mma(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 4);
  in.exec = mma;
  in.cls = Class::math;
  in.action = Action::matrix;
  Extra& x = d.extra(in);
  x.numbers.assign(kLeading + 1, 0);
  parse_shape(m.slots[5], x.numbers);
  const bool halves = m.type(2) == Type::none;  // d and c are named, a and b are f16
  const Type type_d = m.type(0), type_c = halves ? m.type(1) : m.type(3);
  const Type type_a = halves ? Type::f16 : m.type(1), type_b = halves ? Type::f16 : m.type(2);
  x.numbers[kTypeA] = static_cast<int64_t>(type_a);
  x.numbers[kTypeB] = static_cast<int64_t>(type_b);
  x.numbers[kTypeC] = static_cast<int64_t>(type_c);
  x.numbers[kTypeD] = static_cast<int64_t>(type_d);
  x.numbers[kSaturate] = m.has("satfinite");
  add_registers(d, x, 0, fragment(x.numbers, kC, type_d), true);
  add_registers(d, x, 1, fragment(x.numbers, kA, type_a), false);
  add_registers(d, x, 2, fragment(x.numbers, kB, type_b), false);
  add_registers(d, x, 3, fragment(x.numbers, kC, type_c), false);
}

}  // namespace

std::vector<Form> wmma_forms() {
#define LAYOUT "sync.aligned.row|col"
#define SHAPES "m16n16k16|m8n32k16|m32n8k16"
#define SPACE "[global|shared|shared::cta]"
  return {
      {"wmma.load.a|b." LAYOUT "." SHAPES "." SPACE ".f16|bf16|s8|u8", decode_access},
      {"wmma.load.a|b." LAYOUT ".m16n16k8." SPACE ".tf32", decode_access},
      {"wmma.load.c." LAYOUT "." SHAPES "." SPACE ".f16|f32|s32", decode_access},
      {"wmma.load.c." LAYOUT ".m16n16k8." SPACE ".f32", decode_access},
      {"wmma.store.d." LAYOUT "." SHAPES "." SPACE ".f16|f32|s32", decode_access},
      {"wmma.store.d." LAYOUT ".m16n16k8." SPACE ".f32", decode_access},
      {"wmma.mma." LAYOUT ".row|col." SHAPES ".f16|f32.f16|f32", decode_mma},
      {"wmma.mma." LAYOUT ".row|col." SHAPES ".f32.bf16.bf16.f32", decode_mma},
      {"wmma.mma." LAYOUT ".row|col.m16n16k8.f32.tf32.tf32.f32", decode_mma},
      {"wmma.mma." LAYOUT ".row|col." SHAPES ".s32.s8|u8.s8|u8.s32.[satfinite]", decode_mma},
  };
#undef LAYOUT
#undef SHAPES
#undef SPACE
}

}  // namespace emu
