// The table of finding ids: the page that is written from it.
//   cmake --build build --target findings_page    writes common/emulator/findings/FINDINGS.md
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "emulator/findings/finding_ids.hpp"
#include "emulator/findings/report.hpp"
#include "emulator/findings/text.hpp"

using namespace emu;

TEST_CASE("findings: FINDINGS.md is that of the table") {
  const char* const path = "common/emulator/findings/FINDINGS.md";
  if (std::getenv("WRITE_FINDINGS_PAGE")) std::ofstream(path) << findings_page();
  std::ostringstream page;
  page << std::ifstream(path).rdbuf();
  INFO("try   cmake --build build --target findings_page");
  CHECK(page.str() == findings_page());
}

TEST_CASE("findings: a finding brings its rule and section with it") {
  const Finding f(Id::missing_proxy_fence);
  CHECK(f.text().find("(PTX ISA 9.7.13.4: fence.proxy.async)") != std::string::npos);
  CHECK(f.json().find("\"section\":\"PTX ISA 9.7.13.4: fence.proxy.async\"") != std::string::npos);
  CHECK(section_of(Id::deadlock) == "PTX ISA 9.7.13.15: mbarrier; 9.7.13.1: bar");
  CHECK(section_of(Id::time_limit) == "the emulator");
}

TEST_CASE("findings: lines and what else took part are in the JSON") {
  Finding f(Id::data_race);
  f.line = {"a.cu", 7, {{"a.cu", 7, "helper"}, {"a.cu", 20, "kernel"}}, "", "", 0};
  f.related.push_back({"initialised for 8", {"a.cu", 3, {{"a.cu", 3, "kernel"}}, "", "", 0}});
  const std::string json = f.json();
  CHECK(json.find("\"chain\":[{\"file\":\"a.cu\",\"line\":7,\"function\":\"helper\"},"
                  "{\"file\":\"a.cu\",\"line\":20,\"function\":\"kernel\"}]") != std::string::npos);
  CHECK(json.find("\"other_chain\":[]") != std::string::npos);
  CHECK(json.find("\"related\":[{\"what\":\"initialised for 8\",\"file\":\"a.cu\",\"line\":3,"
                  "\"chain\":[{\"file\":\"a.cu\",\"line\":3,\"function\":\"kernel\"}]}]") !=
        std::string::npos);
  CHECK(f.text().find("\n  with   initialised for 8  a.cu:3\n") != std::string::npos);
}

TEST_CASE("findings: what is an error depends on the program and on EMU_STRICT") {
  Report& report = Report::instance();
  const auto severities = [&](Strictness strictness) {
    report.strictness = strictness;
    std::string all;
    for (Grade grade : {Grade::error, Grade::error_in_lessons, Grade::advice})
      all += severity_of(grade) == Severity::error ? "error " : "advice ";
    report.strictness = Strictness::ordinary;
    return all;
  };
  CHECK(severities(Strictness::ordinary) == "error advice advice ");
  CHECK(severities(Strictness::lesson) == "error error advice ");
  CHECK(severities(Strictness::strict) == "error error error ");
}

TEST_CASE("findings: text puts a sentence together") {
  const uint8_t small = 7;
  CHECK(text("a block of ", 1024u, " threads, ", small, ' ', std::string("warps"), -1) ==
        "a block of 1024 threads, 7 warps-1");
}
