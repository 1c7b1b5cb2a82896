#include "emulator/checker/shadow.hpp"

#include <algorithm>

namespace emu::check {

Tag Records::lanes(uint32_t record, uint32_t mask) {
  if (lanes_.size() > 100000) lanes_.clear();
  Tag& kept = lanes_[static_cast<uint64_t>(record) << 32 | mask];
  if (!kept) {
    Record set;
    set.kind = Record::Kind::set;
    set.base = record;
    set.lanes = mask;
    kept = add(set) << 5;
  }
  return kept;
}

Tag Records::combine(Tag a, Tag b) {
  if (a == b || a == 0) return b;
  if (const uint32_t record = threads_of(a); record && record == threads_of(b)) {
    const uint32_t before = lanes_in(a), both = before | lanes_in(b);
    return both == before ? a : both == lanes_in(b) ? b : lanes(record, both);
  }
  const uint64_t key = (static_cast<uint64_t>(a) << 32) | b;
  auto it = combined_.find(key);
  if (it != combined_.end()) return it->second;
  if (combined_.size() > 100000) combined_.clear();
  std::vector<Tag> members, added;
  each(a, [&](Tag t) { members.push_back(t); });
  each(b, [&](Tag t) { added.push_back(t); });
  const auto is_new = [&](Tag t) { return std::find(members.begin(), members.end(), t) == members.end(); };
  if (std::none_of(added.begin(), added.end(), is_new)) return combined_[key] = a;
  // A later access of the same thread or operation takes the place of its earlier one.
  for (Tag later : added) {
    const Record rb = of(later);
    members.erase(std::remove_if(members.begin(), members.end(),
                                 [&](Tag t) {
                                   const Record& r = of(t);
                                   return t == later ||
                                          (rb.kind == Record::Kind::threads && r.kind == rb.kind &&
                                           r.strong == rb.strong && r.warp == rb.warp && r.rank == rb.rank &&
                                           r.cluster == rb.cluster && lane_of(t) == lane_of(later));
                                 }),
                  members.end());
  }
  if (members.empty()) return combined_[key] = b;
  members.insert(members.end(), added.begin(), added.end());
  Record set;
  set.kind = Record::Kind::set;
  set.detail = static_cast<uint32_t>(sets_.size());
  sets_.push_back(members);
  set_members_ += members.size();
  return combined_[key] = add(set) << 5;
}

bool Records::seen_in(Tag set, Tag b) const {
  if (of(set).kind != Record::Kind::set) return false;
  auto it = combined_.find((static_cast<uint64_t>(set) << 32) | b);
  return it != combined_.end() && it->second == set;
}

Tag Records::expand(Tag tag, uint32_t address) {
  const Join* join = joined(tag);
  if (!join) return tag;
  uint32_t here = 0;
  for (uint32_t left = join->lanes; left; left &= left - 1) {
    const int l = __builtin_ctz(left);
    if (address / 4 - join->first[static_cast<size_t>(l)] < join->words) here |= 1u << l;
  }
  const int first = __builtin_ctz(here);
  const uint32_t record = join->record;
  const Tag before = expand(join->before_lane(first), address);  // may move the joins
  const Tag mine = here & (here - 1) ? lanes(record, here) : record << 5 | static_cast<Tag>(first);
  return before ? combine(before, mine) : mine;
}

namespace {
void repeat_each(std::vector<Tag>& tags, size_t times) {
  std::vector<Tag> more;
  more.reserve(tags.size() * times);
  for (Tag t : tags) more.insert(more.end(), times, t);
  tags = std::move(more);
}
}  // namespace

void Writers::divide(uint64_t address, uint64_t bytes) {
  for (; (address | bytes) & ((uint64_t{1} << shift) - 1); --shift) repeat_each(last, 2);
}

void Shadow::halve() {
  --shift_;
  repeat_each(write_, 2);
  repeat_each(read_, 2);
}

void Readers::by_bytes() {
  repeat_each(one, size_t{1} << shift);
  repeat_each(other, size_t{1} << shift);
  shift = 0;
}

void Records::clear() {
  records_.assign(1, Record());
  epochs_.clear();
  sets_.clear();
  set_members_ = 0;
  joins_.clear();
  combined_.clear();
  lanes_.clear();
  places_.clear();
}

void Records::mark(Tag tag) {
  uint32_t& place = places_[tag >> 5];
  if (place) return;
  place = 1;
  const Record& r = of(tag);
  if (r.kind == Record::Kind::joined) {
    Join& join = joins_[r.detail];
    mark(join.record << 5);
    join.each_before([&](Tag before) { mark(before); });
  } else if (r.base)
    mark(r.base << 5);
  else if (r.kind == Record::Kind::set)
    for (Tag member : sets_[r.detail]) mark(member);
}

void Records::drop_unmarked() {
  combined_.clear();
  lanes_.clear();
  std::vector<uint32_t> blocks(epochs_.size());  // not 0 when used; then the new number
  each_marked([&](const Record& r) {
    if (r.kind == Record::Kind::threads) blocks[r.detail] = 1;
  });
  uint32_t kept_blocks = 0, kept_sets = 0, kept_joins = 0, kept = 1;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b]) continue;
    epochs_[kept_blocks] = epochs_[b];
    blocks[b] = kept_blocks++;
  }
  epochs_.resize(kept_blocks);
  set_members_ = 0;
  // Sets and joins are as old as their records, and younger than their members.
  for (size_t i = 1; i < places_.size(); ++i) {
    if (!places_[i]) continue;
    Record& r = records_[kept] = records_[i];
    places_[i] = kept++;
    if (r.kind == Record::Kind::threads) r.detail = blocks[r.detail];
    if (r.base) r.base = places_[r.base];
    if (r.kind == Record::Kind::joined) {
      Join& join = joins_[kept_joins] = joins_[r.detail];
      join.record = places_[join.record];
      join.each_before([&](Tag& before) { before = moved(before); });
      r.detail = kept_joins++;
    }
    if (r.kind != Record::Kind::set || r.base) continue;
    std::vector<Tag> members = std::move(sets_[r.detail]);
    for (Tag& member : members) member = moved(member);
    set_members_ += members.size();
    sets_[kept_sets] = std::move(members);
    r.detail = kept_sets++;
  }
  sets_.resize(kept_sets);
  joins_.resize(kept_joins);
  records_.resize(kept);
}

}  // namespace emu::check
