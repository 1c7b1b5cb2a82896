// The decoder: one kernel and every function it calls -> Program.
#include "emulator/program/program.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "emulator/program/order.hpp"
#include "rules/limits.hpp"

namespace emu {

namespace {

constexpr uint64_t kLargestLocal = 512u << 10;  // of a thread
constexpr uint64_t kLargestParams = 32764;      // of a kernel, bytes

uint32_t align_up(uint32_t value, uint32_t align) {
  return (value + align - 1) / align * align;
}

void collect_symbols(const Operand& o, std::set<std::string>& out) {
  if (o.kind == Operand::Kind::symbol) out.insert(o.name);
  for (auto& item : o.items) collect_symbols(item, out);
}

// Names used by a function, and by what it calls.
void collect_used(const Module& m, const Function& entry, std::set<std::string>& used) {
  std::vector<const Function*> pending = {&entry};
  used.insert("function " + entry.name);
  while (!pending.empty()) {
    const Function& f = *pending.back();
    pending.pop_back();
    std::set<std::string> names;
    for (auto& in : f.body)
      for (auto& o : in.operands) collect_symbols(o, names);
    for (auto& v : m.variables)
      if (!v.relocations.empty() && names.count(v.name))
        for (auto& r : v.relocations) names.insert(r.symbol);
    for (auto& n : names) {
      used.insert(n);
      const Function* callee = m.find_function(n);
      if (callee && callee->has_body && used.insert("function " + n).second) pending.push_back(callee);
    }
  }
}

}  // namespace

uint64_t function_address(const Module& module, const std::string& name) {
  const auto found = module.function_index.find(name);
  return found == module.function_index.end() ? 0 : kFunctionWindow + 16 * (found->second + 1);
}

SourceLine Program::line_of(const Inst& inst) const {
  if (inst.source < 0) return SourceLine();
  const Instruction& text = *sources[static_cast<size_t>(inst.source)];
  const auto file_name = [&](int file) {
    const auto it = module->files.find(file);
    if (it == module->files.end()) return std::string("?");
    static const std::string here = std::filesystem::current_path().string() + "/";  // shown relative to it
    return it->second.rfind(here, 0) == 0 ? it->second.substr(here.size()) : it->second;
  };
  std::vector<Frame> frames;
  for (int i = text.loc; i >= 0 && frames.size() < 64; i = module->locs[static_cast<size_t>(i)].inlined_at) {
    const Loc& at = module->locs[static_cast<size_t>(i)];
    frames.push_back({file_name(at.file), at.line, at.function.empty() ? name : at.function});
  }
  SourceLine s = source_line(frames);
  s.ptx_line = text.ptx_line;
  if (text.ptx_line > 0 && text.ptx_line < static_cast<int>(module->lines.size())) {
    s.ptx = module->lines[static_cast<size_t>(text.ptx_line)];
    s.ptx.erase(0, s.ptx.find_first_not_of(" \t"));
    if (s.ptx.size() > 140) s.ptx = s.ptx.substr(0, 137) + "...";
  }
  return s;
}

SourceLine Program::line_of(int32_t source) const {
  Inst at;
  at.source = source;
  return line_of(at);
}

std::string Program::short_name(const Inst& inst) const {
  if (inst.source < 0) return "";
  const Instruction& text = *sources[static_cast<size_t>(inst.source)];
  const bool barrier = text.opcode == "mbarrier" || text.opcode == "bar" || text.opcode == "barrier";
  return barrier && !text.modifiers.empty() ? text.opcode + "." + text.modifiers[0] : text.opcode;
}

Decoder::Decoder(const Module& module, Program& program, const SymbolTable& symbols)
    : module_(module), program_(program), symbols_(symbols) {}

void Decoder::refuse(const std::string& message, const std::string& hint) const {
  Finding f(Id::unsupported_instruction);
  f.title = message;
  f.kernel = program_.name;
  if (!text_ && function_) {
    f.line.ptx_line = function_->ptx_line;
    f.where = "PTX line " + std::to_string(function_->ptx_line) + ", kernel " + program_.name;
  } else if (text_) {
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
  for (auto& target : it->second.second) {
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
    refuse("no object of this program defines the function " + name,
           "link the object that does: nvcc -dlink, with all of them (-rdc=true)");
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
  uint64_t top = kSharedBase;
  for (const Variable* v : statics) {
    top = (top + v->align - 1) / v->align * v->align;
    const uint32_t address = static_cast<uint32_t>(top);
    program_.shared_symbols[v->name] = address;
    program_.names.add_shared({variable_name(v->name), address, static_cast<uint32_t>(v->bytes), 0});
    top += v->bytes;
    if (top > kSharedBase + static_cast<uint64_t>(rules::kSharedPerBlockOptin))
      refuse("the .shared variables of " + entry.name + " take more than 227 KiB, up to " + v->name,
             "a CTA of compute capability 9.0 has no more: make them smaller");
  }
  program_.shared_static_bytes = static_cast<uint32_t>(top) - kSharedBase;
  for (const Variable* v : dynamics)
    program_.shared_dynamic_align = std::max(program_.shared_dynamic_align, v->align);
  uint32_t dynamic = align_up(static_cast<uint32_t>(top), program_.shared_dynamic_align);
  for (const Variable* v : dynamics) {
    program_.shared_symbols[v->name] = dynamic;
    program_.names.add_shared({variable_name(v->name), dynamic, 0, 0});
  }
  for (auto& f : module_.functions)
    if (used.count("function " + f.name)) program_.names.add_members(f.named_members, dynamic);
}

void Decoder::place_variables(const Function& f, FunctionInfo& info) {
  auto place = [&](const Variable& v) {
    FrameSlot s;
    s.name = v.name;
    s.bytes = static_cast<uint32_t>(v.bytes);
    if (v.space == Space::reg) {
      Operand o;
      o.kind = Operand::Kind::reg;
      o.name = v.name;
      s.at = register_slot(o);
      s.stride = slot_width(o);
      return s;
    }
    s.stride = (std::max(s.bytes, 1u) + 15) / 16 * 16;
    s.at = take_frame_bytes((v.bytes + 15) / 16 * 16 * 32 + 512);
    frame_slots_[v.name] = s;
    return s;
  };
  if (!f.is_entry) {
    for (auto& v : f.params) info.params.push_back(place(v));
    for (auto& v : f.returns) info.returns.push_back(place(v));
  }
  uint64_t local = 0;
  for (auto& v : f.variables) {
    if (v.space == Space::param) place(v);
    if (v.space == Space::local) {
      local = (local + v.align - 1) / v.align * v.align;
      local_symbols_[v.name] = static_cast<uint32_t>(local);
      local += v.bytes;
      if (local > kLargestLocal)
        refuse("the .local variables of " + f.name + " take more than 512 KiB per thread, up to " + v.name,
               "compute capability 9.0 has no more: keep the data in global or shared memory");
    }
  }
  info.local_bytes = align_up(static_cast<uint32_t>(local), 16);
}

void Decoder::decode_instruction(const Instruction& in) {
  text_ = &in;
  program_.sources.push_back(&in);
  program_.written.emplace_back();
  program_.written_predicates.emplace_back();
  program_.read.emplace_back();
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
  const bool found = find_form(in, &match);
  if (!found && !decode_not_emulated(*this, inst)) {
    std::string known;
    for (const Form* f : forms_of(in.opcode)) known += (known.empty() ? "" : ", ") + std::string(f->pattern);
    if (known.size() > 400) known = known.substr(0, 397) + "...";
    refuse("instruction " + in.full_name() + " is not supported",
           known.empty() ? "" : "forms of " + in.opcode + " that are: " + known);
  }
  if (found) match.form->decode(*this, match, inst);
  if (!inst.exec) refuse("instruction " + in.full_name() + " was not decoded");
  program_.asks_for_order |= emu::asks_for_order(in);
  for (size_t i = fixups_before; i < fixups_.size(); ++i)
    if (!fixups_[i].list) fixups_[i].inst = static_cast<uint32_t>(program_.code.size());
  program_.code.push_back(inst);
}

void Decoder::decode_function(const Function& f, uint32_t index) {
  function_ = &f;
  text_ = nullptr;
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
  function_ = &entry;
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
    uint64_t threads = 1;  // no CTA has more than 1024
    for (int i = 0; i < 3; ++i) threads = std::min<uint64_t>(threads * bound[i], 1024);
    threads = (threads + 31) / 32 * 32 * std::max(1u, entry.min_ctas);
    program_.launch_registers = std::clamp<unsigned>(static_cast<unsigned>(65536 / threads / 8 * 8), 8, 248);
  }
  uint64_t offset = 0;
  for (auto& p : entry.params) {
    offset = (offset + p.align - 1) / p.align * p.align;
    program_.params.push_back({p.name, static_cast<uint32_t>(offset), static_cast<uint32_t>(p.bytes)});
    offset += p.bytes;
    if (p.space == Space::reg) refuse("parameter " + p.name + " of kernel " + entry.name + " is a register");
    if (offset > kLargestParams)
      refuse("the parameters of kernel " + entry.name + " take more than 32,764 bytes, up to " + p.name,
             "hand over a pointer instead");
  }
  program_.param_bytes = static_cast<uint32_t>(offset);
  program_.names.add_parameters(program_.params, entry.parameter_names);
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
