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
    set_members_ += members.size();
    result = add(set) << 5;
  }
  return combined_[key] = result;
}

bool Records::seen_in(Tag set, Tag b) const {
  if (of(set).kind != Record::Kind::set) return false;
  auto it = combined_.find((static_cast<uint64_t>(set) << 32) | b);
  return it != combined_.end() && it->second == set;
}

void Readers::by_bytes() {
  for (auto* tags : {&one, &other}) {
    std::vector<Tag> bytes;
    for (Tag t : *tags) bytes.insert(bytes.end(), size_t{1} << shift, t);
    *tags = std::move(bytes);
  }
  shift = 0;
}

void Records::clear() {
  records_.assign(2, Record());
  records_[kStrong >> 5].kind = Record::Kind::strong;
  epochs_.clear();
  sets_.clear();
  set_members_ = 0;
  combined_.clear();
  places_.clear();
}

void Records::mark(Tag tag) {
  uint32_t& place = places_[tag >> 5];
  if (place) return;
  place = 1;
  const Record& r = of(tag);
  if (r.kind == Record::Kind::set)
    for (Tag member : sets_[r.detail]) mark(member);
}

void Records::drop_unmarked() {
  combined_.clear();
  std::vector<uint32_t> blocks(epochs_.size());  // not 0 when used; then the new number
  each_marked([&](const Record& r) {
    if (r.kind == Record::Kind::threads) blocks[r.detail] = 1;
  });
  uint32_t kept_blocks = 0, kept_sets = 0, kept = 1;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b]) continue;
    epochs_[kept_blocks] = epochs_[b];
    blocks[b] = kept_blocks++;
  }
  epochs_.resize(kept_blocks);
  set_members_ = 0;
  // Sets are as old as their records, and younger than their members.
  for (size_t i = 1; i < places_.size(); ++i) {
    if (!places_[i]) continue;
    Record& r = records_[kept] = records_[i];
    places_[i] = kept++;
    if (r.kind == Record::Kind::threads) r.detail = blocks[r.detail];
    if (r.kind != Record::Kind::set) continue;
    std::vector<Tag> members = std::move(sets_[r.detail]);
    for (Tag& member : members) member = moved(member);
    set_members_ += members.size();
    sets_[kept_sets] = std::move(members);
    r.detail = kept_sets++;
  }
  sets_.resize(kept_sets);
  records_.resize(kept);
}

}  // namespace emu::check
