// Constant expressions (PTX ISA 4.5): what they mean is what ptxas computes for them.
//
// Integers have 64 bits, signed or unsigned. If either side of an operator is unsigned, so is the result; ~ and % are
// always unsigned, comparisons and logical operators signed; ?: is what it chooses. Reals know + - * / and comparisons, and do not mix with
// integers. A literal 0f.. takes no operator.
#include <cstring>

#include "emulator/ptx/parser.hpp"

namespace emu {

namespace {

double real_of(const Constant& c) {
  double value;
  std::memcpy(&value, &c.bits, 8);
  return value;
}
Constant real(double value) {
  Constant c;
  c.is_real = true;
  c.real_type = Type::f64;
  std::memcpy(&c.bits, &value, 8);
  return c;
}
Constant integer_constant(uint64_t bits, bool is_unsigned) {
  Constant c;
  c.bits = bits;
  c.is_unsigned = is_unsigned;
  return c;
}
Constant truth(bool value) {
  return integer_constant(value, false);
}

struct Operator {
  const char* text;
  int binds;  // the higher, the tighter
};
// Longer texts stand before those they begin with.
constexpr Operator kOperators[] = {{"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<<", 8}, {">>", 8},
                                   {"<=", 7}, {">=", 7}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
                                   {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};

template <class T>
bool compare(const char* op, T a, T b) {
  const std::string text = op;
  return text == "<"    ? a < b
         : text == ">"  ? a > b
         : text == "<=" ? a <= b
         : text == ">=" ? a >= b
         : text == "==" ? a == b
                        : a != b;
}

// The operator whose characters stand next to each other from here on; null when there is none.
const Operator* operator_at(const Token& first, const Token& second) {
  if (first.kind != Token::Kind::punct) return nullptr;
  const bool adjacent =
      second.kind == Token::Kind::punct && second.line == first.line && second.column == first.column + 1;
  for (const Operator& op : kOperators) {
    if (first.text[0] != op.text[0]) continue;
    if (op.text[1] == '\0' || (adjacent && second.text[0] == op.text[1])) return &op;
  }
  return nullptr;
}

}  // namespace

bool bits_of_constant(const Constant& c, Type type, uint64_t* bits) {
  const bool untyped = type == Type::b8 || type == Type::b16 || type == Type::b32 || type == Type::b64;
  *bits = c.bits;
  if (!c.is_real) return untyped || is_integer(type);
  if (type == Type::b32) return c.real_type == Type::f32;
  if (type == Type::b64) return c.real_type == Type::f64;
  if (type != Type::f32 && type != Type::f64) return false;
  if (type == c.real_type) return true;
  float narrow;
  double wide;
  if (type == Type::f32) {
    narrow = static_cast<float>(real_of(c));
    std::memcpy(bits, &narrow, 4);
    *bits &= 0xFFFFFFFFu;
  } else {
    std::memcpy(&narrow, &c.bits, 4);
    wide = narrow;
    std::memcpy(bits, &wide, 8);
  }
  return true;
}

Constant Parser::apply(const Token& at, const char* op, const Constant& a, const Constant& b) const {
  const char first = op[0];
  const bool compares = std::strchr("<>=!", first) && (first == '=' || first == '!' || op[1] != first);
  if (a.real_type == Type::f32 || b.real_type == Type::f32)
    error_at(at, std::string("a constant 0f.. stands alone, without '") + op + "'");
  if (a.is_real || b.is_real) {
    if (!a.is_real || !b.is_real) error_at(at, "a constant expression mixes integers and reals");
    if (compares) return truth(compare(op, real_of(a), real_of(b)));
    if (first == '+') return real(real_of(a) + real_of(b));
    if (first == '-') return real(real_of(a) - real_of(b));
    if (first == '*') return real(real_of(a) * real_of(b));
    if (first == '/') return real(real_of(a) / real_of(b));
    error_at(at, std::string("'") + op + "' takes integers");
  }
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  const int64_t sa = static_cast<int64_t>(a.bits), sb = static_cast<int64_t>(b.bits);
  if (compares) return truth(is_unsigned ? compare(op, a.bits, b.bits) : compare(op, sa, sb));
  if (op[1] == '|') return truth(a.bits || b.bits);
  if (op[1] == '&') return truth(a.bits && b.bits);
  if ((first == '/' || first == '%') && b.bits == 0) error_at(at, "a constant expression divides by zero");
  switch (first) {
    case '<':
      return integer_constant(a.bits << (b.bits & 63), a.is_unsigned);
    case '>':
      return integer_constant(
          a.is_unsigned ? a.bits >> (b.bits & 63) : static_cast<uint64_t>(sa >> (b.bits & 63)),
          a.is_unsigned);
    case '%':
      return integer_constant(a.bits % b.bits, true);
    case '/':
      if (is_unsigned) return integer_constant(a.bits / b.bits, true);
      return integer_constant(sb == -1 ? 0 - a.bits : static_cast<uint64_t>(sa / sb), false);
    case '*':
      return integer_constant(a.bits * b.bits, is_unsigned);
    case '+':
      return integer_constant(a.bits + b.bits, is_unsigned);
    case '-':
      return integer_constant(a.bits - b.bits, is_unsigned);
    case '&':
      return integer_constant(a.bits & b.bits, is_unsigned);
    case '^':
      return integer_constant(a.bits ^ b.bits, is_unsigned);
    default:
      return integer_constant(a.bits | b.bits, is_unsigned);
  }
}

// A literal, WARP_SZ, ( expression ), a cast, or one of + - ! ~ in front of these.
Constant Parser::parse_unary() {
  const Nesting nesting(*this);
  const Token t = next();
  if (t.kind == Token::Kind::integer) return integer_constant(t.bits, t.is_unsigned);
  if (t.kind == Token::Kind::real) {
    Constant c = real(0);
    c.bits = t.bits;
    c.real_type = t.real_type;
    return c;
  }
  if (t.kind == Token::Kind::word && t.text == "WARP_SZ") return integer_constant(32, false);
  if (t.kind != Token::Kind::punct || !std::strchr("(+-!~", t.text[0]))
    error_at(t, "expected a number or a constant expression");
  if (t.text == "(" && (is(".s64") || is(".u64"))) {
    const bool is_unsigned = next().text == ".u64";
    expect(")");
    const Constant c = parse_unary();
    if (c.is_real) error_at(t, "a cast takes an integer");
    return integer_constant(c.bits, is_unsigned);
  }
  if (t.text == "(") {
    const Constant c = parse_constant();
    expect(")");
    return c;
  }
  const Constant c = parse_unary();
  if (t.text == "+") return c;
  if (c.is_real) {
    if (t.text != "-") error_at(t, "'" + t.text + "' takes an integer");
    if (c.real_type == Type::f32) error_at(t, "a constant 0f.. has its sign in its bits");
    return real(-real_of(c));
  }
  if (t.text == "-") return integer_constant(0 - c.bits, c.is_unsigned);
  return t.text == "!" ? truth(c.bits == 0) : integer_constant(~c.bits, true);
}

Constant Parser::parse_binary(int binds) {
  Constant left = parse_unary();
  while (const Operator* op = operator_at(peek(), peek(1))) {
    if (op->binds < binds) break;
    const Token at = next();
    if (op->text[1]) next();
    left = apply(at, op->text, left, parse_binary(op->binds + 1));
  }
  return left;
}

Constant Parser::parse_constant() {
  const Nesting nesting(*this);
  const Constant condition = parse_binary(1);
  if (!is("?")) return condition;
  const Token at = next();
  const Constant yes = parse_constant();
  expect(":");
  const Constant no = parse_constant();
  if (condition.is_real || yes.is_real || no.is_real) error_at(at, "'?' takes integers");
  return condition.bits ? yes : no;
}

}  // namespace emu
