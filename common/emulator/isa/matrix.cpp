// Warp-level matrix instructions: ldmatrix, stmatrix, movmatrix, mma.sync (PTX ISA 9.7.14.5).
#include <cmath>
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

// ---- ldmatrix, stmatrix
// A matrix is 8 rows of 8 16-bit elements. Row r of matrix i is the 16 bytes at the address of lane 8 * i + r.
// Register i of lane l holds elements 2 * (l % 4) and + 1 of row l / 4 of matrix i; .trans exchanges row and column.
constexpr uint32_t kTranspose = 1;  // in Inst::flags
constexpr unsigned kRowBytes = 16;

template <class F>
void for_each_fragment(bool transpose, F f) {  // f(lane, half, row, column)
  for (int lane = 0; lane < 32; ++lane)
    for (int half = 0; half < 2; ++half) {
      const int major = lane / 4, minor = 2 * (lane % 4) + half;
      transpose ? f(lane, half, minor, major) : f(lane, half, major, minor);
    }
}

uint32_t row_lanes(const Inst& in) {
  return in.count == 4 ? ~0u : (1u << 8 * in.count) - 1;
}

void resolve_rows(Warp& w, const Inst& in, AccessKind kind, Places& rows) {
  for_lanes(row_lanes(in), [&](int lane) {
    rows.set(lane, resolve_access({w, in, lane}, in.space, lane_address({w, in, lane}), kRowBytes, kind));
    if (rows.space[lane] != Space::shared)
      w.fault(in, lane, Id::not_shared_memory, "a matrix row's address is not in shared memory", "",
              "ldmatrix and stmatrix only reach shared memory");
  });
}

// ldmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16 r, [p];
Flow ldmatrix(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  Places rows;
  resolve_rows(w, in, AccessKind::read, rows);
  observe_access(w, in, row_lanes(in), rows, kRowBytes, AccessKind::read, false, false);
  uint16_t elements[4][8][8];
  for_lanes(row_lanes(in),
            [&](int lane) { std::memcpy(elements[lane / 8][lane % 8], rows.bytes[lane], kRowBytes); });
  for (int i = 0; i < in.count; ++i) {
    auto slots = w.lanes<uint32_t>(in.extra->refs[static_cast<size_t>(i)]).slots;
    for_each_fragment(in.flags & kTranspose, [&](int lane, int half, int row, int column) {
      const uint32_t bits = elements[i][row][column];
      slots[lane] = half ? slots[lane] | bits << 16 : bits;
    });
  }
  return Flow::next;
}

// stmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16 [p], r;
Flow stmatrix(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  Places rows;
  resolve_rows(w, in, AccessKind::write, rows);
  observe_access(w, in, row_lanes(in), rows, kRowBytes, AccessKind::write, false, false);
  uint16_t elements[4][8][8];
  for (int i = 0; i < in.count; ++i) {
    auto slots = w.lanes<uint32_t>(in.extra->refs[static_cast<size_t>(i)]).slots;
    for_each_fragment(in.flags & kTranspose, [&](int lane, int half, int row, int column) {
      elements[i][row][column] = static_cast<uint16_t>(slots[lane] >> 16 * half);
    });
  }
  for_lanes(row_lanes(in),
            [&](int lane) { std::memcpy(rows.bytes[lane], elements[lane / 8][lane % 8], kRowBytes); });
  ++w.machine.effects;
  return Flow::next;
}

void decode_matrix_access(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 2);
  const bool load = d.text().opcode == "ldmatrix";
  in.cls = Class::memory;
  if (load) in.action = Action::matrix;
  in.exec = load ? ldmatrix : stmatrix;
  in.count = static_cast<uint8_t>(m.has("x4") ? 4 : m.has("x2") ? 2 : 1);
  in.bytes = kRowBytes;
  d.address(d.operand(load ? 1 : 0),
            m.any_of({"shared", "shared::cta"}).empty() ? Space::generic : Space::shared, in);
  if (m.has("trans")) in.flags |= kTranspose;
  const Operand& registers = d.operand(load ? 0 : 1);
  std::vector<Operand> items =
      registers.kind == Operand::Kind::vec ? registers.items : std::vector<Operand>{registers};
  if (items.size() != in.count)
    d.refuse("the register operand must be a vector of " + std::to_string(in.count) + " registers");
  Extra& x = d.extra(in);
  for (const Operand& o : items)
    x.refs.push_back(load ? d.destination(o, Type::b32) : d.source(o, Type::b32));
}

// movmatrix.sync.aligned.m8n8.trans.b16 d, a;
// Transposes the 8 x 8 matrix that the warp holds, one register a lane.
Flow movmatrix(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  uint16_t elements[8][8];
  auto a = w.lanes<uint32_t>(in.a).slots;
  for_each_fragment(false, [&](int lane, int half, int row, int column) {
    elements[row][column] = static_cast<uint16_t>(a[lane] >> 16 * half);
  });
  auto d = w.lanes<uint32_t>(in.d).slots;
  for_each_fragment(true, [&](int lane, int half, int row, int column) {
    const uint32_t bits = elements[row][column];
    d[lane] = half ? d[lane] | bits << 16 : bits;
  });
  w.machine.observers.tell(&Observer::on_warp_sync, w, in, mask);
  return Flow::next;
}

void decode_movmatrix(Decoder& d, const Match&, Inst& in) {
  operands(d, in, Class::math, Type::b32, {Type::b32});
  in.exec = movmatrix;
}

// ---- mma.sync
// With g = lane / 4, q = lane % 4, and K of 16 or 32 bytes a row:
//   A, 16 x K: register i holds the 4 bytes at 4 * q + 16 * (i >> 1) of row g + 8 * (i & 1)
//   B, K x 8:  register i holds the 4 bytes at 4 * q + 16 * i of column g
//   C, D, 16 x 8: element i is row g + 8 * (i >> 1), column 2 * q + (i & 1); f16: two elements a register
//                                                     PTX ISA 9.7.14.5.1 to 9.7.14.5.14
constexpr int kMmaN = 8;
constexpr int kImageRow = 32;  // bytes of a row of an operand image

// extra->refs: D, A, B, C registers.
enum Number { kTypeA, kTypeB, kTypeD, kDepth, kRegistersA, kRegistersB, kRegistersD, kSaturate };

void images(Warp& w, const Ref* a, int a_registers, const Ref* b, int b_registers, std::vector<uint8_t>& rows,
            std::vector<uint8_t>& columns) {
  rows.assign(16 * kImageRow, 0);
  columns.assign(kMmaN * kImageRow, 0);
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, q = lane % 4;
    for (int i = 0; i < a_registers; ++i)
      std::memcpy(&rows[static_cast<size_t>((g + 8 * (i & 1)) * kImageRow + 4 * q + 16 * (i >> 1))],
                  &w.lanes<uint32_t>(a[i]).slots[lane], 4);
    for (int i = 0; i < b_registers; ++i)
      std::memcpy(&columns[static_cast<size_t>(g * kImageRow + 4 * q + 16 * i)],
                  &w.lanes<uint32_t>(b[i]).slots[lane], 4);
  }
}

// Calls f(lane, i, row, column) for the four elements of C or D in every lane.
template <class F>
void for_each_result(F f) {
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) f(lane, i, lane / 4 + 8 * (i >> 1), 2 * (lane % 4) + (i & 1));
}

// mma.sync of 8-bit floating point is no instruction of Hopper's tensor core: the compiler converts to f16 and
// multiplies twice, first the lower two elements of every register, then the upper two, and adds C in f32 last.
void multiply_8_bit(MmaFormat format, const MmaRows& rows, const MmaColumns& columns, MmaAccumulator& sums) {
  static thread_local MmaRows half_rows;
  static thread_local MmaColumns half_columns;
  static thread_local MmaAccumulator products;
  format.depth = 16;
  format.fraction_bits = 25;
  format.result_bits = 23;
  std::memset(products.value[0], 0, sizeof products.value[0]);
  for (int upper = 0; upper < 2; ++upper) {
    half_rows.clear();
    half_columns.clear(kMmaN);
    for (int i = 0; i < 16; ++i) {
      const int k = i / 2 * 4 + 2 * upper + i % 2;
      for (int row = 0; row < kMmaRows; ++row)
        half_rows.set(row, i, {rows.value[row][k], rows.exponent[row][k], rows.plain[row]});
      for (int n = 0; n < kMmaN; ++n)
        half_columns.set(i, n, {columns.value[0][k][n], columns.exponent[0][k][n], columns.plain[0]});
    }
    mma_multiply(format, half_rows, half_columns, kMmaN, products);
  }
  for (int row = 0; row < kMmaRows; ++row)
    for (int n = 0; n < kMmaN; ++n) {
      const float sum = sums.at(row, n) + products.at(row, n);
      const uint32_t nan = 0x7FFFFFFF;
      std::memcpy(&sums.at(row, n), std::isnan(sum) ? static_cast<const void*>(&nan) : &sum, 4);
    }
}

Flow mma(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  static thread_local std::vector<uint8_t> row_image, column_image;
  static thread_local MmaRows rows;
  static thread_local MmaColumns columns;
  static thread_local MmaAccumulator sums;
  static thread_local MmaIntegers integers;
  const auto& x = in.extra->numbers;
  const Ref* d = in.extra->refs.data();
  const Ref* a = d + x[kRegistersD];
  const Ref* b = a + x[kRegistersA];
  const Ref* c = b + x[kRegistersB];
  images(w, a, static_cast<int>(x[kRegistersA]), b, static_cast<int>(x[kRegistersB]), row_image,
         column_image);
  const Type type_a = static_cast<Type>(x[kTypeA]), type_b = static_cast<Type>(x[kTypeB]);
  const Type type_d = static_cast<Type>(x[kTypeD]);
  const auto slot = [&](const Ref* refs, int i, int lane) -> uint32_t& {
    return w.lanes<uint32_t>(refs[i]).slots[lane];
  };

  if (type_d == Type::s32) {
    for_each_result([&](int lane, int i, int row, int column) {
      integers[0][row][column] = static_cast<int32_t>(slot(c, i, lane));
    });
    multiply_bytes(type_a, type_b, x[kSaturate], reinterpret_cast<const uint8_t(*)[32]>(row_image.data()),
                   reinterpret_cast<const uint8_t(*)[32]>(column_image.data()), kMmaN, integers);
    for_each_result([&](int lane, int i, int row, int column) {
      slot(d, i, lane) = static_cast<uint32_t>(integers[0][row][column]);
    });
    return Flow::next;
  }
  MmaFormat format = mma_format(type_a, type_b, type_d);
  format.depth = static_cast<int>(x[kDepth]);
  unpack_rows(type_a, false, false, row_image, rows);
  unpack_columns(type_b, false, kMmaN, column_image, columns);
  std::memset(sums.value[0], 0, sizeof sums.value[0]);
  for_each_result([&](int lane, int i, int row, int column) {
    if (type_d == Type::f16)
      sums.at(row, column) = f16_to_f32(static_cast<uint16_t>(slot(c, i / 2, lane) >> 16 * (i & 1)));
    else
      std::memcpy(&sums.at(row, column), &slot(c, i, lane), 4);
  });
  if (size_of(type_a) == 1)
    multiply_8_bit(format, rows, columns, sums);
  else
    mma_multiply(format, rows, columns, kMmaN, sums);
  for_each_result([&](int lane, int i, int row, int column) {
    if (type_d == Type::f16) {
      const uint32_t bits = f16_from_double(static_cast<double>(sums.at(row, column)));
      uint32_t& both = slot(d, i / 2, lane);
      both = i & 1 ? (both & 0xFFFF) | bits << 16 : bits;
    } else {
      std::memcpy(&slot(d, i, lane), &sums.at(row, column), 4);
    }
  });
  return Flow::next;
}

// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, c;      also m16n8k8
// mma.sync.aligned.m16n8k16.row.col.dtype.f16.f16.ctype d, a, b, c;    also m16n8k8; dtype = ctype = f16 or f32
// mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 d, a, b, c;       also m16n8k4
// mma.sync.aligned.m16n8k32.row.col.f32.e4m3|e5m2.e4m3|e5m2.f32 d, a, b, c;
// mma.sync.aligned.m16n8k32.row.col{.satfinite}.s32.s8|u8.s8|u8.s32 d, a, b, c;   also m16n8k16
void decode_mma(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 4);
  in.exec = mma;
  in.cls = Class::math;
  in.action = Action::matrix;
  const Type type_d = m.type(0), type_a = m.type(1), type_b = m.type(2), type_c = m.type(3);
  if (type_c != type_d) d.refuse("mma.sync with different types of c and d is not supported");
  const std::string shape = m.slots[2];
  const int depth = std::stoi(shape.substr(shape.find('k') + 1));
  const int row_bytes = depth * static_cast<int>(size_of(type_a));
  Extra& x = d.extra(in);
  x.numbers.assign(kSaturate + 1, 0);
  x.numbers[kTypeA] = static_cast<int64_t>(type_a);
  x.numbers[kTypeB] = static_cast<int64_t>(type_b);
  x.numbers[kTypeD] = static_cast<int64_t>(type_d);
  x.numbers[kDepth] = depth;
  x.numbers[kRegistersA] = row_bytes / 8;
  x.numbers[kRegistersB] = row_bytes / 16;
  x.numbers[kRegistersD] = type_d == Type::f16 ? 2 : 4;
  x.numbers[kSaturate] = m.has("satfinite");
  const Type slot_type = type_d == Type::f16 ? Type::b32 : type_d;
  const auto add = [&](size_t operand, int64_t count, bool destination, Type type) {
    add_registers(d, x, operand, static_cast<size_t>(count), destination, type);
  };
  add(0, x.numbers[kRegistersD], true, slot_type);
  add(1, x.numbers[kRegistersA], false, Type::b32);
  add(2, x.numbers[kRegistersB], false, Type::b32);
  add(3, x.numbers[kRegistersD], false, slot_type);
}

}  // namespace

std::vector<Form> matrix_forms() {
  return {
      {"ldmatrix.sync.aligned.m8n8.x1|x2|x4.[trans].[shared|shared::cta].b16", decode_matrix_access},
      {"stmatrix.sync.aligned.m8n8.x1|x2|x4.[trans].[shared|shared::cta].b16", decode_matrix_access},
      {"movmatrix.sync.aligned.m8n8.trans.b16", decode_movmatrix},
      {"mma.sync.aligned.m16n8k8|m16n8k16.row.col.f32.bf16.bf16.f32", decode_mma},
      {"mma.sync.aligned.m16n8k8|m16n8k16.row.col.f32.f16.f16.f32", decode_mma},
      {"mma.sync.aligned.m16n8k8|m16n8k16.row.col.f16.f16.f16.f16", decode_mma},
      {"mma.sync.aligned.m16n8k4|m16n8k8.row.col.f32.tf32.tf32.f32", decode_mma},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3|e5m2.e4m3|e5m2.f32", decode_mma},
      {"mma.sync.aligned.m16n8k16|m16n8k32.row.col.[satfinite].s32.s8|u8.s8|u8.s32", decode_mma},
  };
}

}  // namespace emu
