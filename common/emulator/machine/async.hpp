// Asynchronous operations: what a thread starts and the hardware finishes later (cp.async, bulk and tensor copies,
// wgmma). PTX ISA 9.7.9.25, 9.7.9.27, 9.7.15; when they may happen: 8.9.1.1.
//
// An operation goes through four states. The schedule decides when each step is taken; between two operations there
// is no order except what may_start() says.
//   issued   -> read():     the source bytes are taken
//   read     -> write():    the destination bytes change
//   landed   -> complete(): its mbarrier is told; its group may be finished
//   complete
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/machine/observer.hpp"
#include "emulator/machine/swizzle.hpp"
#include "emulator/ptx/types.hpp"

namespace emu {

class AsyncEngine;
struct TensorMap;

struct MemoryRange {
  Space space = Space::global;  // global or shared
  Cta* owner = nullptr;         // shared: whose window
  uint64_t address = 0;         // device address, or address in the owner's window
  uint64_t bytes = 0;
};

struct AsyncOp {
  enum class Kind : uint8_t {
    cp_async,         // global -> shared, generic proxy, the lanes of one instruction together
    cp_async_arrive,  // the deferred arrive of cp.async.mbarrier.arrive: moves nothing
    bulk_load,        // global -> shared
    bulk_shared,      // shared -> shared of another CTA, also with a reduction
    bulk_store,       // shared -> global
    bulk_reduce,      // shared -> global, combined with what is there
    tensor_load,
    tensor_store,
    tensor_reduce,
    wgmma,
    st_async,  // st.async, red.async: registers -> shared
  };
  enum class State : uint8_t { issued, read, landed, complete };

  AsyncOp() = default;
  AsyncOp(const AsyncOp&) = delete;
  virtual ~AsyncOp() = default;

  Kind kind = Kind::cp_async;
  State state = State::issued;
  Swizzle swizzle = Swizzle::none;  // tensor copies: the pattern in shared memory
  const TensorMap* map = nullptr;   // tensor copies: the map, and the coordinates at which the box starts
  int32_t start[5] = {};
  uint16_t offset[3] = {};  // in im2col mode: of dimension i + 1, added to them
  bool grouped = false;     // completes in an async-group of its issuing threads
  GroupKind group = GroupKind::bulk;
  Warp* warp = nullptr;        // whose threads issued it
  const Inst* inst = nullptr;  // and where
  uint32_t lanes = 0;
  uint64_t bytes = 0;   // that the instruction moves, all lanes together; of a tensor copy, the whole box
  uint64_t number = 0;  // issue order in the machine, from 1
  Mbarrier* barrier = nullptr;  // whose tx-count or arrivals it completes on; the first one of a multicast
  // For the checker's own use; survives from on_async_issue to on_async_complete.
  uint64_t observer_data = 0;

  // The async proxy, as opposed to the generic one (PTX ISA 9.7.9.25.2).
  bool async_proxy() const { return kind != Kind::cp_async && kind != Kind::cp_async_arrive; }

  // Combines its bytes with those of the destination: relaxed atomics, which need no order among themselves.
  virtual bool reduces() const { return kind == Kind::bulk_reduce || kind == Kind::tensor_reduce; }

  // Bytes it reads and writes, appended to `out`. Rows of a box that are contiguous in memory are one range; a
  // swizzled range names whole 16-byte chunks where they lie.
  virtual void sources(std::vector<MemoryRange>& out) const = 0;
  virtual void destinations(std::vector<MemoryRange>& out) const = 0;

  // ---- steps, called by the engine
  virtual bool may_start() const { return true; }  // false while an earlier operation has to finish first
  virtual void read() = 0;
  virtual void write() = 0;
  virtual void complete() = 0;
  // True while the operation needs the CTA's memory or barriers (its issuer needs none of it any more).
  virtual bool touches(const Cta& cta) const = 0;

 private:
  friend class AsyncEngine;
  friend class CopyGroups;
  size_t pool = 0;          // where the engine keeps it for reuse
  uint32_t open_lanes = 0;  // lanes that have not committed it yet
  uint32_t group_of[32];    // per lane: number of the group it was committed to
};

// The async-groups of one kind, of the threads of one warp (PTX ISA 9.7.9.27.2). Every thread counts its own groups.
class CopyGroups {
 public:
  void join(AsyncOp& op);      // issued by op.lanes, not yet committed
  void leave(AsyncOp& op);     // it is complete
  void commit(uint32_t mask);  // closes a group in each of these lanes; an empty group counts
  // For each lane of the mask, all its groups but the `newest` last ones are complete (read_only: have read their
  // sources). Uncommitted operations do not matter.
  bool done(uint32_t mask, uint32_t newest, bool read_only) const;
  // An operation of these lanes with a number below `before` is unfinished, committed or not.
  bool unfinished(uint32_t mask, uint64_t before) const;
  // Operations of these lanes that keep done() from being true, for a report.
  uint32_t blocking(uint32_t mask, uint32_t newest, bool read_only) const;

 private:
  std::vector<AsyncOp*> ops_;    // unfinished, in issue order
  uint32_t committed_[32] = {};  // groups closed so far, per lane
};

// All operations in flight, and the schedule's hand on them.
class AsyncEngine {
 public:
  explicit AsyncEngine(Machine& machine);

  // An operation object to fill in; kept for reuse after it completes.
  template <class T>
  T& take() {
    const size_t slot = pool_slot<T>();
    if (pools_.size() <= slot) pools_.resize(slot + 1);
    if (pools_[slot].empty()) {
      owned_.push_back(std::make_unique<T>());
      pools_[slot].push_back(owned_.back().get());
    }
    T* op = static_cast<T*>(pools_[slot].back());
    pools_[slot].pop_back();
    prepare(*op, slot);
    return *op;
  }
  // Starts it: warp, inst, lanes, kind and, for group completion, grouped and group must be set.
  void issue(AsyncOp& op);

  // ---- for the scheduler
  // Takes the steps the schedule wants now; true when something happened. quiescent: no warp can run, so that
  // something must happen if anything is in flight.
  //   in-order: everything in flight completes, oldest first.
  //   late:     nothing until quiescent, then one step of the oldest operation.
  //   random:   a seeded choice of operations and steps, possibly none; at least one when quiescent.
  //   timed:    what the timekeeper does next, when quiescent; else it calls advance() and complete() by itself.
  bool step(bool quiescent);
  void advance(AsyncOp& op);   // one state
  void complete(AsyncOp& op);  // all that remain
  bool idle() const { return pending_.empty(); }
  void drain();  // at the end of a launch: everything completes
  // True while an operation in flight needs the CTA: it must not be destroyed, though all its threads have exited.
  bool holds(const Cta& cta) const;
  // Forgets the async-groups of a CTA that is about to be destroyed.
  void cta_ended(Cta& cta);
  void abandon();  // after a fault: drops everything in flight

  CopyGroups& groups(Warp& warp, GroupKind kind);
  // The last time a group of the warp asked a barrier about a phase and was told that it is incomplete.
  struct Poll {
    const Inst* inst = nullptr;
    uint32_t mask = 0;
    uint64_t effects = 0;
    const Mbarrier* bar = nullptr;
    uint64_t phase = 0;
  };
  Poll& last_poll(Warp& warp);
  const std::vector<AsyncOp*>& pending() const { return pending_; }  // in issue order

 private:
  struct WarpGroups {
    CopyGroups kind[3];
    Poll poll;
  };
  Machine& machine_;
  std::vector<AsyncOp*> pending_;                                        // some of them complete, never all
  size_t finished_ = 0;                                                  // of these, by complete()
  std::vector<std::unique_ptr<AsyncOp>> owned_;                          // every operation object there is
  std::vector<std::vector<AsyncOp*>> pools_;                             // those free for reuse, by class
  std::unordered_map<const Warp*, std::unique_ptr<WarpGroups>> groups_;  // looked up, never walked
  const Warp* last_warp_ = nullptr;
  WarpGroups* last_groups_ = nullptr;
  uint64_t issued_ = 0;

  WarpGroups& of(Warp& warp);
  static size_t next_pool_slot();
  template <class T>
  static size_t pool_slot() {
    static const size_t slot = next_pool_slot();
    return slot;
  }
  static void prepare(AsyncOp& op, size_t slot);
  void finish(AsyncOp& op);   // all remaining states
  void retire(size_t index);  // a complete operation leaves pending_
  void recycle(AsyncOp& op);
  bool step_in_order();
  bool step_late();
  bool step_random(bool quiescent);
};

}  // namespace emu
