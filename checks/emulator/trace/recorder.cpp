// The recorder on small kernels: what it writes down, and what it leaves out.
#include "emulator/trace/recorder.hpp"

#include <set>

#include "checked.hpp"

using namespace checked;
using emu::trace::Event;
using emu::trace::Trace;

namespace {

// A kernel that copies once, waits and reads.
const std::string kWhole = kInit + by_thread_0("A", kExpect + kCopy) + wait("W", 0) + kRead;

emu_test::Options options(unsigned threads, const std::string& schedule) {
  emu_test::Options o;
  o.threads = threads;
  o.in_words = 16;
  o.out_words = 1;
  o.declarations = kShared;
  o.schedule = schedule;
  return o;
}

// What is recorded of a body. checker: it watches, too, and is told after the recorder.
Trace record(const std::string& body, emu_test::Options o, const emu::trace::Window& window = {},
             bool checks = false, const Tensor* tensor = nullptr) {
  emu::trace::Recorder recorder(window);
  emu::check::Checker checker;
  emu_test::Runner runner;
  if (tensor) o.declarations += tensor->declare(runner);
  emu::Report::instance().quiet = true;
  const emu_test::Watch first(runner.machine, &recorder), second(runner.machine, checks ? &checker : nullptr);
  runner.fault(body, std::vector<uint32_t>(o.threads * o.ctas * 16, 7), o);
  emu::Report::instance().clear();
  emu::Report::instance().quiet = false;
  REQUIRE(recorder.trace());
  return *recorder.trace();
}

std::string kinds(const Trace& trace, const std::set<std::string>& wanted) {
  std::string out;
  for (const Event& e : trace.events)
    if (wanted.count(e.what)) out += (out.empty() ? "" : " ") + std::string(e.what);
  return out;
}

uint64_t count(const Trace& trace, const std::string& what) {
  uint64_t n = 0;
  for (const Event& e : trace.events) n += e.what == what;
  return n;
}

}  // namespace

TEST_CASE("trace: a phase flips when arrivals and bytes are both 0, and at no other event") {
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"}) {
    CAPTURE(schedule);
    const Trace trace = record(kWhole, options(64, schedule));
    CHECK(kinds(trace, {"init", "expect_tx", "copy", "land", "complete_tx", "flip"}) ==
          "init expect_tx copy land complete_tx flip");
    for (size_t i = 0; i + 1 < trace.events.size(); ++i) {
      const Event& e = trace.events[i];
      if (e.get("barrier", -1) < 0 || e.get("pending", -1) < 0 || std::string(e.what) == "flip") continue;
      const bool nothing_pending = e.get("pending", 0) == 0 && e.get("bytes", 0) == 0;
      CHECK(nothing_pending == (std::string(trace.events[i + 1].what) == "flip"));
    }
  }
}

TEST_CASE("trace: a wait has a begin and an end, and every warp that waits has one") {
  const Trace trace = record(kWhole, options(64, "late"));
  std::set<int64_t> begun;
  uint64_t ended = 0;
  for (const Event& e : trace.events) {
    if (std::string(e.what) == "wait") begun.insert(e.get("wait", -1));
    if (std::string(e.what) == "pass") ended += begun.count(e.get("wait", -1));
  }
  CHECK(begun.size() == 2);
  CHECK(ended == 2);
}

TEST_CASE("trace: a wait that nothing ends stays open, and the launch is marked as ended by a fault") {
  const Trace trace = record(kInit + wait("W", 0), options(64, "late"));
  CHECK(count(trace, "wait") == 2);
  CHECK(count(trace, "pass") == 0);
  CHECK(trace.fault);
  REQUIRE(trace.findings.size() == 1);
  CHECK(trace.findings[0].id == emu::Id::deadlock);
}

TEST_CASE("trace: the arrivals of a warp's lanes are one event, and so are its accesses at one line") {
  const std::string count_64 =
      "mov.u32 %r1, tile;\nmov.u32 %r2, bar;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra INIT;\n"
      "mbarrier.init.shared::cta.b64 [%r2], 64;\nINIT: bar.sync 0;\n";
  const Trace trace = record(count_64 + "mbarrier.arrive.shared::cta.b64 _, [%r2];\n" + wait("W", 0) +
                                 "ld.global.u32 %r3, [%in];\nld.global.u32 %r4, [%in+4];\n",
                             options(64, "in-order"));
  CHECK(count(trace, "arrive") == 2);
  for (const Event& e : trace.events) {
    if (std::string(e.what) == "arrive") CHECK(e.get("count", 0) == 32);
    if (std::string(e.what) == "load_global") CHECK(e.get("bytes", 0) == 32 * 4);
  }
}

TEST_CASE("trace: a finding comes right after the event that it is about, with its other side") {
  const Trace trace =
      record(kInit + by_thread_0("A", kExpect + kCopy) + kRead + wait("W", 0), options(64, "late"), {}, true);
  REQUIRE(trace.findings.size() == 1);
  CHECK(trace.findings[0].id == emu::Id::read_before_landed);
  for (size_t i = 1; i < trace.events.size(); ++i)
    if (std::string(trace.events[i].what) == "finding") {
      CHECK(std::string(trace.events[i - 1].what) == "load_shared");
      CHECK(trace.events[i].get("other_line", -1) >= 0);
    }
  CHECK(record(kWhole, options(64, "late"), {}, true).findings.empty());
}

TEST_CASE("trace: what the window leaves out is counted") {
  emu_test::Options o = options(32, "in-order");
  o.ctas = 4;
  emu::trace::Window window;
  window.first_cta = 1;
  window.last_cta = 2;
  const Trace two = record(kWhole, o, window);
  REQUIRE(two.ctas.size() == 2);
  CHECK(two.ctas[0].cta == 1);
  CHECK(two.other_ctas == 2);
  CHECK(two.other_events == 0);
  REQUIRE(two.barriers.size() == 2);  // each CTA has its own, though both may lie at one address of the host
  for (const Event& e : two.events)
    if (e.get("barrier", -1) >= 0) CHECK(two.barriers[static_cast<size_t>(e.get("barrier", 0))].cta == e.cta);
  const uint64_t all = two.events.size();
  window.events = 5;
  const Trace few = record(kWhole, o, window);
  CHECK(few.events.size() == 5);
  CHECK(few.other_events == all - 5);
}

TEST_CASE("trace: K steps are counted by the phases that brought bytes where there is no product") {
  std::string body = kInit;
  for (int phase = 0; phase < 4; ++phase) {
    const std::string n = std::to_string(phase);
    body += by_thread_0("A" + n, kExpect + kCopy) + wait("W" + n, phase % 2) + "bar.sync 0;\n";
  }
  CHECK(count(record(body, options(32, "in-order")), "flip") == 4);
  emu::trace::Window window;
  window.first_step = 1;
  window.last_step = 2;
  const Trace some = record(body, options(32, "in-order"), window);
  CHECK(count(some, "flip") == 2);
  CHECK(some.other_steps > 0);
}

TEST_CASE("trace: the launch with an error is kept, else the first one that is worth looking at") {
  emu::trace::Recorder recorder({});
  emu_test::Runner runner;
  emu_test::Options o = options(32, "in-order");
  o.observer = &recorder;
  const std::vector<uint32_t> input(32 * 16, 7);
  emu::Report::instance().quiet = true;
  runner.run("st.global.u32 [%out], %t;\n", input, o);
  CHECK(recorder.trace()->launch == 1);
  runner.run(kWhole, input, o);
  runner.run(kWhole, input, o);
  CHECK(recorder.trace()->launch == 2);
  CHECK(recorder.trace()->other_launches == 2);
  runner.fault(kInit + wait("W", 0), input, o);
  CHECK(recorder.trace()->launch == 4);
  emu::Report::instance().quiet = false;
}

TEST_CASE("trace: bytes that an instruction takes from a barrier are no copy's") {
  const Trace trace = record(kInit + by_thread_0("A", kExpect + kCopy) + wait("W", 0) +
                                 by_thread_0("B",
                                             "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 8;\n"
                                             "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], 8;\n"),
                             options(64, "late"));
  std::vector<int64_t> copies;
  for (const Event& e : trace.events)
    if (std::string(e.what) == "complete_tx") copies.push_back(e.get("copy", -1));
  CHECK(copies == std::vector<int64_t>{0, -1});
}

TEST_CASE("trace: the recorder changes nothing that a kernel does") {
  emu::trace::Recorder recorder({});
  emu_test::Options o = options(64, "random:7");
  const std::vector<uint32_t> input(64 * 16, 7);
  emu_test::Runner alone, watched;
  const auto words = alone.run(kWhole, input, o);
  o.observer = &recorder;
  CHECK(watched.run(kWhole, input, o) == words);
  CHECK(watched.statistics.stats().json() == alone.statistics.stats().json());
}

TEST_CASE("trace: both files are JSON objects in which text of the program is quoted") {
  Trace trace = record(kWhole, options(32, "in-order"));
  trace.barriers[0].name = "a\"b\\</script>\n";
  const std::string own = emu::trace::to_json(trace), chrome = emu::trace::to_perfetto(trace);
  CHECK(own.find("\"name\":\"a\\\"b\\\\</script>\\n\"") != std::string::npos);
  CHECK(chrome.find("\"a\\\"b\\\\</script>\\n bytes\"") != std::string::npos);
  CHECK(own.rfind("{\"format\":\"tma-workbook-trace\",\"version\":1,", 0) == 0);
}

TEST_CASE("trace: a copy of pixels tells its offsets, and its map how many channels of how many pixels") {
  const Tensor line{64, 16, 64, 12, 3, true, -1};
  emu_test::Options o = options(32, "in-order");
  o.declarations = ".shared .align 1024 .b8 tile[2048];\n.shared .align 8 .b64 bar;\n";
  const Trace trace = record(
      kInit +
          by_thread_0(
              "A",
              "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1536;\nmov.u64 %rd1, map;\n"
              "cvta.const.u64 %rd2, %rd1;\ncp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::"
              "complete_tx::bytes [%r1], [%rd2, {0, 2, 0}], [%r2], {1};\n") +
          wait("W", 0),
      o, {}, false, &line);
  REQUIRE(trace.maps.size() == 1);
  CHECK(trace.maps[0].box == std::vector<int64_t>{64, 12});
  CHECK(trace.maps[0].rows == 12);
  CHECK(trace.maps[0].row_bytes == 128);
  REQUIRE(count(trace, "copy") == 1);
  for (const Event& e : trace.events) {
    if (std::string(e.what) != "copy") continue;
    CHECK(e.start == std::vector<int64_t>{0, 2, 0});
    CHECK(e.offset == std::vector<int64_t>{1});
  }
}
