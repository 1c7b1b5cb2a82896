// Integer arithmetic (PTX ISA 9.7.1). Results wrap modulo 2^n unless the instruction saturates.
#include <algorithm>
#include <limits>

#include "emulator/isa/carry.hpp"
#include "emulator/isa/operands.hpp"
#include "emulator/isa/simd.hpp"

namespace emu {
namespace {

// A type of twice the width, for products.
template <class T>
struct Twice;
template <>
struct Twice<uint16_t> {
  using type = uint32_t;
};
template <>
struct Twice<int16_t> {
  using type = int32_t;
};
template <>
struct Twice<uint32_t> {
  using type = uint64_t;
};
template <>
struct Twice<int32_t> {
  using type = int64_t;
};
template <>
struct Twice<uint64_t> {
  using type = unsigned __int128;
};
template <>
struct Twice<int64_t> {
  using type = __int128;
};
template <class T>
typename Twice<T>::type product(T a, T b) {
  return static_cast<typename Twice<T>::type>(a) * b;
}

int32_t saturate(int64_t value) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

struct Add {
  template <class T>
  static T of(T a, T b) {
    return wrap_add(a, b);
  }
};
struct Sub {
  template <class T>
  static T of(T a, T b) {
    return wrap_sub(a, b);
  }
};
struct AddSat {
  static int32_t of(int32_t a, int32_t b) { return saturate(int64_t{a} + b); }
};
struct SubSat {
  static int32_t of(int32_t a, int32_t b) { return saturate(int64_t{a} - b); }
};
struct MulLo {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(product<Bits<T>>(a, b));
  }
};
struct MulHi {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(product<T>(a, b) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <class T>
  static typename Twice<T>::type of(T a, T b) {
    return product<T>(a, b);
  }
};
template <class Mul>
struct ThenAdd {  // mad: the product's part, plus c
  template <class T, class C>
  static C of(T a, T b, C c) {
    return wrap_add<C>(Mul::of(a, b), c);
  }
};
struct MadHiSat {
  static int32_t of(int32_t a, int32_t b, int32_t c) { return saturate(int64_t{MulHi::of(a, b)} + c); }
};

// mul24: the low 24 bits of the sources; .lo is bits 0-31 of the 48-bit product, .hi bits 16-47.
template <class T>
int64_t product24(T a, T b) {
  auto low24 = [](T v) {
    return int64_t{static_cast<T>(static_cast<T>(static_cast<uint32_t>(v) << 8) >> 8)};
  };
  return low24(a) * low24(b);
}
struct Mul24Lo {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(product24(a, b));
  }
};
struct Mul24Hi {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(product24(a, b) >> 16);
  }
};
struct Mad24HiSat {
  static int32_t of(int32_t a, int32_t b, int32_t c) { return saturate(int64_t{Mul24Hi::of(a, b)} + c); }
};

// sad: c + |a - b|
struct Sad {
  template <class T>
  static T of(T a, T b, T c) {
    return wrap_add(c, a < b ? wrap_sub(b, a) : wrap_sub(a, b));
  }
};
// Division by zero yields an unspecified value; GPUs give all ones for quotient and remainder.
struct Div {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrap_sub<T>(0, a);  // min / -1 wraps to min
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Neg {
  template <class T>
  static T of(T a) {
    return wrap_sub<T>(0, a);
  }
};
struct Abs {
  template <class T>
  static T of(T a) {
    return a < 0 ? wrap_sub<T>(0, a) : a;
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return std::max(a, b);
  }
};
template <class Op>
struct Relu {  // negative results become 0
  template <class T>
  static T of(T a, T b) {
    return std::max<T>(Op::of(a, b), 0);
  }
};
// u16x2, s16x2: the operation on both halves.
template <class Op, class Half>
struct Both {
  static uint32_t of(uint32_t a, uint32_t b) {
    auto part = [&](int shift) {
      Half r = Op::of(static_cast<Half>(a >> shift), static_cast<Half>(b >> shift));
      return uint32_t{static_cast<uint16_t>(r)} << shift;
    };
    return part(0) | part(16);
  }
};

// ---- decoding: all operands of one type
template <class Op>
void one_source(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, t, {t});
  in.exec = for_integer(t, [](auto tag) -> Exec { return unary<Op, typename decltype(tag)::type>; });
}
template <class Op>
void two_sources(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, t, {t, t});
  in.exec = for_integer(t, [](auto tag) -> Exec {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) == 1)
      return nullptr;
    else
      return binary<Op, T, T>;
  });
}
template <class Op>
void division(Decoder& d, const Match& m, Inst& in) {
  two_sources<Op>(d, m, in);
  in.action = Action::divide;
}
template <class Op>
void three_sources(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, t, {t, t, t});
  in.exec = for_integer(t, [](auto tag) -> Exec {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) == 1)
      return nullptr;
    else
      return ternary<Op, T, T, T>;
  });
}
// .lo or .hi
template <class Lo, class Hi>
void two_sources_part(Decoder& d, const Match& m, Inst& in) {
  (m.has("lo") ? two_sources<Lo> : two_sources<Hi>)(d, m, in);
}
template <class Lo, class Hi>
void three_sources_part(Decoder& d, const Match& m, Inst& in) {
  (m.has("lo") ? three_sources<Lo> : three_sources<Hi>)(d, m, in);
}

// Operations of 32-bit signed integers only (.sat).
template <class Op>
void two_s32(Decoder& d, const Match&, Inst& in) {
  operands(d, in, Class::address, Type::s32, {Type::s32, Type::s32});
  in.exec = binary<Op, int32_t, int32_t>;
}
template <class Op>
void three_s32(Decoder& d, const Match&, Inst& in) {
  operands(d, in, Class::address, Type::s32, {Type::s32, Type::s32, Type::s32});
  in.exec = ternary<Op, int32_t, int32_t, int32_t>;
}
void mul24(Decoder& d, const Match& m, Inst& in) {
  bool lo = m.has("lo");
  Type t = m.type();
  operands(d, in, Class::address, t, {t, t});
  in.exec = t == Type::u32 ? (lo ? binary<Mul24Lo, uint32_t, uint32_t> : binary<Mul24Hi, uint32_t, uint32_t>)
                           : (lo ? binary<Mul24Lo, int32_t, int32_t> : binary<Mul24Hi, int32_t, int32_t>);
}
void mad24(Decoder& d, const Match& m, Inst& in) {
  bool lo = m.has("lo");
  Type t = m.type();
  operands(d, in, Class::address, t, {t, t, t});
  using U = uint32_t;
  using S = int32_t;
  in.exec = t == Type::u32 ? (lo ? ternary<ThenAdd<Mul24Lo>, U, U, U> : ternary<ThenAdd<Mul24Hi>, U, U, U>)
                           : (lo ? ternary<ThenAdd<Mul24Lo>, S, S, S> : ternary<ThenAdd<Mul24Hi>, S, S, S>);
}

// .wide: the destination (and c) are twice as wide as a and b.
Type wide(Type t) {
  switch (t) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    default:
      return Type::s64;
  }
}
void mul_wide(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, wide(t), {t, t});
  in.exec = for_integer(t, [](auto tag) -> Exec {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) == 2 || sizeof(T) == 4)
      return binary<MulWide, T, T>;
    else
      return nullptr;
  });
}
void mad_wide(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, wide(t), {t, t, wide(t)});
  in.exec = for_integer(t, [](auto tag) -> Exec {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) == 2 || sizeof(T) == 4)
      return ternary<ThenAdd<MulWide>, T, T, typename Twice<T>::type>;
    else
      return nullptr;
  });
}

template <class Op>
void packed(Decoder& d, const Match& m, Inst& in) {
  operands(d, in, Class::address, Type::b32, {Type::b32, Type::b32});
  if (m.has("u16x2"))
    in.exec = binary<Both<Op, uint16_t>, uint32_t, uint32_t>;
  else if (m.has("relu"))
    in.exec = binary<Both<Relu<Op>, int16_t>, uint32_t, uint32_t>;
  else
    in.exec = binary<Both<Op, int16_t>, uint32_t, uint32_t>;
}

// dp4a d, a, b, c: c + the sum of four products of bytes. dp2a: two 16-bit values of a with two bytes of b
// (.lo: bytes 0 and 1, .hi: bytes 2 and 3).                                                       PTX ISA 9.7.1.24
template <bool kSignedA, bool kSignedB, int kParts, int kFirstByte>
struct Dot {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < kParts; ++i) {
      int32_t x, y;
      if constexpr (kParts == 4)
        x = kSignedA ? int32_t{int8_t(a >> 8 * i)} : int32_t{uint8_t(a >> 8 * i)};
      else
        x = kSignedA ? int32_t{int16_t(a >> 16 * i)} : int32_t{uint16_t(a >> 16 * i)};
      int shift = 8 * (i + kFirstByte);
      y = kSignedB ? int32_t{int8_t(b >> shift)} : int32_t{uint8_t(b >> shift)};
      c += static_cast<uint32_t>(x * y);
    }
    return c;
  }
};
template <int kParts, int kFirstByte>
void dot(Decoder& d, const Match& m, Inst& in) {
  operands(d, in, Class::math, Type::b32, {Type::b32, Type::b32, Type::b32});
  bool sa = m.type(0) == Type::s32, sb = m.type(1) == Type::s32;
  using U = uint32_t;
  in.exec = sa ? (sb ? ternary<Dot<true, true, kParts, kFirstByte>, U, U, U>
                     : ternary<Dot<true, false, kParts, kFirstByte>, U, U, U>)
               : (sb ? ternary<Dot<false, true, kParts, kFirstByte>, U, U, U>
                     : ternary<Dot<false, false, kParts, kFirstByte>, U, U, U>);
}
void dp2a(Decoder& d, const Match& m, Inst& in) {
  (m.has("lo") ? dot<2, 0> : dot<2, 2>)(d, m, in);
}

}  // namespace

std::vector<Form> integer_forms() {
  std::vector<Form> forms = {
      {"add.u16|s16|u32|u64|s64", two_sources<Add>},
      {"add.s32", two_sources<Add>},
      {"add.sat.s32", two_s32<AddSat>},
      {"add.u16x2|s16x2", packed<Add>},
      {"sub.u16|s16|u32|u64|s64", two_sources<Sub>},
      {"sub.s32", two_sources<Sub>},
      {"sub.sat.s32", two_s32<SubSat>},
      {"mul.lo|hi.u16|s16|u32|s32|u64|s64", two_sources_part<MulLo, MulHi>},
      {"mul.wide.u16|s16|u32|s32", mul_wide},
      {"mad.lo|hi.u16|s16|u32|s32|u64|s64", three_sources_part<ThenAdd<MulLo>, ThenAdd<MulHi>>},
      {"mad.hi.sat.s32", three_s32<MadHiSat>},
      {"mad.wide.u16|s16|u32|s32", mad_wide},
      {"mul24.lo|hi.u32|s32", mul24},
      {"mad24.lo|hi.u32|s32", mad24},
      {"mad24.hi.sat.s32", three_s32<Mad24HiSat>},
      {"sad.u16|s16|u32|s32|u64|s64", three_sources<Sad>},
      {"div.u16|s16|u32|s32|u64|s64", division<Div>},
      {"rem.u16|s16|u32|s32|u64|s64", division<Rem>},
      {"abs.s16|s32|s64", one_source<Abs>},
      {"neg.s16|s32|s64", one_source<Neg>},
      {"min.u16|s16|u32|s32|u64|s64", two_sources<Min>},
      {"max.u16|s16|u32|s32|u64|s64", two_sources<Max>},
      {"min.relu.s32", two_s32<Relu<Min>>},
      {"max.relu.s32", two_s32<Relu<Max>>},
      {"min.u16x2", packed<Min>},
      {"max.u16x2", packed<Max>},
      {"min.[relu].s16x2", packed<Min>},
      {"max.[relu].s16x2", packed<Max>},
      {"dp4a.u32|s32.u32|s32", dot<4, 0>},
      {"dp2a.lo|hi.u32|s32.u32|s32", dp2a},
  };
  for (const Form& f : carry_forms()) forms.push_back(f);
  for (const Form& f : simd_forms()) forms.push_back(f);
  return forms;
}

}  // namespace emu
