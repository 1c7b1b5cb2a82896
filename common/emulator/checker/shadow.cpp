#include "emulator/checker/shadow.hpp"

#include <algorithm>

namespace emu::check {

Tag Records::combine(Tag a, Tag b) {
  if (a == b || a == 0) return b;
  const uint64_t key = (static_cast<uint64_t>(a) << 32) | b;
  auto it = combined_.find(key);
  if (it != combined_.end()) return it->second;
  if (combined_.size() > 100000) combined_.clear();
  std::vector<Tag> members;
  each(a, [&](Tag t) { members.push_back(t); });
  if (std::find(members.begin(), members.end(), b) != members.end()) return combined_[key] = a;
  // A later access of the same thread or operation takes the place of its earlier one.
  const Record rb = of(b);
  members.erase(std::remove_if(members.begin(), members.end(),
                               [&](Tag t) {
                                 const Record& r = of(t);
                                 return rb.kind == Record::Kind::threads && r.kind == rb.kind &&
                                        r.warp == rb.warp && r.rank == rb.rank && r.cluster == rb.cluster &&
                                        lane_of(t) == lane_of(b);
                               }),
                members.end());
  members.push_back(b);
  Tag result;
  if (members.size() == 1) {
    result = b;
  } else {
    Record set;
    set.kind = Record::Kind::set;
    set.detail = static_cast<uint32_t>(sets_.size());
    sets_.push_back(members);
    result = add(set) << 5;
  }
  return combined_[key] = result;
}

bool Records::seen_in(Tag set, Tag b) const {
  if (of(set).kind != Record::Kind::set) return false;
  auto it = combined_.find((static_cast<uint64_t>(set) << 32) | b);
  return it != combined_.end() && it->second == set;
}

void Records::clear() {
  records_.assign(2, Record());
  records_[kStrong >> 5].kind = Record::Kind::strong;
  epochs_.clear();
  sets_.clear();
  combined_.clear();
}

}  // namespace emu::check
