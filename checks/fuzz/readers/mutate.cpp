// Changes of a text, from its bytes to its structure.
#include <algorithm>

#include "emulator/program/forms.hpp"
#include "target.hpp"

namespace readers {

uint64_t edge(Random& random) {
  static const std::vector<uint64_t> kEdges = {
      0,          1,          2,          3,           7,          8,
      15,         16,         31,         32,          33,         63,
      64,         127,        128,        255,         256,        1023,
      1024,       4095,       32764,      65535,       65536,      232448,
      0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 1ull << 40, 0x7FFFFFFFFFFFFFFF,
      1ull << 63, ~0ull,      ~0ull - 1};
  return random.of(kEdges) + (random.one_in(4) ? random.below(5) - 2 : 0);
}

namespace {

const std::vector<std::string>& words() {
  static const std::vector<std::string> kWords = [] {
    std::vector<std::string> all = {".reg",
                                    ".shared",
                                    ".local",
                                    ".param",
                                    ".global",
                                    ".const",
                                    ".align",
                                    ".u64",
                                    ".b8",
                                    ".pred",
                                    ".v2",
                                    ".v4",
                                    ".f32",
                                    ".entry",
                                    ".func",
                                    ".visible",
                                    ".weak",
                                    ".extern",
                                    ".common",
                                    ".maxntid",
                                    ".reqntid",
                                    ".minnctapersm",
                                    ".loc",
                                    ".file",
                                    ".section",
                                    ".pragma",
                                    ".branchtargets",
                                    ".callprototype",
                                    ".calltargets",
                                    ".ptr",
                                    ".target",
                                    ".version",
                                    "{",
                                    "}",
                                    "(",
                                    ")",
                                    "[",
                                    "]",
                                    ",",
                                    ";",
                                    ":",
                                    "|",
                                    "@",
                                    "!",
                                    "+",
                                    "-",
                                    "~",
                                    "?",
                                    "*",
                                    "/",
                                    "%",
                                    "<",
                                    ">",
                                    "=",
                                    "\"",
                                    "/*",
                                    "*/",
                                    "//",
                                    "_",
                                    "generic",
                                    "WARP_SZ",
                                    "%tid.x",
                                    "%r1",
                                    "%rd1",
                                    "%p1",
                                    "%rs1",
                                    "%f1",
                                    "%fd1",
                                    "call",
                                    "ret",
                                    "bra",
                                    "brx.idx",
                                    "call.uni",
                                    "mov.b64",
                                    "mov.u32",
                                    "0f3f800000",
                                    "0d3ff0000000000000",
                                    "1e400",
                                    "0x",
                                    "function_name",
                                    "inlined_at",
                                    "emu_shared$1$0$8$8$o$m",
                                    "emu_parameter$0$a",
                                    "\xff",
                                    "\xc3\xa9",
                                    ".noreturn",
                                    ".explicitcluster",
                                    ".reqnctapercluster",
                                    ".attribute(.managed)",
                                    ".debug_str",
                                    "%r<4>",
                                    "%r<2147483648>"};
    for (const emu::Form& form : emu::all_forms()) {
      std::string text = form.pattern;
      all.push_back(text.substr(0, text.find('.')));
    }
    return all;
  }();
  return kWords;
}

size_t line_start(const std::string& text, size_t at) {
  const size_t before = text.rfind('\n', at ? at - 1 : 0);
  return before == std::string::npos ? 0 : before + 1;
}

std::string line_at(const std::string& text, size_t at) {
  const size_t begin = line_start(text, at);
  return text.substr(begin, std::min(text.find('\n', begin), text.size() - 1) - begin + 1);
}

void change(std::string& text, Random& random) {
  const size_t at = random.below(text.size());
  switch (random.below(11)) {
    case 0:
      text[at] = static_cast<char>(random.bits());
      break;
    case 1:
      text.erase(at, 1 + random.below(20));
      break;
    case 2:
      text.insert(at, " " + random.of(words()) + " ");
      break;
    case 3:
      text.insert(at, std::to_string(edge(random)));
      break;
    case 4: {  // a number for a number
      const size_t begin = text.find_first_of("0123456789", at);
      if (begin == std::string::npos) break;
      const size_t end = text.find_first_not_of("0123456789abcdefx", begin);
      text.replace(begin, end - begin, (random.one_in(3) ? "-" : "") + std::to_string(edge(random)));
      break;
    }
    case 5:
      text.insert(line_start(text, at), line_at(text, random.below(text.size())));
      break;
    case 6:
      text.erase(line_start(text, at), line_at(text, at).size());
      break;
    case 7: {  // a word for a word
      const size_t begin = text.find_first_of(" \t\n,", at);
      if (begin == std::string::npos) break;
      const size_t end = std::min(text.find_first_of(" \t\n,;", begin + 1), text.size());
      text.replace(begin + 1, end - begin - 1, random.of(words()));
      break;
    }
    case 8: {  // deep, or long
      const std::string piece = random.one_in(2) ? random.of(words()) : text.substr(at, 1 + random.below(12));
      std::string many;
      for (size_t i = random.below(random.one_in(20) ? 20000 : 300); i > 0 && many.size() < 100000; --i)
        many += piece;
      text.insert(at, many);
      break;
    }
    case 9: {  // a piece of another text
      const std::string& other = random.of(corpus());
      const size_t from = random.below(other.size());
      text.insert(at, other.substr(from, random.below(300)));
      break;
    }
    default:
      text.resize(at + 1);
      break;
  }
  if (text.empty()) text = " ";
}

}  // namespace

std::string mutated(std::string text, Random& random) {
  for (size_t i = random.below(6) + 1; i > 0; --i) change(text, random);
  return text;
}

}  // namespace readers
