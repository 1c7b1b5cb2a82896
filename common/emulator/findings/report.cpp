#include "emulator/findings/report.hpp"

#include <cinttypes>
#include <cstdio>

#include "emulator/findings/text.hpp"
#include "json/json.hpp"

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

Severity severity_of(Grade grade) {
  const Strictness strictness = Report::instance().strictness;
  const bool error = grade == Grade::error || strictness == Strictness::strict ||
                     (grade == Grade::error_in_lessons && strictness == Strictness::lesson);
  return error ? Severity::error : Severity::advice;
}

Finding::Finding(Id i) : id(i), severity(severity_of(i == Id::none ? Grade::error : row_of(i).grade)) {}

void Finding::make_milder() {
  severity = severity_of(row_of(id).milder);
}

std::string Finding::text() const {
  std::string out = emu::text(name_of(id), ": ", title, "\n");
  auto row = [&](const char* label, const std::string& value) {
    if (value.empty()) return;
    out += std::string("  ") + label + "  ";
    for (size_t i = 0; i < value.size(); ++i) {
      out += value[i];
      if (value[i] != '\n') continue;
      out += "         ";  // under the line before
      while (i + 1 < value.size() && value[i + 1] == ' ') ++i;
    }
    out += "\n";
  };
  row("where", where.empty() ? line.text() : where);
  if (!line.called_from.empty()) row("     ", line.called_from);
  if (!line.ptx.empty()) row("ptx  ", line.ptx);
  if (!other_line.text().empty())
    row("other", other_line.text() + (other_line.called_from.empty() ? "" : "  " + other_line.called_from));
  for (const Related& r : related)
    row(&r == &related.front() ? "with " : "     ", emu::text(r.what, "  ", r.line.text()));
  row("state", state);
  row("why  ", why);
  row("rule ", id == Id::none ? "" : emu::text(row_of(id).rule, " (", section_of(id), ")"));
  row("try  ", hint);
  if (count > 1)
    row("count", (at_least ? "at least " : "") + with_commas(count) + " times in this launch" +
                     (spread.empty() ? "" : ", in " + spread));
  std::string others;
  for (const std::string& other : also) others += (others.empty() ? "" : ", ") + other;
  if (!others.empty()) row("also ", others + "; what comes after an error may follow from it");
  return out;
}

namespace {

std::string json_of(const Frame& frame) {
  json::Object f;
  f.add("file", frame.file);
  f.add("line", frame.line);
  f.add("function", frame.function);
  return f.text();
}

std::string json_of(const Related& related) {
  json::Object f;
  f.add("what", related.what);
  f.add("file", related.line.file);
  f.add("line", related.line.line);
  f.list("chain", related.line.chain, [](const Frame& frame) { return json_of(frame); });
  return f.text();
}

}  // namespace

std::string Finding::json() const {
  const auto object = [](const auto& part) { return json_of(part); };
  json::Object f;
  f.add("id", name_of(id));
  f.add("severity", severity == Severity::error ? "error" : "advice");
  f.add("title", title);
  f.add("kernel", kernel);
  f.add("file", line.file);
  f.add("line", line.line);
  f.list("chain", line.chain, object);
  f.add("ptx_line", line.ptx_line);
  f.add("other_file", other_line.file);
  f.add("other_line", other_line.line);
  f.list("other_chain", other_line.chain, object);
  f.list("related", related, object);
  f.add("where", where);
  f.add("state", state);
  f.add("why", why);
  f.add("rule", id == Id::none ? "" : row_of(id).rule);
  f.add("section", id == Id::none ? "" : section_of(id));
  f.add("try", hint);
  f.add("count", count);
  f.add("at_least", at_least);
  f.add("seen_in", spread);
  f.list("also", also, json::quoted);
  return f.text();
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
