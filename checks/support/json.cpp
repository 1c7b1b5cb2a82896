#include "support/json.hpp"

#include <cctype>
#include <stdexcept>

namespace check {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  Json value() {
    skip_space();
    const size_t start = at_;
    Json json;
    if (peek() == '"') {
      json.text = string();
      return json;
    }
    if (next_is('{')) {
      members(json);
    } else if (next_is('[')) {
      elements(json);
    } else {
      word();
    }
    json.text = text_.substr(start, at_ - start);
    return json;
  }

  void end() {
    skip_space();
    if (at_ != text_.size()) fail("nothing more");
  }

 private:
  void members(Json& json) {
    if (next_is('}')) return;
    do {
      skip_space();
      const std::string name = string();
      expect(':');
      json.members[name] = value();
    } while (next_is(','));
    expect('}');
  }
  void elements(Json& json) {
    if (next_is(']')) return;
    do json.elements.push_back(value());
    while (next_is(','));
    expect(']');
  }

  // A number, true, false or null.
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
      out += peek() == '\\' ? escaped() : text_[at_];
      ++at_;
    }
    ++at_;
    return out;
  }

  // Our programs write \u for control characters alone.
  char escaped() {
    ++at_;
    if (peek() == 'n') return '\n';
    if (peek() == 't') return '\t';
    if (peek() != 'u') return peek();
    if (at_ + 4 >= text_.size()) fail("four hexadecimal digits");
    at_ += 4;
    return static_cast<char>(std::stoi(text_.substr(at_ - 3, 4), nullptr, 16));
  }

  [[noreturn]] void fail(const std::string& wanted) const {
    throw std::runtime_error("not JSON: expected " + wanted + " at character " + std::to_string(at_) +
                             " of: " + text_.substr(0, 200));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (std::isspace(static_cast<unsigned char>(peek()))) ++at_;
  }
  bool next_is(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!next_is(c)) fail(std::string("'") + c + "'");
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

Json Json::parse(const std::string& text) {
  Reader reader(text);
  Json json = reader.value();
  reader.end();
  return json;
}

}  // namespace check
