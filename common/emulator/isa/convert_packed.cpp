// Conversions to and from packed formats and tf32 (PTX ISA 9.7.9.21: cvt; 9.7.9.22: cvt.pack).
// With two sources the first one lands in the upper half of the destination.
#include <algorithm>

#include "emulator/isa/convert.hpp"
#include "emulator/isa/operands.hpp"

namespace emu {
namespace {

// .relu: negative values become 0, NaN stays. .satfinite: infinities and overflow become the largest finite number.
constexpr uint32_t kRelu = 1, kSatFinite = 2;

template <class Format>
uint32_t narrow(double v, Round r, uint32_t flags) {
  if (flags & kRelu && v <= 0) v = 0;
  uint16_t bits = Format::round(v, r);
  if (flags & kSatFinite && !Format::is_nan(bits) && (bits & 0x7FFF) > Format::kLargest)
    bits = static_cast<uint16_t>(Format::kLargest | (bits & 0x8000));
  return bits;
}

// 8-bit formats. Always .satfinite. e4m3 has no infinity: 0x7E is 448, 0x7F is NaN. e5m2: 0x7B is 57344.
struct E4m3 {
  static uint32_t round(double v) {
    if (v != v) return 0x7F;
    // A format with one more exponent bit has room for what would be infinity here; its bias is larger by 8.
    auto bits = static_cast<uint32_t>(encode<5, 3>(std::fabs(v) * 0x1p-8, Round::rn));
    return (std::signbit(v) ? 0x80 : 0) | std::min(bits, 0x7Eu);
  }
  static float widen(uint32_t bits) {
    if ((bits & 0x7F) == 0x7F) return bit_cast<float>(kNan32);
    uint32_t field = bits >> 3 & 0xF, fraction = bits & 7;
    float v = field ? std::ldexp(static_cast<float>(8 + fraction), static_cast<int>(field) - 10)
                    : std::ldexp(static_cast<float>(fraction), -9);
    return bits & 0x80 ? -v : v;
  }
};
struct E5m2 {
  static uint32_t round(double v) {
    auto bits = static_cast<uint32_t>(encode<5, 2>(v, Round::rn));
    return v == v && (bits & 0x7F) > 0x7B ? (bits & 0x80) | 0x7B : bits;
  }
  static float widen(uint32_t bits) {
    return F16::widen(static_cast<uint16_t>(bits << 8));
  }  // f16's upper byte
};

// cvt.frnd2{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a, b
template <class Format>
Flow pack16(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d);
  auto a = w.lanes<float>(in.a), b = w.lanes<float>(in.b);
  auto r = static_cast<Round>(in.imm);
  for_lanes(mask, [&](int l) {
    d.set(l, narrow<Format>(a[l], r, in.flags) << 16 | narrow<Format>(b[l], r, in.flags));
  });
  return Flow::next;
}
struct PackBf16 {  // cvt.rn.bf16x2.f32
  static uint32_t of(float a, float b) { return uint32_t{bf16_nearest(a)} << 16 | bf16_nearest(b); }
};
void pack16(Decoder& d, const Match& m, Inst& in) {
  Type to = m.type(0);
  operands(d, in, Class::math, to, {Type::f32, Type::f32});
  in.imm = static_cast<int64_t>(m.has("rz") ? Round::rz : Round::rn);
  in.flags = (m.has("relu") ? kRelu : 0) | (m.has("satfinite") ? kSatFinite : 0);
  in.exec = to == Type::f16x2 ? pack16<F16> : pack16<BF16>;
  if (to == Type::bf16x2 && in.flags == 0 && m.has("rn")) in.exec = binary<PackBf16, float, float>;
}

// cvt.rn.satfinite{.relu}.f8x2type.f32 d, a, b   and   .f8x2type.f16x2 d, a
template <class Format>
uint32_t narrow8(double v, bool relu) {
  return Format::round(relu && v <= 0 ? 0.0 : v);
}
template <class Format>
Flow pack8(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint16_t>(in.d);
  auto a = w.lanes<float>(in.a), b = w.lanes<float>(in.b);
  bool relu = in.flags & kRelu;
  for_lanes(mask, [&](int l) {
    d.set(l, static_cast<uint16_t>(narrow8<Format>(a[l], relu) << 8 | narrow8<Format>(b[l], relu)));
  });
  return Flow::next;
}
template <class Format>
Flow pack8_from_f16x2(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint16_t>(in.d);
  auto a = w.lanes<uint32_t>(in.a);
  bool relu = in.flags & kRelu;
  for_lanes(mask, [&](int l) {
    double high = F16::widen(static_cast<uint16_t>(a[l] >> 16)),
           low = F16::widen(static_cast<uint16_t>(a[l]));
    d.set(l, static_cast<uint16_t>(narrow8<Format>(high, relu) << 8 | narrow8<Format>(low, relu)));
  });
  return Flow::next;
}
void pack8(Decoder& d, const Match& m, Inst& in) {
  Type to = m.type(0), from = m.type(1);
  bool e4m3 = to == Type::e4m3x2;
  if (from == Type::f32) {
    operands(d, in, Class::math, to, {Type::f32, Type::f32});
    in.exec = e4m3 ? pack8<E4m3> : pack8<E5m2>;
  } else {
    operands(d, in, Class::math, to, {Type::f16x2});
    in.exec = e4m3 ? pack8_from_f16x2<E4m3> : pack8_from_f16x2<E5m2>;
  }
  in.flags = m.has("relu") ? kRelu : 0;
}

// cvt.rn{.relu}.f16x2.f8x2type d, a: exact
template <class Format>
Flow unpack8(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d);
  auto a = w.lanes<uint16_t>(in.a);
  for_lanes(mask, [&](int l) {
    uint32_t high = narrow<F16>(Format::widen(a[l] >> 8), Round::rn, in.flags);
    uint32_t low = narrow<F16>(Format::widen(a[l] & 0xFF), Round::rn, in.flags);
    d.set(l, high << 16 | low);
  });
  return Flow::next;
}
void unpack8(Decoder& d, const Match& m, Inst& in) {
  Type from = m.type(1);
  operands(d, in, Class::math, Type::f16x2, {from});
  in.flags = m.has("relu") ? kRelu : 0;
  in.exec = from == Type::e4m3x2 ? unpack8<E4m3> : unpack8<E5m2>;
}

// cvt.rna{.satfinite}.tf32.f32, cvt.{rn,rz}{.relu}.tf32.f32: f32's exponent and ten fraction bits, in the upper 19 bits.
// .rna cuts a NaN off, even to infinity (checks/recorded/nan_bits.txt); .satfinite (with .rna) is one step less than that.
Flow to_tf32(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d);
  auto a = w.lanes<float>(in.a);
  auto r = static_cast<Round>(in.imm);
  for_lanes(mask, [&](int l) {
    double v = a[l];
    if (in.flags & kRelu && v <= 0) v = 0;
    auto bits = static_cast<uint32_t>(encode<8, 10>(v, r)) << 13;
    if (v != v) bits = (r == Round::rna ? bit_cast<uint32_t>(a[l]) : kNan32) & 0xFFFFE000u;
    if (in.flags & kSatFinite && (bits & 0x7FFFFFFF) >= 0x7F800000) bits -= 0x2000;
    d.set(l, bits);
  });
  return Flow::next;
}
void tf32(Decoder& d, const Match& m, Inst& in) {
  operands(d, in, Class::math, Type::b32, {Type::f32});
  in.imm = static_cast<int64_t>(m.has("rna") ? Round::rna : m.has("rz") ? Round::rz : Round::rn);
  in.flags = (m.has("relu") ? kRelu : 0) | (m.has("satfinite") ? kSatFinite : 0);
  in.exec = to_tf32;
}

// cvt.pack.sat.convertType.s32 d, a, b        .u16 .s16: d = a : b
// cvt.pack.sat.convertType.s32.b32 d, a, b, c  .u8 .s8 .u4 .s4 .u2 .s2: d = low bits of c : a : b
// imm: bits of one value; flags: 1 for signed.
Flow cvt_pack(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d);
  auto a = w.lanes<int32_t>(in.a), b = w.lanes<int32_t>(in.b);
  auto bits = static_cast<uint32_t>(in.imm);
  int32_t low = in.flags ? -(1 << (bits - 1)) : 0, high = (1 << (bits - in.flags)) - 1;
  uint32_t field = (1u << bits) - 1;
  for_lanes(mask, [&](int l) {
    uint32_t packed = (static_cast<uint32_t>(std::clamp(a[l], low, high)) & field) << bits |
                      (static_cast<uint32_t>(std::clamp(b[l], low, high)) & field);
    if (in.c != kNoRef) packed |= w.lanes<uint32_t>(in.c)[l] << 2 * bits;
    d.set(l, packed);
  });
  return Flow::next;
}
void cvt_pack(Decoder& d, const Match& m, Inst& in) {
  std::string type = m.any_of({"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"});
  in.imm = std::stoi(type.substr(1));
  in.flags = type[0] == 's';
  if (in.imm == 16)
    operands(d, in, Class::math, Type::b32, {Type::s32, Type::s32});
  else
    operands(d, in, Class::math, Type::b32, {Type::s32, Type::s32, Type::b32});
  in.exec = cvt_pack;
}

}  // namespace

std::vector<Form> packed_convert_forms() {
  return {
      {"cvt.rn|rz.[relu].[satfinite].f16x2|bf16x2.f32", pack16},
      {"cvt.rn.satfinite.[relu].e4m3x2|e5m2x2.f32|f16x2", pack8},
      {"cvt.rn.[relu].f16x2.e4m3x2|e5m2x2", unpack8},
      {"cvt.rna.[satfinite].tf32.f32", tf32},
      {"cvt.rn|rz.[relu].tf32.f32", tf32},
      {"cvt.pack.sat.u16|s16.s32", cvt_pack},
      {"cvt.pack.sat.u8|s8|u4|s4|u2|s2.s32.b32", cvt_pack},
  };
}

}  // namespace emu
