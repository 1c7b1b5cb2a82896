// The syntax tree of one PTX module: what the text says, before any instruction is understood.
// Names are resolved against their block scope: a register, label or variable declared inside { } gets a unique
// name ("tmp$3"), so that inline PTX may repeat its local names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/ptx/types.hpp"

namespace emu {

// One `.loc` line: where an instruction came from. inlined_at is an index into Module::locs or -1.
struct Loc {
  int file = 0, line = 0, column = 0;
  int inlined_at = -1;
  std::string function;  // name of the inlined function; empty outside inlined code
};

// The value of a constant expression (PTX ISA 4.5).
struct Constant {
  bool is_real = false;
  bool is_unsigned = false;
  uint64_t bits = 0;            // of a real: an IEEE pattern of real_type
  Type real_type = Type::none;  // f32 for a literal 0f.., else f64
};
// The bits of a constant as a value of a type. False where PTX does not allow it: integers for integer and untyped types,
// reals for f32 and f64, 0f.. also for b32, other reals also for b64, none for other types.
bool bits_of_constant(const Constant& constant, Type type, uint64_t* bits);

struct Operand {
  enum class Kind {
    reg,   // name, maybe `negated` (!%p); special registers too ("%tid.x")
    sink,  // _
    constant,
    symbol,   // name (variable, function or label)
    sum,      // items[0] + offset, as in `mov.u32 %r1, %r2 + 4`
    address,  // [items[0] + offset]; tensor copies: items[1] is the vector of coordinates
    vec,      // {items...}
    pair,     // items[0] | items[1], as in d|p
    list,     // (items...), as in call
  };
  Kind kind = Kind::sink;
  bool negated = false;
  std::string name;
  Constant constant;
  int64_t offset = 0;
  std::vector<Operand> items;
};

struct Instruction {
  std::string opcode;                  // "mbarrier"
  std::vector<std::string> modifiers;  // "try_wait", "parity", "shared::cta", "b64"
  std::vector<Operand> operands;
  std::string guard;  // predicate register or empty
  bool guard_negated = false;
  int ptx_line = 0;
  int loc = -1;             // index into Module::locs
  uint32_t used_bytes = 0;  // of a load, as .pragma "used_bytes_mask" says: bit i stands for byte i; 0: all

  std::string full_name() const;  // "mbarrier.try_wait.parity.shared::cta.b64"
};

struct Relocation {
  uint64_t offset = 0;  // where in the initial bytes
  std::string symbol;
  int64_t addend = 0;
  bool generic = false;  // initialiser was written generic(symbol)
};

// Who may refer to a name (PTX ISA 11.6): its module alone, or the others it is linked with.
enum class Linkage { local, visible, weak };

struct Variable {
  std::string name;
  Linkage linkage = Linkage::local;
  Space space = Space::global;
  Type type = Type::none;
  unsigned align = 1;
  uint64_t bytes = 0;
  bool external = false;  // .extern: size unknown (dynamic shared memory when shared)
  std::vector<uint8_t> initial;
  std::vector<Relocation> relocations;
  int ptx_line = 0;
};

// A member of a struct in shared memory that EMU_NAME_SHARED names (emulator/names.hpp).
struct NamedMember {
  std::string object, name;
  uint32_t align = 1, offset = 0, bytes = 0, element_bytes = 0;
};

struct Function {
  std::string name;
  Linkage linkage = Linkage::local;
  bool is_entry = false;
  bool has_body = false;
  std::vector<Variable> params, returns;
  std::vector<Variable> variables;                  // .shared, .local, .param of the body
  std::unordered_map<std::string, Type> registers;  // as declared, after scoping
  std::unordered_map<std::string, int> labels;      // label -> index of the instruction it stands before
  // .branchtargets lists of brx.idx and .calltargets lists of call, with the block that they stand in
  std::map<std::string, std::pair<int, std::vector<std::string>>> branch_targets;
  std::map<std::string, Function> prototypes;  // .callprototype
  std::vector<Instruction> body;
  unsigned max_threads[3] = {0, 0, 0};       // .maxntid; 0 = not given
  unsigned required_threads[3] = {0, 0, 0};  // .reqntid
  unsigned cluster[3] = {0, 0, 0};           // .reqnctapercluster
  bool explicit_cluster = false;
  unsigned min_ctas = 0;  // .minnctapersm; 0 = not given
  int ptx_line = 0;
  std::vector<NamedMember> named_members;
  std::map<unsigned, std::string> parameter_names;  // of EMU_NAME_PARAMETERS, by index
};

struct Module {
  std::string version, target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::unordered_map<std::string, size_t> function_index;  // the definition, else the first declaration
  std::vector<Loc> locs;
  std::map<int, std::string> files;
  std::vector<std::string> lines;  // the text, for messages

  const Function* find_function(const std::string& name) const;
};

// Parses PTX text. Throws Fault (id "ptx-syntax") with the line and a caret.
Module parse_ptx(const std::string& text);

}  // namespace emu
