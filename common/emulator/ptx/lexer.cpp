#include "emulator/ptx/lexer.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator/findings/report.hpp"

namespace emu {

namespace {
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_word(char c) {
  const char letter = static_cast<char>(c | 0x20);
  return (letter >= 'a' && letter <= 'z') || c == '_' || c == '$' || c == '%' || c == '.';
}
// Whether each character may be in a word; asked of every one of a text.
const std::array<bool, 256> kInWord = [] {
  std::array<bool, 256> in = {};
  for (int c = 0; c < 256; ++c) in[c] = starts_word(static_cast<char>(c)) || is_digit(static_cast<char>(c));
  return in;
}();
bool in_word(char c) {
  return kInWord[static_cast<unsigned char>(c)];
}
size_t digits(const std::string& text, size_t begin, const char* allowed) {
  return std::min(text.find_first_not_of(allowed, begin), text.size()) - begin;
}

// Whether a number may have it: behind an exponent's e also a sign.
bool in_number(char c) {
  return in_word(c) || c == '+' || c == '-';
}

constexpr size_t kLongestNumber = 400, kMostDigits = 18;  // of a decimal number that surely fits into 63 bits
constexpr const char *kDecimal = "0123456789", *kHex = "0123456789abcdefABCDEF";

// 0[fF] and 8, 0[dD] and 16 hexadecimal digits; a decimal number with a point or an exponent. Returns its length, 0 when
// there is none.
size_t read_real(const std::string& text, Token* t) {
  t->kind = Token::Kind::real;
  const char kind = text.size() > 1 ? static_cast<char>(text[1] | 0x20) : ' ';
  if (text[0] == '0' && (kind == 'f' || kind == 'd')) {
    const size_t count = kind == 'f' ? 8 : 16;
    t->real_type = kind == 'f' ? Type::f32 : Type::f64;
    t->bits = std::strtoull(text.substr(2, count).c_str(), nullptr, 16);
    return digits(text, 2, kHex) == count ? 2 + count : 0;
  }
  size_t end = digits(text, 0, kDecimal);
  const size_t point = end;
  if (end < text.size() && text[end] == '.') end += 1 + digits(text, end + 1, kDecimal);
  if (end < text.size() && (text[end] | 0x20) == 'e') {
    const size_t sign = end + 1 < text.size() && std::strchr("+-", text[end + 1]) ? 1 : 0;
    const size_t exponent = digits(text, end + 1 + sign, kDecimal);
    if (exponent == 0) return 0;
    end += 1 + sign + exponent;
  }
  if (end == point) return 0;
  const double value = std::strtod(text.substr(0, end).c_str(), nullptr);
  t->real_type = Type::f64;
  std::memcpy(&t->bits, &value, 8);
  return std::isinf(value) ? 0 : end;
}

// Decimal, 0x.., 0b.. or 0.. for octal, with U when unsigned; one that does not fit into 63 bits is unsigned, too.
size_t read_integer(const std::string& text, Token* t) {
  t->kind = Token::Kind::integer;
  const char kind = text.size() > 1 ? static_cast<char>(text[1] | 0x20) : ' ';
  const bool prefixed = text[0] == '0' && (kind == 'x' || kind == 'b');
  const int base = text[0] != '0' ? 10 : kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
  const size_t begin = prefixed ? 2 : 0;
  const size_t count = digits(text, begin,
                              base == 16   ? kHex
                              : base == 10 ? kDecimal
                              : base == 2  ? "01"
                                           : "01234567");
  errno = 0;
  t->bits = std::strtoull(text.substr(begin, count).c_str(), nullptr, base);
  size_t end = begin + count;
  t->is_unsigned = t->bits >> 63;
  if (end < text.size() && text[end] == 'U') t->is_unsigned = true, ++end;
  return count == 0 || errno == ERANGE ? 0 : end;
}

size_t read_number(const std::string& text, Token* t) {
  if (const size_t bytes = read_real(text, t)) {
    t->text = text.substr(0, bytes);
    return bytes;
  }
  const size_t bytes = read_integer(text, t);
  t->text = text.substr(0, bytes);
  return bytes;
}

// The character as a message can show it.
std::string shown(char c) {
  char code[8];
  std::snprintf(code, sizeof code, "0x%02x", static_cast<unsigned char>(c));
  return std::isprint(static_cast<unsigned char>(c)) ? std::string("'") + c + "'" : code;
}

// The bytes of a string literal: nvcc writes \" and \\ for these two, and \303 for a byte that is no printable ASCII.
std::string unescaped(const std::string& literal) {
  std::string bytes;
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      bytes += literal[i];
      continue;
    }
    int value = 0, digits = 0;
    while (digits < 3 && i + 1 < literal.size() && literal[i + 1] >= '0' && literal[i + 1] <= '7') {
      value = value * 8 + (literal[++i] - '0');
      ++digits;
    }
    bytes += digits ? static_cast<char>(value) : literal[++i];
  }
  return bytes;
}

}  // namespace

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines(1);  // index 0 unused: line numbers start at 1
  const bool zeros = text.find('\0') != std::string::npos;
  lines.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 2);
  for (size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    std::string& line = lines.emplace_back(text, begin, end - begin);
    if (zeros) line.erase(std::remove(line.begin(), line.end(), '\0'), line.end());
  }
  return lines;
}

void syntax_error(const std::vector<std::string>& lines, int line, int column, const std::string& message) {
  Finding f(Id::ptx_syntax);
  f.title = message;
  f.line.ptx_line = line;
  f.where = "PTX line " + std::to_string(line);
  if (line > 0 && line < static_cast<int>(lines.size())) {
    std::string shown = lines[line].substr(0, 160);
    for (char& c : shown)
      if (c == '\t') c = ' ';
    f.state = shown + "\n         " + std::string(column > 0 && column < 160 ? column - 1 : 0, ' ') + "^";
  }
  f.hint = "compile the program again; if the line is correct PTX, this emulator does not know it yet";
  throw Fault(f);
}

namespace {

// Goes through the text once. A character behind its end reads as '\0'; one in it ends the text.
class Lexer {
 public:
  Lexer(const std::string& text, const std::vector<std::string>& lines) : text_(text), lines_(lines) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 4);
    for (skip_blanks(); at(i_); skip_blanks()) next(&tokens.emplace_back());
    Token end;
    end.line = line_;
    tokens.push_back(std::move(end));
    return tokens;
  }

 private:
  char at(size_t k) const { return k < text_.size() ? text_[k] : '\0'; }
  int column() const { return static_cast<int>(i_ - line_start_) + 1; }

  void step() {
    if (text_[i_++] == '\n') ++line_, line_start_ = i_;
  }
  void skip_blanks() {
    for (;;) {
      const char c = at(i_);
      if (c == ' ' || (c >= '\t' && c <= '\r')) {
        step();
      } else if (c == '/' && at(i_ + 1) == '/') {
        i_ = std::min(text_.find('\n', i_), text_.size());
      } else if (c == '/' && at(i_ + 1) == '*') {
        skip_comment();
      } else {
        return;
      }
    }
  }
  void skip_comment() {
    const int begin = line_, column = this->column();
    const size_t end = text_.find("*/", i_ + 2);
    if (end == std::string::npos) syntax_error(lines_, begin, column, "this comment never ends");
    while (i_ < end + 2) step();
  }

  void next(Token* token) {
    Token& t = *token;
    t.line = line_;
    t.column = column();
    const char c = at(i_);
    const bool number = is_digit(c) || (c == '.' && is_digit(at(i_ + 1)));
    const bool remainder = c == '%' && !in_word(at(i_ + 1));  // not a register
    if (number) {
      read_number_token(&t);
    } else if (starts_word(c) && !remainder) {
      t.kind = Token::Kind::word;
      t.text.assign(text_, i_, word_length());
      i_ += t.text.size();
    } else if (c == '"') {
      read_string(&t);
    } else if (remainder || std::strchr("{}[]()<>,;:@!|+-=&*/~^?", c)) {
      t.kind = Token::Kind::punct;
      t.text.assign(1, c);
      ++i_;
    } else {
      syntax_error(lines_, line_, t.column, "unexpected character " + shown(c));
    }
  }

  // ".reg.b32" is two words, "shared::cta" one.
  size_t word_length() const {
    const bool directive = at(i_) == '.';
    size_t end = i_;
    while (!(directive && end > i_ && at(end) == '.')) {
      if (in_word(at(end)))
        ++end;
      else if (at(end) == ':' && at(end + 1) == ':' && end + 2 < text_.size())
        end += 2;
      else
        break;
    }
    return end - i_;
  }
  // Most numbers are plain decimal ones.
  bool read_plain_number(Token* t) {
    size_t end = i_;
    uint64_t value = 0;
    for (; is_digit(at(end)) && end - i_ < kMostDigits; ++end)
      value = value * 10 + static_cast<uint64_t>(at(end) - '0');
    const bool octal = at(i_) == '0' && end - i_ > 1;
    if (end == i_ || in_word(at(end)) || octal) return false;
    t->kind = Token::Kind::integer;
    t->bits = value;
    t->text.assign(text_, i_, end - i_);
    i_ = end;
    return true;
  }
  void read_number_token(Token* t) {
    if (read_plain_number(t)) return;
    const size_t end = std::find_if_not(text_.begin() + i_, text_.end(), in_number) - text_.begin();
    const size_t bytes = read_number(text_.substr(i_, std::min(end - i_, kLongestNumber)), t);
    if (bytes == 0 || in_word(at(i_ + bytes)))
      syntax_error(lines_, line_, t->column, "this is no number that PTX knows (PTX ISA 4.5)");
    i_ += bytes;
  }
  void read_string(Token* t) {
    size_t end = i_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) syntax_error(lines_, line_, t->column, "this string never ends");
    t->kind = Token::Kind::string;
    t->text = unescaped(text_.substr(i_ + 1, end - i_ - 1));
    i_ = end + 1;
  }

  const std::string& text_;
  const std::vector<std::string>& lines_;
  size_t i_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(const std::string& text, const std::vector<std::string>& lines) {
  return Lexer(text, lines).all();
}

}  // namespace emu
