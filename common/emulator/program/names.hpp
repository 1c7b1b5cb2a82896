// What a reader calls the places of a kernel: variables in shared memory and their elements, parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/ptx/syntax.hpp"

namespace emu {

struct SharedVariable {
  std::string name;
  uint32_t address = 0;
  uint32_t bytes = 0;          // 0: dynamic, the launch gives its size
  uint32_t element_bytes = 0;  // of an array's element; 0: not known
};

struct KernelParam {
  std::string name;  // in PTX
  uint32_t offset = 0, bytes = 0;
};

// "full_bar" of a mangled local variable, "lab::wait(unsigned long*, unsigned int)" of a mangled function. What is not mangled
// stays as it is.
std::string demangled(const std::string& symbol);
std::string variable_name(const std::string& symbol);

class Names {
 public:
  void add_shared(const SharedVariable& variable) { shared_.push_back(variable); }
  // The members that EMU_NAME_SHARED names (emulator/names.hpp): of the static variable with the object's name, else of
  // dynamic shared memory, which begins here.
  void add_members(const std::vector<NamedMember>& members, uint32_t dynamic_base);
  void add_parameters(const std::vector<KernelParam>& params, const std::map<unsigned, std::string>& names);

  // "full_bar[2]", "tile+1024", or hex when nothing is there. element_bytes: what to count an array in whose elements are not
  // known; 0: bytes.
  std::string shared(uint32_t address, uint32_t element_bytes = 0) const;
  // "tmap_a", "parameter 3"; with "+128" inside of one.
  std::string parameter(uint64_t offset) const;

  // The variable of known size, or member of one, that holds the address; null: there is none.
  const SharedVariable* object(uint32_t address) const;

 private:
  const SharedVariable* find(uint32_t address) const;
  struct Parameter {
    std::string name;
    uint32_t offset, bytes;
  };
  std::vector<SharedVariable> shared_;
  std::vector<Parameter> parameters_;
};

}  // namespace emu
