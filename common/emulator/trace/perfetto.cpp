// The trace as Chrome's trace events, which ui.perfetto.dev and chrome://tracing open: a process for each CTA, a thread
// for each warp and engine, counters for each mbarrier. One unit of time is shown as a microsecond.
#include <cstring>
#include <map>

#include "emulator/trace/trace.hpp"
#include "json/json.hpp"

namespace emu::trace {
namespace {

// Threads of a CTA's process: warps have their own numbers, engines those from here on.
constexpr int64_t kCopyEngine = 1000, kStoreEngine = 1001, kTensorCore = 1010, kBarriers = 1100;

std::string quoted(const char* key, const std::string& value) {
  return "\"" + std::string(key) + "\":" + json::quoted(value);
}

class Writer {
 public:
  explicit Writer(const Trace& trace) : trace_(trace) {}

  std::string text() {
    for (const RecordedCta& c : trace_.ctas) {
      name("process_name", c.cta, -1,
           "CTA (" + std::to_string(c.index[0]) + "," + std::to_string(c.index[1]) + "," +
               std::to_string(c.index[2]) + ")");
      for (uint32_t w = 0; w < c.warps; ++w) name("thread_name", c.cta, w, "warp " + std::to_string(w));
      name("thread_name", c.cta, kCopyEngine, "copy engine");
      name("thread_name", c.cta, kStoreEngine, "store engine");
    }
    for (const Event& e : trace_.events) add(e);
    for (const auto& [key, begun] : open_) span(begun, trace_.end);  // what never ended
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":{" + quoted("kernel", trace_.kernel) + "," +
           quoted("unit", trace_.unit) + "},\"traceEvents\":[\n" + out_ + "\n]}\n";
  }

 private:
  struct Begun {
    std::string name;
    int64_t cta = 0, thread = 0, line = -1;
    uint64_t time = 0;
  };
  const Trace& trace_;
  std::string out_;
  std::map<std::pair<char, int64_t>, Begun> open_;  // by kind and id

  void put(const std::string& event) { out_ += (out_.empty() ? "{" : ",\n{") + event + "}"; }

  static std::string place(int64_t cta, int64_t thread) {
    return "\"pid\":" + std::to_string(cta) + ",\"tid\":" + std::to_string(thread);
  }

  void name(const char* what, int64_t cta, int64_t thread, const std::string& text) {
    put(quoted("name", what) + ",\"ph\":\"M\"," + place(cta, thread) + ",\"args\":{" + quoted("name", text) +
        "}");
  }

  std::string source(int64_t line) const {
    return line < 0 ? "" : quoted("line", trace_.lines[static_cast<size_t>(line)].line.text());
  }

  void span(const Begun& b, uint64_t end) {
    put(quoted("name", b.name) + ",\"ph\":\"X\"," + place(b.cta, b.thread) +
        ",\"ts\":" + std::to_string(b.time) + ",\"dur\":" + std::to_string(end - b.time) + ",\"args\":{" +
        source(b.line) + "}");
  }

  void instant(const Event& e, int64_t thread, const std::string& text) {
    put(quoted("name", text) + ",\"ph\":\"i\",\"s\":\"t\"," + place(e.cta, thread) +
        ",\"ts\":" + std::to_string(e.time) + ",\"args\":{" + source(e.line) + "}");
  }

  void begin(char kind, int64_t id, const Event& e, int64_t thread, const std::string& text) {
    open_[{kind, id}] = {text, e.cta, thread, e.line, e.time};
  }

  void end(char kind, int64_t id, uint64_t time) {
    const auto found = open_.find({kind, id});
    if (found == open_.end()) return;
    span(found->second, time);
    open_.erase(found);
  }

  void counters(const Event& e) {
    const RecordedBarrier& b = trace_.barriers[static_cast<size_t>(e.get("barrier", 0))];
    for (const char* key : {"pending", "bytes", "phase"})
      put(quoted("name", b.name + " " + key) + ",\"ph\":\"C\"," + place(b.cta, 0) + ",\"ts\":" +
          std::to_string(e.time) + ",\"args\":{\"" + key + "\":" + std::to_string(e.get(key, 0)) + "}");
  }

  void add(const Event& e) {
    const std::string what = e.what;
    if (what == "copy") {
      const std::string kind = e.texts.empty() ? "" : e.texts[0].second;
      const bool store = kind.find("store") != std::string::npos || kind.find("reduce") != std::string::npos;
      begin('c', e.get("copy", 0), e, store ? kStoreEngine : kCopyEngine,
            "copy " + std::to_string(e.get("copy", 0)) + ", " + std::to_string(e.get("bytes", 0)) + " bytes");
    } else if (what == "land" || what == "done") {
      end('c', e.get("copy", 0), e.time);
    } else if (what == "product") {
      begin('p', e.get("product", 0), e, kTensorCore + e.get("warpgroup", 0),
            "product " + std::to_string(e.get("product", 0)));
    } else if (what == "product_done") {
      end('p', e.get("product", 0), e.time);
    } else if (what == "wait") {
      begin('w', e.get("wait", 0), e, e.warp, "wait");
    } else if (what == "pass") {
      end('w', e.get("wait", -1), e.time);
    } else if (e.get("until", -1) >= 0) {
      span({what, e.cta, e.warp, e.line, e.time}, static_cast<uint64_t>(e.get("until", 0)));
    } else if (what == "finding") {
      const Finding& f = trace_.findings[static_cast<size_t>(e.get("finding", 0))];
      instant(e, std::max<int64_t>(e.warp, 0), std::string(emu::name_of(f.id)) + ": " + f.title);
    } else if (e.get("barrier", -1) < 0 && e.warp >= 0) {
      instant(e, e.warp, what);
    }
    if (e.get("barrier", -1) >= 0 && e.get("pending", -1) >= 0) counters(e);
    if (what == "flip") instant(e, kBarriers + e.get("barrier", 0), "phase completes");
  }
};

}  // namespace

std::string to_perfetto(const Trace& trace) {
  return Writer(trace).text();
}

}  // namespace emu::trace
