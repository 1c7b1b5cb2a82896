#include "emulator/ptx/lexer.hpp"

#include <cctype>
#include <cstdlib>
#include <cstring>

#include "emulator/findings/report.hpp"

namespace emu {

namespace {
bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || std::strchr("_$%.", c);
}
bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_$%.", c);
}
}  // namespace

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines(1);  // index 0 unused: line numbers start at 1
  std::string current;
  for (char c : text) {
    if (c == '\n') {
      lines.push_back(current);
      current.clear();
    } else if (c) {
      current += c;
    }
  }
  lines.push_back(current);
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

std::vector<Token> tokenize(const std::string& text, const std::vector<std::string>& lines) {
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 4);
  size_t i = 0, line_start = 0;
  int line = 1;
  const size_t n = text.size();
  auto at = [&](size_t k) { return k < n ? text[k] : '\0'; };
  while (i < n && text[i]) {
    char c = text[i];
    if (c == '\n') {
      ++line;
      line_start = ++i;
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
      continue;
    }
    if (c == '/' && at(i + 1) == '/') {
      while (i < n && text[i] != '\n') ++i;
      continue;
    }
    if (c == '/' && at(i + 1) == '*') {
      for (i += 2; i < n && !(text[i] == '*' && at(i + 1) == '/'); ++i)
        if (text[i] == '\n') ++line, line_start = i + 1;
      i += 2;
      continue;
    }
    Token t;
    t.line = line;
    t.column = static_cast<int>(i - line_start) + 1;
    if (starts_word(c) && !(c == '.' && std::isdigit(static_cast<unsigned char>(at(i + 1))))) {
      size_t begin = i;
      const bool directive = c == '.';  // ".reg.b32" is two words
      while (i < n && !(directive && i > begin && text[i] == '.') &&
             (in_word(text[i]) || (text[i] == ':' && at(i + 1) == ':' && i + 2 < n))) {
        if (text[i] == ':') ++i;
        ++i;
      }
      t.kind = Token::Kind::word;
      t.text = text.substr(begin, i - begin);
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      size_t begin = i;
      if (c == '0' && (at(i + 1) == 'f' || at(i + 1) == 'F' || at(i + 1) == 'd' || at(i + 1) == 'D')) {
        size_t digits = (at(i + 1) | 0x20) == 'f' ? 8 : 16;
        t.kind = Token::Kind::real;
        t.real_type = digits == 8 ? Type::f32 : Type::f64;
        t.bits = std::strtoull(text.substr(i + 2, digits).c_str(), nullptr, 16);
        i += 2 + digits;
      } else {
        while (i < n && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '.' ||
                         ((text[i] == '+' || text[i] == '-') && (text[i - 1] | 0x20) == 'e' &&
                          text.compare(begin, 2, "0x") != 0)))
          ++i;
        std::string number = text.substr(begin, i - begin);
        bool is_hex = number.size() > 1 && (number[1] | 0x20) == 'x';
        if (!is_hex && number.find_first_of(".eE") != std::string::npos) {
          double value = std::strtod(number.c_str(), nullptr);
          t.kind = Token::Kind::real;
          t.real_type = Type::f64;
          std::memcpy(&t.bits, &value, 8);
        } else {
          bool binary = number.size() > 1 && (number[1] | 0x20) == 'b';
          t.kind = Token::Kind::integer;
          t.bits = std::strtoull(number.c_str() + (binary ? 2 : 0), nullptr, binary ? 2 : 0);
        }
      }
      t.text = text.substr(begin, i - begin);
    } else if (c == '"') {
      size_t end = text.find('"', i + 1);
      if (end == std::string::npos) syntax_error(lines, line, t.column, "this string never ends");
      t.kind = Token::Kind::string;
      t.text = text.substr(i + 1, end - i - 1);
      i = end + 1;
    } else if (std::strchr("{}[]()<>,;:@!|+-=&*/~^", c)) {
      t.kind = Token::Kind::punct;
      t.text = std::string(1, c);
      ++i;
    } else {
      syntax_error(lines, line, t.column, std::string("unexpected character '") + c + "'");
    }
    tokens.push_back(std::move(t));
  }
  Token end;
  end.line = line;
  tokens.push_back(end);
  return tokens;
}

}  // namespace emu
