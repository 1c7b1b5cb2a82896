// The recursive-descent parser behind parse_ptx(). Grammar: PTX ISA chapters 4, 5 and 11.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/ptx/lexer.hpp"
#include "emulator/ptx/syntax.hpp"

namespace emu {

class Parser {
 public:
  explicit Parser(const std::string& text);
  Module parse();

 private:
  Module module;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  std::map<std::string, std::string> debug_strings_;
  std::map<std::array<int, 3>, int> latest_loc_;  // file, line, column -> index
  std::set<std::string> module_names_;            // of variables

  const Token& peek(size_t ahead = 0) const {
    size_t i = position_ + ahead;
    return tokens_[i < tokens_.size() ? i : tokens_.size() - 1];
  }
  const Token& next();
  bool is(const char* text) const {
    const Token& t = peek();  // its first character tells most tokens from most texts
    return t.text[0] == text[0] && t.kind != Token::Kind::string && t.text == text;
  }
  bool accept(const char* text);
  void expect(const char* text);
  std::string word(const char* what);
  int64_t integer(const char* what);
  // Operands, expressions and initialisers may hold one another so deep, and no deeper.
  struct Nesting {
    explicit Nesting(Parser& p) : parser(p) {
      if (++parser.depth_ > 200) parser.error("this is nested deeper than 200 levels");
    }
    ~Nesting() { --parser.depth_; }
    Nesting(const Nesting&) = delete;
    Parser& parser;
  };
  int depth_ = 0;
  [[noreturn]] void error(const std::string& message) const;
  [[noreturn]] void error_at(const Token& t, const std::string& message) const;

  unsigned positive(const char* directive);

  int parse_loc();
  int add_loc(const Loc& loc);
  void parse_section();
  void resolve_function_names();
  Variable parse_variable_head(Space space, bool external);
  Variable parse_declarator(Variable head);
  void parse_initial(Variable& v, const uint64_t* dimensions, size_t count);
  void parse_initial_value(Variable& v);
  std::vector<Variable> parse_parameters();
  void parse_function(bool is_entry, bool external, Linkage linkage);

  // ---- function bodies (body_parser.cpp)
  struct Range {  // .reg .b32 %r<count>
    std::string prefix;
    uint64_t count;
    Type type;
    bool holds(const std::string& name) const;
  };
  struct Scope {
    int parent = -1;
    std::vector<Range> ranges;
    std::unordered_map<std::string, std::string> names;   // register or variable -> unique name
    std::unordered_map<std::string, std::string> labels;  // label -> unique name
  };
  std::vector<Scope> scopes_;
  std::unordered_map<std::string, std::vector<std::string>>
      vectors_;  // vector register -> its elements, unique names
  int scope_ = 0;
  Function* function_ = nullptr;  // whose body is read
  int current_loc_ = -1;
  uint32_t used_bytes_ = 0;  // of the next instruction

  void parse_body(Function& f);
  void parse_statement(Function& f, std::vector<int>& scope_of);
  void parse_registers(Function& f);
  bool parse_name(Function& f, const std::string& declared);
  void parse_label_directive(Function& f, const std::string& label);
  void parse_pragma();
  Instruction parse_instruction();
  Operand parse_operand();
  Operand parse_simple_operand();
  Operand parse_reference();
  Operand parse_items(Operand::Kind kind, const char* close);
  std::string declare(const std::string& name);
  std::string lookup(const std::string& name);
  const Range* range_of(const Scope& scope, const std::string& name) const;

  // ---- constant expressions (constant_parser.cpp)
  Constant parse_constant();
  Constant parse_binary(int binds);
  Constant parse_unary();
  Constant apply(const Token& at, const char* op, const Constant& a, const Constant& b) const;

  std::string declare_label(const Token& t);
  std::string label_seen_from(int scope, const std::string& name) const;
  void resolve_labels(Operand& operand, int scope) const;
};

}  // namespace emu
