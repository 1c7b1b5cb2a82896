// What a test case has to tell, beside passed or failed.
//
// CHECK_REPORT=file  a line of JSON is appended to the file when a case has ended:
//   case, status (passed, failed, skipped), message, and of the first run that failed (else the last run) command and
//   environment that repeat it, json (the emulator's report) and program (the program's own), null where there is none
// CHECK_FIRST=1      the first failing case ends the process
#pragma once

#include <map>
#include <string>
#include <vector>

namespace check {

struct CaseReport {
  std::string message;  // why it failed, or was skipped
  bool skipped = false;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string json = "null", program = "null";
};

// The report of the case that is running.
CaseReport& this_case();

// A case that could not be checked here is no pass.
#define SKIP(why)                                     \
  do {                                                \
    check::this_case().skipped = true;                \
    check::this_case().message = (why);               \
    MESSAGE("SKIPPED: ", check::this_case().message); \
    return;                                           \
  } while (false)

}  // namespace check
