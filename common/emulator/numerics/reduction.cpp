#include "emulator/numerics/reduction.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulator/numerics/formats.hpp"

namespace emu {
namespace {

template <class T, class Op>
void apply(std::byte* memory, const std::byte* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T old, value;
    std::memcpy(&old, memory + i * sizeof(T), sizeof(T));
    std::memcpy(&value, values + i * sizeof(T), sizeof(T));
    const T result = Op::of(old, value);
    std::memcpy(memory + i * sizeof(T), &result, sizeof(T));
  }
}

struct Add {
  template <class T>
  static T of(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
};
struct AddF32 {
  static float of(float a, float b) { return canonical(a + b); }
};
struct AddF32Flushed {
  static float of(float a, float b) { return canonical(flush(flush(a) + flush(b))); }
};
struct AddF64 {
  static double of(double old, double value) { return add_to_memory(old, value, true); }
};
template <class Half>
struct AddHalf {
  static uint16_t of(uint16_t a, uint16_t b) {
    return Half::round(add_to_odd(Half::widen(a), Half::widen(b)));
  }
};

struct Min {
  template <class T>
  static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};
// A NaN loses against a number; -0 is below +0.
template <class Half, bool kMin>
struct ExtremeHalf {
  static uint16_t of(uint16_t a, uint16_t b) {
    if (Half::is_nan(a)) return Half::is_nan(b) ? Half::kNan : b;
    if (Half::is_nan(b)) return a;
    const float x = Half::widen(a), y = Half::widen(b);
    const bool a_below = x < y || (x == y && (a & 0x8000));
    return a_below == kMin ? a : b;
  }
};

struct Inc {
  static uint32_t of(uint32_t old, uint32_t limit) { return old >= limit ? 0 : old + 1; }
};
struct Dec {
  static uint32_t of(uint32_t old, uint32_t limit) { return old == 0 || old > limit ? limit : old - 1; }
};
struct And {
  template <class T>
  static T of(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return a ^ b;
  }
};

template <class Op>
Reduction integer(Type type) {
  switch (type) {
    case Type::u32:
      return apply<uint32_t, Op>;
    case Type::s32:
      return apply<int32_t, Op>;
    case Type::u64:
      return apply<uint64_t, Op>;
    case Type::s64:
      return apply<int64_t, Op>;
    default:
      return nullptr;
  }
}

template <class Op>
Reduction bitwise(Type type) {
  switch (size_of(type)) {
    case 4:
      return apply<uint32_t, Op>;
    case 8:
      return apply<uint64_t, Op>;
    default:
      return nullptr;
  }
}

}  // namespace

Reduction reduction(std::string_view op, Type type) {
  if (op == "add") {
    if (type == Type::f16) return apply<uint16_t, AddHalf<F16>>;
    if (type == Type::bf16) return apply<uint16_t, AddHalf<BF16>>;
    if (type == Type::f32) return apply<float, AddF32>;
    if (type == Type::f64) return apply<double, AddF64>;
    return type == Type::s64 ? nullptr : integer<Add>(type);
  }
  if (op == "add.ftz") return type == Type::f32 ? apply<float, AddF32Flushed> : nullptr;
  if (op == "min") {
    if (type == Type::f16) return apply<uint16_t, ExtremeHalf<F16, true>>;
    if (type == Type::bf16) return apply<uint16_t, ExtremeHalf<BF16, true>>;
    return integer<Min>(type);
  }
  if (op == "max") {
    if (type == Type::f16) return apply<uint16_t, ExtremeHalf<F16, false>>;
    if (type == Type::bf16) return apply<uint16_t, ExtremeHalf<BF16, false>>;
    return integer<Max>(type);
  }
  if (op == "inc") return type == Type::u32 ? apply<uint32_t, Inc> : nullptr;
  if (op == "dec") return type == Type::u32 ? apply<uint32_t, Dec> : nullptr;
  if (op == "and") return bitwise<And>(type);
  if (op == "or") return bitwise<Or>(type);
  if (op == "xor") return bitwise<Xor>(type);
  return nullptr;
}

}  // namespace emu
