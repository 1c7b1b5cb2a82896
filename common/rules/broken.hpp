// A rule that a value breaks, in words for people.
#pragma once

#include <string>

namespace rules {

struct Broken {
  std::string what;     // "boxDim[1] = 300"
  std::string rule;     // "a box has 1 to 256 elements along a dimension"
  std::string fix;      // "use a smaller box and more copies"
  const char* manual;   // where the rule is stated
  bool refused = true;  // false: the hardware or the driver takes the value all the same (recorded)
  std::string text() const { return what + ": " + rule + "; " + fix; }
};

}  // namespace rules
