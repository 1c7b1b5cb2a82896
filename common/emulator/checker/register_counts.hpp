// setmaxnreg.dec gives registers back, setmaxnreg.inc takes some (PTX ISA 9.7.19.5): each from what the warp has.
#pragma once

#include "emulator/checker/teller.hpp"

namespace emu::check {

class RegisterCountRule {
 public:
  explicit RegisterCountRule(Teller& tell) : tell_(tell) {}
  void changed(const Accessor& who, unsigned registers, unsigned before) const;

 private:
  Teller& tell_;
};

}  // namespace emu::check
