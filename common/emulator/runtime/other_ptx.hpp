// EMU_PTX=file: a program that runs other device code than its own, for a kernel that was changed alone.
#pragma once

#include <set>
#include <string>

namespace emu {

class OtherPtx {
 public:
  explicit OtherPtx(std::string path, std::string text);

  // The text in place of `own`, where the host code launches `kernels` of this text or of others: this file's when it has
  // all of those in `own`, `own` when it has none. The prefix that nvcc makes of a file's path and puts into the names of its own
  // variables (_INTERNAL_..., _GLOBAL__N__...) is taken over from `own`, so that the host finds them.
  // Throws Fault ("ptx-file") when the file has some of the kernels and lacks others.
  std::string in_place_of(const std::string& own, const std::set<std::string>& kernels);

  // Throws Fault ("ptx-file") when no module has taken the file's text.
  void require_taken() const;

 private:
  std::string path_, text_;
  bool taken_ = false;
};

}  // namespace emu
