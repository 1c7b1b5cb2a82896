#include "emulator/program/forms.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace emu {

Pattern parse_pattern(const char* text) {
  Pattern p;
  std::string s = text;
  size_t i = 0;
  bool first = true;
  while (i <= s.size()) {
    size_t end = i;
    if (end < s.size() && s[end] == '[') end = s.find(']', end);
    end = s.find('.', end);
    if (end == std::string::npos) end = s.size();
    std::string part = s.substr(i, end - i);
    i = end + 1;
    if (first) {
      p.opcode = part;
      first = false;
      continue;
    }
    Slot slot;
    if (part.front() == '[') {
      slot.optional = true;
      part = part.substr(1, part.size() - 2);
    }
    size_t b = 0;
    while (b <= part.size()) {
      size_t bar = part.find('|', b);
      if (bar == std::string::npos) bar = part.size();
      slot.choices.push_back(part.substr(b, bar - b));
      b = bar + 1;
    }
    p.slots.push_back(slot);
  }
  return p;
}

namespace {

bool fits(const Slot& slot, const std::string& modifier) {
  return std::find(slot.choices.begin(), slot.choices.end(), modifier) != slot.choices.end();
}

bool match_in_order(const Pattern& p, size_t slot, const std::vector<std::string>& mods, size_t mod,
                    std::vector<std::string>& out) {
  if (slot == p.slots.size()) return mod == mods.size();
  if (mod < mods.size() && fits(p.slots[slot], mods[mod])) {
    out[slot] = mods[mod];
    if (match_in_order(p, slot + 1, mods, mod + 1, out)) return true;
  }
  out[slot].clear();
  return p.slots[slot].optional && match_in_order(p, slot + 1, mods, mod, out);
}

bool match_any_order(const Pattern& p, const std::vector<std::string>& mods, std::vector<std::string>& out) {
  std::vector<bool> used(mods.size());
  size_t count = 0, after_type = 0;
  for (size_t s = 0; s < p.slots.size(); ++s) {
    out[s].clear();
    for (size_t m = 0; m < mods.size() && out[s].empty(); ++m)
      if (!used[m] && fits(p.slots[s], mods[m])) {
        if (type_from(mods[m]) != Type::none) {  // types keep their order: cvt.d.a is not cvt.a.d
          if (m < after_type) return false;
          after_type = m + 1;
        }
        used[m] = true;
        out[s] = mods[m];
        ++count;
      }
    if (out[s].empty() && !p.slots[s].optional) return false;
  }
  return count == mods.size();
}

struct Row {
  Form form;
  Pattern pattern;
};

const std::multimap<std::string, Row>& table() {
  static const std::multimap<std::string, Row> rows = [] {
    std::multimap<std::string, Row> t;
    for (const Form& f : all_forms()) {
      Pattern p = parse_pattern(f.pattern);
      t.insert({p.opcode, Row{f, p}});
    }
    return t;
  }();
  return rows;
}

}  // namespace

bool matches(const Pattern& p, const std::vector<std::string>& mods, std::vector<std::string>* slots) {
  std::vector<std::string> out(p.slots.size());
  bool ok = match_in_order(p, 0, mods, 0, out) || match_any_order(p, mods, out);
  if (ok && slots) *slots = out;
  return ok;
}

const std::vector<Form>& all_forms() {
  static const std::vector<Form> forms = [] {
    std::vector<Form> all;
    for (auto family : {control_forms,   move_forms,     integer_forms, bit_forms,      float_forms,
                        half_forms,      convert_forms,  compare_forms, atomic_forms,   warp_forms,
                        barrier_forms,   mbarrier_forms, fence_forms,   cp_async_forms, cp_async_bulk_forms,
                        tensormap_forms, st_async_forms, matrix_forms,  wmma_forms,     wgmma_forms})
      for (const Form& f : family()) all.push_back(f);
    return all;
  }();
  return forms;
}

bool find_form(const Instruction& instruction, Match* match) {
  // A module writes few different forms, many times each.
  static thread_local std::unordered_map<std::string, Match> known;
  std::string written = instruction.opcode;
  for (const std::string& modifier : instruction.modifiers) written += '.' + modifier;
  if (const auto found = known.find(written); found != known.end()) {
    *match = found->second;
    return true;
  }
  auto range = table().equal_range(instruction.opcode);
  for (auto it = range.first; it != range.second; ++it)
    if (matches(it->second.pattern, instruction.modifiers, &match->slots)) {
      match->form = &it->second.form;
      known.insert({written, *match});
      return true;
    }
  return false;
}

std::vector<const Form*> forms_of(const std::string& opcode) {
  std::vector<const Form*> out;
  auto range = table().equal_range(opcode);
  for (auto it = range.first; it != range.second; ++it) out.push_back(&it->second.form);
  return out;
}

}  // namespace emu
