// Extended-precision integer arithmetic (PTX ISA 9.7.2): chains through the condition code register's carry flag.
//
// CC.CF is one bit a thread. Here it is a predicate slot of the function's frame that no register names; every
// instruction of a function uses the same one, kept in Inst::imm. Flags tell what an instruction does with it.
#include "emulator/isa/carry.hpp"

#include "emulator/isa/operands.hpp"

namespace emu {
namespace {

constexpr uint32_t kCarryIn = 1, kCarryOut = 2;

bool uses_carry(const Instruction& i) {
  if (i.opcode == "addc" || i.opcode == "subc" || i.opcode == "madc") return true;
  if (i.opcode != "add" && i.opcode != "sub" && i.opcode != "mad") return false;
  for (auto& m : i.modifiers)
    if (m == "cc") return true;
  return false;
}
// The slot that the last such instruction of this function took, else a new one.
Ref carry_slot(Decoder& d) {
  const auto& body = d.function().body;
  const Program& p = d.program();
  for (auto it = p.code.rbegin(); it != p.code.rend(); ++it) {
    if (it->source < 0) continue;
    const Instruction* text = p.sources[it->source];
    if (text < body.data() || text >= body.data() + body.size()) break;
    if (text != &d.text() && uses_carry(*text)) return static_cast<Ref>(it->imm);
  }
  return d.scratch(4);
}

// x + y + carry in; *carry becomes the carry out. Subtraction is x + ~y + carry: CC.CF is the carry of that sum, which is 1
// when nothing was borrowed, and 1 goes in where there is no carry in (checks/emulator/integer.cpp: as ptxas compiles it).
template <class U>
U add_with_carry(U x, U y, bool* carry) {
  unsigned __int128 sum = static_cast<unsigned __int128>(x) + y + *carry;
  *carry = sum >> (8 * sizeof(U)) & 1;
  return static_cast<U>(sum);
}

enum class Kind { add, sub, mad_lo, mad_hi };
// T decides only how .hi extends its sources.
template <Kind kKind, class T>
Flow exec(Warp& w, const Inst& in, uint32_t mask) {
  using U = Bits<T>;
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  auto d = w.lanes<U>(in.d), a = w.lanes<U>(in.a), b = w.lanes<U>(in.b);
  auto c = w.lanes<U>(kKind == Kind::add || kKind == Kind::sub ? in.a : in.c);
  auto slot = static_cast<Ref>(in.imm);
  uint32_t flag = in.flags & kCarryIn ? w.predicate(slot) : 0, out = 0;
  for_lanes(mask, [&](int l) {
    bool carry = in.flags & kCarryIn ? flag >> l & 1 : kKind == Kind::sub;
    U result;
    if constexpr (kKind == Kind::add) {
      result = add_with_carry<U>(a[l], b[l], &carry);
    } else if constexpr (kKind == Kind::sub) {
      result = add_with_carry<U>(a[l], ~b[l], &carry);
    } else {
      Wide product = static_cast<Wide>(static_cast<T>(a[l])) * static_cast<T>(b[l]);
      U part = static_cast<U>(kKind == Kind::mad_lo ? product : product >> (8 * sizeof(T)));
      result = add_with_carry<U>(part, c[l], &carry);
    }
    d.set(l, result);
    out |= uint32_t{carry} << l;
  });
  if (in.flags & kCarryOut) w.set_predicate(slot, out, mask);
  return Flow::next;
}

template <Kind kKind>
Exec exec_of(Type t) {
  switch (t) {
    case Type::u32:
      return exec<kKind, uint32_t>;
    case Type::s32:
      return exec<kKind, int32_t>;
    case Type::u64:
      return exec<kKind, uint64_t>;
    default:
      return exec<kKind, int64_t>;
  }
}
void carry(Decoder& d, const Match& m, Inst& in, bool carry_in) {
  in.imm = carry_slot(d);
  in.flags = (carry_in ? kCarryIn : 0) | (m.has("cc") ? kCarryOut : 0);
}
template <Kind kKind, bool kIn>
void two_sources(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, t, {t, t});
  carry(d, m, in, kIn);
  in.exec = exec_of<kKind>(t);
}
template <bool kIn>
void mad(Decoder& d, const Match& m, Inst& in) {
  Type t = m.type();
  operands(d, in, Class::address, t, {t, t, t});
  carry(d, m, in, kIn);
  in.exec = m.has("lo") ? exec_of<Kind::mad_lo>(t) : exec_of<Kind::mad_hi>(t);
}

}  // namespace

std::vector<Form> carry_forms() {
  return {
      {"add.cc.u32|s32|u64|s64", two_sources<Kind::add, false>},
      {"addc.[cc].u32|s32|u64|s64", two_sources<Kind::add, true>},
      {"sub.cc.u32|s32|u64|s64", two_sources<Kind::sub, false>},
      {"subc.[cc].u32|s32|u64|s64", two_sources<Kind::sub, true>},
      {"mad.lo|hi.cc.u32|s32|u64|s64", mad<false>},
      {"madc.lo|hi.[cc].u32|s32|u64|s64", mad<true>},
  };
}

}  // namespace emu
