// The instructions of straight-line code: every form as a pattern, and what its operands are.
//
// A pattern is written as in the emulator's table of forms: `a|b` is a required choice, `[a|b]` an optional one.
// Operands, the destination first: a type; `v16`, `v32`: b16, b32, never a constant; `0`, `1`, `2`: the first, second, third type among the modifiers; `w`: twice as
// wide as the first; `amount`: a shift; `place`: a position or length; `imm8`; `divisor`: of the first type, neither 0 nor -1; `lane`: 0 to 31;
// `exact`, `exact_f16`, `exact_bf16`, `power`, `small`: see Pool; `pred`: a predicate; `pair`: two predicates p|q, `one`: one, or two in half of the cases; `last`: a
// predicate that .and, .or and .xor take, where one of them is given; `both`: a register and a predicate d|p.
#pragma once

#include <string>
#include <vector>

#include "random.hpp"

namespace fuzz_isa {

struct Row {
  const char* pattern;
  const char* operands;
};

const std::vector<Row>& rows();

// A pattern as slots of choices; an optional slot has the choice "".
struct Form {
  std::string opcode;
  std::vector<std::vector<std::string>> slots;
  std::vector<std::string> operands;
  double weight = 1;
};
const std::vector<Form>& forms();

// A form with more variants is taken more often, up to twice.
const Form& any_form(Random& random);

bool is_type(const std::string& word);
unsigned bits_of(const std::string& type);

}  // namespace fuzz_isa
