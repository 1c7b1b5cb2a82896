// A flat JSON object, written in the order in which its members were added.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace lab {

class JsonObject {
 public:
  void add(const std::string& key, const std::string& value) { member(key, quoted(value)); }
  void add(const std::string& key, const char* value) { add(key, std::string(value)); }
  void add(const std::string& key, int value) { member(key, std::to_string(value)); }
  void add(const std::string& key, uint64_t value) { member(key, std::to_string(value)); }
  // JSON has no infinities and no NaN: they become null.
  void add(const std::string& key, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    member(key, std::isfinite(value) ? text : "null");
  }
  std::string text() const { return "{" + members_ + "}\n"; }

 private:
  void member(const std::string& key, const std::string& value) {
    members_ += (members_.empty() ? "" : ",") + quoted(key) + ":" + value;
  }
  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      char escape[8];
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        std::snprintf(escape, sizeof escape, "\\u%04x", c);
        out += escape;
      } else {
        out += c;
      }
    }
    return out + "\"";
  }
  std::string members_;
};

}  // namespace lab
