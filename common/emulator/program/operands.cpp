// The decoder's operands: registers, constants, addresses and predicates -> slots of a warp's frame.
#include <cstring>

#include "emulator/isa/special_registers.hpp"
#include "emulator/program/program.hpp"

namespace emu {

const Operand& Decoder::operand(size_t i) const {
  if (i >= text_->operands.size())
    refuse(text_->full_name() + " has " + std::to_string(text_->operands.size()) + " operands; operand " +
           std::to_string(i + 1) + " is missing");
  return text_->operands[i];
}

bool Decoder::is_register(const Operand& o) const {
  return (o.kind == Operand::Kind::reg || o.kind == Operand::Kind::symbol) &&
         function_->registers.count(o.name);
}

Type Decoder::register_type(const Operand& o) const {
  if (!is_register(o)) return Type::none;
  return function_->registers.at(o.name);
}

unsigned Decoder::slot_width(const Operand& o) const {
  Type t = register_type(o);
  if (t == Type::none || t == Type::pred) return 0;
  return size_of(t) <= 4 ? 4 : size_of(t);
}

Ref Decoder::scratch(unsigned bytes_per_lane) {
  uint32_t bytes = bytes_per_lane * 32;
  Ref r = frame_top_;
  frame_top_ += bytes;
  return r;
}

Ref Decoder::register_slot(const Operand& o) {
  auto it = register_slots_.find(o.name);
  if (it != register_slots_.end()) return it->second;
  Type t = function_->registers.at(o.name);
  Ref r;
  if (t == Type::pred) {
    r = frame_top_;
    frame_top_ += 8;
  } else {
    r = scratch(size_of(t) <= 4 ? 4 : size_of(t));
  }
  return register_slots_[o.name] = r;
}

Ref Decoder::constant(uint64_t bits, unsigned width) {
  auto key = std::make_pair(bits, width);
  auto it = constant_slots_.find(key);
  if (it != constant_slots_.end()) return it->second;
  Ref r = static_cast<Ref>(program_.constants.size()) | kConstBit;
  for (int lane = 0; lane < 32; ++lane)
    for (unsigned b = 0; b < width; ++b) program_.constants.push_back(static_cast<uint8_t>(bits >> (8 * b)));
  return constant_slots_[key] = r;
}

namespace {

uint64_t convert_real(const Operand& o, Type type) {
  double value;
  if (o.real_type == Type::f64) {
    std::memcpy(&value, &o.bits, 8);
  } else {
    float f;
    uint32_t b = static_cast<uint32_t>(o.bits);
    std::memcpy(&f, &b, 4);
    if (type != Type::f64) return b;
    value = f;
  }
  if (type == Type::f64 || size_of(type) == 8) {
    uint64_t b;
    std::memcpy(&b, &value, 8);
    return b;
  }
  float f = static_cast<float>(value);
  uint32_t b;
  std::memcpy(&b, &f, 4);
  return b;
}

}  // namespace

bool Decoder::symbol_address(const Operand& o, uint64_t* value, Space* space, bool* per_lane) {
  *per_lane = false;
  auto shared = program_.shared_symbols.find(o.name);
  if (shared != program_.shared_symbols.end()) {
    *value = shared->second + o.offset;
    *space = Space::shared;
    return true;
  }
  auto local = local_symbols_.find(o.name);
  if (local != local_symbols_.end()) {
    *value = local->second + o.offset;
    *space = Space::local;
    *per_lane = true;
    return true;
  }
  for (auto& p : program_.params)
    if (p.name == o.name && function_->is_entry) {
      *value = p.offset + o.offset;
      *space = Space::param;
      return true;
    }
  auto symbol = symbols_.find(o.name);
  if (symbol != symbols_.end()) {
    *value = symbol->second + o.offset;
    *space = Space::global;
    return true;
  }
  const Function* f = module_.find_function(o.name);
  if (f) {
    if (!f->has_body) refuse("the address of the external function " + o.name + " is taken");
    function_of(o.name);
    *value = function_address(module_, o.name);
    *space = Space::global;
    return true;
  }
  return false;
}

Ref Decoder::special_register(const std::string& name, unsigned width) {
  Exec exec = special_register_reader(name, width);
  if (!exec) refuse("special register " + name + " is not supported");
  Inst read;
  read.exec = exec;
  read.d = scratch(width);
  read.source = static_cast<int32_t>(program_.sources.size()) - 1;
  program_.code.push_back(read);
  return read.d;
}

Ref Decoder::source_any(const Operand& o, Type type, unsigned* width) {
  unsigned w = slot_width(o);
  if (w) {
    *width = w;
    return register_slot(o);
  }
  *width = size_of(type) <= 4 ? 4 : size_of(type);
  return source(o, type);
}

Ref Decoder::source(const Operand& o, Type type) {
  unsigned width = size_of(type) <= 4 ? 4 : size_of(type);
  if (is_register(o)) {
    if (register_type(o) == Type::pred) refuse("operand " + o.name + " is a predicate; a value was expected");
    if (slot_width(o) != width)
      refuse("register " + o.name + " is " + std::to_string(slot_width(o) * 8) + " bits wide; " +
             text_->full_name() + " takes " + name_of(type));
    return register_slot(o);
  }
  switch (o.kind) {
    case Operand::Kind::integer: {
      uint64_t bits = o.bits;
      if (width == 4) bits &= 0xFFFFFFFFull;
      return constant(bits, width);
    }
    case Operand::Kind::real:
      return constant(convert_real(o, type), width);
    case Operand::Kind::reg:
      return special_register(o.name, width);
    case Operand::Kind::symbol: {
      uint64_t value;
      Space space;
      bool per_lane;
      if (!symbol_address(o, &value, &space, &per_lane)) refuse("the name '" + o.name + "' is not known");
      if (!per_lane) return constant(width == 4 ? value & 0xFFFFFFFFull : value, width);
      Inst in;
      in.exec = local_address_reader(width);
      in.d = scratch(width);
      in.imm = static_cast<int64_t>(value);
      in.source = static_cast<int32_t>(program_.sources.size()) - 1;
      program_.code.push_back(in);
      return in.d;
    }
    default:
      refuse("this operand of " + text_->full_name() + " is not a value");
  }
}

Ref Decoder::destination_any(const Operand& o, Type type, unsigned* width) {
  if (!is_sink(o)) {
    *width = slot_width(o);
    if (!*width) refuse("the destination of " + text_->full_name() + " is not a register");
    program_.written.back().push_back(register_slot(o));
    return register_slot(o);
  }
  *width = size_of(type) <= 4 ? 4 : size_of(type);
  return scratch(*width);
}

Ref Decoder::destination(const Operand& o, Type type) {
  unsigned want = size_of(type) <= 4 ? 4 : size_of(type), width;
  Ref r = destination_any(o, type, &width);
  if (width != want)
    refuse("register " + o.name + " is " + std::to_string(width * 8) + " bits wide; " + text_->full_name() +
           " writes " + name_of(type));
  return r;
}

Ref Decoder::predicate(const Operand& o) {
  if (o.kind == Operand::Kind::integer) return constant(o.bits ? 0xFFFFFFFFull : 0, 4);
  if (register_type(o) != Type::pred) {
    if (o.kind == Operand::Kind::reg && o.name == "%is_explicit_cluster") {
      Ref value = special_register(o.name, 4);  // a mask in the first word
      return value | (o.negated ? kNotBit : 0);
    }
    refuse("a predicate was expected, found '" + o.name + "'");
  }
  return register_slot(o) | (o.negated ? kNotBit : 0);
}

Ref Decoder::predicate_destination(const Operand& o) {
  if (is_sink(o)) return kNoRef;
  if (register_type(o) != Type::pred) refuse("a predicate destination was expected, found '" + o.name + "'");
  return register_slot(o);
}

int64_t Decoder::immediate(const Operand& o, const char* what) {
  if (o.kind != Operand::Kind::integer) refuse(std::string(what) + " must be an immediate");
  return static_cast<int64_t>(o.bits);
}

Extra& Decoder::extra(Inst& inst) {
  if (!inst.extra) {
    program_.extras.emplace_back();
    inst.extra = &program_.extras.back();
  }
  return const_cast<Extra&>(*inst.extra);
}

bool Decoder::find_frame_slot(const std::string& name, FrameSlot* out) const {
  auto it = frame_slots_.find(name);
  if (it == frame_slots_.end()) return false;
  *out = it->second;
  return true;
}

Decoder::Address Decoder::address_of(const Operand& o, Space space) {
  if (o.kind != Operand::Kind::address) refuse("an address in [ ] was expected");
  const Operand& base = o.items[0];
  Address a;
  a.space = space;
  a.offset = o.offset;
  if (is_register(base) || base.kind == Operand::Kind::reg) {
    unsigned width = slot_width(base);
    if (width == 0) width = 8;
    if (width != 4 && width != 8) refuse("an address register must have 32 or 64 bits");
    a.base = is_register(base) ? register_slot(base) : source(base, width == 8 ? Type::u64 : Type::u32);
    a.wide = width == 8;
  } else if (base.kind == Operand::Kind::integer) {
    a.offset += static_cast<int64_t>(base.bits);
  } else if (base.kind == Operand::Kind::symbol) {
    uint64_t value = 0;
    Space where = Space::generic;
    bool per_lane = false;
    if (!symbol_address(base, &value, &where, &per_lane)) refuse("the name '" + base.name + "' is not known");
    if (per_lane) {
      a.base = source(base, Type::u64);
      a.wide = true;
      a.space = Space::local;
    } else {
      a.offset += static_cast<int64_t>(value);
      // A variable named directly is in its own space even when the instruction has none (PTX ISA 6.4.1).
      if (space == Space::generic || where == Space::param) a.space = where;
    }
  } else {
    refuse("this address form is not supported");
  }
  return a;
}

void Decoder::address(const Operand& o, Space space, Inst& inst) {
  Address a = address_of(o, space);
  inst.imm = a.offset;
  inst.space = a.space;
  inst.a = a.base == kNoRef ? constant(0, 8) : a.base;
  if (a.base != kNoRef && !a.wide) inst.flags |= kAddress32;
}

}  // namespace emu
