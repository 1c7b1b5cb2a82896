// The decoder's operands: registers, constants, addresses and predicates -> slots of a warp's frame.
#include <cstring>

#include "emulator/program/order.hpp"
#include "emulator/program/program.hpp"
#include "emulator/program/special_registers.hpp"

namespace emu {

namespace {
constexpr uint32_t kLargestFrame = 64u << 20;  // Ref has 30 bits
}

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

uint32_t Decoder::take_frame_bytes(uint64_t bytes) {
  if (bytes > kLargestFrame - frame_top_)
    refuse("the registers and .param variables of " + function_->name + " take more than " +
           std::to_string(kLargestFrame >> 20) + " MiB per warp");
  const uint32_t at = frame_top_;
  frame_top_ += static_cast<uint32_t>(bytes);
  return at;
}

Ref Decoder::scratch(unsigned bytes_per_lane) {
  return take_frame_bytes(uint64_t{bytes_per_lane} * 32);
}

Ref Decoder::register_slot(const Operand& o) {
  auto it = register_slots_.find(o.name);
  if (it != register_slots_.end()) return it->second;
  Type t = function_->registers.at(o.name);
  Ref r;
  if (t == Type::pred)
    r = take_frame_bytes(8);
  else
    r = scratch(size_of(t) <= 4 ? 4 : size_of(t));
  return register_slots_[o.name] = r;
}

Ref Decoder::read_slot(const Operand& o) {
  const Ref r = register_slot(o);
  const Type t = register_type(o);
  program_.read.back().push_back({r, t == Type::pred ? 8 : 32 * (size_of(t) <= 4 ? 4 : size_of(t))});
  return r;
}

Ref Decoder::constant(uint64_t bits, unsigned width) {
  auto key = std::make_pair(bits, width);
  auto it = constant_slots_.find(key);
  if (it != constant_slots_.end()) return it->second;
  if (program_.constants.size() > kLargestFrame)
    refuse("this kernel has more constants than the emulator keeps");
  Ref r = static_cast<Ref>(program_.constants.size()) | kConstBit;
  for (int lane = 0; lane < 32; ++lane)
    for (unsigned b = 0; b < width; ++b)
      program_.constants.push_back(b < 8 ? static_cast<uint8_t>(bits >> (8 * b)) : 0);
  return constant_slots_[key] = r;
}

namespace {

bool is_untyped(Type t) {
  return t == Type::b8 || t == Type::b16 || t == Type::b32 || t == Type::b64 || t == Type::b128;
}
// Whether a value of one type may be kept in a register of the other, sizes aside (PTX ISA 9.4).
bool agree(Type type, Type declared) {
  if (type == declared || is_untyped(type) || is_untyped(declared)) return true;
  return is_integer(type) && (is_integer(declared) || declared == Type::f16x2);
}

}  // namespace

// A register fits when it has the type's size, or more where the instruction allows it (PTX ISA 9.4.1).
void Decoder::check_register(const Operand& o, Type type, bool wider) const {
  const Type declared = register_type(o);
  if (o.negated) refuse("'!' stands before " + o.name + ", which is no predicate");
  if (declared == Type::pred) refuse("operand " + o.name + " is a predicate; a value was expected");
  const bool size = wider ? size_of(declared) >= size_of(type) : size_of(declared) == size_of(type);
  if (size && agree(type, declared)) return;
  refuse("register " + o.name + " is declared ." + name_of(declared) + "; " + text_->full_name() +
             " takes ." + name_of(type) + " here",
         "ptxas refuses this, too: use a register of that size, .b" + std::to_string(8 * size_of(type)) +
             " fits every type");
}

bool Decoder::symbol_address(const Operand& o, uint64_t* value, Space* space, bool* per_lane) {
  *per_lane = false;
  auto shared = program_.shared_symbols.find(o.name);
  if (shared != program_.shared_symbols.end()) {
    *value = shared->second;
    *space = Space::shared;
    return true;
  }
  auto local = local_symbols_.find(o.name);
  if (local != local_symbols_.end()) {
    *value = local->second;
    *space = Space::local;
    *per_lane = true;
    return true;
  }
  for (auto& p : program_.params)
    if (p.name == o.name && function_->is_entry) {
      *value = p.offset;
      *space = Space::param;
      return true;
    }
  auto symbol = symbols_.find(o.name);
  if (symbol != symbols_.end()) {
    *value = symbol->second;
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
  if (name == "%reserved_smem_offset_1") program_.uses_reserved_shared = true;
  program_.asks_for_order |= shows_order(name);
  return read_first(exec, width, kNoRef, 0);
}

Ref Decoder::read_first(Exec exec, unsigned width, Ref from, uint64_t immediate) {
  Inst read;
  read.exec = exec;
  read.d = scratch(width);
  read.a = from;
  read.imm = static_cast<int64_t>(immediate);
  read.source = static_cast<int32_t>(program_.sources.size()) - 1;
  program_.code.push_back(read);
  return read.d;
}

Ref Decoder::source_any(const Operand& o, Type type, unsigned* width) {
  const bool sum = o.kind == Operand::Kind::sum;
  const Operand& base = sum ? o.items[0] : o;
  *width = is_register(base) ? slot_width(base) : size_of(type) <= 4 ? 4 : size_of(type);
  if (*width > 8) refuse("register " + base.name + " of 128 bits can only be moved, loaded and stored");
  if (!is_register(base)) return source(o, type);
  check_register(base, type, true);
  return sum ? register_sum(o) : read_slot(base);
}

// Register + constant, computed in the width of the register.
Ref Decoder::register_sum(const Operand& o) {
  const Operand& base = o.items[0];
  const Type declared = register_type(base);
  if (!is_untyped(declared) && !is_integer(declared))
    refuse("a constant can only be added to an integer register; " + base.name + " is declared ." +
           name_of(declared));
  const unsigned width = slot_width(base);
  if (width > 8) refuse("a constant cannot be added to a register of 128 bits");
  return read_first(sum_reader(size_of(declared)), width, read_slot(base), static_cast<uint64_t>(o.offset));
}

Ref Decoder::source(const Operand& o, Type type) {
  const unsigned width = size_of(type) <= 4 ? 4 : size_of(type);
  const bool sum = o.kind == Operand::Kind::sum;
  const Operand& base = sum ? o.items[0] : o;
  if (is_register(base)) {
    check_register(base, type, false);
    return sum ? register_sum(o) : read_slot(base);
  }
  if (base.negated) refuse("'!' stands before " + base.name + ", which is no predicate");
  switch (base.kind) {
    case Operand::Kind::constant: {
      uint64_t bits;
      if (!bits_of_constant(o.constant, type, &bits))
        refuse(std::string("a constant ") + (o.constant.is_real ? "real" : "integer") + " cannot be the ." +
                   name_of(type) + " operand of " + text_->full_name(),
               "ptxas refuses this, too: move the constant to a register of the right type first");
      if (width == 4) bits &= 0xFFFFFFFFull;
      return constant(bits, width);
    }
    case Operand::Kind::reg:
      if (sum) refuse("a constant cannot be added to the special register " + base.name);
      return special_register(base.name, width);
    case Operand::Kind::symbol: {
      uint64_t value;
      Space space;
      bool per_lane;
      if (!symbol_address(base, &value, &space, &per_lane))
        refuse("the name '" + base.name + "' is not known");
      value += static_cast<uint64_t>(o.offset);
      if (!per_lane) return constant(width == 4 ? value & 0xFFFFFFFFull : value, width);
      return read_first(local_address_reader(width), width, kNoRef, value);
    }
    default:
      refuse("this operand of " + text_->full_name() + " is not a value");
  }
}

Ref Decoder::destination_slot(const Operand& o, Type type, bool wider, unsigned* width) {
  if (is_sink(o)) {
    *width = size_of(type) <= 4 ? 4 : size_of(type);
    return scratch(*width);
  }
  if (!is_register(o)) refuse("the destination of " + text_->full_name() + " is not a register");
  check_register(o, type, wider);
  *width = slot_width(o);
  program_.written.back().push_back(register_slot(o));
  return register_slot(o);
}

Ref Decoder::destination_any(const Operand& o, Type type, unsigned* width) {
  const Ref r = destination_slot(o, type, true, width);
  if (*width > 8) refuse("register " + o.name + " of 128 bits can only be moved, loaded and stored");
  return r;
}

Ref Decoder::destination(const Operand& o, Type type) {
  unsigned width;
  return destination_slot(o, type, false, &width);
}

Ref Decoder::predicate(const Operand& o) {
  if (o.kind == Operand::Kind::constant && !o.constant.is_real)
    return constant(o.constant.bits ? 0xFFFFFFFFull : 0, 4);
  if (register_type(o) != Type::pred) {
    if (o.kind == Operand::Kind::reg && o.name == "%is_explicit_cluster") {
      Ref value = special_register(o.name, 4);  // a mask in the first word
      return value | (o.negated ? kNotBit : 0);
    }
    refuse("a predicate was expected, found '" + o.name + "'");
  }
  return read_slot(o) | (o.negated ? kNotBit : 0);
}

Ref Decoder::predicate_destination(const Operand& o) {
  if (is_sink(o)) return kNoRef;
  if (o.negated) refuse("'!' stands before the destination " + o.name);
  if (register_type(o) != Type::pred) refuse("a predicate destination was expected, found '" + o.name + "'");
  program_.written_predicates.back().push_back(register_slot(o));
  return register_slot(o);
}

int64_t Decoder::immediate(const Operand& o, const char* what) {
  if (o.kind != Operand::Kind::constant || o.constant.is_real)
    refuse(std::string(what) + " must be a constant integer");
  return static_cast<int64_t>(o.constant.bits);
}

Extra& Decoder::extra(Inst& inst) {
  if (!inst.extra) inst.extra = &program_.extras.emplace_back();
  return program_.extras.back();  // what is being decoded has the latest
}

bool Decoder::find_frame_slot(const std::string& name, FrameSlot* out) const {
  auto it = frame_slots_.find(name);
  if (it == frame_slots_.end()) return false;
  *out = it->second;
  return true;
}

FrameSlot Decoder::call_slot(const Operand& o, const Variable& declared, bool result) {
  FrameSlot slot;
  slot.name = o.name;
  slot.bytes = static_cast<uint32_t>(declared.bytes);
  if (result && is_sink(o)) {
    slot.at = kNoRef;
    return slot;
  }
  if (o.negated) refuse("'!' stands before " + o.name + " in a call");
  const bool scalar = declared.bytes == size_of(declared.type);
  uint64_t bits;
  if (is_register(o)) {
    const Type type = register_type(o);
    if (!scalar || size_of(type) != declared.bytes || (type == Type::pred) != (declared.type == Type::pred))
      refuse("register " + o.name + " is declared ." + name_of(type) + "; the call hands over " +
             std::to_string(declared.bytes) + " bytes as " + declared.name);
    slot.at = result ? register_slot(o) : read_slot(o);
    slot.stride = type == Type::pred ? 0 : slot_width(o);
    if (result && slot.stride) program_.written.back().push_back(slot.at);
  } else if (o.kind == Operand::Kind::constant && !result && scalar &&
             bits_of_constant(o.constant, declared.type, &bits)) {
    slot.at = constant(bits, 8);
    slot.stride = 8;
  } else if (!find_frame_slot(o.name, &slot)) {
    refuse(o.name.empty() ? "an operand of this call is no value of the type that it hands over"
                          : "'" + o.name + "' is no register or .param variable, as a call takes them");
  } else if (slot.bytes != declared.bytes) {
    refuse(".param variable " + o.name + " has " + std::to_string(slot.bytes) +
           " bytes; the call hands over " + std::to_string(declared.bytes) + " as " + declared.name);
  }
  return slot;
}

std::vector<FrameSlot> Decoder::call_slots(const std::vector<Operand>& operands,
                                           const std::vector<Variable>& declared, bool results) {
  if (operands.size() != declared.size())
    refuse("this call has " + std::to_string(operands.size()) + (results ? " results" : " parameters") +
           "; what it calls is declared with " + std::to_string(declared.size()));
  std::vector<FrameSlot> slots;
  for (size_t i = 0; i < operands.size(); ++i) slots.push_back(call_slot(operands[i], declared[i], results));
  return slots;
}

Decoder::Address Decoder::address_of(const Operand& o, Space space) {
  if (o.kind != Operand::Kind::address) refuse("an address in [ ] was expected");
  const Operand& base = o.items[0];
  Address a;
  a.space = space;
  a.offset = o.offset;
  if (base.negated) refuse("'!' stands before " + base.name + ", which is no predicate");
  if (is_register(base) || base.kind == Operand::Kind::reg) {
    const unsigned width = is_register(base) ? size_of(register_type(base)) : 8;
    if (width != 4 && width != 8) refuse("an address register must have 32 or 64 bits");
    if (width == 4 && (space == Space::global || space == Space::generic || space == Space::constant))
      refuse("a " + std::string(name_of(space)) + " address needs 64 bits; register " + base.name +
             " has 32");
    a.base = is_register(base) ? read_slot(base) : source(base, width == 8 ? Type::u64 : Type::u32);
    a.wide = width == 8;
  } else if (base.kind == Operand::Kind::constant && !base.constant.is_real) {
    a.offset += static_cast<int64_t>(base.constant.bits);
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
