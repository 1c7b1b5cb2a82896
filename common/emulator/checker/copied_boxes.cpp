#include "emulator/checker/copied_boxes.hpp"

#include <algorithm>

#include "emulator/machine/machine.hpp"
#include "emulator/machine/tensor_map.hpp"

namespace emu::check {

std::string box_text(const std::array<int32_t, 5>& at, unsigned rank) {
  std::string all;
  for (unsigned i = 0; i < rank; ++i) all += (i ? ", " : "") + std::to_string(at[i]);
  return "(" + all + ")";
}

void CopiedBoxes::clear() {
  boxes_.clear();
  first_.clear();
  same_line_.clear();
}

void CopiedBoxes::forget(const Cta& cta) {
  boxes_.erase(&cta);
}

void CopiedBoxes::issued(const AsyncOp& op) {
  // A loop that is unrolled, or a function that is called twice, makes several instructions of one line.
  auto same = same_line_.find(op.inst->source);
  if (same == same_line_.end()) {
    const int32_t first = first_.insert({tell_.line(op.inst->source).text(), op.inst->source}).first->second;
    same = same_line_.insert({op.inst->source, first}).first;
  }
  Boxes& boxes = boxes_[&op.warp->cta][same->second];
  boxes.rank = op.map->rank;
  boxes.numbers = op.map->im2col ? 2 * op.map->rank - 2 : op.map->rank;
  if (boxes.at.size() >= kMost) return;
  Place at{};
  std::copy_n(op.start, boxes.rank, at.begin());
  std::copy_n(op.offset, boxes.numbers - boxes.rank, at.begin() + boxes.rank);
  boxes.at.push_back(at);
}

// "(0, 1, 1, 0)", in im2col mode "(0, 1, 1, 0) + (2, 0)"
std::string CopiedBoxes::text_of(const Boxes& boxes, const Place& at) {
  std::array<int32_t, 5> start{}, offset{};
  std::copy_n(at.begin(), boxes.rank, start.begin());
  std::copy(at.begin() + boxes.rank, at.begin() + boxes.numbers, offset.begin());
  const std::string text = box_text(start, boxes.rank);
  return boxes.numbers == boxes.rank ? text : text + " + " + box_text(offset, boxes.numbers - boxes.rank);
}

std::string CopiedBoxes::story(const Cta& cta, int32_t source) const {
  const auto lines = boxes_.find(&cta);
  const auto first = same_line_.find(source);
  if (lines == boxes_.end() || first == same_line_.end()) return "";
  const auto boxes = lines->second.find(first->second);
  return boxes == lines->second.end() ? "" : story_of(boxes->second);
}

std::string CopiedBoxes::story_of(const Boxes& boxes) const {
  if (boxes.at.size() < 2 || boxes.at.size() >= kMost) return "";
  int changing = -1;
  for (unsigned i = 0; i < boxes.numbers; ++i) {
    const bool same = std::all_of(boxes.at.begin(), boxes.at.end(),
                                  [&](const auto& at) { return at[i] == boxes.at[0][i]; });
    if (same) continue;
    if (changing >= 0) return "";
    changing = static_cast<int>(i);
  }
  std::map<int32_t, int> times;  // by the coordinate that changes
  if (changing < 0)
    return "the box at " + text_of(boxes, boxes.at[0]) + " was copied " + std::to_string(boxes.at.size()) +
           " times, and no other";
  for (const auto& at : boxes.at) ++times[at[static_cast<size_t>(changing)]];
  const auto place = [&](int32_t value) {
    Place at = boxes.at[0];
    at[static_cast<size_t>(changing)] = value;
    return text_of(boxes, at);
  };
  int32_t step = INT32_MAX;
  for (auto it = times.begin(); std::next(it) != times.end(); ++it)
    step = std::min(step, std::next(it)->first - it->first);
  std::string all;
  const auto add = [&](const std::string& text) {
    all += (all.empty() ? "the box at " : ", the one at ") + text;
  };
  for (auto it = times.begin(); std::next(it) != times.end() && all.empty(); ++it)
    if (std::next(it)->first - it->first > step && (std::next(it)->first - it->first) % step == 0)
      add(place(it->first + step) + " was never copied");
  for (const auto& [value, count] : times)
    if (count > 1) {
      add(place(value) + " was copied " +
          (count == 2 ? std::string("twice") : std::to_string(count) + " times"));
      break;
    }
  return all;
}

std::string CopiedBoxes::story(const Cta& cta, int32_t* source) const {
  const auto lines = boxes_.find(&cta);
  if (lines == boxes_.end()) return "";
  for (const auto& [line, boxes] : lines->second) {
    const std::string text = story_of(boxes);
    if (text.empty()) continue;
    *source = line;
    return text;
  }
  return "";
}

}  // namespace emu::check
