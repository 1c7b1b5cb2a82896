#include "emulator/checker/grid_seam.hpp"

namespace emu::check {

void GridSeamRule::begin(bool early) {
  overlaps_ = early && launched_;
  if (!overlaps_) in_front_.clear();
  launched_ = false;
  ctas_.clear();
}

void GridSeamRule::cta_started(const Cta& cta, uint32_t cluster) {
  ctas_[{cluster, cta.cluster_rank}] = cta.text();
}

void GridSeamRule::keep(GlobalShadow& global, Records& records) {
  lines_.clear();
  in_front_ = std::move(global);
  records_ = std::move(records);
  records_.each_record([&](const Record& r) {
    if (!lines_.count(r.source)) lines_[r.source] = tell_.line(r.source);
  });
}

void GridSeamRule::check(const Accessor& who, uint64_t address, uint64_t bytes, bool write) {
  if (idle() || who.self->know(who.lanes, who.cluster().grid_wait, 1)) return;
  for (uint64_t a = address; a < address + bytes; ++a) {
    const Tag writer = in_front_.writer(a), reader = write ? in_front_.reader(a) : 0;
    if (!writer && !reader) continue;
    Finding f(Id::missing_grid_wait);
    f.title = text("global memory that the grid in front ", writer ? "writes" : "reads", " is ",
                   write ? "written" : "read", " without griddepcontrol.wait");
    records_.each(writer ? writer : reader,
                  [&](Tag single) { f.other_line = lines_[records_.of(single).source]; });
    f.state = text(tell_.place(Space::global, a), ": ", writer ? "written" : "read",
                   " by the grid in front at ", f.other_line.text());
    f.why =
        "The grid in front has executed griddepcontrol.launch_dependents, so this one may start while the other "
        "is still running; only griddepcontrol.wait waits for its end and its writes.";
    f.hint =
        "griddepcontrol.wait in every thread that touches what the grid in front uses, or in one of them and a "
        "barrier after it";
    return tell_.tell(std::move(f), who);
  }
}

std::string GridSeamRule::writer(uint64_t address) {
  std::string words;
  records_.each(in_front_.writer(address), [&](Tag single) {
    const Record& r = records_.of(single);
    const auto cta = ctas_.find({r.cluster, r.rank});
    if (words.empty() && r.source >= 0 && cta != ctas_.end())
      words = text(cta->second, " warp ", r.warp, ", at ", lines_[r.source].brief());
  });
  return words;
}

}  // namespace emu::check
