// The table of supported instruction forms. One row per form: the manual's syntax as a pattern and the function
// that decodes it. A form that no row matches is refused when the module is loaded.
//
// Pattern: the opcode, then modifiers separated by dots. `a|b` is a required choice, `[a|b]` an optional one.
//   "add.[sat].s32"   "mbarrier.try_wait.parity.[acquire|relaxed].[cta|cluster].[shared|shared::cta].b64"
// Modifiers are matched in the written order first; inline PTX may give qualifiers in another order, so a second
// attempt ignores order. Every modifier of the instruction must be used up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emulator/ptx/syntax.hpp"

namespace emu {

class Decoder;
struct Inst;
struct Match;

using DecodeFn = void (*)(Decoder& decoder, const Match& match, Inst& inst);

struct Form {
  const char* pattern;
  DecodeFn decode;
};

struct Slot {
  std::vector<std::string> choices;
  bool optional = false;
};

// "opcode" and slots of a pattern.
struct Pattern {
  std::string opcode;
  std::vector<Slot> slots;
};
Pattern parse_pattern(const char* text);

// The modifier that filled each slot ("" for an absent optional one). Literals have slots too.
struct Match {
  const Form* form = nullptr;
  std::vector<std::string> slots;
  bool has(std::string_view modifier) const {
    for (auto& s : slots)
      if (s == modifier) return true;
    return false;
  }
  // The first slot filled by one of the modifiers; "" when none.
  std::string any_of(std::initializer_list<const char*> modifiers) const {
    for (auto& s : slots)
      for (auto m : modifiers)
        if (s == m) return s;
    return "";
  }
  // The nth (0-based) slot that names a type.
  Type type(int nth = 0) const {
    for (auto& s : slots) {
      Type t = type_from(s);
      if (t != Type::none && nth-- == 0) return t;
    }
    return Type::none;
  }
};

bool matches(const Pattern& pattern, const std::vector<std::string>& modifiers,
             std::vector<std::string>* slots);

// All rows, family by family (isa/*.cpp).
const std::vector<Form>& all_forms();
// The row that fits; null when none does.
bool find_form(const Instruction& instruction, Match* match);
// Rows of the same opcode, for "supported forms are ..." in a refusal.
std::vector<const Form*> forms_of(const std::string& opcode);

// One function a family file.
std::vector<Form> control_forms();
std::vector<Form> move_forms();
std::vector<Form> integer_forms();
std::vector<Form> bit_forms();
std::vector<Form> float_forms();
std::vector<Form> half_forms();
std::vector<Form> convert_forms();
std::vector<Form> compare_forms();
std::vector<Form> atomic_forms();
std::vector<Form> warp_forms();
std::vector<Form> barrier_forms();
std::vector<Form> mbarrier_forms();
std::vector<Form> fence_forms();
std::vector<Form> cp_async_forms();
std::vector<Form> cp_async_bulk_forms();
std::vector<Form> tensormap_forms();
std::vector<Form> st_async_forms();  // and red.async
std::vector<Form> matrix_forms();    // ldmatrix, stmatrix, movmatrix
std::vector<Form> wmma_forms();
std::vector<Form> wgmma_forms();

// An instruction that no row matches, of a family that is known: executing it is an error. False: it is not known.
bool decode_not_emulated(Decoder& decoder, Inst& inst);

}  // namespace emu
