// What the checker keeps of past accesses does not grow with the length of a launch: records, operations and clocks that
// nothing in the shadows, in flight or in a running CTA refers to are dropped from time to time. What is left is in
// proportion to the shared memory of the resident CTAs, their threads, and the global memory that the launch touches.
#include <set>

#include "emulator/checker/checker.hpp"

namespace emu::check {

// Calls f(index) for the operations that are referred to by other things than records; f may change the index.
template <class F>
void Checker::each_op_in_use(F f) {
  mbarriers_.each([&](MbarrierState& b) {
    for (uint32_t& index : b.in_flight) f(index);
    if (b.last_op) f(b.last_op);
  });
  for (AsyncOp* op : tell_.machine().engine->pending()) {
    if (op->kind == AsyncOp::Kind::cp_async_arrive || !op->observer_data) continue;
    uint32_t index = static_cast<uint32_t>(op->observer_data);
    f(index);
    op->observer_data = index;
  }
}

// After the records have been marked, and before they move.
void Checker::drop_operations() {
  std::vector<uint32_t> needed(past_.operations.count());  // not 0: yes
  past_.records.each_marked([&](const Record& r) {
    if (r.kind == Record::Kind::op) needed[r.detail] = 1;
  });
  each_op_in_use([&](uint32_t& index) { needed[index] = 1; });
  const std::vector<uint32_t> now = past_.operations.keep(std::move(needed));
  past_.records.each_marked([&](Record& r) {
    if (r.kind == Record::Kind::op) r.detail = now[r.detail];
  });
  each_op_in_use([&](uint32_t& index) { index = now[index]; });
}

// What is known of other clusters that have ended and left nothing behind.
void Checker::drop_clocks() {
  std::set<uint32_t> matter;
  order_.each_cluster([&](ClusterOrder& cluster) { matter.insert(cluster.index); });
  past_.records.each_marked([&](const Record& r) { matter.insert(r.cluster); });
  maps_.each_release([&](uint32_t cluster, Clock&) { matter.insert(cluster); });
  std::map<std::shared_ptr<const Clock::Foreigners>, std::shared_ptr<const Clock::Foreigners>> fewer;
  const auto drop = [&](Clock& c) {
    if (!c.foreigners()) return;
    auto [known, is_new] = fewer.insert({c.foreigners(), nullptr});
    if (is_new) {
      Clock::Foreigners kept;
      for (const Clock::Foreigner& f : *c.foreigners())
        if (matter.count(f.first)) kept.push_back(f);
      if (!kept.empty()) known->second = std::make_shared<Clock::Foreigners>(std::move(kept));
    }
    c.set_foreigners(known->second);
  };
  order_.each_clock(drop);
  mbarriers_.each([&](MbarrierState& b) {
    drop(b.gathering);
    for (Clock& c : b.complete) drop(c);
  });
  maps_.each_release([&](uint32_t, Clock& covers) { drop(covers); });
  order_.drop_global_words();
}

void Checker::collect() {
  const auto replace_tags = [&](auto f) {
    accesses_.replace_tags(f);
    maps_.replace_tags(f);
  };
  maps_.drop_users();
  maps_.drop_fences();
  past_.records.start_marking();
  replace_tags([&](Tag t) {
    past_.records.mark(t);
    return t;
  });
  drop_operations();
  cluster_.drop_arrivals();
  drop_clocks();
  past_.records.drop_unmarked();
  replace_tags([&](Tag t) { return past_.records.moved(t); });
  maps_.records_moved();
  accesses_.forget_records();
  past_.forget_answers();
  order_.snapshot_bytes = maps_.snapshot_bytes = 0;
  // Looking through the shadows must stay cheap against filling the tables.
  const size_t live = table_bytes();
  collect_at_ = live + (least_growth ? std::max({least_growth, live, accesses_.shadow_bytes() / 2}) : 0);
}

}  // namespace emu::check
