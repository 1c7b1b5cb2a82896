// Registers that are read although no instruction of their function sets them: what a variable without a value becomes. Found in
// the decoded program when it is launched; nothing is looked at while it runs.
#pragma once

#include <set>

#include "emulator/checker/teller.hpp"

namespace emu::check {

class UnsetRegisterRule {
 public:
  explicit UnsetRegisterRule(Teller& tell) : tell_(tell) {}
  void launched(const Program& program);

 private:
  Teller& tell_;
  std::set<const Program*> clean_;  // nothing was found in them

  bool look_at(const Program& program, const FunctionInfo& function, uint32_t end);
};

}  // namespace emu::check
