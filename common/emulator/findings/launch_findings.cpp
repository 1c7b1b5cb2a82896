#include "emulator/findings/launch_findings.hpp"

#include <algorithm>

#include "emulator/findings/text.hpp"

namespace emu {

namespace {
constexpr size_t kMostAfter = 4;  // other errors that are named

std::string name_of(const Finding& f) {
  const std::string line = f.line.text();
  return text(name_of(f.id), line.empty() ? "" : " at ", line);
}
}  // namespace

void Sightings::add(uint64_t event, int64_t cta, int warp) {
  if (count_ && event == last_event_) return;
  last_event_ = event;
  ++count_;
  if (cta < 0) return;
  std::set<int>& warps = warps_[cta];
  if (warp >= 0) warps.insert(warp);
}

void Sightings::add(const Sightings& other) {
  count_ += other.count_;
  last_event_ = other.last_event_;
  for (const auto& [cta, warps] : other.warps_) warps_[cta].insert(warps.begin(), warps.end());
}

std::string Sightings::spread() const {
  if (warps_.empty()) return "";
  size_t least = SIZE_MAX, most = 0;
  for (const auto& [cta, warps] : warps_) {
    least = std::min(least, warps.size());
    most = std::max(most, warps.size());
  }
  const auto number = [](size_t n, const char* what) {
    return with_commas(n) + " " + what + (n == 1 ? "" : "s");
  };
  std::string out = number(warps_.size(), "CTA");
  if (least == 0) return out;  // not all of them say which warp it was
  out += ", " + (least == most ? "" : with_commas(least) + " to ") + number(most, "warp");
  return out + (warps_.size() == 1 ? " of it" : " of each");
}

void LaunchFindings::begin(uint64_t warp_instructions) {
  entries_.clear();
  after_.clear();
  error_ = false;
  counting_ = true;
  instructions_ = warp_instructions;
}

bool LaunchFindings::once(uint32_t what, int32_t source) {
  const uint64_t key = static_cast<uint64_t>(what) << 32 | static_cast<uint32_t>(source);
  if (std::find(met_.begin(), met_.end(), key) != met_.end()) return false;
  met_.push_back(key);
  return true;
}

// Those of the finding's cause; null for an error that is not the first.
Sightings* LaunchFindings::sightings_of(const Finding& finding) {
  for (Entry& e : entries_)
    if (same_cause(e.finding, finding)) return &e.seen;
  if (finding.severity == Severity::error && error_) {
    std::string text = name_of(finding);
    if (after_.size() > kMostAfter || std::find(after_.begin(), after_.end(), text) != after_.end())
      return nullptr;
    after_.push_back(after_.size() == kMostAfter ? "others" : text);
    if (on_first) on_first(finding);
    return nullptr;
  }
  error_ = error_ || finding.severity == Severity::error;
  entries_.push_back({finding, Sightings()});
  if (on_first) on_first(finding);
  return &entries_.back().seen;
}

void LaunchFindings::add(const Finding& finding) {
  Sightings* seen = counting_ ? sightings_of(finding) : nullptr;
  if (!seen) return;
  seen->add(event_, finding.cta, finding.warp);
  stop_at(*seen);
}

void LaunchFindings::add(const Finding& finding, const Sightings& more) {
  Sightings* seen = counting_ ? sightings_of(finding) : nullptr;
  if (!seen) return;
  seen->add(more);
  stop_at(*seen);
}

void LaunchFindings::stop_at(const Sightings& seen) {
  if (error_ && seen.count() >= most_sightings) tell(true);
}

void LaunchFindings::pass(uint64_t warp_instructions) {
  if (!error_)
    instructions_ = warp_instructions;
  else if (counting_ && warp_instructions - instructions_ > most_instructions)
    tell(true);
}

void LaunchFindings::end() {
  if (counting_) tell(false);
}

void LaunchFindings::tell(bool at_least) {
  counting_ = false;
  for (Entry& e : entries_) {
    e.finding.count = e.seen.count();
    e.finding.at_least = at_least;
    e.finding.spread = e.seen.spread();
    if (e.finding.severity == Severity::error) {
      e.finding.also = after_;
      // The same mistake at the same line, with another line on the other side.
      const auto same = std::find(e.finding.also.begin(), e.finding.also.end(), name_of(e.finding));
      if (same != e.finding.also.end()) e.finding.also.erase(same);
    }
    Report::instance().add(e.finding);
  }
}

}  // namespace emu
