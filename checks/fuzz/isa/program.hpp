// A program: one kernel of straight lines and control flow, and the functions that it calls. It follows from a seed and its
// number alone. Its threads keep their results in slots.
#pragma once

#include <set>
#include <string>

#include "writer.hpp"

namespace fuzz_isa {

struct Program {
  std::string text;
  unsigned slots = 0;
  unsigned statements = 0;
};

// Statements whose numbers are in `without` are left out; slots keep their numbers.
Program make_program(uint64_t seed, uint64_t number, const std::set<unsigned>& without = {});

std::string name_of_program(uint64_t number);

// What stands in front of the programs of a module.
std::string module_header();

}  // namespace fuzz_isa
