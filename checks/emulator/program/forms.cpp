// The table of instruction forms: every spelling that a row allows is matched by that row and by no other.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "emulator/program/forms.hpp"

namespace {

struct Row {
  const emu::Form* form;
  emu::Pattern pattern;
  std::set<std::string> words;  // every modifier the row has a place for

  std::string text() const { return form->pattern; }
  // False when the row surely does not match: quicker than to try.
  bool knows(const std::vector<std::string>& modifiers) const {
    for (auto& m : modifiers)
      if (!words.count(m)) return false;
    return true;
  }
};

const std::map<std::string, std::vector<Row>>& rows_by_opcode() {
  static const auto rows = [] {
    std::map<std::string, std::vector<Row>> r;
    for (const emu::Form& f : emu::all_forms()) {
      emu::Pattern p = emu::parse_pattern(f.pattern);
      std::set<std::string> words;
      for (auto& slot : p.slots) words.insert(slot.choices.begin(), slot.choices.end());
      r[p.opcode].push_back({&f, p, words});
    }
    return r;
  }();
  return rows;
}

// Calls f(modifiers) for every choice of every slot.
template <class F>
void expand(const emu::Pattern& p, size_t slot, std::vector<std::string>& modifiers, F& f) {
  if (slot == p.slots.size()) return f(modifiers);
  if (p.slots[slot].optional) expand(p, slot + 1, modifiers, f);
  for (auto& choice : p.slots[slot].choices) {
    modifiers.push_back(choice);
    expand(p, slot + 1, modifiers, f);
    modifiers.pop_back();
  }
}

std::string text_of(const std::string& opcode, const std::vector<std::string>& modifiers) {
  std::string s = opcode;
  for (auto& m : modifiers) s += "." + m;
  return s;
}

}  // namespace

TEST_CASE("forms: a pattern has no empty and no repeated choice, and every row a decoder") {
  for (auto& entry : rows_by_opcode())
    for (auto& row : entry.second) {
      CAPTURE(row.text());
      CHECK((row.form->decode != nullptr));
      CHECK_FALSE(entry.first.empty());
      for (auto& slot : row.pattern.slots) {
        std::set<std::string> distinct(slot.choices.begin(), slot.choices.end());
        CHECK(distinct.size() == slot.choices.size());
        CHECK(distinct.count("") == 0);
      }
    }
}

TEST_CASE("forms: no two rows match one text") {
  size_t texts = 0;
  for (auto& entry : rows_by_opcode())
    for (auto& row : entry.second) {
      const std::string& opcode = entry.first;
      std::string problem;
      std::vector<std::string> modifiers;
      auto check = [&](const std::vector<std::string>& m) {
        ++texts;
        if (!problem.empty()) return;
        if (!emu::matches(row.pattern, m, nullptr))
          problem = text_of(opcode, m) + " is not matched by its own row";
        for (auto& other : entry.second)
          if (&other != &row && other.knows(m) && emu::matches(other.pattern, m, nullptr))
            problem = text_of(opcode, m) + " is also matched by " + other.form->pattern;
      };
      expand(row.pattern, 0, modifiers, check);
      CHECK_MESSAGE(problem.empty(), row.text(), ": ", problem);
    }
  CHECK(texts > 1000);
}

TEST_CASE("forms: the types of a text keep their order") {
  for (auto& entry : rows_by_opcode())
    for (auto& row : entry.second) {
      const std::string& opcode = entry.first;
      int type_slots = 0;
      for (auto& slot : row.pattern.slots) type_slots += emu::type_from(slot.choices[0]) != emu::Type::none;
      if (type_slots < 2) continue;
      std::string problem;
      std::vector<std::string> modifiers, slots;
      auto check = [&](const std::vector<std::string>& m) {
        if (!problem.empty() || !emu::matches(row.pattern, m, &slots)) return;
        emu::Match match{row.form, slots};
        int nth = 0;
        for (auto& modifier : m)
          if (emu::type_from(modifier) != emu::Type::none && match.type(nth++) != emu::type_from(modifier))
            problem = text_of(opcode, m);
      };
      expand(row.pattern, 0, modifiers, check);
      CHECK_MESSAGE(problem.empty(), row.text(), " reorders the types of ", problem);
    }
}

TEST_CASE("forms: qualifiers may come in any order, an unknown one matches nothing") {
  emu::Instruction i;
  emu::Match m;
  i.opcode = "atom";
  i.modifiers = {"add", "release", "gpu", "global", "u32"};
  CHECK(emu::find_form(i, &m));
  CHECK(m.type() == emu::Type::u32);
  i.modifiers = {"add", "release", "gpu", "global", "u32", "u32"};
  CHECK_FALSE(emu::find_form(i, &m));
  i.modifiers = {"add", "volatile", "u32"};
  CHECK_FALSE(emu::find_form(i, &m));
}
