#include "emulator/checker/proxies.hpp"

namespace emu::check {

void ProxyRule::check(const Accessor& who, Tag writer, uint64_t address, Space space) {
  if (!who.async_proxy()) return;
  const bool threads = past_.records.of(writer).kind == Record::Kind::threads;
  const Operation* op = past_.operation(writer);
  if (!threads && !(op && op->kind == AsyncOp::Kind::cp_async)) return;
  if (past_.ordered(who, writer, Clock::fenced)) return;
  const bool by_reader = past_.ordered(who, writer, Clock::relayed);
  // A copy that completed on an mbarrier has no thread that could fence for it: its reader does.
  if (!by_reader || threads) tell(who, writer, by_reader, address, space);
}

void ProxyRule::tell(const Accessor& who, Tag writer, bool by_reader, uint64_t address, Space space) {
  const int32_t source = past_.records.of(writer).source;
  if (!tell_.wanted(4u | static_cast<uint32_t>(by_reader), source)) return;
  Finding f(by_reader ? Id::proxy_fence_by_reader : Id::missing_proxy_fence);
  f.state = tell_.place(space, address) + ": written by " + tell_.describe(writer);
  if (by_reader) {
    f.title = "the proxy fence is executed by another thread than the one that wrote";
    f.why =
        "PTX asks for the fence in the thread that made the generic access, before it hands over; a fence behind "
        "the barrier in the reading thread is common and works on today's hardware.";
    f.hint = "move fence.proxy.async before the barrier, into the writing threads";
  } else {
    f.title = text(who.op->words(),
                   " reads what threads wrote through the generic proxy, with no proxy fence between");
    f.why =
        "Ordinary stores (and cp.async) go through the generic proxy, the copy engine and wgmma read through the "
        "async proxy; a barrier orders threads, not proxies.";
    f.hint =
        "execute fence.proxy.async (.shared::cta) in every writing thread after its last write, before the "
        "barrier";
  }
  tell_.tell(std::move(f), who, source);
}

}  // namespace emu::check
