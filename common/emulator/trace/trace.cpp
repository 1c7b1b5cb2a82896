#include "emulator/trace/trace.hpp"

#include <algorithm>
#include <cstring>

namespace emu::trace {

int64_t& Event::operator[](const char* key) {
  for (auto& [name, value] : numbers)
    if (std::strcmp(name, key) == 0) return value;
  numbers.emplace_back(key, 0);
  return numbers.back().second;
}

int64_t Event::get(const char* key, int64_t otherwise) const {
  for (auto& [name, value] : numbers)
    if (std::strcmp(name, key) == 0) return value;
  return otherwise;
}

void Event::join_shared(int64_t of_cta, int64_t address, int64_t bytes) {
  constexpr size_t kMost = 64;  // beyond it, a range grows over the gap
  int64_t from = address, to = address + bytes;
  for (size_t i = 0; i < shared.size();) {
    const auto& [owner, at, length] = shared[i];
    const bool crowded = shared.size() >= kMost && owner == of_cta;
    if (owner == of_cta && (crowded || (at <= to && from <= at + length))) {
      from = std::min(from, at);
      to = std::max(to, at + length);
      shared.erase(shared.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  shared.push_back({of_cta, from, to - from});
}

bool Trace::worth_looking_at() const {
  return !barriers.empty() || std::any_of(events.begin(), events.end(), [](const Event& e) {
    return std::strcmp(e.what, "copy") == 0 || std::strcmp(e.what, "product") == 0;
  });
}

bool Trace::has_error() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == Severity::error; });
}

}  // namespace emu::trace
