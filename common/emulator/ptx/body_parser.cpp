// Function bodies: scopes, declarations, labels, instructions and operands (PTX ISA 4.3, 6, 9).
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "emulator/findings/report.hpp"
#include "emulator/ptx/parser.hpp"

namespace emu {

namespace {
constexpr int64_t kMostVectors = 100000;  // that one declaration names
constexpr int kDeepestBlock = 200;
}  // namespace

std::string Parser::declare(const std::string& name) {
  Scope& s = scopes_[scope_];
  if (s.names.count(name) || range_of(s, name)) error("'" + name + "' is declared twice in one block");
  return s.names[name] = scope_ == 0 ? name : name + "$" + std::to_string(scope_);
}

// Whether a name is one of a range: %r<8> is %r0 to %r7.
bool Parser::Range::holds(const std::string& name) const {
  if (name.size() <= prefix.size() || name.size() > prefix.size() + 18 ||
      name.compare(0, prefix.size(), prefix) != 0)
    return false;
  const std::string index = name.substr(prefix.size());
  if (index.find_first_not_of("0123456789") != std::string::npos || (index[0] == '0' && index.size() > 1))
    return false;
  return std::stoull(index) < count;
}

const Parser::Range* Parser::range_of(const Scope& scope, const std::string& name) const {
  for (const Range& range : scope.ranges)
    if (range.holds(name)) return &range;
  return nullptr;
}

// The unique name of a register or variable seen from the current block; "" when it is none. Registers of a range are
// declared when they are met: a range may name millions.
std::string Parser::lookup(const std::string& name) {
  for (int s = scope_; s >= 0; s = scopes_[s].parent) {
    const auto it = scopes_[s].names.find(name);
    if (it != scopes_[s].names.end()) return it->second;
    const Range* range = range_of(scopes_[s], name);
    if (!range) continue;
    const std::string unique = s == 0 ? name : name + "$" + std::to_string(s);
    function_->registers[unique] = range->type;
    return scopes_[s].names[name] = unique;
  }
  return "";
}

// Labels may stand after their use, so they are resolved when the body is complete.
void Parser::resolve_labels(Operand& operand, int scope) const {
  if (operand.kind == Operand::Kind::symbol) operand.name = label_seen_from(scope, operand.name);
  for (Operand& item : operand.items) resolve_labels(item, scope);
}

// The unique name of a label; the name itself when it is none.
std::string Parser::label_seen_from(int scope, const std::string& name) const {
  for (int s = scope; s >= 0; s = scopes_[s].parent) {
    auto it = scopes_[s].labels.find(name);
    if (it != scopes_[s].labels.end()) return it->second;
  }
  return name;
}

std::string Parser::declare_label(const Token& t) {
  const std::string unique = scope_ == 0 ? t.text : t.text + "$" + std::to_string(scope_);
  if (!scopes_[scope_].labels.insert({t.text, unique}).second)
    error_at(t, "label '" + t.text + "' stands twice in one block");
  return unique;
}

void Parser::parse_body(Function& f) {
  function_ = &f;
  scopes_.assign(1, Scope());
  vectors_.clear();
  scope_ = 0;
  current_loc_ = -1;
  std::vector<int> scope_of;
  for (auto* list : {&f.params, &f.returns})
    for (Variable& v : *list) {
      declare(v.name);
      if (v.space == Space::reg) f.registers[v.name] = v.type;
    }
  expect("{");
  int depth = 1;
  while (depth > 0) {
    if (peek().kind == Token::Kind::end) error("the body of " + f.name + " never ends");
    if (accept("{")) {
      if (++depth > kDeepestBlock)
        error("blocks are nested deeper than " + std::to_string(kDeepestBlock) + " levels");
      Scope inner;
      inner.parent = scope_;
      scopes_.push_back(inner);
      scope_ = static_cast<int>(scopes_.size()) - 1;
    } else if (accept("}")) {
      --depth;
      if (depth > 0) scope_ = scopes_[scope_].parent;
    } else {
      parse_statement(f, scope_of);
    }
  }
  for (size_t i = 0; i < f.body.size(); ++i)
    for (Operand& o : f.body[i].operands) resolve_labels(o, scope_of[i]);
  for (auto& [name, list] : f.branch_targets)
    for (std::string& target : list.second) target = label_seen_from(list.first, target);
}

// A register that is declared for its name alone (emulator/names.hpp):
// emu_shared$alignment$offset$bytes$bytes of an element$object$member, or emu_parameter$index$name.
bool Parser::parse_name(Function& f, const std::string& declared) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= declared.size();) {
    const size_t end = std::min(declared.find('$', at), declared.size());
    parts.push_back(declared.substr(at, end - at));
    at = end + 1;
  }
  const auto number = [&](size_t i) {
    return static_cast<uint32_t>(std::strtoul(parts[i].c_str(), nullptr, 10));
  };
  if (parts[0] == "emu_parameter" && parts.size() == 3) {
    f.parameter_names[number(1)] = parts[2];
    return true;
  }
  if (parts[0] != "emu_shared" || parts.size() != 7) return false;
  f.named_members.push_back({parts[5], parts[6], std::max(number(1), 1u), number(2), number(3), number(4)});
  return true;
}

void Parser::parse_registers(Function& f) {
  std::string t = word("a register type");
  const size_t width = t == ".v2" ? 2 : t == ".v4" ? 4 : 0;  // of a vector register (PTX ISA 5.4.2)
  if (width) t = word("the type of a vector's elements");
  Type type = type_from(std::string_view(t).substr(1));
  if (type == Type::none) error("unknown register type " + t);
  const auto add = [&](const std::string& name) {
    if (parse_name(f, name)) return;
    const std::string unique = declare(name);
    if (width == 0) f.registers[unique] = type;
    for (size_t i = 0; i < width; ++i) {
      const std::string element = declare(name + "." + "xyzw"[i]);
      scopes_[scope_].names[name + "." + "rgba"[i]] = element;
      f.registers[element] = type;
      vectors_[unique].push_back(element);
    }
  };
  do {
    std::string name = word("a register name");
    if (accept("<")) {
      const Token at = peek();
      const int64_t count = integer("a register count");
      expect(">");
      if (count < 0 || (width && count > kMostVectors)) error_at(at, "not so many registers can be declared");
      for (int64_t i = 0; width && i < count; ++i) add(name + std::to_string(i));
      if (width) continue;
      const Range range{name, static_cast<uint64_t>(count), type};
      Scope& scope = scopes_[scope_];
      bool twice = range_of(scope, name + "0");
      for (const Range& other : scope.ranges) twice = twice || range.holds(other.prefix + "0");
      for (const auto& [declared, unique] : scope.names) twice = twice || range.holds(declared);
      if (twice)
        error_at(
            at, "a register of '" + name + "<" + std::to_string(count) + ">' is declared twice in one block");
      scope.ranges.push_back(range);
    } else {
      add(name);
    }
  } while (accept(","));
  expect(";");
}

void Parser::parse_label_directive(Function& f, const std::string& label) {
  if (accept(".branchtargets")) {
    auto& [scope, list] = f.branch_targets[label];
    scope = scope_;
    do list.push_back(word("a label"));
    while (accept(","));
  } else if (accept(".callprototype")) {
    Function p;
    if (is("(")) p.returns = parse_parameters();
    p.name = word("_");
    if (is("(")) p.params = parse_parameters();
    accept(".noreturn");
    f.prototypes[label] = p;
  } else {  // .calltargets
    next();
    auto& [scope, list] = f.branch_targets[label];
    scope = scope_;
    do list.push_back(word("a function"));
    while (accept(","));
  }
  expect(";");
}

void Parser::parse_statement(Function& f, std::vector<int>& scope_of) {
  const Token& t = peek();
  if (accept(";")) return;
  if (t.kind == Token::Kind::word && t.text[0] == '.') {
    if (t.text == ".loc") {
      current_loc_ = parse_loc();
    } else if (t.text == ".reg") {
      next();
      parse_registers(f);
    } else if (t.text == ".pragma") {
      parse_pragma();
    } else if (t.text == ".shared" || t.text == ".local" || t.text == ".param" || t.text == ".global" ||
               t.text == ".const") {
      next();
      Space space = t.text == ".shared"   ? Space::shared
                    : t.text == ".local"  ? Space::local
                    : t.text == ".param"  ? Space::param
                    : t.text == ".global" ? Space::global
                                          : Space::constant;
      Variable head = parse_variable_head(space, false);
      do {
        Variable v = parse_declarator(head);
        const std::string name = v.name;
        v.name = declare(name);
        // Unlike registers, these may have another function's variable of the same name beside them.
        if (space != Space::local && space != Space::param && !module_names_.insert(v.name).second)
          v.name = scopes_[scope_].names[name] = v.name + "$of" + f.name;
        if (space == Space::global || space == Space::constant)
          module.variables.push_back(v);
        else
          f.variables.push_back(v);
      } while (accept(","));
      expect(";");
    } else {
      error("directive " + t.text + " is not supported in a function");
    }
    return;
  }
  if (t.kind == Token::Kind::word && peek(1).text == ":" && peek(1).kind == Token::Kind::punct) {
    next();
    next();
    std::string directive = peek().text;
    if (directive == ".branchtargets" || directive == ".callprototype" || directive == ".calltargets") {
      parse_label_directive(f, declare_label(t));
      return;
    }
    f.labels[declare_label(t)] = static_cast<int>(f.body.size());
    return;
  }
  f.body.push_back(parse_instruction());
  scope_of.push_back(scope_);
}

// .pragma "used_bytes_mask 4095"; is about the load that follows. The others are the compiler's.
void Parser::parse_pragma() {
  static const std::string kUsedBytes = "used_bytes_mask ";
  next();
  const Token t = next();
  if (t.text.compare(0, kUsedBytes.size(), kUsedBytes) == 0)
    used_bytes_ = static_cast<uint32_t>(std::strtoul(t.text.c_str() + kUsedBytes.size(), nullptr, 0));
  expect(";");
}

Instruction Parser::parse_instruction() {
  Instruction in;
  in.loc = current_loc_;
  in.used_bytes = std::exchange(used_bytes_, 0);
  if (accept("@")) {
    in.guard_negated = accept("!");
    std::string name = word("a predicate register");
    in.guard = lookup(name);
    if (in.guard.empty()) error("predicate " + name + " is not declared");
  }
  const Token& t = peek();
  in.ptx_line = t.line;
  std::string text = word("an instruction");
  while (peek().kind == Token::Kind::word && peek().text[0] == '.') text += next().text;  // "lop3 .b32"
  size_t begin = 0;
  bool first = true;
  while (begin <= text.size()) {
    size_t dot = text.find('.', begin);
    if (dot == std::string::npos) dot = text.size();
    std::string part = text.substr(begin, dot - begin);
    if (first)
      in.opcode = part;
    else
      in.modifiers.push_back(part);
    first = false;
    begin = dot + 1;
  }
  if (!is(";")) {
    in.operands.reserve(4);
    do {
      // (a, b) is a list in a call, and else a constant expression
      const bool list = in.opcode == "call" && accept("(");
      in.operands.push_back(list ? parse_items(Operand::Kind::list, ")") : parse_operand());
    } while (accept(","));
  }
  expect(";");
  return in;
}

// a, or the two halves of a destination: a|b
Operand Parser::parse_operand() {
  Operand o = parse_simple_operand();
  if (accept("|")) {
    Operand pair;
    pair.kind = Operand::Kind::pair;
    pair.items = {o, parse_simple_operand()};
    return pair;
  }
  return o;
}

// {a, b}, or (a, b) of a call; the opening bracket is read.
Operand Parser::parse_items(Operand::Kind kind, const char* close) {
  Operand o;
  o.kind = kind;
  while (!accept(close)) {
    const Token& t = peek();
    o.items.push_back(parse_operand());
    if (o.items.back().kind == Operand::Kind::sum) error_at(t, "a sum cannot be an element of a list");
    if (!is(close)) expect(",");
  }
  return o;
}

// A register, variable, function or label, or one of them plus a constant. A vector register stands for its elements.
Operand Parser::parse_reference() {
  Operand o;
  const Token& t = next();
  if (t.text == "_") return o;
  const std::string unique = lookup(t.text);
  o.name = unique.empty() ? t.text : unique;
  o.kind = t.text[0] == '%' ? Operand::Kind::reg : Operand::Kind::symbol;
  if (const auto vector = vectors_.find(unique); vector != vectors_.end()) {
    Operand all;
    all.kind = Operand::Kind::vec;
    for (const std::string& element : vector->second) {
      o.name = element;
      all.items.push_back(o);
    }
    return all;
  }
  if (!accept("+")) return o;
  const Constant offset = parse_constant();
  if (offset.is_real) error_at(t, "only an integer can be added to " + t.text);
  Operand sum;
  sum.kind = Operand::Kind::sum;
  sum.offset = static_cast<int64_t>(offset.bits);
  sum.items = {o};
  return sum;
}

Operand Parser::parse_simple_operand() {
  const Nesting nesting(*this);
  Operand o;
  const bool constant_word = peek().text == "WARP_SZ";
  if (peek().kind == Token::Kind::word && !constant_word) return parse_reference();
  if (is("!") && peek(1).kind == Token::Kind::word && peek(1).text != "WARP_SZ") {
    next();
    o = parse_reference();
    o.negated = true;
    return o;
  }
  if (accept("{")) return parse_items(Operand::Kind::vec, "}");
  if (accept("[")) {
    o.kind = Operand::Kind::address;
    Operand base = parse_simple_operand();
    o.offset = base.offset;
    o.items.push_back(base.kind == Operand::Kind::sum ? base.items[0] : base);
    if (is("-")) error("an offset is added: write [name + -4]");
    while (accept(",")) o.items.push_back(parse_operand());
    expect("]");
    return o;
  }
  o.kind = Operand::Kind::constant;
  o.constant = parse_constant();
  return o;
}

}  // namespace emu
