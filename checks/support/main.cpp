// The checks' main, what it writes for CHECK_REPORT, and the list of cases that CTest reads.
// Exit: 0 if a case ran and none failed, 1 if one failed, 77 if all were skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>

#include "json/json.hpp"
#include "support/report.hpp"

namespace check {

CaseReport& this_case() {
  static CaseReport report;
  return report;
}

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Does nothing in the calls that a reporter has no use for.
struct Reporter : doctest::IReporter {
  explicit Reporter(const doctest::ContextOptions& options) : options(options) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
  const doctest::ContextOptions& options;
};

int ran = 0, skipped = 0;

class ReportWriter : public Reporter {
 public:
  using Reporter::Reporter;

  void test_case_start(const doctest::TestCaseData& data) override {
    name_ = data.m_name;
    this_case() = {};
  }
  void log_message(const doctest::MessageData& data) override {
    if (data.m_severity != doctest::assertType::is_warn) explain(data.m_string.c_str());
  }
  void log_assert(const doctest::AssertData& data) override {
    if (data.m_failed) {
      explain(std::string(data.m_file) + ":" + std::to_string(data.m_line) + ": " + data.m_expr +
              " does not hold");
    }
  }
  void test_case_exception(const doctest::TestCaseException& data) override {
    explain(data.error_string.c_str());
  }

  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    const bool failed = stats.failure_flags != 0;
    ++ran;
    if (!failed && this_case().skipped) ++skipped;
    const std::string path = variable("CHECK_REPORT");
    if (path.empty()) return;
    std::ofstream file(path, std::ios::app);
    file << line(failed ? "failed" : this_case().skipped ? "skipped" : "passed") << std::flush;
    if (!file) {
      std::cerr << "error: cannot write the report CHECK_REPORT=" << path << "\n";
      std::_Exit(2);
    }
  }

 private:
  // The first word counts: what comes after it may follow from it.
  void explain(const std::string& message) {
    if (this_case().message.empty()) this_case().message = message;
  }

  std::string line(const char* status) const {
    const CaseReport& report = this_case();
    json::Object environment, all;
    for (const auto& [name, value] : report.environment) environment.add(name, value);
    all.add("case", name_);
    all.add("status", status);
    all.add("message", report.message);
    all.list("command", report.command, json::quoted);
    all.raw("environment", environment.text());
    all.raw("json", report.json);
    all.raw("program", report.program);
    return all.text() + "\n";
  }

  std::string name_;
};
REGISTER_LISTENER("report", 1, ReportWriter);

// --list-test-cases --reporters=ctest: a call of workbook_case (cases.cmake) for each case.
class CaseLister : public Reporter {
 public:
  using Reporter::Reporter;
  void report_query(const doctest::QueryData& query) override {
    std::set<std::string> names;
    for (unsigned i = 0; i < query.num_data; ++i) {
      const std::string name = query.data[i]->m_name;
      if (!names.insert(name).second) {
        std::cerr << query.data[i]->m_file.c_str() << ":" << query.data[i]->m_line
                  << ": error: another test case of this program has the name \"" << name << "\"\n";
        std::_Exit(1);
      }
      std::string filter;
      // A comma separates filters, and how many backslashes keep one depends on the CMake that reads the list.
      for (const char c : name) filter += c == ',' ? '?' : c;
      *options.cout << "workbook_case([==[" << name << "]==] [==[" << filter << "]==])\n";
    }
  }
};
REGISTER_REPORTER("ctest", 1, CaseLister);

}  // namespace
}  // namespace check

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  if (check::variable("CHECK_FIRST") == "1") context.setOption("abort-after", 1);
  const std::string group = check::variable("CHECK_GROUP");
  if (!group.empty() && group != "solutions") context.addFilter("test-suite-exclude", "project");
  const int code = context.run();
  if (code != 0 || context.shouldExit()) return code;
  if (check::ran == 0) std::cerr << "error: no test case has this name\n";
  if (check::ran == 0) return 1;
  return check::skipped == check::ran ? 77 : 0;
}
