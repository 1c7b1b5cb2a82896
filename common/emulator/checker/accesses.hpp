// Every access against the last write and the reads since, byte by byte.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "emulator/checker/cluster_memory.hpp"
#include "emulator/checker/conflicts.hpp"
#include "emulator/checker/global_readers.hpp"
#include "emulator/checker/grid_seam.hpp"
#include "emulator/checker/proxies.hpp"

namespace emu::check {

class AccessRule {
 public:
  AccessRule(Past& past, Mbarriers& mbarriers, Conflicts& conflicts, ProxyRule& proxies, ClusterRule& cluster,
             GridSeamRule& seam, Unwritten& unwritten, Teller& tell)
      : past_(past),
        mbarriers_(mbarriers),
        conflicts_(conflicts),
        proxies_(proxies),
        cluster_(cluster),
        seam_(seam),
        unwritten_(unwritten),
        tell_(tell),
        readers_(past, conflicts) {}

  void clear();
  void cta_started(const Cta& cta);
  void cta_ended(const Cta& cta);

  GlobalShadow& global() { return readers_.shadow(); }
  // Who wrote that byte of a CTA's shared memory last; 0: nobody, or there is no such byte.
  Tag writer(const Cta& cta, uint64_t address);

  // An access of a warp's threads, or of an engine, begins: what was found out for the one before is not its own.
  void start();
  // strong: the record of a strong access, which races with ordinary ones only; 0: it is ordinary.
  void access(const Accessor& warp, const AccessEvent& e, uint32_t strong = 0);
  // Made before its release, which covers it.
  uint32_t strong_record(const Accessor& warp, const AccessEvent& e) {
    return thread_record(warp, e.kind != AccessKind::read, Form::strong);
  }
  void check_range(const Accessor& who, const MemoryRange& range, Tag me, bool write);
  void check_sources(const Accessor& who, const std::vector<MemoryRange>& ranges,
                     Tag me);  // reads of an engine
  void arrives(const Warp& w, const Inst& in, uint32_t mask, uint32_t barrier, uint64_t generation);
  void leaves(const Warp& w, uint32_t mask, uint32_t barrier, uint64_t generation);
  void allocated(uint64_t address, uint64_t bytes) { readers_.forget(address, bytes); }

  // ---- what nobody can ask about any more (collect.cpp)
  template <class F>
  void replace_tags(F f) {  // every tag t that is not 0 by f(t)
    for (auto& [cta, shadow] : shared_) shadow->replace(f);
    global().each([&](std::vector<Tag>& tags) { check::replace_tags(tags, f); });
  }
  void forget_records();
  size_t shadow_bytes();

 private:
  Past& past_;
  Mbarriers& mbarriers_;
  Conflicts& conflicts_;
  ProxyRule& proxies_;
  ClusterRule& cluster_;
  GridSeamRule& seam_;
  Unwritten& unwritten_;
  Teller& tell_;
  GlobalReaders readers_;

  std::map<const Cta*, std::unique_ptr<Shadow>> shared_;
  const Cta* last_cta_ = nullptr;
  Shadow* last_shadow_ = nullptr;
  Shadow* shadow_of(const Cta& cta);

  // Tags that the accessor at hand has been found to be ordered after: neighbouring bytes mostly share theirs.
  Tag good_write_ = 0, good_read_ = 0, good_writer_ = 0, good_readers_ = 0;
  Tag combined_from_ = 0, combined_to_ = 0;
  uint32_t good_record_ = 0,
           good_lanes_ = 0;  // of the latest record of threads, the lanes that all is well with

  // The latest records of a warp's threads, for reuse.
  struct LastRecord {
    int32_t source = -1;
    uint32_t record = 0, block = 0;
  };
  struct WarpRecords {
    uint64_t steps = 0;     // of the warp, when its epochs were kept
    uint32_t block = 0;     // where
    LastRecord last[2][3];  // by write and form
    // These lanes are ordered after all that threads of the CTA did to its memory up to this record; and so is who comes later.
    uint32_t settled = 1, settled_lanes = ~0u;
  };
  PerWarp<WarpRecords> written_by_;

  struct Barrier {
    uint64_t generation = 0, complete = 0;  // complete: the latest at which all threads of the CTA have met
    std::vector<uint32_t> lanes;            // that have arrived, by warp
    size_t warps_missing = 0;
    uint32_t records_before = 0;  // it was complete
  };
  std::map<const Cta*, std::array<Barrier, 16>> barriers_;
  enum class Form : uint8_t { first, again, strong };
  uint32_t thread_record(const Accessor& who, bool write, Form form);

  // What the accessor has to do with the record of a tag; kept while neighbouring lanes meet the same record.
  struct SeenRecord {
    uint32_t record = 0;
    uint32_t plain = 0;     // lanes whose access all lanes of the instruction are ordered after
    uint32_t again = 0;     // mine: lanes that have released since
    bool mine = false;      // of the warp itself
    bool strong = false;    // an atomic or the like
    bool complete = false;  // of threads of the CTA, where `plain` and `mine` say all there is to say
    bool ordered(Tag tag, int lane) const {
      return plain >> Records::lane_of(tag) & 1 || (mine && Records::lane_of(tag) == lane);
    }
  };
  const SeenRecord& look(const Accessor& who, SeenRecord& seen, Tag tag) {
    return tag >> 5 == seen.record ? seen : look_up(who, seen, tag);
  }
  const SeenRecord& look_up(const Accessor& who, SeenRecord& seen, Tag tag);
  struct LaneTags;

  enum class Usual : uint8_t { no, yes, joins };
  Usual usual_access(const Accessor& who, const AccessEvent& e, Shadow& shadow, SeenRecord (&seen)[2],
                     LaneTags& tags, bool* again);
  bool quick_access(const Accessor& who, const AccessEvent& e, Shadow& shadow, LaneTags& tags);
  struct GlobalPage {
    uint64_t number = UINT64_MAX;
    Writers* written = nullptr;
    Readers* read = nullptr;
  };
  bool quick_row(const AccessEvent& e, LaneTags& tags);
  bool quick_global(const Accessor& who, const AccessEvent& e, int lane, Tag me, GlobalPage& page);
  std::optional<bool> quick_words(const Accessor& who, const AccessEvent& e, Shadow& shadow, LaneTags& tags,
                                  Tag settled);
  bool joins_readers(const Accessor& who, Tag readers);
  bool among_readers(const AccessEvent& e, Tag readers, uint32_t record) const;
  template <class F>
  void join_lanes(const AccessEvent& e, Shadow& shadow, uint32_t record, uint32_t lanes, F before);
  void expand(Shadow& shadow, uint64_t address, size_t count);
  // `count` tags from `write` and `read` on, each for 1 << shift bytes.
  void check_read(const Accessor& who, Tag* write, Tag* read, size_t count, unsigned shift, Tag me,
                  uint64_t address, Space space);
  void explain_hole(const Accessor& who, uint64_t address, uint32_t begin, uint32_t bytes, Finding& f);
  void explain_unwritten(const Accessor& who, uint64_t address, Finding& f);
  void check_written(const Accessor& who, const Tag* write, size_t count, unsigned shift, uint64_t address,
                     Space space);
  void check_writer(const Accessor& who, Tag writer, uint64_t address, Space space);
  void join_readers(const Accessor& who, Tag* read, size_t count, Tag me);
  void check_write(const Accessor& who, Tag* write, Tag* read, size_t count, unsigned shift, Tag me,
                   uint64_t address, Space space);
  Tag over_writer(const Accessor& who, Tag writer, Tag me, uint64_t address, size_t bytes, Space space);
  bool same_store(const Accessor& who, Tag writers) const;
  Tag with_reader(const Accessor& who, Tag readers, Tag me);

  // ---- ordinary accesses and strong ones (atomic, volatile, relaxed), which do not race with each other
  bool strong_ = false;                 // the access at hand
  const MemoryRange* range_ = nullptr;  // that it is looking at
  bool is_strong(Tag single) const { return past_.records.of(single).strong; }
  bool any_strong(Tag writers) const {
    bool any = false;
    past_.records.each(writers, [&](Tag t) { any = any || is_strong(t); });
    return any;
  }
  Tag with_own_store(const Accessor& who, Tag writers, Tag me);
  Tag rival(const Accessor& who, Tag tag) const;
  bool seen_by(const Accessor& who, uint64_t address);

  // The conflict, with what is behind it where a wgmma reads. held: who has written the bytes before.
  void meet(Conflict c, Tag held);
  bool same_line(Tag a, int32_t source) const;

  // ---- one statement that several warps store to one place with: do they store the same value?
  struct SamePlace {
    Accessor who;
    Tag prior = 0;
    uint64_t address = 0;
    Space space = Space::shared;
    const std::byte* at = nullptr;
    size_t bytes = 0;
    std::array<std::byte, 32> before;  // what is there
  };
  std::vector<SamePlace> same_place_;  // by the access before this one
  bool same_statement(Tag writer, Tag me) const;
  void note_same_place(const Accessor& who, Tag prior, uint64_t address, Space space, size_t bytes);
  void tell_same_place();
  Tag with_reduction(const Accessor& who, Tag writers, Tag me, uint64_t address, Space space);
};

}  // namespace emu::check
