// Reading the JSON that the programs and the emulator write (json/json.hpp).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace check {

struct Json {
  std::string text;  // a string without its quotes and escapes; anything else as it was written
  std::map<std::string, Json> members;  // of an object
  std::vector<Json> elements;           // of an array

  // Throws std::runtime_error with the place when the text is not JSON.
  static Json parse(const std::string& text);
};

}  // namespace check
