#include "emulator/checker/drain.hpp"

namespace emu::check {

void DrainRule::issued(const Warp& w, int lane, uint32_t group, int32_t source) {
  Groups& groups = stores_.of(w)[static_cast<size_t>(lane)];
  if (groups.empty() || groups.back().first != group) groups.push_back({group, source});
}

void DrainRule::waited(const Warp& w, uint32_t mask, const WarpOrder& order) {
  if (!order.copies) return;
  auto& all = stores_.of(w);
  for_lanes(mask, [&](int l) {
    Groups& groups = all[static_cast<size_t>(l)];
    while (!groups.empty() && groups.front().first <= order.lanes[static_cast<size_t>(l)].bulk_read)
      groups.erase(groups.begin());
  });
}

void DrainRule::exits(Warp& w, uint32_t mask) {
  const auto& all = stores_.of(w);
  for_lanes(mask, [&](int l) {
    const Groups& groups = all[static_cast<size_t>(l)];
    if (groups.empty()) return;
    Finding f(Id::exit_before_drain);
    f.make_milder();
    f.title = "a thread exits while its bulk store may still be reading shared memory";
    f.why =
        "Shared memory is given to another CTA when this one ends; the store would then read that CTA's bytes.";
    f.hint =
        "commit the group and execute cp.async.bulk.wait_group.read 0 in the issuing thread before it returns";
    tell_.tell_at(std::move(f), groups.front().second, w.cta, w.index, text(w.cta.text(), " warp ", w.index));
  });
}

void DrainRule::tell_left_behind(const Operation& op, const Cta& cta) {
  Finding f(Id::exit_before_drain);
  f.title = "a CTA ends while a copy into its shared memory may still be in flight";
  if (op.barrier)
    f.state = text("nobody has waited for phase ", op.done_value - 1, " of ", op.barrier->name());
  const std::string boxes = boxes_.story(cta, op.source);
  f.why = "The bytes would land in shared memory that belongs to another CTA by then.";
  f.hint = "do not issue copies past the last tile, or wait for them before the CTA ends";
  if (!boxes.empty()) {
    f.title += ": " + boxes;
    f.hint =
        "copy each tile once, none past the last, and wait for all: see the number of the tile that is copied";
  }
  tell_.tell_at(std::move(f), op.source, cta, op.warp, text(cta.text(), " warp ", op.warp));
}

}  // namespace emu::check
