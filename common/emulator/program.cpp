// The decoder: one kernel and every function it calls -> Program.
#include "emulator/program.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "emulator/isa/special_registers.hpp"

namespace emu {

namespace {

uint32_t align_up(uint32_t value, uint32_t align) {
  return (value + align - 1) / align * align;
}

void collect_symbols(const Operand& o, std::set<std::string>& out) {
  if (o.kind == Operand::Kind::symbol) out.insert(o.name);
  for (auto& item : o.items) collect_symbols(item, out);
}

// Names used by a function, and by what it calls.
void collect_used(const Module& m, const Function& f, std::set<std::string>& used) {
  if (!used.insert("function " + f.name).second) return;
  std::set<std::string> names;
  for (auto& in : f.body)
    for (auto& o : in.operands) collect_symbols(o, names);
  for (auto& v : m.variables)
    if (names.count(v.name))
      for (auto& r : v.relocations) names.insert(r.symbol);
  for (auto& n : names) {
    used.insert(n);
    const Function* callee = m.find_function(n);
    if (callee && callee->has_body) collect_used(m, *callee, used);
  }
}

}  // namespace

uint64_t function_address(const Module& module, const std::string& name) {
  for (size_t i = 0; i < module.functions.size(); ++i)
    if (module.functions[i].name == name) return kFunctionWindow + 16 * (i + 1);
  return 0;
}

SourceLine Program::line_of(const Inst& inst) const {
  SourceLine s;
  if (inst.source < 0) return s;
  const Instruction& text = *sources[inst.source];
  s.ptx_line = text.ptx_line;
  if (text.ptx_line > 0 && text.ptx_line < static_cast<int>(module->lines.size())) {
    s.ptx = module->lines[text.ptx_line];
    s.ptx.erase(0, s.ptx.find_first_not_of(" \t"));
    if (s.ptx.size() > 140) s.ptx = s.ptx.substr(0, 137) + "...";
  }
  if (text.loc < 0) return s;
  auto file_name = [&](int file) {
    auto it = module->files.find(file);
    if (it == module->files.end()) return std::string("?");
    static const std::string here = std::filesystem::current_path().string() + "/";  // shown relative to it
    return it->second.rfind(here, 0) == 0 ? it->second.substr(here.size()) : it->second;
  };
  // An inlined helper is reported at the line of the helper's caller that the reader wrote: the outermost place is
  // the kernel, so the chain is shown from the instruction outwards and `file:line` is the first place that is not
  // one of the wrappers of common/ptx or the toolkit.
  std::vector<const Loc*> chain;
  for (int i = text.loc; i >= 0 && chain.size() < 64; i = module->locs[i].inlined_at)
    chain.push_back(&module->locs[i]);
  auto is_wrapper = [&](const Loc* l) {
    std::string f = file_name(l->file);
    return f.find("/include/") != std::string::npos || f.rfind("common/", 0) == 0 ||
           f.find("/common/") != std::string::npos;
  };
  size_t shown = 0;
  while (shown + 1 < chain.size() && is_wrapper(chain[shown])) ++shown;
  s.file = file_name(chain[shown]->file);
  s.line = chain[shown]->line;
  for (size_t i = 0; i < chain.size(); ++i) {
    if (i == shown) continue;
    s.called_from += (s.called_from.empty() ? "" : ", ") + std::string(i < shown ? "in " : "inlined at ") +
                     file_name(chain[i]->file) + ":" + std::to_string(chain[i]->line);
  }
  return s;
}

std::string Program::shared_name(uint32_t address) const {
  const std::string* best = nullptr;
  uint32_t start = 0;
  for (auto& [name, at] : shared_symbols)
    if (at <= address && (!best || at >= start)) best = &name, start = at;
  if (!best) return hex(address);
  std::string name = *best;
  // _ZZ6kernelvE8full_bar -> full_bar; name$2 -> name
  size_t digits = name.rfind('E');
  if (name.rfind("_ZZ", 0) == 0 && digits != std::string::npos) {
    size_t i = digits + 1;
    size_t length = 0;
    while (i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])))
      length = length * 10 + (name[i++] - '0');
    if (length && i + length <= name.size()) name = name.substr(i, length);
  }
  name = name.substr(0, name.find('$'));
  return address == start ? name : name + "+" + std::to_string(address - start);
}

Decoder::Decoder(const Module& module, Program& program, const SymbolTable& symbols)
    : module_(module), program_(program), symbols_(symbols) {}

void Decoder::refuse(const std::string& message, const std::string& hint) const {
  Finding f;
  f.id = "unsupported-instruction";
  f.title = message;
  f.kernel = program_.name;
  if (text_) {
    f.line.ptx_line = text_->ptx_line;
    if (text_->ptx_line < static_cast<int>(module_.lines.size())) {
      f.line.ptx = module_.lines[text_->ptx_line];
      f.line.ptx.erase(0, f.line.ptx.find_first_not_of(" \t"));
    }
    f.where = "PTX line " + std::to_string(text_->ptx_line) + " of kernel " + program_.name;
    if (text_->loc >= 0) {
      const Loc& l = module_.locs[text_->loc];
      auto it = module_.files.find(l.file);
      if (it != module_.files.end()) {
        f.line.file = it->second;
        f.line.line = l.line;
        f.where = it->second + ":" + std::to_string(l.line) + "  (" + f.where + ")";
      }
    }
  }
  f.hint = hint.empty() ? "run this program on a Hopper GPU, or avoid the instruction" : hint;
  throw Fault(f);
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

void Decoder::branch_to(const Operand& o) {
  if (o.kind != Operand::Kind::symbol) refuse("a label was expected");
  Fixup f;
  f.inst = UINT32_MAX;  // the instruction being decoded; known when it is appended
  f.label = o.name;
  fixups_.push_back(f);
}

void Decoder::branch_list(const std::string& label, Extra& extra) {
  auto it = function_->branch_targets.find(label);
  if (it == function_->branch_targets.end()) refuse("there is no .branchtargets list " + label);
  for (auto& target : it->second) {
    Fixup f;
    f.list = &extra;
    f.index = extra.numbers.size();
    f.label = target;
    extra.numbers.push_back(0);
    fixups_.push_back(f);
  }
}

uint32_t Decoder::function_of(const std::string& name) {
  auto it = program_.function_index.find(name);
  if (it != program_.function_index.end()) return it->second;
  const Function* f = module_.find_function(name);
  if (!f || !f->has_body)
    refuse("function " + name + " has no body in this module",
           "compile without -rdc, or define the function in this file");
  uint32_t index = static_cast<uint32_t>(program_.functions.size());
  program_.functions.emplace_back();
  program_.functions.back().name = name;
  program_.function_index[name] = index;
  program_.function_at[function_address(module_, name)] = index;
  pending_.push_back(f);
  return index;
}

void Decoder::need_all_function_pointers() {
  for (auto& v : module_.variables)
    for (auto& r : v.relocations) {
      const Function* f = module_.find_function(r.symbol);
      if (f && f->has_body) function_of(r.symbol);
    }
}

void Decoder::place_shared(const Function& entry) {
  std::set<std::string> used;
  collect_used(module_, entry, used);
  std::vector<const Variable*> statics, dynamics;
  auto take = [&](const Variable& v) {
    if (v.space != Space::shared || !used.count(v.name)) return;
    (v.external ? dynamics : statics).push_back(&v);
  };
  for (auto& v : module_.variables) take(v);
  for (auto& f : module_.functions)
    if (used.count("function " + f.name))
      for (auto& v : f.variables) take(v);
  // Largest alignment first, then as declared.
  std::stable_sort(statics.begin(), statics.end(),
                   [](const Variable* a, const Variable* b) { return a->align > b->align; });
  uint32_t top = kSharedBase;
  for (const Variable* v : statics) {
    top = align_up(top, v->align);
    program_.shared_symbols[v->name] = top;
    top += static_cast<uint32_t>(v->bytes);
  }
  program_.shared_static_bytes = top - kSharedBase;
  for (const Variable* v : dynamics)
    program_.shared_dynamic_align = std::max(program_.shared_dynamic_align, v->align);
  uint32_t dynamic = align_up(top, program_.shared_dynamic_align);
  for (const Variable* v : dynamics) program_.shared_symbols[v->name] = dynamic;
}

void Decoder::place_variables(const Function& f, FunctionInfo& info) {
  auto place = [&](const Variable& v) {
    FrameSlot s;
    s.name = v.name;
    s.bytes = static_cast<uint32_t>(v.bytes);
    s.frame = frame_top_;
    frame_top_ = align_up(frame_top_ + 32 * align_up(std::max(s.bytes, 1u), 16), 128);
    frame_slots_[v.name] = s;
    return s;
  };
  if (!f.is_entry) {
    for (auto& v : f.params) info.params.push_back(place(v));
    for (auto& v : f.returns) info.returns.push_back(place(v));
  }
  for (auto& v : f.variables) {
    if (v.space == Space::param) place(v);
    if (v.space == Space::local) {
      info.local_bytes = align_up(info.local_bytes, std::max(v.align, 1u));
      local_symbols_[v.name] = info.local_bytes;
      info.local_bytes += static_cast<uint32_t>(v.bytes);
    }
  }
  info.local_bytes = align_up(info.local_bytes, 16);
}

void Decoder::decode_instruction(const Instruction& in) {
  text_ = &in;
  program_.sources.push_back(&in);
  program_.written.emplace_back();
  size_t fixups_before = fixups_.size();
  Inst inst;
  inst.source = static_cast<int32_t>(program_.sources.size()) - 1;
  if (!in.guard.empty()) {
    Operand p;
    p.kind = Operand::Kind::reg;
    p.name = in.guard;
    p.negated = in.guard_negated;
    inst.guard = predicate(p);
  }
  Match match;
  if (!find_form(in, &match)) {
    std::string known;
    for (const Form* f : forms_of(in.opcode)) known += (known.empty() ? "" : ", ") + std::string(f->pattern);
    if (known.size() > 400) known = known.substr(0, 397) + "...";
    refuse("instruction " + in.full_name() + " is not supported",
           known.empty() ? "" : "forms of " + in.opcode + " that are: " + known);
  }
  match.form->decode(*this, match, inst);
  if (!inst.exec) refuse("instruction " + in.full_name() + " was not decoded");
  for (size_t i = fixups_before; i < fixups_.size(); ++i)
    if (!fixups_[i].list) fixups_[i].inst = static_cast<uint32_t>(program_.code.size());
  program_.code.push_back(inst);
}

void Decoder::decode_function(const Function& f, uint32_t index) {
  function_ = &f;
  register_slots_.clear();
  frame_slots_.clear();
  local_symbols_.clear();
  fixups_.clear();
  frame_top_ = kFrameHeader;
  FunctionInfo info;
  info.name = f.name;
  place_variables(f, info);
  info.entry = static_cast<uint32_t>(program_.code.size());
  std::vector<uint32_t> pc_of;
  for (auto& in : f.body) {
    pc_of.push_back(static_cast<uint32_t>(program_.code.size()));
    decode_instruction(in);
  }
  // Falling off the end is a return (PTX ISA 9.7.12.6).
  static const Instruction end = [] {
    Instruction ret;
    ret.opcode = "ret";
    return ret;
  }();
  pc_of.push_back(static_cast<uint32_t>(program_.code.size()));
  decode_instruction(end);
  for (Fixup& fix : fixups_) {
    auto it = f.labels.find(fix.label);
    if (it == f.labels.end()) refuse("label " + fix.label + " does not exist in " + f.name);
    if (fix.list)
      fix.list->numbers[fix.index] = pc_of[it->second];
    else
      program_.code[fix.inst].target = pc_of[it->second];
  }
  info.frame_bytes = align_up(frame_top_, 128);
  program_.functions[index] = info;
}

void Decoder::decode_entry(const Function& entry) {
  program_.name = entry.name;
  program_.module = &module_;
  for (int i = 0; i < 3; ++i) {
    program_.max_threads[i] = entry.max_threads[i];
    program_.required_threads[i] = entry.required_threads[i];
    program_.cluster[i] = entry.cluster[i];
  }
  program_.explicit_cluster = entry.explicit_cluster;
  const unsigned* bound = entry.required_threads[0] ? entry.required_threads : entry.max_threads;
  if (bound[0]) {
    // 64 Ki registers of a multiprocessor, in units of 8, at most 255 (so 248) a thread.
    const unsigned threads = (bound[0] * bound[1] * bound[2] + 31) / 32 * 32 * std::max(1u, entry.min_ctas);
    program_.launch_registers = std::min(65536 / threads / 8 * 8, 248u);
  }
  uint32_t offset = 0;
  for (auto& p : entry.params) {
    offset = align_up(offset, p.align);
    program_.params.push_back({p.name, offset, static_cast<uint32_t>(p.bytes)});
    offset += static_cast<uint32_t>(p.bytes);
  }
  program_.param_bytes = offset;
  place_shared(entry);
  program_.functions.emplace_back();
  program_.function_index[entry.name] = 0;
  decode_function(entry, 0);
  for (size_t i = 0; i < pending_.size(); ++i)
    decode_function(*pending_[i], program_.function_index[pending_[i]->name]);
  program_.has_calls = program_.functions.size() > 1;
}

std::unique_ptr<Program> decode(const Module& module, const Function& entry, const SymbolTable& symbols) {
  auto program = std::make_unique<Program>();
  Decoder(module, *program, symbols).decode_entry(entry);
  return program;
}

}  // namespace emu
