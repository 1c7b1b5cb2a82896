// What the arithmetic families share: operands by type, and executors that apply one operation to every lane.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>

#include "emulator/machine/warp.hpp"
#include "emulator/numerics/wide.hpp"
#include "emulator/program/forms.hpp"
#include "emulator/program/program.hpp"

namespace emu {

// An operation is a struct with a static function `of`, from values of the source types to the result.
// Flow unary<Negate, int32_t>, binary<Add, uint64_t, uint64_t>, ternary<...>: applied to every lane of the mask.
template <class Op, class A>
EMU_WIDE Flow unary(Warp& w, const Inst& in, uint32_t mask) {
  using R = decltype(Op::of(A()));
  auto d = w.lanes<R>(in.d);
  auto a = w.lanes<A>(in.a);
  for_lanes(mask, [&](int l) { d.set(l, Op::of(a[l])); });
  return Flow::next;
}

template <class Op, class A, class B>
EMU_WIDE Flow binary(Warp& w, const Inst& in, uint32_t mask) {
  using R = decltype(Op::of(A(), B()));
  auto d = w.lanes<R>(in.d);
  auto a = w.lanes<A>(in.a);
  auto b = w.lanes<B>(in.b);
  for_lanes(mask, [&](int l) { d.set(l, Op::of(a[l], b[l])); });
  return Flow::next;
}

template <class Op, class A, class B, class C>
EMU_WIDE Flow ternary(Warp& w, const Inst& in, uint32_t mask) {
  using R = decltype(Op::of(A(), B(), C()));
  auto d = w.lanes<R>(in.d);
  auto a = w.lanes<A>(in.a);
  auto b = w.lanes<B>(in.b);
  auto c = w.lanes<C>(in.c);
  for_lanes(mask, [&](int l) { d.set(l, Op::of(a[l], b[l], c[l])); });
  return Flow::next;
}

// Refuses unless the instruction has exactly `count` operands.
inline void expect_operands(Decoder& d, size_t count) {
  if (d.operand_count() != count)
    d.refuse("`" + d.text().full_name() + "` takes " + std::to_string(count) + " operands, not " +
             std::to_string(d.operand_count()));
}

// d, a, b, c: operand 0 is the destination, the others are the sources, of the given types.
inline void operands(Decoder& d, Inst& in, Class cls, Type result, std::initializer_list<Type> sources) {
  expect_operands(d, sources.size() + 1);
  in.cls = cls;
  in.d = d.destination(d.operand(0), result);
  Ref* slots[3] = {&in.a, &in.b, &in.c};
  size_t i = 0;
  for (Type t : sources) {
    *slots[i] = d.source(d.operand(i + 1), t);
    ++i;
  }
}

// 1 << lane, as a table: a compiler can select by it in vectors, which it cannot by a shift.
struct LaneBits {
  uint32_t bit[32];
  constexpr LaneBits() : bit() {
    for (int l = 0; l < 32; ++l) bit[l] = 1u << l;
  }
};
constexpr LaneBits kLaneBits;

// The mask of those lanes of `mask` in which holds(lane).
template <class F>
uint32_t lanes_where(uint32_t mask, F&& holds) {
  if (mask != 0xFFFFFFFFu) {
    uint32_t result = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
      int l = __builtin_ctz(m);
      result |= uint32_t{static_cast<bool>(holds(l))} << l;
    }
    return result;
  }
  uint32_t result = 0, value[32];
  for (int l = 0; l < 32; ++l) value[l] = holds(l) ? kLaneBits.bit[l] : 0;
  for (int l = 0; l < 32; ++l) result |= value[l];
  return result;
}

template <class T>
struct Tag {
  using type = T;
};

// Calls f(Tag<T>()) with the C++ type that holds an integer or untyped PTX type of 16, 32 or 64 bits.
// f returns an Exec: for_integer(t, [](auto tag) -> Exec { return binary<Add, typename decltype(tag)::type, ...>; })
template <class F>
Exec for_integer(Type t, F f) {
  switch (t) {
    case Type::b8:
    case Type::u8:
      return f(Tag<uint8_t>());
    case Type::s8:
      return f(Tag<int8_t>());
    case Type::b16:
    case Type::u16:
      return f(Tag<uint16_t>());
    case Type::s16:
      return f(Tag<int16_t>());
    case Type::b32:
    case Type::u32:
      return f(Tag<uint32_t>());
    case Type::s32:
      return f(Tag<int32_t>());
    case Type::b64:
    case Type::u64:
      return f(Tag<uint64_t>());
    case Type::s64:
      return f(Tag<int64_t>());
    default:
      return nullptr;
  }
}

// Arithmetic modulo 2^n, without the undefined overflow of signed C++ types and the promotion of short ones.
template <class T>
using Bits = std::make_unsigned_t<T>;
template <class T>
T wrap_add(T a, T b) {
  return static_cast<T>(static_cast<Bits<T>>(Bits<T>(a) + Bits<T>(b)));
}
template <class T>
T wrap_sub(T a, T b) {
  return static_cast<T>(static_cast<Bits<T>>(Bits<T>(a) - Bits<T>(b)));
}

}  // namespace emu
