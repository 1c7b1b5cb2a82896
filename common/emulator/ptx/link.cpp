#include "emulator/ptx/link.hpp"

#include <algorithm>
#include <set>

#include "emulator/findings/report.hpp"

namespace emu {
namespace {

using Renamed = std::unordered_map<std::string, std::string>;

void rename(std::string& name, const Renamed& renamed) {
  const auto it = renamed.find(name);
  if (it != renamed.end()) name = it->second;
}

void rename(Operand& operand, const Renamed& renamed) {
  if (operand.kind == Operand::Kind::symbol) rename(operand.name, renamed);
  for (Operand& item : operand.items) rename(item, renamed);
}

void rename(Variable& variable, const Renamed& renamed) {
  rename(variable.name, renamed);
  for (Relocation& r : variable.relocations) rename(r.symbol, renamed);
}

void rename(Module& module, const Renamed& renamed) {
  if (renamed.empty()) return;
  for (Variable& v : module.variables) rename(v, renamed);
  for (Function& f : module.functions) {
    rename(f.name, renamed);
    for (Variable& v : f.variables)
      if (v.space == Space::shared) rename(v, renamed);
    for (Instruction& in : f.body)
      for (Operand& o : in.operands) rename(o, renamed);
    for (auto& [label, list] : f.branch_targets)
      for (std::string& target : list.second) rename(target, renamed);
    for (NamedMember& m : f.named_members) rename(m.object, renamed);
  }
}

// The names that a module keeps to itself: they may occur in other objects, for something else.
std::vector<std::string> own_names(const Module& module) {
  std::vector<std::string> names;
  for (const Variable& v : module.variables)
    if (v.linkage == Linkage::local) names.push_back(v.name);
  for (const Function& f : module.functions) {
    if (f.linkage == Linkage::local && f.has_body) names.push_back(f.name);
    for (const Variable& v : f.variables)
      if (v.space == Space::shared) names.push_back(v.name);
  }
  return names;
}

std::vector<std::string> all_names(const Module& module) {
  std::vector<std::string> names = own_names(module);
  for (const Variable& v : module.variables) names.push_back(v.name);
  for (const Function& f : module.functions) names.push_back(f.name);
  return names;
}

// Lines, places and files of `module` counted on from those of `all`.
void count_on(const Module& all, Module& module) {
  const int lines = static_cast<int>(all.lines.size()) - 1, locs = static_cast<int>(all.locs.size());
  const int files = all.files.empty() ? 0 : all.files.rbegin()->first + 1;
  std::map<int, std::string> moved;
  for (auto& [index, name] : module.files) moved[index + files] = std::move(name);
  module.files = std::move(moved);
  for (Loc& l : module.locs) {
    l.file += files;
    if (l.inlined_at >= 0) l.inlined_at += locs;
  }
  for (Variable& v : module.variables) v.ptx_line += lines;
  for (Function& f : module.functions) {
    f.ptx_line += lines;
    for (Variable& v : f.variables) v.ptx_line += lines;
    for (Instruction& in : f.body) {
      in.ptx_line += lines;
      if (in.loc >= 0) in.loc += locs;
    }
  }
}

[[noreturn]] void defined_twice(const std::string& name, int line) {
  Finding f(Id::module_variable);
  f.title = name + " is defined in two of the objects that are linked";
  f.line.ptx_line = line;
  f.where = "PTX line " + std::to_string(line) + " of their texts, one behind the other";
  f.hint = "define it in one of them, and declare it extern in the others";
  throw Fault(f);
}

void add_variable(Module& all, std::unordered_map<std::string, size_t>& index, Variable&& v) {
  const auto [known, fresh] = index.insert({v.name, all.variables.size()});
  if (fresh) {
    all.variables.push_back(std::move(v));
    return;
  }
  Variable& before = all.variables[known->second];
  if (v.external) return;
  if (before.external || (before.linkage == Linkage::weak && v.linkage == Linkage::visible))
    before = std::move(v);
  else if (v.linkage != Linkage::weak)
    defined_twice(v.name, v.ptx_line);
}

void add_function(Module& all, Function&& f) {
  const auto [known, fresh] = all.function_index.insert({f.name, all.functions.size()});
  if (fresh) {
    all.functions.push_back(std::move(f));
    return;
  }
  Function& before = all.functions[known->second];
  if (!f.has_body) return;
  if (!before.has_body || (before.linkage == Linkage::weak && f.linkage == Linkage::visible))
    before = std::move(f);
  else if (f.linkage != Linkage::weak)
    defined_twice(f.name, f.ptx_line);
}

}  // namespace

Module link_modules(std::vector<Module> modules) {
  if (modules.size() == 1) return std::move(modules[0]);
  Module all;
  all.lines.resize(1);
  std::set<std::string> taken;
  std::unordered_map<std::string, size_t> variables;
  for (size_t i = 0; i < modules.size(); ++i) {
    Module& module = modules[i];
    if (i == 0) {
      all.version = module.version;
      all.target = module.target;
    }
    Renamed renamed;
    for (const std::string& name : own_names(module))
      if (taken.count(name)) renamed[name] = name + "$of" + std::to_string(i);
    rename(module, renamed);
    for (std::string& name : all_names(module)) taken.insert(std::move(name));
    count_on(all, module);
    all.lines.insert(all.lines.end(), module.lines.begin() + 1, module.lines.end());
    all.locs.insert(all.locs.end(), module.locs.begin(), module.locs.end());
    all.files.merge(module.files);
    for (Variable& v : module.variables) add_variable(all, variables, std::move(v));
    for (Function& f : module.functions) add_function(all, std::move(f));
  }
  return all;
}

}  // namespace emu
