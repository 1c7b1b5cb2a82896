#include "emulator/findings/report.hpp"

#include <cinttypes>
#include <cstdio>

namespace emu {

std::string hex(uint64_t value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%" PRIx64, value);
  return buffer;
}

std::string with_commas(uint64_t value) {
  std::string out = std::to_string(value);
  for (size_t i = out.size(); i > 3; i -= 3) out.insert(i - 3, ",");
  return out;
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
      out += buffer;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

std::string SourceLine::text() const {
  if (!file.empty()) return file + ":" + std::to_string(line);
  if (ptx_line) return "PTX line " + std::to_string(ptx_line);
  return "";
}

std::string Finding::text() const {
  std::string out = id + ": " + title + "\n";
  auto row = [&](const char* label, const std::string& value) {
    if (!value.empty()) out += std::string("  ") + label + "  " + value + "\n";
  };
  row("where", where.empty() ? line.text() : where);
  if (!line.called_from.empty()) row("     ", line.called_from);
  if (!line.ptx.empty()) row("ptx  ", line.ptx);
  if (!other_line.text().empty())
    row("other", other_line.text() + (other_line.called_from.empty() ? "" : "  " + other_line.called_from));
  row("state", state);
  row("why  ", why);
  row("try  ", hint);
  if (count > 1)
    row("count", (at_least ? "at least " : "") + with_commas(count) + " times in this launch" +
                     (spread.empty() ? "" : ", in " + spread));
  std::string others;
  for (const std::string& other : also) others += (others.empty() ? "" : ", ") + other;
  if (!others.empty()) row("also ", others + "; what comes after an error may follow from it");
  return out;
}

std::string Finding::json() const {
  auto field = [](const char* key, const std::string& value) {
    return std::string("\"") + key + "\":" + json_string(value);
  };
  std::string others;
  for (const std::string& other : also) others += (others.empty() ? "" : ",") + json_string(other);
  return "{" + field("id", id) + "," + field("severity", severity == Severity::error ? "error" : "advice") +
         "," + field("title", title) + "," + field("kernel", kernel) + "," + field("file", line.file) +
         ",\"line\":" + std::to_string(line.line) + ",\"ptx_line\":" + std::to_string(line.ptx_line) + "," +
         field("other_file", other_line.file) + ",\"other_line\":" + std::to_string(other_line.line) + "," +
         field("where", where) + "," + field("state", state) + "," + field("why", why) + "," +
         field("try", hint) + ",\"count\":" + std::to_string(count) +
         ",\"at_least\":" + (at_least ? "true" : "false") + "," + field("seen_in", spread) + ",\"also\":[" +
         others + "]}";
}

Fault::Fault(Finding finding) : finding_(std::move(finding)), text_(finding_.text()) {}

Report& Report::instance() {
  static Report& report = *new Report;  // never destroyed: it is read at the very end of the process
  return report;
}

namespace {

bool same_line(const SourceLine& a, const SourceLine& b) {
  if (a.file.empty() && b.file.empty()) return a.ptx_line == b.ptx_line;
  return a.line == b.line && a.file == b.file;
}

}  // namespace

// A finding that has no line, as one of the launch as a whole, is told from others of its id by its title.
bool same_cause(const Finding& a, const Finding& b) {
  if (a.id != b.id || a.severity != b.severity || !same_line(a.line, b.line)) return false;
  if (a.severity == Severity::error && !same_line(a.other_line, b.other_line)) return false;
  return !a.line.file.empty() || a.line.ptx_line || a.title == b.title;
}

void Report::add(const Finding& finding) {
  for (Finding& f : findings_)
    if (same_cause(f, finding)) {
      f.count += finding.count;
      f.at_least = f.at_least || finding.at_least;
      return;
    }
  findings_.push_back(finding);
  if (!quiet) std::fprintf(stderr, "%s", finding.text().c_str());
}

uint64_t Report::errors() const {
  uint64_t sum = 0;
  for (const Finding& f : findings_)
    if (f.severity == Severity::error) sum += f.count;
  return sum;
}

}  // namespace emu
