// Which line of several a report is about. An instruction of an inlined helper has a chain of places, from the helper out to
// the kernel; the reader wants the one that they wrote.
#include "emulator/findings/report.hpp"
#include "emulator/findings/text.hpp"

namespace emu {
namespace {

// A file that a compiler is given, and not one that others include.
bool is_main_file(const std::string& file) {
  const std::string ending = file.substr(std::min(file.rfind('.'), file.size()));
  return ending == ".cu" || ending == ".cpp" || ending == ".cc" || ending == ".cxx" || ending == ".c";
}

// Main files come before headers, whoever wrote those: the innermost place in one. A kernel that is defined in a header is told
// by the innermost place in that header.
size_t written_by_reader(const std::vector<Frame>& frames) {
  for (size_t i = 0; i < frames.size(); ++i)
    if (is_main_file(frames[i].file)) return i;
  size_t i = 0;
  while (frames[i].file != frames.back().file) ++i;
  return i;
}

// "wait" of "void lab::wait<3>(unsigned long*, unsigned int)".
std::string short_name(const std::string& function) {
  std::string name;
  int depth = 0;
  for (char c : function) {
    depth -= c == '>';
    if (depth == 0 && c == '(') break;
    if (depth == 0 && c != '>') name += c == '<' ? '\0' : c;
    depth += c == '<';
  }
  std::string plain;
  for (char c : name)
    if (c) plain += c;
  const size_t space = plain.rfind(' '), scope = plain.rfind("::");
  size_t start = space == std::string::npos ? 0 : space + 1;
  if (scope != std::string::npos && scope + 2 > start) start = scope + 2;
  return plain.substr(start);
}

std::string place(const Frame& frame) {
  return frame.file + ":" + std::to_string(frame.line);
}

}  // namespace

SourceLine source_line(const std::vector<Frame>& frames) {
  SourceLine s;
  if (frames.empty()) return s;
  const size_t reader = written_by_reader(frames);
  s.file = frames[reader].file;
  s.line = frames[reader].line;
  s.chain.assign(frames.begin() + static_cast<std::ptrdiff_t>(reader), frames.end());
  for (size_t i = reader; i-- > 0;)
    s.called_from += text(s.called_from.empty() ? "calls " : ", and that ", short_name(frames[i].function),
                          " (", place(frames[i]), ")");
  for (size_t i = reader + 1; i < frames.size(); ++i)
    s.called_from += text(s.called_from.empty() ? "" : "; ", "inlined at ", place(frames[i]));
  return s;
}

std::string SourceLine::text() const {
  if (!file.empty()) return file + ":" + std::to_string(line);
  if (ptx_line) return "PTX line " + std::to_string(ptx_line);
  return "";
}

std::string SourceLine::brief() const {
  const std::string all = text();
  return file.empty() ? all : all.substr(all.rfind('/') + 1);
}

}  // namespace emu
