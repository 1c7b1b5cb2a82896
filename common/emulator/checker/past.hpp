// The accesses that are remembered, and whether somebody is ordered after them.
#pragma once

#include "emulator/checker/operations.hpp"
#include "emulator/checker/ordering.hpp"
#include "emulator/checker/per_warp.hpp"
#include "emulator/checker/shadow.hpp"

namespace emu::check {

// Who is making an access that is being checked.
struct Accessor {
  WarpOrder* self = nullptr;
  const Inst* inst = nullptr;
  uint32_t lanes = 0;             // all of them must be ordered
  uint32_t group = 0;             // the lanes that make like accesses with the same instruction
  const Operation* op = nullptr;  // when an engine acts for them

  Warp& warp() const { return *self->warp; }
  Cta& cta() const { return self->warp->cta; }
  ClusterOrder& cluster() const { return *self->cluster; }
  int lane() const { return __builtin_ctz(lanes); }
  bool async_proxy() const { return op && op->kind != AsyncOp::Kind::cp_async; }
  Accessor whole_group() const {
    Accessor all = *this;
    all.lanes = group;
    return all;
  }
};

class Past {
 public:
  explicit Past(const Ordering& order) : order_(order) {}
  Records records;
  Operations operations;

  void clear() {
    records.clear();
    operations.clear();
    known_.clear();
  }
  const Ordering& order() const { return order_; }
  // The operation that a tag stands for; null: threads.
  const Operation* operation(Tag tag) const {
    const Record& r = records.of(tag);
    return r.kind == Record::Kind::op ? &operations[r.detail] : nullptr;
  }

  // Whether a clock of that cluster holds what it takes to be ordered after a single access.
  bool known(const Clock& clock, uint32_t cluster, uint32_t threads_per_cta, Tag single,
             Clock::Kind kind) const;
  // All lanes of the accessor are ordered after all accesses of the tag.
  bool ordered(const Accessor& who, Tag tag, Clock::Kind kind = Clock::order) const;
  // The first access of the tag that not all lanes of the accessor are ordered after; 0 when there is none.
  Tag first_unordered(const Accessor& who, Tag tag) const;
  // The accessor is ordered after another lane that has executed the same instruction as the tag's thread, and is no thread of
  // that warp itself: that lane has spoken for its warp.
  bool spoken_for(const Accessor& who, Tag single) const;
  // Of a tag's record, the lanes whose access all lanes of the instruction are ordered after, if they are of this CTA and
  // there is nothing else to be said about it. fenced: and it is behind a proxy fence. For the others: look closer.
  uint32_t plain_lanes(const Accessor& who, Tag tag, bool fenced);
  // Of a cp.async's record, the lanes whose copy has landed on an mbarrier: there the hardware arrives, and no thread that could
  // execute a proxy fence before it. So its reader may; for a copy that was waited for by group it may not.
  uint32_t landed_on_mbarrier(const Record& r) const;
  // ordered(), remembering the last tag for which it held for all lanes of the instruction.
  bool settled(const Accessor& who, Tag tag, Tag* memo);
  // Whoever is ordered after the operation `later` is ordered after `earlier`: they count on one component.
  bool implied(Tag earlier, Tag later) const;
  // Whether the accesses of a record were made by the accessor's warp.
  static bool of_warp(const Record& r, const Accessor& who) {
    return r.warp == who.warp().index && r.rank == who.cta().cluster_rank && r.cluster == who.cluster().index;
  }
  // Reductions of the copy engine are relaxed atomics (PTX ISA 9.7.9.25.5.1): they need no order among themselves.
  bool reduces(Tag single) const;

  void forget(const Cta& cta) { known_.forget(cta); }
  void forget_answers() { known_.clear(); }  // records have got other numbers

 private:
  // Which lanes of a threads' record the lanes `group` are ordered after (or, fenced, of which also behind a proxy
  // fence). What is known stays known; what is not is looked at again when `changes` has moved on.
  struct KnownRecord {
    uint32_t record = 0, group = 0, lanes = 0;
    bool fenced = false;
    uint64_t changes = 0;
  };
  PerWarp<std::array<KnownRecord, 512>> known_;
  const Ordering& order_;

  bool own(const Accessor& who, int lane, Tag single, Clock::Kind kind) const;
};

}  // namespace emu::check
