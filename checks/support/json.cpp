#include "support/json.hpp"

#include <cctype>
#include <stdexcept>

namespace check {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  // Reads one value and returns its text; strings come back unescaped.
  std::string value() {
    skip_space();
    const size_t start = at_;
    switch (peek()) {
      case '"':
        return string();
      case '{':
        members(nullptr);
        break;
      case '[':
        elements(nullptr);
        break;
      default:
        word();
    }
    return text_.substr(start, at_ - start);
  }

  // Reads an object. Each member's raw value text goes to *out.
  void members(std::map<std::string, std::string>* out) {
    expect('{');
    if (next_is('}')) return;
    do {
      skip_space();
      const std::string name = string();
      expect(':');
      const std::string text = value();
      if (out != nullptr) (*out)[name] = text;
    } while (next_is(','));
    expect('}');
  }

  void elements(std::vector<std::string>* out) {
    expect('[');
    if (next_is(']')) return;
    do {
      const std::string text = value();
      if (out != nullptr) out->push_back(text);
    } while (next_is(','));
    expect(']');
  }

  void end() {
    skip_space();
    if (at_ != text_.size()) fail("nothing more");
  }

 private:
  [[noreturn]] void fail(const std::string& wanted) const {
    throw std::runtime_error("not JSON: expected " + wanted + " at character " + std::to_string(at_) +
                             " of: " + text_.substr(0, 200));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  void expect(char c) {
    skip_space();
    if (peek() != c) fail(std::string("'") + c + "'");
    ++at_;
  }
  bool next_is(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void word() {
    const size_t start = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '-' || peek() == '+' ||
           peek() == '.')
      ++at_;
    if (at_ == start) fail("a value");
  }
  std::string string() {
    expect('"');
    std::string out;
    while (peek() != '"') {
      if (at_ >= text_.size()) fail("the end of a string");
      if (peek() != '\\') {
        out += text_[at_++];
        continue;
      }
      ++at_;
      const char escape = peek();
      ++at_;
      if (escape == 'n') {
        out += '\n';
      } else if (escape == 't') {
        out += '\t';
      } else if (escape == 'u') {
        if (at_ + 4 > text_.size()) fail("four hexadecimal digits");
        out += static_cast<char>(std::stoi(text_.substr(at_, 4), nullptr, 16));
        at_ += 4;
      } else {
        out += escape;
      }
    }
    ++at_;
    return out;
  }

  const std::string& text_;
  size_t at_ = 0;
};

std::map<std::string, std::string> all_members(const std::string& text) {
  std::map<std::string, std::string> found;
  Reader reader(text);
  reader.members(&found);
  reader.end();
  return found;
}

std::string named(const std::string& text, const std::string& member) {
  const auto found = all_members(text);
  const auto at = found.find(member);
  if (at == found.end()) throw std::runtime_error("no member \"" + member + "\" in: " + text.substr(0, 200));
  return at->second;
}

}  // namespace

std::map<std::string, std::string> json_object(const std::string& text, const std::string& member) {
  return all_members(member.empty() ? text : named(text, member));
}

std::vector<std::string> json_array(const std::string& text, const std::string& member) {
  const std::string array = named(text, member);
  std::vector<std::string> found;
  Reader reader(array);
  reader.elements(&found);
  reader.end();
  return found;
}

}  // namespace check
