// Instructions that the manual has and the emulator has not. A kernel that holds them can be launched: a program may choose
// another path. Executing one ends the launch.
#include <algorithm>
#include <set>

#include "emulator/machine/warp.hpp"
#include "emulator/program/forms.hpp"
#include "emulator/program/program.hpp"

namespace emu {
namespace {

Flow refuse(Warp& w, const Inst& in, uint32_t mask) {
  w.fault(in, __builtin_ctz(mask), Id::unsupported_instruction,
          "instruction " + in.extra->text + " is not emulated",
          "it is known, but there is no model of what it does",
          "run this program on a Hopper GPU, or take a path without the instruction");
}

bool is_known(const Instruction& text) {
  static const std::set<std::string> families = {"multimem", "tex",  "tld4",  "txq",
                                                 "suld",     "sust", "sured", "suq"};
  // of families that others belong to: sparse, double and sub-byte matrices
  static const std::set<std::string> kinds = {"sp", "sp::ordered_metadata", "f64", "b1", "s4", "u4"};
  const auto any = [&](auto test) { return std::any_of(text.modifiers.begin(), text.modifiers.end(), test); };
  if (text.opcode == "mma" || text.opcode == "wmma" || text.opcode == "wgmma")
    return any([](const std::string& m) { return kinds.count(m) != 0; });
  return families.count(text.opcode) != 0;
}

}  // namespace

bool decode_not_emulated(Decoder& d, Inst& in) {
  if (!is_known(d.text())) return false;
  in.exec = refuse;
  d.extra(in).text = d.text().full_name();
  return true;
}

}  // namespace emu
