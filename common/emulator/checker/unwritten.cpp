#include "emulator/checker/unwritten.hpp"

namespace emu::check {

Finding* Unwritten::read(const Accessor& who, uint64_t address) {
  const auto [it, is_new] = reads_.insert(
      {{who.cluster().index, who.inst->source}, {Finding(Id::uninitialised_read), Sightings()}});
  it->second.seen.add(tell_.event(), static_cast<int64_t>(who.cta().order), who.warp().index);
  if (!is_new) return nullptr;
  Finding& f = it->second.finding;
  if (who.op) f.make_milder();
  f.title = text(who.op ? who.op->words() : "a thread", " reads shared memory that nothing has written");
  f.line = tell_.line(*who.inst);
  f.where = who.warp().where(*who.inst, who.lane());
  f.state = tell_.place(Space::shared, address);
  f.why = "Shared memory holds whatever was there before; it is zero only by luck.";
  f.hint = "write it first, or copy (or zero-fill) the whole tile";
  f.kernel = tell_.program().name;
  return &f;
}

void Unwritten::tell(uint32_t cluster) {
  for (auto it = reads_.lower_bound({cluster, INT32_MIN}); it != reads_.end() && it->first.first == cluster;
       it = reads_.erase(it))
    tell_.machine().findings.add(it->second.finding, it->second.seen);
}

}  // namespace emu::check
