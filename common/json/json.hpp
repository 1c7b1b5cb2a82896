// Writing JSON: one object, in the order in which its members were added. Nothing here knows the rest of the tree, so that
// the programs and the emulator write the same.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace json {

// Bytes of the UTF-8 sequence that begins at `at`; 0 when there is none (RFC 3629).
inline size_t utf8_bytes(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t count = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  for (size_t i = 1; i < count; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(at + 1) < 0xA0) || (first == 0xF0 && byte(at + 1) < 0x90);
  const bool outside = (first == 0xED && byte(at + 1) > 0x9F) || (first == 0xF4 && byte(at + 1) > 0x8F);
  return overlong || outside ? 0 : count;
}

// A string literal with its quotes. Bytes that are no UTF-8, as a damaged file has them, become U+FFFD.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    char escape[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else if (const size_t bytes = utf8_bytes(text, i)) {
      out += text.substr(i, bytes);
      i += bytes - 1;
    } else {
      out += "\xEF\xBF\xBD";
    }
  }
  return out + "\"";
}

class Object {
 public:
  void add(const std::string& key, const std::string& value) { raw(key, quoted(value)); }
  void add(const std::string& key, const char* value) { raw(key, quoted(value)); }
  void add(const std::string& key, bool value) { raw(key, value ? "true" : "false"); }
  void add(const std::string& key, int value) { raw(key, std::to_string(value)); }
  void add(const std::string& key, int64_t value) { raw(key, std::to_string(value)); }
  void add(const std::string& key, uint64_t value) { raw(key, std::to_string(value)); }
  // JSON has no infinities and no NaN: they become null.
  void add(const std::string& key, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    raw(key, std::isfinite(value) ? text : "null");
  }
  // An array of what json(item) gives for each item.
  template <class List, class F>
  void list(const std::string& key, const List& items, F json) {
    std::string all;
    for (const auto& item : items) all += (all.empty() ? "" : ",") + json(item);
    raw(key, "[" + all + "]");
  }
  void raw(const std::string& key, const std::string& json) {
    members_ += (members_.empty() ? "" : ",") + quoted(key) + ":" + json;
  }
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace json
