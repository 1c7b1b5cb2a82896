#include "emulator/checker/unset_registers.hpp"

#include <algorithm>
#include <map>

namespace emu::check {

namespace {

// Copies hand on what they take, and wgmma does not read accumulators that it starts anew.
bool may_take_anything(const Inst& in) {
  return in.action == Action::move || in.action == Action::wgmma;
}

struct Body {
  std::set<Ref> set;           // by an instruction, or by the call
  std::map<Ref, int> writers;  // how many instructions
};

}  // namespace

void UnsetRegisterRule::launched(const Program& program) {
  if (clean_.count(&program)) return;
  bool clean = true;
  std::vector<uint32_t> entries;
  for (const FunctionInfo& f : program.functions) entries.push_back(f.entry);
  std::sort(entries.begin(), entries.end());
  entries.push_back(static_cast<uint32_t>(program.code.size()));
  for (const FunctionInfo& f : program.functions)
    clean = look_at(program, f, *std::upper_bound(entries.begin(), entries.end(), f.entry)) && clean;
  if (clean) clean_.insert(&program);
}

bool UnsetRegisterRule::look_at(const Program& program, const FunctionInfo& function, uint32_t end) {
  Body body;
  const auto each_source = [&](auto f) {
    int32_t last = -1;
    for (uint32_t pc = function.entry; pc < end; ++pc) {
      const int32_t source = program.code[pc].source;
      if (source >= 0 && source != last) f(static_cast<size_t>(source), program.code[pc]);
      last = source;
    }
  };
  for (const auto* slots : {&function.params, &function.returns})
    for (const FrameSlot& slot : *slots) body.set.insert(slot.at);
  each_source([&](size_t i, const Inst&) {
    for (const auto* refs : {&program.written[i], &program.written_predicates[i]})
      for (Ref r : *refs) {
        body.set.insert(r);
        ++body.writers[r];
      }
  });
  std::set<Ref> unset;
  each_source([&](size_t i, const Inst&) {
    for (const RegisterSlot& r : program.read[i])
      if (!body.set.count(r.at)) unset.insert(r.at);
  });
  if (unset.empty()) return true;
  bool clean = true;
  const auto all_unset = [&](size_t i) {
    const auto& reads = program.read[i];
    return !reads.empty() && std::all_of(reads.begin(), reads.end(),
                                         [&](const RegisterSlot& r) { return unset.count(r.at) != 0; });
  };
  for (size_t before = 0; before != unset.size();) {  // what is only ever copied from such registers
    before = unset.size();
    std::map<Ref, int> copies;
    each_source([&](size_t i, const Inst& in) {
      if (in.action == Action::move && all_unset(i))
        for (Ref r : program.written[i]) ++copies[r];
    });
    for (const auto& [r, count] : copies)
      if (count == body.writers[r]) unset.insert(r);
  }
  each_source([&](size_t i, const Inst& in) {
    const auto& reads = program.read[i];
    const bool uses = std::any_of(reads.begin(), reads.end(),
                                  [&](const RegisterSlot& r) { return unset.count(r.at) != 0; });
    if (!uses || may_take_anything(in)) return;
    clean = false;
    Finding f(Id::uninitialised_read);
    f.make_milder();
    f.line = tell_.line(static_cast<int32_t>(i));
    f.where = f.line.text() + "  kernel " + program.name;
    f.title = "an instruction reads a register that nothing sets";
    f.why =
        "No instruction of the function writes it: the variable has been given no value, and holds whatever was there before.";
    f.hint = "give the variable a value where it is declared";
    tell_.add(std::move(f));
  });
  return clean;
}

}  // namespace emu::check
