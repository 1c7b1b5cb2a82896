// Writing JSON: one object, in the order in which its members were added. Nothing here knows the rest of the tree, so that
// the programs and the emulator write the same.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace json {

// A string literal with its quotes.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    char escape[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
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
