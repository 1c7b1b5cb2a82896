// Why nobody can go on: of all that wait for an mbarrier, the wait that depends on nobody else who waits, and what became of
// the arrivals and bytes it lacks. First the cause (stuck.cpp), then its words (stuck_words.cpp).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "emulator/checker/barrier_history.hpp"
#include "emulator/checker/copied_boxes.hpp"
#include "emulator/checker/teller.hpp"

namespace emu::check {

// The lanes that wait for one phase of one mbarrier, or at one line for something else (bar: null).
struct StuckPlace {
  const Mbarrier* bar = nullptr;
  uint64_t phase = 0;
  std::vector<const StuckGroup*> groups;
  std::set<const Warp*> warps;
  std::vector<size_t> waits_for;  // places of those who supplied the phase before, or have to arrive
};

struct StuckCause {
  enum class Kind : uint8_t {
    none,
    arrived_elsewhere,  // nobody has arrived, and the copies' arrivals come to another mbarrier
    count_too_small,    // several phases are completed between two waits
    count_too_large,    // some have arrived, and nobody is left who would
    bytes_missing,      // announced and not brought, or the other way round
    bytes_elsewhere,    // brought to another mbarrier than the one they were announced on
    first_wait,         // for an empty stage, for a phase that nobody completes
    wrong_barrier,      // nobody waits for the one whose copies have landed
    never_copied,       // a reader waits, and no copy has ever named the mbarrier
    never_arrived,      // and somebody had to
    no_more_copies,     // no copy was issued for this phase by those who wait for it themselves
    left_early,         // those who arrived in the phase before have returned
    parity_off,         // it has never waited for the phase that is complete
    each_other,         // roles that wait for each other
  };
  Kind kind = Kind::none;
  const StuckPlace* place = nullptr;
  const StuckGroup* group = nullptr;  // whose line leads
  const Mbarrier* other = nullptr;    // *_elsewhere, wrong_barrier: the other mbarrier
};

// The barrier of a cooperative grid, where threads wait at it.
struct GridBarrier {
  const StuckGroup* polling = nullptr;     // the first of them; null: nobody does
  std::map<uint64_t, const Cta*> waiting;  // CTAs at it, in grid order
  std::map<uint64_t, const StuckGroup*>
      elsewhere;  // others that have not returned, and what one of their warps waits for
};

class StuckRule {
 public:
  StuckRule(const BarrierHistory& history, const CopiedBoxes& boxes, Teller& tell)
      : history_(history), boxes_(boxes), tell_(tell) {}
  // Says more of a deadlock than its counters, where mbarriers are the reason.
  void explain(const std::vector<StuckGroup>& groups, Finding& f);
  // The same of a fault at an mbarrier: more arrivals than a phase has left.
  void explain_arrival(const At& at, const Mbarrier& bar, Finding& f);

 private:
  const BarrierHistory& history_;
  const CopiedBoxes& boxes_;
  Teller& tell_;
  std::vector<StuckPlace> places_;

  GridBarrier grid_barrier(const std::vector<StuckGroup>& groups) const;
  void find_places(const std::vector<StuckGroup>& groups);
  void link_places();
  StuckCause find_cause();
  StuckCause classify(const StuckPlace& place);
  StuckCause arrived_elsewhere() const;
  StuckCause count_too_small();
  bool fills_next(const StuckGroup& g) const;
  bool has_waited(const StuckPlace& place, const Warp& w) const;

  void words(const StuckCause& cause, Finding& f);
  void tell_grid(const GridBarrier& grid, Finding& f) const;
  static const Inst* polling_load(const StuckGroup& g);
  void tell_polling(const std::vector<StuckGroup>& groups, Finding& f) const;
  bool tell_parted(const std::vector<StuckGroup>& groups, Finding& f) const;
  bool tell_asking(const std::vector<StuckGroup>& groups, Finding& f) const;
  void tell_too_small(const StuckCause& cause, Finding& f);
  void tell_too_large(const StuckCause& cause, Finding& f);
  std::string unreached(Action action, const Cluster& cluster, const char* what, Finding& f) const;
  bool guards_copies(const Mbarrier& bar) const;
  uint64_t reads_behind(const Mbarrier& empty, const Mbarrier** full = nullptr) const;
  bool tell_surplus(const Mbarrier& bar, Finding& f) const;
  void explain_gone(const Mbarrier& bar, Finding& f) const;
  void tell_arrivals_beside(const Mbarrier& bar, Finding& f) const;
  std::string never_used(const Mbarrier& bar) const;
  std::string passed_over(const Mbarrier& bar) const;
  void explain_refilled(const Warp& w, const Mbarrier& bar, Finding& f) const;
  void tell_bytes(const StuckCause& cause, Finding& f);
  void tell_untouched(const StuckCause& cause, Finding& f);
  void tell_absent(const StuckCause& cause, Finding& f);
  void tell_each_other(const StuckCause& cause, Finding& f);
  std::string who_waits(const Cluster& cluster) const;
  std::string uses_of(const Mbarrier& empty) const;
  void add_boxes(const StuckCause& cause, Finding& f) const;
  std::string suppliers(const StuckPlace& place) const;
  void add_init(const Mbarrier& bar, Finding& f) const;
  void add_arrivals(const std::vector<Arrivals>& arrivals, Finding& f) const;
};

// "warp 8", "warps 0 to 7", with the CTA where the cluster has several.
std::string names_of(const std::set<const Warp*>& warps);

}  // namespace emu::check
