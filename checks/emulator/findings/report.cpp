// Report: which findings are one cause seen again.
#include "emulator/findings/report.hpp"

#include <doctest/doctest.h>

#include "json/json.hpp"

using namespace emu;

namespace {

Finding finding(Id id, const std::string& title, int ptx_line, int other_ptx_line = 0) {
  Finding f(id);
  f.title = title;
  f.line.ptx_line = ptx_line;
  f.other_line.ptx_line = other_ptx_line;
  return f;
}

}  // namespace

TEST_CASE("Report: one cause is counted, not added again") {
  Report report;
  report.quiet = true;
  report.add(finding(Id::data_race, "element 0", 7, 9));
  report.add(finding(Id::data_race, "element 1", 7, 9));  // the same lines: the same cause
  CHECK(report.findings().size() == 1);
  CHECK(report.findings()[0].count == 2);
  report.add(finding(Id::data_race, "element 0", 7, 10));
  report.add(finding(Id::data_race, "element 0", 8, 9));
  report.add(finding(Id::deadlock, "element 0", 7, 9));
  CHECK(report.findings().size() == 4);
}

TEST_CASE("Report: errors are counted every time, advice is not") {
  Report report;
  report.quiet = true;
  Finding advice = finding(Id::misaligned_tile, "bank conflicts", 7);
  advice.severity = Severity::advice;
  report.add(advice);
  CHECK_FALSE(report.has_errors());
  report.add(finding(Id::data_race, "element 0", 7));
  report.add(finding(Id::data_race, "element 0", 7));
  report.add(finding(Id::data_race, "element 0", 8));
  CHECK(report.has_errors());
  CHECK(report.errors() == 3);
}

TEST_CASE("Report: findings without a line are told apart by their titles") {
  Report report;
  report.quiet = true;
  report.add(finding(Id::launch_configuration, "a block has 2048 threads", 0));
  report.add(finding(Id::launch_configuration, "the grid is no multiple of the cluster", 0));
  report.add(finding(Id::launch_configuration, "a block has 2048 threads", 0));
  REQUIRE(report.findings().size() == 2);
  CHECK(report.findings()[0].count == 2);
  CHECK(report.findings()[1].count == 1);
}

TEST_CASE("Report: JSON strings are valid UTF-8 whatever bytes a text has") {
  CHECK(json::quoted("plain \"quoted\" \n") == "\"plain \\\"quoted\\\" \\n\"");
  CHECK(json::quoted("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  const std::string replaced = "\xef\xbf\xbd";
  CHECK(json::quoted("a\xff") == "\"a" + replaced + "\"");
  CHECK(json::quoted("\xc3") == "\"" + replaced + "\"");  // cut off
  CHECK(json::quoted("\xc3(") == "\"" + replaced + "(\"");
  CHECK(json::quoted("\xc0\xaf") == "\"" + replaced + replaced + "\"");  // longer than need be
  CHECK(json::quoted("\xed\xa0\x80") ==
        "\"" + replaced + replaced + replaced + "\"");  // half a surrogate pair
}
