#include "emulator/checker/proxies.hpp"

namespace emu::check {

void ProxyRule::check(const Accessor& who, Tag writer, uint64_t address, Space space) {
  if (!who.async_proxy()) return;
  const bool threads = past_.records.of(writer).kind == Record::Kind::threads;
  const Operation* op = past_.operation(writer);
  if (!threads && !(op && op->kind == AsyncOp::Kind::cp_async)) return;
  if (past_.ordered(who, writer, Clock::fenced)) return;
  const bool by_reader = past_.ordered(who, writer, Clock::relayed);
  if (by_reader && op && past_.landed_on_mbarrier(past_.records.of(writer)) >> Records::lane_of(writer) & 1)
    return;
  tell(who, writer, by_reader, address, space);
}

void ProxyRule::tell(const Accessor& who, Tag writer, bool by_reader, uint64_t address, Space space) {
  const int32_t source = past_.records.of(writer).source;
  if (!tell_.wanted(4u | static_cast<uint32_t>(by_reader), source)) return;
  Finding f(by_reader ? Id::proxy_fence_by_reader : Id::missing_proxy_fence);
  f.state = tell_.place(space, address) + ": written by " + tell_.describe(writer);
  if (by_reader) {
    const bool copy = past_.operation(writer) != nullptr;
    f.title = "the proxy fence is executed by another thread than the one that wrote";
    f.why = text(
        "PTX asks for the fence in the thread that made the generic access",
        copy ? ", here behind its wait for the copy," : ",",
        " before it hands over; a fence behind the barrier in the reading thread is common and works on today's "
        "hardware.");
    f.hint =
        copy
            ? "move fence.proxy.async between the wait for the copies and the barrier: each thread fences for its own"
            : "move fence.proxy.async before the barrier, into the writing threads";
    if (who.self->proxy_fence_source >= 0) {  // the line that is wrong
      f.other_line = tell_.line(source);
      f.related.push_back({"reads", tell_.line(*who.inst)});
      return tell_.tell_at(std::move(f), who.self->proxy_fence_source, who.cta(), who.warp().index,
                           text(who.cta().text(), " warp ", who.warp().index));
    }
  } else {
    f.title = text(who.op->words(),
                   " reads what threads wrote through the generic proxy, with no proxy fence between");
    f.why =
        "Ordinary stores (and cp.async) go through the generic proxy, the copy engine and wgmma read through the "
        "async proxy; a barrier orders threads, not proxies.";
    f.hint =
        "execute fence.proxy.async (.shared::cta) in every writing thread after its last write, before the "
        "barrier";
    explain_fences(writer, f);
  }
  tell_.tell(std::move(f), who, source);
}

// There are proxy fences: too early in the thread that wrote, or in others only.
void ProxyRule::explain_fences(Tag writer, Finding& f) const {
  const Record& r = past_.records.of(writer);
  const ClusterOrder* cluster = past_.order().find(r.cluster);
  if (!cluster) return;
  const auto& warps = cluster->ctas[r.rank].warps;
  const WarpOrder& own = warps[r.warp];
  const bool copy = past_.operation(writer) != nullptr;
  if (own.lanes[static_cast<size_t>(Records::lane_of(writer))].memory_fence)
    f.why += " A memory fence (__threadfence) orders what threads see of each other; it is no proxy fence.";
  if (own.fence_epoch[static_cast<size_t>(Records::lane_of(writer))] > 0) {
    const SourceLine line = tell_.line(own.proxy_fence_source);
    f.title += text(": the fence of ", line.brief(),
                    copy ? " comes before its wait for the copy" : " comes before the write");
    f.related.push_back({"the fence", line});
    return;
  }
  for (const WarpOrder& w : warps)
    if (w.proxy_fence_source >= 0) {
      const SourceLine line = tell_.line(w.proxy_fence_source);
      f.title += text(": the thread that wrote does not execute that of ", line.brief());
      f.related.push_back({"the fence", line});
      return;
    }
}

}  // namespace emu::check
