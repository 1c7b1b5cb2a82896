// Function bodies: scopes, declarations, labels, instructions and operands (PTX ISA 4.3, 6, 9).
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "emulator/findings/report.hpp"
#include "emulator/ptx/parser.hpp"

namespace emu {

std::string Parser::declare(const std::string& name) {
  Scope& s = scopes_[scope_];
  if (s.names.count(name)) error("'" + name + "' is declared twice in one block");
  return s.names[name] = scope_ == 0 ? name : name + "$" + std::to_string(scope_);
}

// The unique name of a register or variable seen from the current block; "" when it is none.
std::string Parser::lookup(const std::string& name) const {
  for (int s = scope_; s >= 0; s = scopes_[s].parent) {
    auto it = scopes_[s].names.find(name);
    if (it != scopes_[s].names.end()) return it->second;
  }
  return "";
}

// Labels may stand after their use, so they are resolved when the body is complete.
void Parser::resolve_labels(const Function& f, Operand& operand, int scope) const {
  if (operand.kind == Operand::Kind::symbol) {
    for (int s = scope; s >= 0; s = scopes_[s].parent) {
      auto it = scopes_[s].labels.find(operand.name);
      if (it != scopes_[s].labels.end()) {
        operand.name = it->second;
        break;
      }
    }
  }
  for (Operand& item : operand.items) resolve_labels(f, item, scope);
}

void Parser::parse_body(Function& f) {
  scopes_.assign(1, Scope());
  vectors_.clear();
  scope_ = 0;
  current_loc_ = -1;
  std::vector<int> scope_of;
  for (auto* list : {&f.params, &f.returns})
    for (Variable& v : *list) declare(v.name);
  expect("{");
  int depth = 1;
  while (depth > 0) {
    if (peek().kind == Token::Kind::end) error("the body of " + f.name + " never ends");
    if (accept("{")) {
      ++depth;
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
    for (Operand& o : f.body[i].operands) resolve_labels(f, o, scope_of[i]);
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
      int64_t count = integer("a register count");
      expect(">");
      for (int64_t i = 0; i < count; ++i) add(name + std::to_string(i));
    } else {
      add(name);
    }
  } while (accept(","));
  expect(";");
}

void Parser::parse_label_directive(Function& f, const std::string& label) {
  if (accept(".branchtargets")) {
    do f.branch_targets[label].push_back(word("a label"));
    while (accept(","));
  } else if (accept(".callprototype")) {
    Function p;
    if (is("(")) p.returns = parse_parameters();
    word("_");
    if (is("(")) p.params = parse_parameters();
    accept(".noreturn");
    f.prototypes[label] = p;
  } else {  // .calltargets
    next();
    do word("a function");
    while (accept(","));
  }
  expect(";");
}

void Parser::parse_statement(Function& f, std::vector<int>& scope_of) {
  const Token t = peek();
  if (accept(";")) return;
  if (t.kind == Token::Kind::word && t.text[0] == '.') {
    if (t.text == ".loc") {
      current_loc_ = parse_loc();
    } else if (t.text == ".reg") {
      next();
      parse_registers(f);
    } else if (t.text == ".pragma") {
      next();
      next();
      expect(";");
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
        v.name = declare(v.name);
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
      parse_label_directive(f, t.text);
      return;
    }
    std::string unique = scope_ == 0 ? t.text : t.text + "$" + std::to_string(scope_);
    if (scopes_[scope_].labels.count(t.text)) error_at(t, "label '" + t.text + "' stands twice in one block");
    scopes_[scope_].labels[t.text] = unique;
    f.labels[unique] = static_cast<int>(f.body.size());
    return;
  }
  f.body.push_back(parse_instruction());
  scope_of.push_back(scope_);
}

Instruction Parser::parse_instruction() {
  Instruction in;
  in.loc = current_loc_;
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
    const Token t = peek();
    o.items.push_back(parse_operand());
    if (o.items.back().kind == Operand::Kind::sum) error_at(t, "a sum cannot be an element of a list");
    if (!is(close)) expect(",");
  }
  return o;
}

// A register, variable, function or label, or one of them plus a constant. A vector register stands for its elements.
Operand Parser::parse_name() {
  Operand o;
  const Token t = next();
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
  if (peek().kind == Token::Kind::word && !constant_word) return parse_name();
  if (is("!") && peek(1).kind == Token::Kind::word && peek(1).text != "WARP_SZ") {
    next();
    o = parse_name();
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
