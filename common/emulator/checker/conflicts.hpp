// Two accesses to one byte, at least one of them a write, that nothing orders: which rule was broken, and by whom. First the
// cause (conflicts.cpp), then its words (conflict_words.cpp).
#pragma once

#include <map>

#include "emulator/checker/mbarriers.hpp"
#include "emulator/checker/unwritten.hpp"

namespace emu::check {

struct Conflict {
  const Accessor& who;  // makes the later access
  bool write = false;
  Tag prior = 0;  // the earlier one
  bool prior_is_write = false;
  uint64_t address = 0;
  Space space = Space::shared;
  bool strong = false;          // the later one is an atomic, volatile or relaxed access
  bool reset = false;           // it is an ordinary write, to what strong ones have written
  bool same_statement = false;  // both are stores by one line of the program
  bool equal_values = false;    // of the same value
  // A wgmma reads the bytes as a part of this operand, and yet the tile where that starts was written by another line.
  const char* operand = nullptr;
  uint64_t tile = 0;
  Tag tile_writer = 0;
};

struct Cause {
  enum class Kind : uint8_t {
    copy_not_waited_for,  // the earlier one is a cp.async
    load_not_waited_for,  // a tile is read while its copy may be in flight
    load_unannounced,     // its phase completed without its bytes
    wrong_parity,         // the wait asked about the phase before
    load_over_load,       // a copy onto a stage whose last copy may be in flight
    global_overwritten,   // global memory, while it may still be read
    source_reused,        // the source of a bulk store
    read_ahead,           // a tile was read before its copy was issued
    overtaken,            // the reader's stage was refilled before it had read it
    stage_overwritten,    // a copy onto a stage that may still be read
    not_stored,           // global memory, while a bulk store to it may be in flight
    operand_overwritten,  // by a thread, while a wgmma may be reading it
    race_with_engine,
    mixed,       // one of the two is an atomic, volatile or relaxed access
    same_place,  // one statement stores to it in several warps
    race,
  };
  Kind kind = Kind::race;
  const MbarrierState* bar = nullptr;  // load_*, wrong_parity: the copy's
  uint64_t needed = 0;                 // phases that must be complete
  const LastWait* wait = nullptr;      // wrong_parity
  bool by_earlier = false;             // the earlier access is the one at fault: wrong_parity, read_ahead
};

class Conflicts {
 public:
  Conflicts(Past& past, Mbarriers& mbarriers, const BarrierHistory& history, Unwritten& unwritten,
            Teller& tell)
      : past_(past), mbarriers_(mbarriers), history_(history), unwritten_(unwritten), tell_(tell) {}
  void meet(const Conflict& c);
  void begin() { looks_.clear(); }
  // An atomic or the like of that warp: what it has only looked at before, it has not relied on.
  void strong_write(const Accessor& who, const AccessEvent& e);
  void end();  // of the launch

 private:
  Past& past_;
  Mbarriers& mbarriers_;
  const BarrierHistory& history_;
  Unwritten& unwritten_;
  Teller& tell_;

  // Ordinary loads of words that others change with atomics, by line: the first, until an atomic of its warp on the same word
  // follows. Compare-and-swap loops begin so, and so do those who spare themselves an atomic.
  struct Look {
    Finding finding;
    uint32_t cluster = 0;
    uint16_t rank = 0, warp = 0;
    uint64_t address = 0;
  };
  std::map<int32_t, Look> looks_;
  void keep_look(const Conflict& c);

  Cause classify(const Conflict& c);
  Cause of_load(const Conflict& c, const Operation& before);
  Cause of_refill(const Conflict& c);
  Cause of_cp_async(const Conflict& c);

  // ---- what stands behind it (conflict_causes.cpp)
  WarpOrder* earlier_warp(const Conflict& c) const;
  bool group_story(const Conflict& c, GroupStory* story, std::string* family) const;
  bool has_met(const Conflict& c, const WarpOrder& earlier, const Operation& before) const;
  bool explain_group(const Conflict& c, Finding& f) const;
  bool explain_arrivals(const Conflict& c, Finding& f) const;
  void other_cta_story(const Conflict& c, Finding& f) const;
  bool explain_other_stage(const Conflict& c, const Operation& product, Finding& f) const;
  bool explain_lanes(const Conflict& c, Finding& f) const;
  bool explain_same_place(const Conflict& c, Finding& f) const;
  bool explain_refusal(const Warp& reader, Finding& f) const;
  // A copy onto a stage that may still be read: who copies, who reads, and the wait in front of the copy; no bar: none.
  struct Refill {
    const Warp& issuer;
    const Warp& reader;
    LatestWait wait;
  };
  void explain_refill(const Refill& refill, Finding& f) const;
  bool add_hand_back(const Refill& refill, Finding& f) const;
  void explain_unguarded(const Refill& refill, Finding& f) const;
  LatestWait wait_before(const Operation& copy, const Warp& issuer) const;
  std::string idle_barriers(const Cta& cta) const;
  bool fence_is_missing(const Conflict& c) const;
  void fence_story(const Conflict& c, Finding& f) const;

  void tell(const Conflict& c, const Cause& cause);
  Finding words(const Conflict& c, const Cause& cause);
  Finding copy_not_waited_for(const Conflict& c);
  Finding stage_overwritten(const Conflict& c);
  Finding overtaken(const Conflict& c);
  Finding load_not_waited_for(const Conflict& c, const Cause& cause);
  void explain_source(const Conflict& c, Finding& f) const;
  Finding loaded_twice(const Conflict& c);
  Finding stored_twice(const Conflict& c);
  std::string names_of_store(const Operation& op) const;
  std::string names_of_warp(const Conflict& c) const;
  Finding global_overwritten(const Conflict& c);
  Finding read_ahead(const Conflict& c);
  Finding race_with_engine(const Conflict& c);
  Finding mixed(const Conflict& c);
  Finding mixed_words(const Conflict& c);
  Finding same_place(const Conflict& c);
  void past_its_tile(const Conflict& c, Finding& f) const;
  bool told_by_another_lane(const Conflict& c) const;
  Finding race(const Conflict& c);
};

}  // namespace emu::check
