// Atomic operations on memory (PTX ISA 9.7.13.5 atom, 9.7.13.7 red): d = *a; *a = op(*a, b{, c}).
// red is atom without d. Lanes take their turn in lane order. The default ordering is .relaxed.
#include <algorithm>

#include "emulator/isa/access.hpp"
#include "emulator/isa/operands.hpp"
#include "emulator/numerics/formats.hpp"

namespace emu {
namespace {

// Inst::flags, besides kAddress32.
constexpr uint32_t kAcquire = 1, kRelease = 2;

using B128 = unsigned __int128;

// The 16-byte lanes of a .b128 register.
template <class T>
T read_lane(Warp& w, Ref r, int l) {
  if constexpr (sizeof(T) <= 8) return w.lanes<T>(r)[l];
  T v;
  std::memcpy(&v, reinterpret_cast<const char*>(w.lanes<uint64_t>(r).slots) + l * sizeof(T), sizeof(T));
  return v;
}
template <class T>
void write_lane(Warp& w, Ref r, int l, T v) {
  if constexpr (sizeof(T) <= 8)
    w.lanes<T>(r).set(l, v);
  else
    std::memcpy(reinterpret_cast<char*>(w.lanes<uint64_t>(r).slots) + l * sizeof(T), &v, sizeof(T));
}

// ---- operations: (old value, b, c, whether the location is in global memory)
struct Add {
  template <class T>
  static T of(T old, T b, T, bool global) {
    if constexpr (std::is_same_v<T, double>) {
      return add_to_memory(old, b, global);
    } else if constexpr (std::is_same_v<T, float>) {
      // In global memory subnormal inputs and results are flushed, in shared memory they are not.
      return global ? canonical(flush(flush(old) + flush(b))) : canonical(old + b);
    } else {
      return wrap_add(old, b);
    }
  }
};
struct Inc {
  static uint32_t of(uint32_t old, uint32_t b, uint32_t, bool) { return old >= b ? 0 : old + 1; }
};
struct Dec {
  static uint32_t of(uint32_t old, uint32_t b, uint32_t, bool) { return old == 0 || old > b ? b : old - 1; }
};
struct Min {
  template <class T>
  static T of(T old, T b, T, bool) {
    return std::min(old, b);
  }
};
struct Max {
  template <class T>
  static T of(T old, T b, T, bool) {
    return std::max(old, b);
  }
};
struct And {
  template <class T>
  static T of(T old, T b, T, bool) {
    return old & b;
  }
};
struct Or {
  template <class T>
  static T of(T old, T b, T, bool) {
    return old | b;
  }
};
struct Xor {
  template <class T>
  static T of(T old, T b, T, bool) {
    return old ^ b;
  }
};
struct Exch {
  template <class T>
  static T of(T, T b, T, bool) {
    return b;
  }
};
struct Cas {
  template <class T>
  static T of(T old, T b, T c, bool) {
    return old == b ? c : old;
  }
};

// .noftz: f16 and bf16 keep subnormal numbers. A NaN loses against a number in min and max.
template <class Format>
struct AddHalf {
  static uint16_t of(uint16_t old, uint16_t b, uint16_t, bool) {
    return Format::round(add_to_odd(Format::widen(old), Format::widen(b)));
  }
};
template <class Format, bool kMax>
struct ExtremumHalf {
  static uint16_t of(uint16_t old, uint16_t b, uint16_t, bool) {
    if (Format::is_nan(old)) return Format::is_nan(b) ? Format::kNan : b;
    if (Format::is_nan(b)) return old;
    float x = Format::widen(old), y = Format::widen(b);
    if (x == y) return (old >> 15 != 0) == kMax ? b : old;  // +0 is greater than -0
    return (x < y) != kMax ? old : b;
  }
};
template <class Op>
struct Pair {  // f16x2, bf16x2: each half by itself
  static uint32_t of(uint32_t old, uint32_t b, uint32_t, bool) {
    auto part = [&](int shift) {
      return uint32_t{
                 Op::of(static_cast<uint16_t>(old >> shift), static_cast<uint16_t>(b >> shift), 0, false)}
             << shift;
    };
    return part(16) | part(0);
  }
};

// One location; returns what was there.
template <class Op, class T>
T update(Warp& w, int l, bool global, std::byte* bytes, Ref b, Ref c) {
  T old;
  std::memcpy(&old, bytes, sizeof old);
  T operand = read_lane<T>(w, b, l), third = c == kNoRef ? T{} : read_lane<T>(w, c, l);
  T value = Op::of(old, operand, third, global);
  if (std::memcmp(&old, &value, sizeof old) != 0) {
    std::memcpy(bytes, &value, sizeof value);
    ++w.machine.effects;
  }
  return old;
}

// d is kNoRef for red. Scalar: d, b, c in the instruction. Vector: extra->refs holds count x {d, b}.
template <class Op, class T>
Flow atomic(Warp& w, const Inst& in, uint32_t mask) {
  Places at;
  unsigned bytes = sizeof(T) * in.count;
  for (uint32_t m = mask; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    at.set(l, resolve_access({w, in, l}, in.space, lane_address({w, in, l}), bytes, AccessKind::atomic));
  }
  // Observers learn of the access before it changes anything.
  observe_access(w, in, mask, at, bytes, AccessKind::atomic, in.flags & kAcquire, in.flags & kRelease);
  for (uint32_t m = mask; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    const bool global = at.space[l] == Space::global;
    if (in.count == 1) {
      const T old = update<Op, T>(w, l, global, at.bytes[l], in.b, in.c);
      if (in.d != kNoRef) write_lane(w, in.d, l, old);
      continue;
    }
    // All sources are read before a destination is written: a register may be both.
    T old[8];
    for (unsigned i = 0; i < in.count; ++i)
      old[i] = update<Op, T>(w, l, global, at.bytes[l] + i * sizeof(T), in.extra->refs[2 * i + 1], kNoRef);
    for (unsigned i = 0; i < in.count; ++i)
      if (const Ref d = in.extra->refs[2 * i]; d != kNoRef) write_lane(w, d, l, old[i]);
  }
  return Flow::next;
}

// ---- decoding
template <class Op>
Exec integer_exec(Type t) {
  switch (t) {
    case Type::u32:
      return atomic<Op, uint32_t>;
    case Type::s32:
      return atomic<Op, int32_t>;
    case Type::u64:
      return atomic<Op, uint64_t>;
    case Type::s64:
      return atomic<Op, int64_t>;
    default:
      return nullptr;
  }
}
template <class Op>
Exec bits_exec(Type t) {
  switch (t) {
    case Type::b16:
      return atomic<Op, uint16_t>;
    case Type::b32:
      return atomic<Op, uint32_t>;
    case Type::b64:
      return atomic<Op, uint64_t>;
    case Type::b128:
      return atomic<Op, B128>;
    default:
      return nullptr;
  }
}
template <class Format>
Exec half_exec(const Match& m) {
  if (m.has("add")) return atomic<AddHalf<Format>, uint16_t>;
  return m.has("min") ? atomic<ExtremumHalf<Format, false>, uint16_t>
                      : atomic<ExtremumHalf<Format, true>, uint16_t>;
}
template <class Format>
Exec pair_exec(const Match& m) {
  if (m.has("add")) return atomic<Pair<AddHalf<Format>>, uint32_t>;
  return m.has("min") ? atomic<Pair<ExtremumHalf<Format, false>>, uint32_t>
                      : atomic<Pair<ExtremumHalf<Format, true>>, uint32_t>;
}
Exec choose(const Match& m, Type t) {
  switch (t) {
    case Type::f32:
      return atomic<Add, float>;
    case Type::f64:
      return atomic<Add, double>;
    case Type::f16:
      return half_exec<F16>(m);
    case Type::bf16:
      return half_exec<BF16>(m);
    case Type::f16x2:
      return pair_exec<F16>(m);
    case Type::bf16x2:
      return pair_exec<BF16>(m);
    default:
      break;
  }
  if (m.has("add")) return integer_exec<Add>(t);
  if (m.has("min")) return integer_exec<Min>(t);
  if (m.has("max")) return integer_exec<Max>(t);
  if (m.has("inc")) return atomic<Inc, uint32_t>;
  if (m.has("dec")) return atomic<Dec, uint32_t>;
  if (m.has("and")) return bits_exec<And>(t);
  if (m.has("or")) return bits_exec<Or>(t);
  if (m.has("xor")) return bits_exec<Xor>(t);
  return m.has("exch") ? bits_exec<Exch>(t) : bits_exec<Cas>(t);
}

Space space_of(const Match& m) {
  if (m.has("global")) return Space::global;
  if (m.has("shared::cluster")) return Space::shared_cluster;
  return m.has("shared") || m.has("shared::cta") ? Space::shared : Space::generic;
}

// atom d, [a], b{, c}{, cache-policy};   red [a], b{, cache-policy};   with .vec, d and b are {lists}.
void decode(Decoder& d, const Match& m, Inst& in, bool has_result) {
  Type t = m.type();
  bool cas = m.has("cas");
  std::string vec = m.any_of({"v2", "v4", "v8"});
  size_t next = has_result ? 1 : 0;
  size_t expected = next + 2 + cas;
  if (m.has("L2::cache_hint")) ++expected;  // the policy is a hint and changes nothing here
  expect_operands(d, expected);
  in.cls = Class::memory;
  in.bytes = static_cast<uint8_t>(size_of(t));
  d.address(d.operand(next), space_of(m), in);
  if (in.space == Space::local || in.space == Space::param || in.space == Space::constant)
    d.refuse("an atomic operation on ." + std::string(name_of(in.space)) + " memory",
             "atom and red work on global and shared memory");
  if (m.has("L2::cache_hint") && (in.space == Space::shared || in.space == Space::shared_cluster))
    d.refuse(".L2::cache_hint on shared memory", "a cache policy belongs to global memory");
  if (m.has("acquire") || m.has("acq_rel")) in.flags |= kAcquire;
  if (m.has("release") || m.has("acq_rel")) in.flags |= kRelease;
  const Operand& b = d.operand(next + 1);
  if (vec.empty()) {
    if (has_result) in.d = d.is_sink(d.operand(0)) ? kNoRef : d.destination(d.operand(0), t);
    in.b = d.source(b, t);
    if (cas) in.c = d.source(d.operand(next + 2), t);
  } else {
    in.count = static_cast<uint8_t>(vec[1] - '0');
    auto is_list = [&](const Operand& o) {
      return o.kind == Operand::Kind::vec && o.items.size() == in.count;
    };
    if (!is_list(b) || (has_result && !is_list(d.operand(0))))
      d.refuse("`" + d.text().full_name() + "` takes lists of " + vec.substr(1) + " registers in { }");
    Extra& extra = d.extra(in);
    for (unsigned i = 0; i < in.count; ++i) {
      const Operand* result = has_result ? &d.operand(0).items[i] : nullptr;
      extra.refs.push_back(!result || d.is_sink(*result) ? kNoRef : d.destination(*result, t));
      extra.refs.push_back(d.source(b.items[i], t));
    }
  }
  in.exec = choose(m, t);
}
void atom(Decoder& d, const Match& m, Inst& in) {
  decode(d, m, in, true);
}
void red(Decoder& d, const Match& m, Inst& in) {
  decode(d, m, in, false);
}

}  // namespace

#define ATOM                                                                                                 \
  "atom.[relaxed|acquire|release|acq_rel].[cta|cluster|gpu|sys].[global|shared|shared::cta|shared::cluster]" \
  "."
#define ATOM_GLOBAL "atom.[relaxed|acquire|release|acq_rel].[cta|cluster|gpu|sys].[global]."
#define RED "red.[relaxed|release].[cta|cluster|gpu|sys].[global|shared|shared::cta|shared::cluster]."
#define RED_GLOBAL "red.[relaxed|release].[cta|cluster|gpu|sys].[global]."

std::vector<Form> atomic_forms() {
  return {
      {ATOM "add.[L2::cache_hint].u32|s32|u64|f32|f64", atom},
      {ATOM "min|max.[L2::cache_hint].u32|s32|u64|s64", atom},
      {ATOM "inc|dec.[L2::cache_hint].u32", atom},
      {ATOM "and|or|xor.[L2::cache_hint].b32|b64", atom},
      {ATOM "exch.[L2::cache_hint].b32|b64|b128", atom},
      {ATOM "cas.b16|b32|b64|b128", atom},
      {ATOM "add.noftz.[L2::cache_hint].f16|f16x2|bf16|bf16x2", atom},
      {ATOM_GLOBAL "add.[L2::cache_hint].v2|v4.f32", atom},
      {ATOM_GLOBAL "add|min|max.noftz.[L2::cache_hint].v2|v4|v8.f16|bf16", atom},
      {ATOM_GLOBAL "add|min|max.noftz.[L2::cache_hint].v2|v4.f16x2|bf16x2", atom},
      {RED "add.[L2::cache_hint].u32|s32|u64|f32|f64", red},
      {RED "min|max.[L2::cache_hint].u32|s32|u64|s64", red},
      {RED "inc|dec.[L2::cache_hint].u32", red},
      {RED "and|or|xor.[L2::cache_hint].b32|b64", red},
      {RED "add.noftz.[L2::cache_hint].f16|f16x2|bf16|bf16x2", red},
      {RED_GLOBAL "add.[L2::cache_hint].v2|v4.f32", red},
      {RED_GLOBAL "add|min|max.noftz.[L2::cache_hint].v2|v4|v8.f16|bf16", red},
      {RED_GLOBAL "add|min|max.noftz.[L2::cache_hint].v2|v4.f16x2|bf16x2", red},
  };
}

}  // namespace emu
