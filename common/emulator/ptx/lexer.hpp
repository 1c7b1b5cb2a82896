// PTX text -> tokens (PTX ISA 4.1 to 4.5). Comments are dropped, line numbers kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/ptx/types.hpp"

namespace emu {

struct Token {
  enum class Kind { word, integer, real, string, punct, end };
  Kind kind = Kind::end;
  std::string text;  // words keep their dots and colons: "ld.global.u32", ".reg", "%tid.x", "shared::cta"
  uint64_t bits = 0;
  Type real_type = Type::none;
  bool is_unsigned = false;  // of an integer (PTX ISA 4.5.1)
  int line = 0, column = 0;
};

std::vector<Token> tokenize(const std::string& text, const std::vector<std::string>& lines);
std::vector<std::string> split_lines(const std::string& text);

// A "ptx-syntax" Fault that quotes the line with a caret.
[[noreturn]] void syntax_error(const std::vector<std::string>& lines, int line, int column,
                               const std::string& message);

}  // namespace emu
