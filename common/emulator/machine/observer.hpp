// What watches an emulated kernel: statistics, the checker, a timeline. Observers see events and change nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/ptx/types.hpp"

namespace emu {

class Warp;
struct Group;
struct Turn;
struct Cta;
struct Inst;
struct At;
struct Mbarrier;
struct AsyncOp;
class Machine;
struct Program;
struct LaunchConfig;
struct Finding;

// Lanes that can never go on, when a launch has come to a deadlock, and what they wait for.
struct StuckGroup {
  Warp* warp;
  const Group* group;
  std::string what;
};

enum class AccessKind : uint8_t { read, write, atomic };

// A generic-proxy access of a warp instruction (ld, st, atom, red, ldmatrix, stmatrix).
struct AccessEvent {
  AccessKind kind;
  Space space;            // Space::global or Space::shared
  uint32_t mask;          // lanes
  const uint64_t* addr;   // [32]: device address, or address in the owner's shared window
  Cta* const* owner;      // [32] for shared: whose window; null: the executing CTA's
  uint32_t bytes;         // per lane
  bool acquire, release;  // from ld.acquire, st.release, atom.acq_rel ...
  bool strong;            // relaxed or stronger, volatile, or atomic: no data race with another strong access
};

enum class FenceKind : uint8_t {
  proxy_async,         // fence.proxy.async, all spaces
  proxy_async_shared,  // .shared::cta / .shared::cluster
  proxy_async_global,
  mbarrier_init,  // fence.mbarrier_init.release.cluster
  tensormap_release,
  tensormap_acquire,
  proxy_alias,
  wgmma,   // wgmma.fence
  memory,  // fence.acq_rel/sc, membar
};

enum class GroupKind : uint8_t { cp_async, bulk, wgmma };

enum class MbarrierOp : uint8_t { init, inval, arrive, arrive_drop, expect_tx, complete_tx, cp_async_arrive };

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_launch(Machine&, const Program&, const LaunchConfig&) {}
  virtual void on_launch_end(Machine&) {}
  virtual void on_fault(Machine&, const Finding&) {}  // the launch ends with it; there is no on_launch_end
  virtual void on_finding(const Finding&) {}          // an observer has found something for the first time
  // The launch is about to end with this finding; who knows more of its cause may say so in it. Nobody can go on any more;
  // or a lane's arrival on an mbarrier cannot be.
  virtual void on_deadlock(const std::vector<StuckGroup>&, Finding&) {}
  virtual void on_mbarrier_fault(const At&, const Mbarrier&, Finding&) {}
  virtual void on_cta_start(Cta&) {}
  virtual void on_cta_end(Cta&) {}
  virtual void on_exit(Warp&, const Inst&, uint32_t /*mask*/) {}

  virtual void on_access(Warp&, const Inst&, const AccessEvent&) {}
  // A thread has got these bytes of global memory from malloc().
  virtual void on_malloc(Warp&, uint64_t /*address*/, uint64_t /*bytes*/) {}
  virtual void on_fence(Warp&, const Inst&, uint32_t /*mask*/, FenceKind, bool /*cluster_or_wider*/) {}
  // Before an instruction of a warp to whose `watchers` the observer has added itself.
  virtual void on_instruction(Warp&, const Inst&) {}
  // A warp has had its turn.
  virtual void on_turn(Warp&, const Turn&) {}
  // Lanes begin to wait at the group's instruction, as group.wait says; and they go on behind it.
  virtual void on_wait(Warp&, const Group&) {}
  virtual void on_wait_end(Warp&, const Group&) {}
  // setmaxnreg: the threads of the warp have so many registers from now on.
  virtual void on_registers(Warp&, const Inst&, unsigned /*registers*/, unsigned /*before*/) {}
  // Lanes that met at a warp-level instruction (bar.warp.sync, shfl.sync, vote.sync, match.sync, elect.sync ...).
  virtual void on_warp_sync(Warp&, const Inst&, uint32_t /*mask*/) {}
  // bar/barrier. arrive: the lanes' earlier accesses are in; leave: the lanes go on after completion `generation`.
  // release: false for barrier.cluster.arrive.relaxed, which hands on only what a fence before it covers.
  virtual void on_bar_arrive(Warp&, const Inst&, uint32_t /*mask*/, uint32_t /*barrier*/,
                             uint64_t /*generation*/, bool /*release*/) {}
  virtual void on_bar_leave(Warp&, const Inst&, uint32_t /*mask*/, uint32_t /*barrier*/,
                            uint64_t /*generation*/) {}

  // One lane's operation on a barrier object, before it takes effect; `amount`: arrivals or bytes. from_async: the
  // operation is an engine's (complete_tx of a copy, arrive of cp.async.mbarrier.arrive): `warp` is the issuer's.
  virtual void on_mbarrier(const At&, Mbarrier&, MbarrierOp, int64_t /*amount*/, bool /*release*/) {}
  // A test_wait or try_wait by lanes of one group on one barrier, with its result. acquire: ordering asked for.
  virtual void on_mbarrier_wait(Warp&, const Inst&, uint32_t /*mask*/, Mbarrier&,
                                uint64_t /*phase asked for*/, bool /*result*/, bool /*acquire*/) {}
  // The operation that on_mbarrier told of has completed a phase; the barrier is in the next one.
  virtual void on_mbarrier_phase(Warp&, const Inst&, Mbarrier&) {}

  virtual void on_async_issue(AsyncOp&) {}
  virtual void on_async_read(AsyncOp&) {}      // source bytes are about to be read
  virtual void on_async_write(AsyncOp&) {}     // destination bytes are about to be written
  virtual void on_async_complete(AsyncOp&) {}  // before its mbarrier or group is told
  virtual void on_commit(Warp&, const Inst&, uint32_t /*mask*/, GroupKind) {}
  // The lanes go on after waiting until at most n groups are pending; read: only the sources were waited for.
  virtual void on_group_wait(Warp&, const Inst&, uint32_t /*mask*/, GroupKind, uint32_t /*n*/,
                             bool /*read*/) {}
  // A tensor copy, or its prefetch, is about to be issued by this lane, with a map in global memory that kernels can
  // write.
  virtual void on_map_use(const At&, uint64_t /*address*/) {}
  // griddepcontrol.wait, or .launch_dependents.
  virtual void on_grid_dependency(Warp&, const Inst&, uint32_t /*mask*/, bool /*wait*/) {}

  // Where a grid runs on several cores: who hears of the CTAs of another one. Null: all events must come here, in one order.
  // join(): what that one has heard of counts here.
  virtual std::unique_ptr<Observer> beside() { return nullptr; }
  virtual void join(Observer& /*beside*/) {}
};

// Those who watch, told one after the other in the order in which they were added.
class Observers {
 public:
  void add(Observer& observer) {
    if (std::find(list_.begin(), list_.end(), &observer) == list_.end()) list_.push_back(&observer);
  }
  void remove(Observer& observer) {
    list_.erase(std::remove(list_.begin(), list_.end(), &observer), list_.end());
  }
  bool empty() const { return list_.empty(); }
  const std::vector<Observer*>& list() const { return list_; }
  // tell(&Observer::on_exit, warp, inst, mask)
  template <class Event, class... Facts>
  void tell(Event event, Facts&&... facts) const {
    for (Observer* observer : list_) (observer->*event)(facts...);
  }

 private:
  std::vector<Observer*> list_;
};

}  // namespace emu
