// Module level: directives, variables, functions. Function bodies are in body_parser.cpp.
#include "emulator/ptx/parser.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>

#include "emulator/findings/report.hpp"

namespace emu {

namespace {
constexpr uint64_t kLargestVariable = 2ull << 30, kLargestInitial = 256ull << 20,
                   kLargestParameter = 1u << 20;
constexpr int64_t kLargestAlignment = 1 << 20;
}  // namespace

std::string Instruction::full_name() const {
  std::string out = opcode;
  for (auto& m : modifiers) out += "." + m;
  return out;
}

const Function* Module::find_function(const std::string& name) const {
  const auto found = function_index.find(name);
  return found == function_index.end() ? nullptr : &functions[found->second];
}

Parser::Parser(const std::string& text) {
  module.lines = split_lines(text);
  tokens_ = tokenize(text, module.lines);
}

void Parser::error(const std::string& message) const {
  error_at(peek(), message);
}
void Parser::error_at(const Token& t, const std::string& message) const {
  syntax_error(module.lines, t.line, t.column, message);
}

const Token& Parser::next() {
  const Token& t = tokens_[position_];
  if (t.kind != Token::Kind::end) ++position_;
  return t;
}
bool Parser::accept(const char* text) {
  if (!is(text)) return false;
  next();
  return true;
}
void Parser::expect(const char* text) {
  if (!accept(text))
    error(std::string("expected '") + text + "', found '" +
          (peek().text.empty() ? "end of text" : peek().text) + "'");
}
std::string Parser::word(const char* what) {
  if (peek().kind != Token::Kind::word) error(std::string("expected ") + what);
  return next().text;
}
int64_t Parser::integer(const char* what) {
  bool negative = accept("-");
  if (peek().kind != Token::Kind::integer) error(std::string("expected ") + what);
  int64_t v = static_cast<int64_t>(next().bits);
  return negative ? static_cast<int64_t>(0 - static_cast<uint64_t>(v)) : v;
}

unsigned Parser::positive(const char* directive) {
  const Token t = peek();
  const int64_t value = integer("a number");
  if (value <= 0 || value > INT32_MAX)
    error_at(t, std::string(directive) + " takes positive numbers of 31 bits");
  return static_cast<unsigned>(value);
}

// .loc file line column [, function_name label[+imm], inlined_at file line column]
int Parser::parse_loc() {
  int line = next().line;
  Loc loc;
  loc.file = static_cast<int>(integer("a file number"));
  loc.line = static_cast<int>(integer("a line number"));
  loc.column = static_cast<int>(integer("a column"));
  while (accept(",")) {
    std::string what = word("function_name or inlined_at");
    if (what == "function_name") {
      loc.function = word("a label of .debug_str");
      if (accept("+")) loc.function += "+" + std::to_string(integer("an offset"));
    } else if (what == "inlined_at") {
      Loc site;
      site.file = static_cast<int>(integer("a file number"));
      site.line = static_cast<int>(integer("a line number"));
      site.column = static_cast<int>(integer("a column"));
      // The call site was itself described by the latest .loc with the same position.
      const auto known = latest_loc_.find({site.file, site.line, site.column});
      loc.inlined_at = known != latest_loc_.end() ? known->second : add_loc(site);
    } else {
      error("unknown part of .loc: " + what);
    }
  }
  while (peek().kind != Token::Kind::end && peek().line == line) next();
  return add_loc(loc);
}

int Parser::add_loc(const Loc& loc) {
  module.locs.push_back(loc);
  return latest_loc_[{loc.file, loc.line, loc.column}] = static_cast<int>(module.locs.size()) - 1;
}

// .section .debug_str { label: .b8 ... }: only the names of inlined functions matter here.
void Parser::parse_section() {
  std::string name = word("a section name");
  expect("{");
  std::string label;
  while (!accept("}")) {
    if (peek().kind == Token::Kind::end) error("this .section never ends");
    Token t = next();
    if (t.kind == Token::Kind::word && is(":")) {
      next();
      label = t.text;
    } else if (t.kind == Token::Kind::integer && name == ".debug_str" && !label.empty()) {
      debug_strings_[label] += static_cast<char>(t.bits);
    }
  }
}

void Parser::resolve_function_names() {
  std::unordered_map<std::string, std::string> known;  // a few functions are inlined in many places
  for (Loc& loc : module.locs) {
    if (loc.function.empty()) continue;
    std::string& name = known[loc.function];
    if (!name.empty()) {
      loc.function = name;
      continue;
    }
    size_t plus = loc.function.find('+');
    std::string text = debug_strings_[loc.function.substr(0, plus)];
    if (plus != std::string::npos) {
      size_t offset = std::strtoul(loc.function.c_str() + plus + 1, nullptr, 10);
      text = offset < text.size() ? text.substr(offset) : "";
    }
    text = text.c_str();  // up to the NUL
    int status = 0;
    char* plain = abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status);
    name = status == 0 && plain ? plain : text;
    std::free(plain);
    loc.function = name;
  }
}

// [.align n] .type name[dims] [= initialiser]; the state space is already read. One declarator.
Variable Parser::parse_declarator(Variable base) {
  Variable v = base;
  const Token start = peek();
  v.ptx_line = start.line;
  v.name = word("a variable name");
  std::vector<uint64_t> dimensions;  // outermost first; 0: not given
  while (accept("[")) {
    dimensions.push_back(is("]") ? 0 : static_cast<uint64_t>(integer("an array size")));
    if (dimensions.size() > 1 && dimensions.back() == 0) error_at(start, "an inner dimension has no size");
    expect("]");
  }
  if (base.bytes) dimensions.push_back(base.bytes);  // elements of a vector
  v.bytes = size_of(v.type);
  for (uint64_t d : dimensions) {
    if (v.bytes && d > kLargestVariable / v.bytes)
      error_at(start, "variable " + v.name + " is larger than 2 GiB");
    v.bytes *= d;
  }
  if (v.align < size_of(v.type)) v.align = size_of(v.type);
  if (accept("=")) {
    if (v.space != Space::global && v.space != Space::constant)
      error_at(start, "only .global and .const variables have an initial value");
    parse_initial(v, dimensions.data(), dimensions.size());
    if (v.bytes == 0) v.bytes = v.initial.size();
  }
  return v;
}

// Reads the attributes after the state space: .align n, .attribute(...), .vN, and the type. A kernel's parameter may say in
// front of its type or behind it where it points to: .ptr .global .align n.
Variable Parser::parse_variable_head(Space space, bool external) {
  Variable v;
  v.space = space;
  v.external = external;
  v.bytes = 0;  // vector length until parse_declarator
  bool pointer = false;
  while (true) {
    const Token t = peek();
    const std::string text = t.kind == Token::Kind::word ? t.text : "";
    if (text == ".align") {
      next();
      const int64_t align = integer("an alignment");
      if (align <= 0 || align > kLargestAlignment || (align & (align - 1)))
        error_at(t, "an alignment is a power of two up to " + std::to_string(kLargestAlignment));
      if (!pointer) v.align = static_cast<unsigned>(align);
    } else if (text == ".attribute") {
      next();
      expect("(");
      while (!accept(")")) {
        if (peek().kind == Token::Kind::end) error("this .attribute never ends");
        next();
      }
    } else if (text == ".v2" || text == ".v4") {
      v.bytes = next().text == ".v2" ? 2 : 4;
    } else if (text == ".ptr") {
      next();
      pointer = true;
    } else if (pointer && (text == ".global" || text == ".const" || text == ".shared" || text == ".local")) {
      next();
    } else if (v.type == Type::none) {
      v.type = text.empty() ? Type::none : type_from(std::string_view(text).substr(1));
      if (text[0] != '.' || v.type == Type::none) error("unknown type " + next().text);
      if (v.type == Type::pred && space != Space::reg) error_at(t, "a predicate must be a register");
      next();
    } else {
      return v;
    }
  }
}

// The values of the remaining dimensions: a list in braces for each, as far as it is given, and zeros.
void Parser::parse_initial(Variable& v, const uint64_t* dimensions, size_t count) {
  if (count == 0) return parse_initial_value(v);
  const Token start = peek();
  expect("{");
  uint64_t element = size_of(v.type), elements = 0;
  for (size_t i = 1; i < count; ++i) element *= dimensions[i];
  if (!accept("}")) {
    do {
      const size_t begin = v.initial.size();
      parse_initial(v, dimensions + 1, count - 1);
      if (begin + element > kLargestInitial) error_at(start, "an initial value of more than 256 MiB");
      v.initial.resize(begin + element);
      if (++elements > dimensions[0] && dimensions[0]) error("more initial values than elements");
    } while (accept(","));
    expect("}");
  }
}

void Parser::parse_initial_value(Variable& v) {
  const unsigned width = size_of(v.type);
  auto put = [&](uint64_t bits) {
    for (unsigned i = 0; i < width; ++i)
      v.initial.push_back(static_cast<uint8_t>(i < 8 ? bits >> (8 * i) : 0));
  };
  const Token t = peek();
  if (t.kind != Token::Kind::word || t.text == "WARP_SZ") {
    const Constant c = parse_constant();
    if (!c.is_real && is("(")) error_at(t, "mask(symbol) initialisers are not supported");
    uint64_t bits = c.bits;
    if (!bits_of_constant(c, v.type, &bits))
      error_at(t, std::string("a .") + name_of(v.type) + " variable cannot have this initial value");
    return put(bits);
  }
  next();
  Relocation r;
  r.offset = v.initial.size();
  r.symbol = t.text;
  if (t.text == "generic") {
    expect("(");
    r.symbol = word("a symbol");
    expect(")");
    r.generic = true;
  }
  if (accept("+")) {
    const Constant offset = parse_constant();
    if (offset.is_real) error_at(t, "only an integer can be added to " + r.symbol);
    r.addend = static_cast<int64_t>(offset.bits);
  }
  v.relocations.push_back(r);
  put(0);
}

std::vector<Variable> Parser::parse_parameters() {
  std::vector<Variable> out;
  expect("(");
  while (!accept(")")) {
    const Token t = peek();
    const std::string space = word(".param or .reg");
    if (space != ".param" && space != ".reg") error_at(t, "expected .param or .reg");
    out.push_back(parse_declarator(parse_variable_head(space == ".reg" ? Space::reg : Space::param, false)));
    const Variable& v = out.back();
    if (v.space == Space::reg ? v.bytes != size_of(v.type) : v.type == Type::pred)
      error_at(t, v.name + " cannot be a parameter of this type");
    if (v.bytes > kLargestParameter) error_at(t, v.name + " is larger than any parameter can be");
    if (!is(")")) expect(",");
  }
  return out;
}

void Parser::parse_function(bool is_entry, bool external, Linkage linkage) {
  Function f;
  f.linkage = linkage;
  const Token start = peek();
  f.is_entry = is_entry;
  f.ptx_line = start.line;
  if (!is_entry && is("(")) f.returns = parse_parameters();
  f.name = word("a function name");
  if (is("(")) f.params = parse_parameters();
  static const std::set<std::string> next_definition = {".func",   ".entry",  ".visible", ".weak",
                                                        ".extern", ".common", ".global",  ".const",
                                                        ".shared", ".file",   ".loc",     ".section"};
  while (peek().kind == Token::Kind::word && peek().text[0] == '.' && !next_definition.count(peek().text)) {
    std::string d = next().text;
    auto three = [&](unsigned* v) {
      v[1] = v[2] = 1;
      int i = 0;
      do v[i] = positive(d.c_str());
      while (++i < 3 && accept(","));
    };
    if (d == ".maxntid")
      three(f.max_threads);
    else if (d == ".reqntid")
      three(f.required_threads);
    else if (d == ".reqnctapercluster")
      three(f.cluster);
    else if (d == ".explicitcluster")
      f.explicit_cluster = true;
    else if (d == ".minnctapersm")
      f.min_ctas = positive(d.c_str());
    else if (d == ".maxnreg" || d == ".maxclusterrank" || d == ".maxnctapersm")
      integer("a number");
    else if (d == ".noreturn" || d == ".unified")
      continue;
    else if (d == ".abi_preserve" || d == ".abi_preserve_control")
      integer("a number");
    else if (d == ".pragma") {
      next();
      expect(";");
    } else
      error("directive " + d + " is not supported on a function");
  }
  f.has_body = is("{");
  if (f.has_body) {
    if (external) error("an .extern function has no body");
    parse_body(f);
  } else {
    accept(";");  // some write none
  }
  const auto [known, fresh] = module.function_index.insert({f.name, module.functions.size()});
  if (!fresh && f.has_body) {
    if (module.functions[known->second].has_body) error_at(start, f.name + " is defined twice");
    known->second = module.functions.size();
  }
  module.functions.push_back(std::move(f));
}

Module Parser::parse() {
  bool external = false;
  Linkage linkage = Linkage::local;
  while (peek().kind != Token::Kind::end) {
    const Token t = peek();
    if (t.kind != Token::Kind::word) error("expected a directive");
    const std::string& d = t.text;
    if (d == ".loc") {
      parse_loc();
      continue;
    }
    next();
    if (d == ".version") {
      if (peek().kind != Token::Kind::real) error("expected a version such as 8.6");
      module.version = next().text;
    } else if (d == ".target") {
      do module.target += (module.target.empty() ? "" : ",") + word("a target");
      while (accept(","));
    } else if (d == ".address_size") {
      if (integer("64") != 64) error_at(t, "only 64-bit addresses are supported");
    } else if (d == ".file") {
      int index = static_cast<int>(integer("a file number"));
      if (peek().kind != Token::Kind::string) error("expected the name of a file");
      module.files[index] = next().text;
      while (accept(",")) integer("a number");
    } else if (d == ".section") {
      parse_section();
    } else if (d == ".pragma") {
      next();
      expect(";");
    } else if (d == ".extern" || d == ".visible" || d == ".weak" || d == ".common") {
      external = d == ".extern";
      linkage = d == ".weak" || d == ".common" ? Linkage::weak : Linkage::visible;
      continue;
    } else if (d == ".entry" || d == ".func") {
      parse_function(d == ".entry", external, linkage);
    } else if (d == ".global" || d == ".const" || d == ".shared") {
      Space space = d == ".global" ? Space::global : d == ".const" ? Space::constant : Space::shared;
      Variable head = parse_variable_head(space, external);
      do {
        const Token name = peek();
        Variable v = parse_declarator(head);
        v.linkage = linkage;
        if (!external && !module_names_.insert(v.name).second) error_at(name, v.name + " is declared twice");
        module.variables.push_back(std::move(v));
      } while (accept(","));
      expect(";");
    } else if (d == ".local" || d == ".reg") {
      error_at(
          t, d + " outside of a function: ptxas refuses this, too; declare it in the functions that use it");
    } else {
      error_at(t, "directive " + d + " is not supported");
    }
    external = false;
    linkage = Linkage::local;
  }
  if (module.target.empty()) error("this is not a PTX module: it has no .target");
  resolve_function_names();
  return std::move(module);
}

Module parse_ptx(const std::string& text) {
  return Parser(text).parse();
}

}  // namespace emu
