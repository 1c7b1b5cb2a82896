// Comparison and selection (PTX ISA 9.7.6): set, setp, selp, slct, and their f16 and bf16 forms (9.7.7).
#include "emulator/isa/operands.hpp"
#include "emulator/numerics/formats.hpp"

namespace emu {
namespace {

// What a comparison of two values can come out as. A CmpOp is the set of outcomes for which it holds: an ordered one lacks
// `unordered`, that of a NaN, an unordered one (-u) has it.
enum Outcome : uint32_t { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };
constexpr struct {
  const char* name;
  uint32_t outcomes;
} kOperators[] = {
    {"eq", kEqual},
    {"ne", kLess | kGreater},
    {"lt", kLess},
    {"lo", kLess},
    {"le", kLess | kEqual},
    {"ls", kLess | kEqual},
    {"gt", kGreater},
    {"hi", kGreater},
    {"ge", kGreater | kEqual},
    {"hs", kGreater | kEqual},
    {"equ", kEqual | kUnordered},
    {"neu", kLess | kGreater | kUnordered},
    {"ltu", kLess | kUnordered},
    {"leu", kLess | kEqual | kUnordered},
    {"gtu", kGreater | kUnordered},
    {"geu", kGreater | kEqual | kUnordered},
    {"num", kLess | kEqual | kGreater},
    {"nan", kUnordered},
};
uint32_t outcomes_of(const Match& m) {
  for (const auto& op : kOperators)
    if (m.has(op.name)) return op.outcomes;
  return 0;
}

// How a lane's bits are read: as stored, or widened to float.
template <class T>
struct Plain {
  using Stored = T;
  static T of(T v) { return v; }
};
struct FlushedFloat {  // .ftz
  using Stored = float;
  static float of(float v) { return flush(v); }
};
template <class Format, bool kFlush, class Register = uint16_t, int kShift = 0>
struct Half {
  using Stored = Register;
  static float of(Register v) {
    auto half = static_cast<uint16_t>(v >> kShift);
    return Format::widen(kFlush ? Format::flush(half) : half);
  }
};
template <class Format, bool kFlush>
using LowHalf = Half<Format, kFlush, uint32_t, 0>;  // of f16x2, bf16x2
template <class Format, bool kFlush>
using HighHalf = Half<Format, kFlush, uint32_t, 16>;

// The mask of lanes in which the comparison of a and b comes out as one of `outcomes`.
using CompareFn = uint32_t (*)(Warp&, const Inst&, uint32_t outcomes, uint32_t mask);
template <class View>
uint32_t compare(Warp& w, const Inst& in, uint32_t outcomes, uint32_t mask) {
  auto a = w.lanes<typename View::Stored>(in.a), b = w.lanes<typename View::Stored>(in.b);
  uint32_t less = lanes_where(mask, [&](int l) { return View::of(a[l]) < View::of(b[l]); });
  uint32_t equal = lanes_where(mask, [&](int l) { return View::of(a[l]) == View::of(b[l]); });
  uint32_t greater = lanes_where(mask, [&](int l) { return View::of(a[l]) > View::of(b[l]); });
  return (outcomes & kLess ? less : 0) | (outcomes & kEqual ? equal : 0) |
         (outcomes & kGreater ? greater : 0) | (outcomes & kUnordered ? mask & ~(less | equal | greater) : 0);
}
// The same with the outcomes known, for the comparisons that loops are made of.
template <class T, uint32_t kOutcomes>
uint32_t compare_quickly(Warp& w, const Inst& in, uint32_t, uint32_t mask) {
  auto a = w.lanes<T>(in.a), b = w.lanes<T>(in.b);
  return lanes_where(mask, [&](int l) {
    if constexpr (kOutcomes == kEqual) return a[l] == b[l];
    if constexpr (kOutcomes == (kLess | kGreater))
      return std::is_integral_v<T> ? a[l] != b[l] : a[l] < b[l] || a[l] > b[l];
    if constexpr (kOutcomes == kLess) return a[l] < b[l];
    if constexpr (kOutcomes == (kLess | kEqual)) return a[l] <= b[l];
    if constexpr (kOutcomes == kGreater) return a[l] > b[l];
    if constexpr (kOutcomes == (kGreater | kEqual)) return a[l] >= b[l];
  });
}

// Boolean operation with a third predicate c.
enum class BoolOp { none, op_and, op_or, op_xor };
BoolOp bool_op(const Match& m) {
  if (m.has("and")) return BoolOp::op_and;
  if (m.has("or")) return BoolOp::op_or;
  return m.has("xor") ? BoolOp::op_xor : BoolOp::none;
}
uint32_t combine(uint32_t t, uint32_t c, BoolOp op) {
  switch (op) {
    case BoolOp::op_and:
      return t & c;
    case BoolOp::op_or:
      return t | c;
    case BoolOp::op_xor:
      return t ^ c;
    case BoolOp::none:
      break;
  }
  return t;
}

constexpr uint32_t kBoolOp = 3;  // of Inst::flags; the outcomes lie above it
constexpr int kOutcomesAt = 2;
uint32_t flags_of(const Match& m) {
  return static_cast<uint32_t>(bool_op(m)) | outcomes_of(m) << kOutcomesAt;
}

// p, and q where it is wanted. Scalar: p = BoolOp(t, c), q = BoolOp(!t, c) with t = a CmpOp b.
// Packed: p from the low halves, q from the high ones.
// in.extra is null for the plain `setp.CmpOp.type p, a, b`; else refs: q (kNoRef when absent).
template <CompareFn kLow, CompareFn kHigh = nullptr>
Flow setp_exec(Warp& w, const Inst& in, uint32_t mask) {
  uint32_t outcomes = in.flags >> kOutcomesAt;
  uint32_t t = kLow(w, in, outcomes, mask);
  if (!in.extra) {
    w.set_predicate(in.d, t, mask);
    return Flow::next;
  }
  auto op = static_cast<BoolOp>(in.flags & kBoolOp);
  uint32_t c = op == BoolOp::none ? 0 : w.predicate(in.c);
  uint32_t other = ~t;
  if constexpr (kHigh != nullptr) other = kHigh(w, in, outcomes, mask);
  w.set_predicate(in.d, combine(t, c, op), mask);
  w.set_predicate(in.extra->refs[0], combine(other, c, op), mask);
  return Flow::next;
}

// set: the patterns of true, extra->numbers, where the comparison of the low and of the high halves holds.
template <CompareFn kLow, CompareFn kHigh = nullptr>
Flow set_exec(Warp& w, const Inst& in, uint32_t mask) {
  auto op = static_cast<BoolOp>(in.flags & kBoolOp);
  uint32_t outcomes = in.flags >> kOutcomesAt, c = op == BoolOp::none ? 0 : w.predicate(in.c);
  uint32_t low = combine(kLow(w, in, outcomes, mask), c, op), high = 0;
  if constexpr (kHigh != nullptr) high = combine(kHigh(w, in, outcomes, mask), c, op);
  auto d = w.lanes<uint32_t>(in.d);
  auto low_true = static_cast<uint32_t>(in.extra->numbers[0]),
       high_true = static_cast<uint32_t>(in.extra->numbers[1]);
  for_lanes(mask, [&](int l) { d.set(l, (low >> l & 1 ? low_true : 0) | (high >> l & 1 ? high_true : 0)); });
  return Flow::next;
}

struct Setp {
  template <CompareFn kLow, CompareFn kHigh = nullptr>
  static constexpr Exec exec = setp_exec<kLow, kHigh>;
};
struct Set {
  template <CompareFn kLow, CompareFn kHigh = nullptr>
  static constexpr Exec exec = set_exec<kLow, kHigh>;
};

// The executor of Setp or Set for a type.
template <class Family>
Exec choose(Type t, bool ftz) {
  switch (t) {
    case Type::f32:
      return ftz ? Family::template exec<compare<FlushedFloat>>
                 : Family::template exec<compare<Plain<float>>>;
    case Type::f64:
      return Family::template exec<compare<Plain<double>>>;
    case Type::f16:
      return ftz ? Family::template exec<compare<Half<F16, true>>>
                 : Family::template exec<compare<Half<F16, false>>>;
    case Type::bf16:
      return Family::template exec<compare<Half<BF16, false>>>;
    case Type::f16x2:
      return ftz ? Family::template exec<compare<LowHalf<F16, true>>, compare<HighHalf<F16, true>>>
                 : Family::template exec<compare<LowHalf<F16, false>>, compare<HighHalf<F16, false>>>;
    case Type::bf16x2:
      return Family::template exec<compare<LowHalf<BF16, false>>, compare<HighHalf<BF16, false>>>;
    default:
      return for_integer(t, [](auto tag) -> Exec {
        return Family::template exec<compare<Plain<typename decltype(tag)::type>>>;
      });
  }
}
template <class T>
Exec quick_setp(uint32_t outcomes) {
  switch (outcomes) {
    case kEqual:
      return setp_exec<compare_quickly<T, kEqual>>;
    case kLess | kGreater:
      return setp_exec<compare_quickly<T, kLess | kGreater>>;
    case kLess:
      return setp_exec<compare_quickly<T, kLess>>;
    case kLess | kEqual:
      return setp_exec<compare_quickly<T, kLess | kEqual>>;
    case kGreater:
      return setp_exec<compare_quickly<T, kGreater>>;
    case kGreater | kEqual:
      return setp_exec<compare_quickly<T, kGreater | kEqual>>;
    default:
      return setp_exec<compare<Plain<T>>>;
  }
}

bool is_half(Type t) {
  return t == Type::f16 || t == Type::bf16;
}
bool is_packed(Type t) {
  return t == Type::f16x2 || t == Type::bf16x2;
}
bool is_float(Type t) {
  return is_half(t) || is_packed(t) || t == Type::f32 || t == Type::f64;
}

// setp.CmpOp{.ftz}.type p{|q}, a, b;   setp.CmpOp.BoolOp{.ftz}.type p{|q}, a, b, {!}c;
void setp(Decoder& d, const Match& m, Inst& in) {
  BoolOp op = bool_op(m);
  expect_operands(d, op == BoolOp::none ? 3 : 4);
  Type t = m.type();
  in.cls = Class::control;
  in.flags = flags_of(m);
  const Operand& destination = d.operand(0);
  bool two = destination.kind == Operand::Kind::pair;
  in.d = d.predicate_destination(two ? destination.items[0] : destination);
  in.a = d.source(d.operand(1), t);
  in.b = d.source(d.operand(2), t);
  if (op != BoolOp::none) in.c = d.predicate(d.operand(3));
  if (two || op != BoolOp::none)
    d.extra(in).refs = {two ? d.predicate_destination(destination.items[1]) : kNoRef};
  const uint32_t outcomes = in.flags >> kOutcomesAt;
  if (t == Type::f32 && !m.has("ftz"))
    in.exec = quick_setp<float>(outcomes);
  else if (is_float(t))
    in.exec = choose<Setp>(t, m.has("ftz"));
  else
    in.exec = for_integer(t, [&](auto tag) { return quick_setp<typename decltype(tag)::type>(outcomes); });
}

// set.CmpOp{.BoolOp}{.ftz}.dtype.stype d, a, b{, c}: all ones or zero for integers, 1.0 or 0.0 for floats.
// The pattern that stands for true.
uint32_t true_pattern(Type t) {
  switch (t) {
    case Type::f32:
      return 0x3F800000u;
    case Type::f16:
    case Type::f16x2:
      return 0x3C00u;
    case Type::bf16:
    case Type::bf16x2:
      return 0x3F80u;
    case Type::u16:
    case Type::s16:
      return 0xFFFFu;
    default:
      return 0xFFFFFFFFu;
  }
}

// Which results each source type has (9.7.6.1, 9.7.7.1).
bool set_types_exist(Type to, Type from) {
  if (to == Type::u32 || to == Type::s32) return true;
  if (to == Type::u16 || to == Type::s16) return is_half(from);
  if (is_packed(to)) return to == from;
  if (is_packed(from)) return false;
  return to == Type::f32 ? !is_half(from) : to == Type::bf16 || from != Type::bf16;
}
// Which operators and modifiers it has.
bool set_operator_exists(const Match& m, Type to, Type from) {
  const std::string& op = m.slots[0];
  if (m.has("ftz") && ((from != Type::f32 && from != Type::f16 && from != Type::f16x2) || to == Type::bf16))
    return false;
  if (op == "eq" || op == "ne") return true;
  if (is_float(from)) return op != "lo" && op != "ls" && op != "hi" && op != "hs";
  if (from == Type::b16 || from == Type::b32 || from == Type::b64 || op.size() == 3) return false;
  return !is_signed(from) || (op != "lo" && op != "ls" && op != "hi" && op != "hs");
}

void set(Decoder& d, const Match& m, Inst& in) {
  BoolOp op = bool_op(m);
  expect_operands(d, op == BoolOp::none ? 3 : 4);
  Type to = m.type(0), from = m.type(1);
  if (!set_types_exist(to, from) || !set_operator_exists(m, to, from))
    d.refuse("`" + d.text().full_name() +
             "` does not exist: the operator, .ftz and the result do not fit the source type");
  in.cls = Class::control;
  in.flags = flags_of(m);
  in.d = d.destination(d.operand(0), to);
  in.a = d.source(d.operand(1), from);
  in.b = d.source(d.operand(2), from);
  if (op != BoolOp::none) in.c = d.predicate(d.operand(3));
  uint32_t low = true_pattern(to), high = 0;
  if (from == Type::f16x2 || from == Type::bf16x2) {
    low &= 0xFFFF;
    high = low << 16;
  }
  d.extra(in).numbers = {low, high};
  in.exec = choose<Set>(from, m.has("ftz"));
}

// selp.type d, a, b, c: c ? a : b
template <class T>
Flow selp_exec(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<T>(in.d), a = w.lanes<T>(in.a), b = w.lanes<T>(in.b);
  uint32_t c = w.predicate(in.c);
  for_lanes(mask, [&](int l) { d.set(l, c & kLaneBits.bit[l] ? a[l] : b[l]); });
  return Flow::next;
}
void selp(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 4);
  Type t = m.type();
  in.cls = Class::control;
  in.d = d.destination(d.operand(0), t);
  in.a = d.source(d.operand(1), t);
  in.b = d.source(d.operand(2), t);
  in.c = d.predicate(d.operand(3));
  in.exec = size_of(t) == 8 ? selp_exec<uint64_t> : selp_exec<uint32_t>;
  if (t == Type::s16) in.exec = selp_exec<int16_t>;
  if (size_of(t) == 2 && t != Type::s16) in.exec = selp_exec<uint16_t>;
}

// slct{.ftz}.dtype.{s32,f32} d, a, b, c: c >= 0 ? a : b. -0 selects a, a NaN b.
template <class C>
struct Select {
  template <class T>
  static T of(T a, T b, C c) {
    return c >= 0 ? a : b;
  }
};
struct SelectFlushed {
  template <class T>
  static T of(T a, T b, float c) {
    return flush(c) >= 0 ? a : b;
  }
};
template <class T>
Exec slct_exec(bool by_float, bool ftz) {
  if (!by_float) return ternary<Select<int32_t>, T, T, int32_t>;
  return ftz ? ternary<SelectFlushed, T, T, float> : ternary<Select<float>, T, T, float>;
}
void slct(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type(0), by = m.type(1);
  if (m.has("ftz") && by == Type::s32) d.refuse("slct with an integer condition has no .ftz");
  operands(d, in, Class::control, t, {t, t, by});
  bool f = by == Type::f32, ftz = m.has("ftz");
  in.exec = size_of(t) == 8   ? slct_exec<uint64_t>(f, ftz)
            : size_of(t) == 4 ? slct_exec<uint32_t>(f, ftz)
            : t == Type::s16  ? slct_exec<int16_t>(f, ftz)
                              : slct_exec<uint16_t>(f, ftz);
}

}  // namespace

#define SET "set.eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan.[and|or|xor].[ftz]."

// Floating-point comparisons take the unordered operators too; for bit types only eq and ne have a meaning.
// set and slct are one row each, because modifiers may come in any order: u32.f32 and f32.u32 in two rows would both
// fit both. Their decoders refuse the combinations that do not exist.
std::vector<Form> compare_forms() {
  return {
      {"setp.eq|ne.[and|or|xor].b16|b32|b64", setp},
      {"setp.eq|ne|lt|le|gt|ge.[and|or|xor].s16|s32|s64", setp},
      {"setp.eq|ne|lt|le|gt|ge|lo|ls|hi|hs.[and|or|xor].u16|u32|u64", setp},
      {"setp.eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan.[and|or|xor].[ftz].f32|f16|f16x2", setp},
      {"setp.eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan.[and|or|xor].f64|bf16|bf16x2", setp},
      {SET "u16|s16|u32|s32|f16|bf16|f16x2|bf16x2|f32."
           "b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|bf16|f16x2|bf16x2|f32|f64",
       set},
      {"selp.b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64", selp},
      {"slct.[ftz].b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64.s32|f32", slct},
  };
}

}  // namespace emu
