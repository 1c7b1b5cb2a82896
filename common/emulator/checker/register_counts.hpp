// setmaxnreg.dec gives registers back: it names fewer than the warp has (PTX ISA 9.7.19.5). What .inc to fewer does, the manual does
// not say, and an H200 takes it.
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
