#include "emulator/program/names.hpp"

#include <cxxabi.h>

#include <cstdlib>

#include "emulator/findings/report.hpp"

namespace emu {
namespace {

std::string plus(uint64_t offset) {
  return offset ? "+" + std::to_string(offset) : "";
}

}  // namespace

std::string demangled(const std::string& symbol) {
  if (symbol.rfind("_Z", 0) != 0) return symbol;  // "b" is no name of a type here
  int status = 0;
  char* plain = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  const std::string out = plain && status == 0 ? plain : symbol;
  std::free(plain);
  return out;
}

// A local variable is demangled to "kernel(int)::full_bar"; the parser adds "$3" to what is declared in a block.
std::string variable_name(const std::string& symbol) {
  const std::string name = demangled(symbol.substr(0, symbol.find('$')));
  const size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

void Names::add_members(const std::vector<NamedMember>& members, uint32_t dynamic_base) {
  const std::vector<SharedVariable> variables = shared_;
  for (const NamedMember& m : members) {
    uint32_t base = (dynamic_base + m.align - 1) / m.align * m.align;
    for (const SharedVariable& v : variables)
      if (v.bytes && v.name == m.object) base = v.address;
    add_shared({m.name, base + m.offset, m.bytes, m.element_bytes});
  }
}

void Names::add_parameters(const std::vector<KernelParam>& params,
                           const std::map<unsigned, std::string>& names) {
  for (unsigned i = 0; i < params.size(); ++i) {
    const auto name = names.find(i);
    parameters_.push_back({name == names.end() ? "parameter " + std::to_string(i) : name->second,
                           params[i].offset, params[i].bytes});
  }
}

// The smallest variable that holds the address; else the nearest one below.
const SharedVariable* Names::find(uint32_t address) const {
  const SharedVariable *best = nullptr, *below = nullptr;
  for (const SharedVariable& v : shared_) {
    if (address < v.address) continue;
    if (!below || v.address > below->address) below = &v;
    if (v.bytes && address - v.address >= v.bytes) continue;
    if (!best || (v.bytes && (!best->bytes || v.bytes < best->bytes))) best = &v;
  }
  return best ? best : below;
}

const SharedVariable* Names::object(uint32_t address) const {
  const SharedVariable* v = find(address);
  return v && address - v->address < v->bytes ? v : nullptr;
}

std::string Names::shared(uint32_t address, uint32_t element_bytes) const {
  const SharedVariable* v = find(address);
  if (!v) return hex(address);
  const uint32_t offset = address - v->address;
  const uint32_t element = v->element_bytes ? v->element_bytes : element_bytes;
  // Of a tile of numbers, as bf16 a[BM * BK], the place in bytes says more than the number of an element.
  constexpr uint32_t kObjectBytes = 8;
  if (element < kObjectBytes || offset >= v->bytes || v->bytes <= element) return v->name + plus(offset);
  return v->name + "[" + std::to_string(offset / element) + "]" + plus(offset % element);
}

std::string Names::parameter(uint64_t offset) const {
  for (const Parameter& p : parameters_)
    if (offset >= p.offset && offset - p.offset < p.bytes) return p.name + plus(offset - p.offset);
  return "parameter memory " + hex(offset);
}

}  // namespace emu
