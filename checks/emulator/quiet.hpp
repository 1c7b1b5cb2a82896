// Findings that a test reads, and nobody else.
#pragma once

#include "emulator/findings/report.hpp"

namespace emu_test {

// While it lives nothing is printed; the report is empty when it begins and when it ends.
class QuietReport {
 public:
  QuietReport() {
    report_.clear();
    report_.quiet = true;
  }
  ~QuietReport() {
    report_.clear();
    report_.quiet = false;
  }
  QuietReport(const QuietReport&) = delete;
  QuietReport& operator=(const QuietReport&) = delete;

  const std::vector<emu::Finding>& findings() const { return report_.findings(); }

 private:
  emu::Report& report_ = emu::Report::instance();
};

}  // namespace emu_test
