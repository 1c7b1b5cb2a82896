// The trace as JSON of its own: README.md is its reference.
#include <algorithm>
#include <fstream>
#include <set>

#include "emulator/program/names.hpp"
#include "emulator/trace/trace.hpp"
#include "json/json.hpp"

namespace emu::trace {
namespace {

constexpr int kVersion = 1;
constexpr size_t kWholeFile = 600;  // lines; of a longer file only the neighbourhood of what is named is kept
constexpr int kNeighbourhood = 8;

std::string number(int64_t n) {
  return std::to_string(n);
}

template <class List, class F>
std::string list(const List& items, F json) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ",") + json(item);
  return "[" + out + "]";
}

// A list with a row a line, so that a file can be read and compared.
template <class List, class F>
std::string rows(const List& items, F json) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "\n" : ",\n") + json(item);
  return "[" + out + "]";
}

std::string event_json(const Event& e) {
  json::Object f;
  f.add("t", e.time);
  f.add("e", e.what);
  const std::pair<const char*, int64_t> places[] = {
      {"cta", e.cta}, {"warp", e.warp}, {"lane", e.lane}, {"line", e.line}};
  for (const auto& [key, value] : places)
    if (value >= 0) f.add(key, value);
  if (e.lanes > 0) f.add("lanes", e.lanes);
  for (const auto& [key, value] : e.numbers) f.add(key, value);
  for (const auto& [key, value] : e.texts) f.add(key, value);
  if (!e.start.empty()) f.list("start", e.start, number);
  if (!e.offset.empty()) f.list("offset", e.offset, number);
  if (!e.shared.empty())
    f.list("shared", e.shared, [](const std::array<int64_t, 3>& range) { return list(range, number); });
  return f.text();
}

std::string finding_json(const Finding& finding) {
  json::Object f;
  f.add("id", emu::name_of(finding.id));
  f.add("severity", finding.severity == Severity::error ? "error" : "advice");
  f.add("title", finding.title);
  f.add("where", finding.where);
  f.add("state", finding.state);
  f.add("why", finding.why);
  f.add("try", finding.hint);
  return f.text();
}

std::string file_json(const std::string& path, const Trace& trace) {
  std::set<int> wanted;
  for (const RecordedLine& l : trace.lines)
    if (l.line.file == path)
      for (int n = l.line.line - kNeighbourhood; n <= l.line.line + kNeighbourhood; ++n) wanted.insert(n);
  std::vector<std::string> text;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) text.push_back(line);
  std::vector<std::string> kept;
  for (size_t i = 0; i < text.size(); ++i) {
    const int n = static_cast<int>(i) + 1;
    if (text.size() <= kWholeFile || wanted.count(n))
      kept.push_back("[" + number(n) + "," + json::quoted(text[i]) + "]");
  }
  json::Object f;
  f.add("path", path);
  f.raw("lines", list(kept, [](const std::string& row) { return row; }));
  return f.text();
}

std::string cta_json(const RecordedCta& c) {
  json::Object f;
  f.add("cta", c.cta);
  f.list("index", c.index, number);
  f.add("rank", c.rank);
  f.add("warps", static_cast<int64_t>(c.warps));
  return f.text();
}

std::string barrier_json(const RecordedBarrier& b) {
  json::Object f;
  f.add("cta", b.cta);
  f.add("address", b.address);
  f.add("name", b.name);
  f.add("line", b.line);
  return f.text();
}

std::string map_json(const RecordedMap& m) {
  json::Object f;
  f.add("type", m.type);
  f.list("size", m.size, number);
  f.list("box", m.box, number);
  f.add("swizzle", m.swizzle);
  f.add("rows", m.rows);
  f.add("row_bytes", m.row_bytes);
  f.add("row_pitch", m.row_pitch);
  return f.text();
}

std::string window_json(const Window& w) {
  const auto pair = [](uint64_t first, uint64_t last) {
    return "[" + std::to_string(first) + "," + std::to_string(last) + "]";
  };
  json::Object f;
  f.raw("ctas", pair(w.first_cta, w.last_cta));
  f.raw("steps", pair(w.first_step, w.last_step));
  f.add("events", w.events);
  return f.text();
}

std::string left_out_json(const Trace& t) {
  json::Object f;
  f.add("ctas", t.other_ctas);
  f.add("events_in_other_steps", t.other_steps);
  f.add("events_beyond_the_limit", t.other_events);
  f.add("launches", t.other_launches);
  return f.text();
}

}  // namespace

std::string to_json(const Trace& t) {
  std::vector<std::string> paths;
  for (const RecordedLine& l : t.lines)
    if (!l.line.file.empty() && std::find(paths.begin(), paths.end(), l.line.file) == paths.end())
      paths.push_back(l.line.file);
  const auto line_json = [&](const RecordedLine& l) {
    const auto file = std::find(paths.begin(), paths.end(), l.line.file);
    json::Object f;
    f.add("file", file == paths.end() ? -1 : static_cast<int64_t>(file - paths.begin()));
    f.add("line", l.line.line);
    f.add("inlined", l.line.called_from);
    f.add("instruction", l.instruction);
    return f.text();
  };
  json::Object f;
  f.add("format", "tma-workbook-trace");
  f.add("version", kVersion);
  f.add("unit", t.unit);
  f.add("kernel", demangled(t.kernel));
  f.add("schedule", t.schedule);
  f.list("grid", t.grid, number);
  f.list("block", t.block, number);
  f.list("cluster", t.cluster, number);
  f.add("launch", t.launch);
  f.raw("window", window_json(t.window));
  f.raw("left_out", left_out_json(t));
  f.add("fault", t.fault);
  f.raw("ctas", rows(t.ctas, cta_json));
  f.raw("barriers", rows(t.barriers, barrier_json));
  f.raw("maps", rows(t.maps, map_json));
  f.raw("files", rows(paths, [&](const std::string& path) { return file_json(path, t); }));
  f.raw("lines", rows(t.lines, line_json));
  f.raw("findings", rows(t.findings, finding_json));
  f.raw("events", rows(t.events, event_json));
  f.add("end", t.end);
  return f.text() + "\n";
}

}  // namespace emu::trace
