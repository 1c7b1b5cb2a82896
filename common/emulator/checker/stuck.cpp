// From waits that never end to their cause.
#include "emulator/checker/stuck.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "emulator/isa/access.hpp"
#include "emulator/machine/deadlock.hpp"
#include "emulator/machine/machine.hpp"

namespace emu::check {

namespace {

std::set<const Warp*> warps_of(const std::vector<Arrivals>& arrivals) {
  std::set<const Warp*> warps;
  for (const Arrivals& a : arrivals) warps.insert(a.warp);
  return warps;
}

// The code behind a barrier of the CTA or the warp arrives on an mbarrier.
bool arrives_later(const StuckGroup& g) {
  if (g.group->state == Group::State::ready) return false;
  const auto& code = g.warp->program.code;
  return std::any_of(code.begin() + g.group->pc + 1, code.end(),
                     [](const Inst& in) { return in.action == Action::arrive; });
}

bool waits_for_registers(const StuckGroup& g) {
  return g.group->state == Group::State::blocked &&
         g.warp->instruction(*g.group).action == Action::set_registers;
}

// Of an instruction of grid.sync(), or of what it calls.
bool is_grid_barrier(const SourceLine& line) {
  return line.called_from.find("sync_grids") != std::string::npos ||
         std::any_of(line.chain.begin(), line.chain.end(), [](const Frame& frame) {
           return frame.function.find("sync_grids") != std::string::npos;
         });
}

const Mbarrier* barrier_of(const StuckGroup& g) {
  return g.group->state == Group::State::blocked ? g.group->wait.bar : nullptr;
}

}  // namespace

void StuckRule::explain(const std::vector<StuckGroup>& groups, Finding& f) {
  if (std::any_of(groups.begin(), groups.end(), waits_for_registers))
    return;  // everybody waits for that warp
  const GridBarrier grid = grid_barrier(groups);
  if (grid.polling && grid.elsewhere.empty()) return tell_grid(grid, f);
  find_places(groups);
  link_places();
  const StuckCause cause = find_cause();
  if (cause.kind != StuckCause::Kind::none)
    words(cause, f);
  else if (grid.polling)
    tell_grid(grid, f);
  else if (!tell_parted(groups, f) && !tell_asking(groups, f))
    tell_polling(groups, f);
  places_.clear();
}

// The load of the loop that the lanes go round: the nearest one, first before where they are.
const Inst* StuckRule::polling_load(const StuckGroup& g) {
  constexpr uint32_t kFar = 32;
  const auto& code = g.warp->program.code;
  const auto is_load = [&](uint32_t pc) {
    const Inst& in = code[pc];
    return in.action == Action::load && (in.space == Space::global || in.space == Space::generic);
  };
  const uint32_t pc = g.group->pc, size = static_cast<uint32_t>(code.size());
  for (uint32_t i = 0; i < kFar && i <= pc; ++i)
    if (is_load(pc - i)) return &code[pc - i];
  for (uint32_t i = pc + 1; i < std::min(size, pc + kFar); ++i)
    if (is_load(i)) return &code[i];
  return nullptr;
}

// Threads poll global memory, as at a barrier of the program's own between CTAs, and nobody is left who would change it.
void StuckRule::tell_polling(const std::vector<StuckGroup>& groups, Finding& f) const {
  const StuckGroup* polling = nullptr;
  std::set<const Cta*> waiting;
  for (const StuckGroup& g : groups) {
    waiting.insert(&g.warp->cta);
    if (!polling && polls(*g.group) && polling_load(g)) polling = &g;
  }
  if (!polling) return;
  const Warp& w = *polling->warp;
  const Inst& load = *polling_load(*polling);
  const uint64_t address = lane_address({*polling->warp, load, __builtin_ctz(polling->group->mask)});
  uint32_t value;
  const std::byte* word = tell_.machine().memory.at(address, sizeof value);
  if (!word) return;
  std::memcpy(&value, word, sizeof value);
  const uint64_t all = w.cta.config.grid.count(), gone = all - waiting.size();
  f.line = tell_.line(load);
  f.where = polling->warp->where(load, __builtin_ctz(polling->group->mask));
  Teller::set_place(f, w.cta, w.index);
  f.title =
      text("a loop polls a word of global memory that nobody is left to change",
           gone ? text(": ", gone, " of ", all, " CTAs ", gone == 1 ? "has" : "have", " returned") : "");
  f.state = text(tell_.place(Space::global, address), " holds ", value, "; ", waiting.size(),
                 waiting.size() == 1 ? " CTA waits" : " CTAs wait");
  f.why = "Whoever was to change it has returned, or waits as well.";
  const auto& code = w.program.code;
  const bool counts = std::any_of(code.begin(), code.end(), [&](const Inst& in) {
    const std::string name = w.program.short_name(in);
    return in.space != Space::shared && (name == "atom" || name == "red");
  });
  f.hint =
      counts
          ? "see who changes the word, how often, and to what: a barrier between CTAs takes as many arrivals as its "
            "counter is compared with, every time"
          : "see which thread stores to this word: the place that is polled must be the place that is stored to, and "
            "the store must not wait for the one that polls";
}

// Threads that poll the grid's barrier, inside of cooperative groups: which CTAs do not come?
GridBarrier StuckRule::grid_barrier(const std::vector<StuckGroup>& groups) const {
  GridBarrier grid;
  for (const StuckGroup& g : groups) {
    const Cta& cta = g.warp->cta;
    if (polls(*g.group) && is_grid_barrier(tell_.line(g.warp->instruction(*g.group)))) {
      if (!grid.polling) grid.polling = &g;
      grid.waiting[cta.order] = &cta;
    } else {
      grid.elsewhere.insert({cta.order, &g});
    }
  }
  for (const auto& [order, cta] : grid.waiting) grid.elsewhere.erase(order);
  return grid;
}

void StuckRule::find_places(const std::vector<StuckGroup>& groups) {
  places_.clear();
  for (const StuckGroup& g : groups) {
    StuckPlace key;
    key.bar = barrier_of(g);
    key.phase = key.bar ? g.group->wait.b : g.warp->instruction(*g.group).source + 1;
    const auto found = std::find_if(places_.begin(), places_.end(), [&](const StuckPlace& p) {
      return p.bar == key.bar && p.phase == key.phase && (key.bar || &p.groups[0]->warp->cta == &g.warp->cta);
    });
    StuckPlace& place = found == places_.end() ? places_.emplace_back(key) : *found;
    place.groups.push_back(&g);
    place.warps.insert(g.warp);
  }
}

// Who has to come before a place can go on, as far as it is known: those who supplied the phase before.
void StuckRule::link_places() {
  for (StuckPlace& place : places_) {
    std::set<const Warp*> wanted;
    if (place.bar) {
      const BarrierLog& log = history_.of(*place.bar);
      const std::set<const Warp*> here = warps_of(log.running.arrivals);
      for (const Warp* w : warps_of(place.bar->phase > 0 ? log.before.arrivals : log.ever.arrivals))
        if (!here.count(w)) wanted.insert(w);
      if (place.bar->tx_count > 0)  // those whose copies of the phase before have brought bytes, too
        for (const NamingCopies& copies : log.before.copies)
          if (std::none_of(log.running.copies.begin(), log.running.copies.end(),
                           [&](const NamingCopies& c) { return c.warp == copies.warp; }))
            wanted.insert(copies.warp);
      if (place.bar->pending > 0 && !place.bar->tx_count)  // those who are kept from arriving
        for (const StuckPlace& other : places_)
          if (!other.bar && &other.groups[0]->warp->cta == place.bar->cta && arrives_later(*other.groups[0]))
            for (const Warp* w : other.warps)
              if (!here.count(w)) wanted.insert(w);
    } else {  // a barrier of the CTA, of the cluster or of the warp: whoever is not there yet
      for (const auto& cta : place.groups[0]->warp->cta.cluster->ctas)
        for (const auto& w : cta->warps)
          if (w->live && (!place.warps.count(w.get()) || w->group_count() > 1)) wanted.insert(w.get());
    }
    for (size_t at = 0; at < places_.size(); ++at) {
      const auto& there = places_[at].warps;
      const bool some =
          std::any_of(wanted.begin(), wanted.end(), [&](const Warp* w) { return there.count(w) != 0; });
      if (some && &places_[at] != &place) place.waits_for.push_back(at);
    }
  }
}

// Whether the code behind the wait copies into shared memory before it reads any of it: then it waits for an empty stage.
bool StuckRule::fills_next(const StuckGroup& g) const {
  const auto& code = g.warp->program.code;
  for (uint32_t pc = g.group->pc + 1; pc < code.size(); ++pc) {
    const Inst& in = code[pc];
    if (in.action == Action::fill || in.action == Action::bulk_fill) return true;
    if (in.action == Action::wgmma || in.action == Action::matrix) return false;
    if (in.action == Action::load && in.space == Space::shared) return false;
  }
  return false;
}

bool StuckRule::has_waited(const StuckPlace& place, const Warp& w) const {
  for (const PassedWaits& waits : history_.of(*place.bar).waits)
    if (waits.warp == &w) return true;
  return false;
}

// cp.async.mbarrier.arrive names another mbarrier than the one that its reader waits for.
StuckCause StuckRule::arrived_elsewhere() const {
  StuckCause cause;
  for (const StuckPlace& place : places_) {
    if (!place.bar || !place.bar->valid || fills_next(*place.groups[0])) continue;
    const Mbarrier& bar = *place.bar;
    const std::string initialised = tell_.line(bar.init_source).text();
    bool untouched = true;  // it, and those that are initialised with it
    const Mbarrier* other = nullptr;
    for (const auto& [address, b] : bar.cta->mbarriers) {
      const PhaseLog& ever = history_.of(b).ever;
      if (b.valid && tell_.line(b.init_source).text() == initialised)
        untouched = untouched && ever.arrivals.empty() && ever.copies.empty();
      else if (b.valid && !other &&
               std::any_of(ever.arrivals.begin(), ever.arrivals.end(),
                           [](const Arrivals& a) { return a.later; }))
        other = &b;
    }
    if (!untouched || !other) continue;
    cause.kind = StuckCause::Kind::arrived_elsewhere;
    cause.place = &place;
    cause.group = place.groups[0];
    cause.other = other;
    return cause;
  }
  return cause;
}

// A count that is too small shows wherever the parities have got out of step.
StuckCause StuckRule::count_too_small() {
  StuckCause cause;
  for (const StuckPlace& place : places_) {
    if (!place.bar || !place.bar->valid) continue;
    cause = StuckCause();
    history_.each(*place.bar->cta->cluster, [&](const Mbarrier& bar, const BarrierLog& log) {
      const bool waited_for =
          !log.waits.empty() ||
          std::any_of(places_.begin(), places_.end(), [&](const StuckPlace& p) { return p.bar == &bar; });
      if (bar.valid && log.unseen_phases >= 2 && waited_for && (!cause.other || &bar == place.bar))
        cause.other = &bar;
    });
    if (!cause.other) continue;
    cause.kind = StuckCause::Kind::count_too_small;
    cause.place = &place;
    if (cause.other != place.bar)
      for (const StuckPlace& better : places_)
        if (better.bar == cause.other) cause.place = &better;
    cause.group = cause.place->groups[0];
    return cause;
  }
  return cause;
}

// What explains most comes first; then the place that depends on nobody else who waits, and of several the one that can be
// told most of.
StuckCause StuckRule::find_cause() {
  using Kind = StuckCause::Kind;
  for (const StuckCause& cause : {arrived_elsewhere(), count_too_small()})
    if (cause.kind != Kind::none) return cause;
  StuckCause best;
  for (const StuckPlace& place : places_) {
    if (!place.bar || !place.bar->valid || !place.waits_for.empty()) continue;
    const StuckCause cause = classify(place);
    if (cause.kind != Kind::none && (best.kind == Kind::none || cause.kind < best.kind)) best = cause;
  }
  const auto waits_alone = [](const StuckPlace& p) { return p.waits_for.empty(); };
  if (best.kind != Kind::none || std::any_of(places_.begin(), places_.end(), waits_alone)) return best;
  // Everybody waits for somebody who waits. Where a barrier of the CTA or of the warp is among them, that is told.
  for (const StuckPlace& place : places_)
    for (size_t at : place.waits_for)
      if (place.bar && !places_[at].bar) return best;
  for (const StuckPlace& place : places_)
    if (place.bar && place.bar->valid && (!best.place || fills_next(*place.groups[0]))) {
      best.kind = Kind::each_other;
      best.place = &place;
      best.group = place.groups[0];
    }
  return best;
}

StuckCause StuckRule::classify(const StuckPlace& place) {
  using Kind = StuckCause::Kind;
  const Mbarrier& bar = *place.bar;
  const BarrierLog& log = history_.of(bar);
  StuckCause cause;
  cause.place = &place;
  cause.group = place.groups[0];
  if (bar.tx_count < 0 && bar.pending == 0) {  // more came than was announced
    cause.kind = Kind::bytes_missing;
    return cause;
  }
  if (bar.tx_count > 0) {
    cause.kind = Kind::bytes_missing;
    history_.each(*bar.cta->cluster, [&](const Mbarrier& other, const BarrierLog& others) {
      if (other.valid && other.tx_count < 0 && !others.running.copies.empty() &&
          (!cause.other || other.address < cause.other->address))
        cause.other = &other;
    });
    if (cause.other && log.running.copies.empty()) cause.kind = Kind::bytes_elsewhere;
    return cause;
  }
  if (bar.arrived > 0) {
    cause.kind = Kind::count_too_large;
    std::set<const Warp*> gone;
    for (const Warp* w : warps_of(log.before.arrivals))
      if (!w->live && !warps_of(log.running.arrivals).count(w)) gone.insert(w);
    if (!gone.empty()) cause.kind = Kind::left_early;
    return cause;
  }
  if (!log.ever.arrivals.empty()) {
    for (const StuckGroup* g : place.groups)
      for (const PassedWaits& waits : log.waits)
        if (waits.warp == g->warp && waits.complete < bar.phase) {
          cause.kind = Kind::parity_off;
          cause.group = g;
        }
    if (cause.kind != Kind::none) return cause;
    const std::set<const Warp*> before = warps_of(log.before.arrivals);
    const bool left = std::all_of(before.begin(), before.end(), [](const Warp* w) { return !w->live; });
    cause.kind = !before.empty() && left ? Kind::left_early : Kind::no_more_copies;
    if (cause.kind == Kind::no_more_copies && !log.tells_of_copies) cause.kind = Kind::never_arrived;
    return cause;
  }
  // Nobody has ever arrived.
  for (const StuckGroup* g : place.groups)
    if (!fills_next(*g)) {
      cause.group = g;
      history_.each(*bar.cta->cluster, [&](const Mbarrier& other, const BarrierLog& others) {
        if (other.cta == bar.cta && other.valid && other.phase > 0 && others.waits.empty() &&
            !others.ever.copies.empty() && (!cause.other || other.address < cause.other->address))
          cause.other = &other;
      });
      cause.kind = cause.other ? Kind::wrong_barrier : Kind::never_copied;
      if (cause.other) return cause;
    }
  const bool drains =
      cause.kind == Kind::never_copied && guards_copies(bar);  // it waits for readers, and copies no more
  for (const StuckGroup* g : place.groups)
    if (fills_next(*g) || drains) {
      cause.group = g;
      cause.kind = has_waited(place, *g->warp) || place.phase > 0 ? Kind::never_arrived : Kind::first_wait;
    }
  return cause;
}

// Copies have been issued behind waits for it, or for another barrier of its row.
bool StuckRule::guards_copies(const Mbarrier& bar) const {
  const std::string initialised = tell_.line(bar.init_source).text();
  bool guards = false;
  history_.each(*bar.cta->cluster, [&](const Mbarrier&, const BarrierLog& log) {
    for (const NamingCopies& c : log.ever.copies)
      guards =
          guards || (c.waited_for && c.waited_for->valid && !history_.of(*c.waited_for).tells_of_copies &&
                     tell_.line(c.waited_for->init_source).text() == initialised);
  });
  return guards;
}

// How often the stage was read whose copies are issued behind waits for this barrier; 0: it was never filled.
uint64_t StuckRule::reads_behind(const Mbarrier& empty, const Mbarrier** full) const {
  uint64_t read = 0;
  history_.each(*empty.cta->cluster, [&](const Mbarrier& other, const BarrierLog& log) {
    if (&other == &empty || other.cta != empty.cta || !log.tells_of_copies) return;
    const bool partner = std::any_of(log.ever.copies.begin(), log.ever.copies.end(),
                                     [&](const NamingCopies& c) { return c.waited_for == &empty; });
    if (!partner) return;
    if (full) *full = &other;
    for (const PassedWaits& w : log.waits) read = std::max(read, w.complete);
  });
  return read;
}

}  // namespace emu::check
