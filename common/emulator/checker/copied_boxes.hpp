// Which boxes each line has copied into a CTA: to tell of one that was copied twice, or left out.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "emulator/checker/teller.hpp"

namespace emu::check {

class CopiedBoxes {
 public:
  explicit CopiedBoxes(const Teller& tell) : tell_(tell) {}
  void clear();
  void forget(const Cta& cta);
  void issued(const AsyncOp& op);  // a tensor load
  // "the box at (128, 0) was never copied, the one at (64, 0) twice", of the copies that one line has issued in the CTA. Empty
  // when there is no such thing, or when more than one coordinate changes, so that nobody can say.
  std::string story(const Cta& cta, int32_t source) const;
  // The same of the first line for which there is something to tell, and that line.
  std::string story(const Cta& cta, int32_t* source) const;

 private:
  static constexpr size_t kMost = 512;   // boxes that are remembered of a line
  using Place = std::array<int32_t, 8>;  // coordinates, then the offsets of im2col mode
  struct Boxes {
    unsigned rank = 0, numbers = 0;  // coordinates, and with the offsets
    std::vector<Place> at;
  };
  const Teller& tell_;
  std::map<const Cta*, std::map<int32_t, Boxes>> boxes_;  // by the first instruction of the line
  std::map<std::string, int32_t> first_;                  // instruction of each line
  std::map<int32_t, int32_t> same_line_;                  // by instruction: the first one of its line

  std::string story_of(const Boxes& boxes) const;
  static std::string text_of(const Boxes& boxes, const Place& at);
};

// "(128, 0)"
std::string box_text(const std::array<int32_t, 5>& at, unsigned rank);

}  // namespace emu::check
