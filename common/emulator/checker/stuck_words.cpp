// From the cause of a deadlock to sentences.
#include <algorithm>
#include <map>

#include "emulator/checker/stuck.hpp"
#include "emulator/machine/deadlock.hpp"
#include "emulator/machine/machine.hpp"

namespace emu::check {

namespace {

constexpr size_t kMostPlaces = 6, kMostLines = 4;
constexpr uint64_t kLanes = 32;
constexpr uint32_t kLoop = 8;  // instructions of a loop that asks for a phase

std::string plural(uint64_t n, const char* what) {
  return with_commas(n) + " " + what + (n == 1 ? "" : "s");
}

std::string name_of(const Mbarrier& bar) {
  return bar.name() + (bar.cta->cluster->ctas.size() > 1 ? " of " + bar.cta->text() : "");
}

std::string init_words(const Mbarrier& bar) {
  return name_of(bar) + " is initialised for " + with_commas(bar.initial);
}

uint64_t sum_of(const std::vector<Arrivals>& arrivals) {
  uint64_t sum = 0;
  for (const Arrivals& a : arrivals) sum += a.count;
  return sum;
}

// The CTA in which all of them are, of a cluster of several; null: there is none.
const Cta* only_cta_of(const std::set<const Warp*>& warps) {
  if (warps.empty()) return nullptr;
  const Cta* cta = &(*warps.begin())->cta;
  const bool same = std::all_of(warps.begin(), warps.end(), [&](const Warp* w) { return &w->cta == cta; });
  return same && cta->cluster->ctas.size() > 1 ? cta : nullptr;
}

}  // namespace

std::string names_of(const std::set<const Warp*>& warps) {
  std::map<const Cta*, std::vector<int>> by_cta;
  for (const Warp* w : warps) by_cta[&w->cta].push_back(w->index);
  std::map<uint64_t, std::string> in_order;
  for (auto& [cta, numbers] : by_cta) {
    std::sort(numbers.begin(), numbers.end());
    std::string list;
    for (size_t i = 0; i < numbers.size();) {
      size_t end = i;
      while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
      list += (list.empty() ? "" : ", ") + std::to_string(numbers[i]);
      if (end > i) list += (end == i + 1 ? ", " : " to ") + std::to_string(numbers[end]);
      i = end + 1;
    }
    in_order[cta->order] = (numbers.size() == 1 ? "warp " : "warps ") + list +
                           (cta->cluster->ctas.size() > 1 ? " of " + cta->text() : "");
  }
  std::string all;
  for (const auto& [order, list] : in_order) all += (all.empty() ? "" : ", ") + list;
  return all;
}

void StuckRule::add_init(const Mbarrier& bar, Finding& f) const {
  if (bar.init_source >= 0) f.related.push_back({init_words(bar), tell_.line(bar.init_source)});
}

// A line for each instruction that arrives.
void StuckRule::add_arrivals(const std::vector<Arrivals>& arrivals, Finding& f) const {
  std::map<int32_t, std::pair<uint64_t, std::set<const Warp*>>> lines;
  for (const Arrivals& a : arrivals) {
    lines[a.source].first += a.count;
    lines[a.source].second.insert(a.warp);
  }
  size_t shown = 0;
  for (const auto& [source, who] : lines)
    if (shown++ < kMostLines)
      f.related.push_back({plural(who.first, "arrival") + " by " + names_of(who.second), tell_.line(source)});
}

std::string StuckRule::suppliers(const StuckPlace& place) const {
  std::set<const Warp*> warps;
  for (size_t at : place.waits_for) warps.insert(places_[at].warps.begin(), places_[at].warps.end());
  return names_of(warps);
}

// Who waits for whom, a line for each mbarrier of the cluster that is waited for.
std::string StuckRule::who_waits(const Cluster& cluster) const {
  std::string all;
  size_t shown = 0;
  std::set<std::string> waits;
  bool alike = false;  // in another CTA
  for (const StuckPlace& p : places_) {
    if (!p.bar || p.bar->cta->cluster != &cluster || shown == kMostPlaces) continue;
    const StuckGroup& g = *p.groups[0];
    const std::string at = tell_.line(g.warp->instruction(*g.group)).brief();
    if (!waits.insert(text(at, " ", p.bar->name(), " ", p.phase)).second) {
      alike = true;
      continue;
    }
    ++shown;
    all += text("\n", names_of(p.warps), p.warps.size() == 1 ? " waits" : " wait", " at ", at, " for ",
                name_of(*p.bar), ", phase ", p.phase, p.waits_for.empty() ? "" : ", so for " + suppliers(p));
  }
  if (alike) all += "\nother CTAs of the cluster wait alike";
  return shown > 1 || alike ? all : "";
}

// How often the stage was read whose copies wait for this barrier, and how often it was handed back.
std::string StuckRule::uses_of(const Mbarrier& empty) const {
  std::string all;
  history_.each(*empty.cta->cluster, [&](const Mbarrier& full, const BarrierLog& log) {
    uint64_t read = 0;
    for (const PassedWaits& w : log.waits) read = std::max(read, w.complete);
    const bool partner = std::any_of(log.ever.copies.begin(), log.ever.copies.end(),
                                     [&](const NamingCopies& c) { return c.waited_for == &empty; });
    if (all.empty() && partner && &full != &empty && full.cta == empty.cta && read > empty.phase)
      all = text(full.name(), " was waited for ", plural(read, "time"), ", and the stage was handed back ",
                 plural(empty.phase, "time"), ". ");
  });
  return all;
}

// Copies that left a tile out, or brought one twice.
void StuckRule::add_boxes(const StuckCause& cause, Finding& f) const {
  int32_t source = -1;
  const std::string story = boxes_.story(*cause.place->bar->cta, &source);
  if (story.empty()) return;
  f.why = story + ". " + f.why;
  f.related.push_back({"this copy", tell_.line(source)});
}

void StuckRule::tell_grid(const GridBarrier& grid, Finding& f) const {
  const Warp& w = *grid.polling->warp;
  const Inst& in = w.instruction(*grid.polling->group);
  const uint64_t all = w.cta.config.grid.count(), gone = all - grid.waiting.size() - grid.elsewhere.size();
  std::string names;
  for (const auto& [order, cta] : grid.waiting)
    if (names.size() < 60) names += (names.empty() ? "" : ", ") + cta->text();
  f.id = Id::deadlock;
  f.line = tell_.line(in);
  f.where = grid.polling->warp->where(in, __builtin_ctz(grid.polling->group->mask));
  Teller::set_place(f, w.cta, w.index);
  const std::string barrier = text("a grid barrier waits for all ", all, " CTAs, and ");
  f.state = text(names, grid.waiting.size() > 3 ? " and others" : "",
                 grid.waiting.size() == 1 ? " waits at it" : " wait at it");
  f.why =
      "grid.sync() is complete when every CTA of the grid has called it; one that returns does not count as arrived.";
  f.hint = "let all CTAs call grid.sync() equally often, with nothing left to do as well";
  if (gone) {
    f.title = text(barrier, gone, " of them ", gone == 1 ? "has" : "have", " returned");
    return;
  }
  const StuckGroup& other = *grid.elsewhere.begin()->second;
  const SourceLine line = tell_.line(other.warp->instruction(*other.group));
  f.title = text(barrier, other.warp->cta.text(), " waits elsewhere, at ", line.brief());
  f.related.push_back({other.warp->cta.text() + " waits", line});
}

// Some lanes of a warp wait for an mbarrier, and the others for them. False: there is no such warp.
bool StuckRule::tell_parted(const std::vector<StuckGroup>& groups, Finding& f) const {
  for (const StuckGroup& here : groups)
    for (const StuckGroup& there : groups) {
      const Mbarrier* bar = here.group->state == Group::State::blocked ? here.group->wait.bar : nullptr;
      if (!bar || here.warp != there.warp || there.group->state != Group::State::converging) continue;
      const int lane = __builtin_ctz(here.group->mask);
      const SourceLine others = tell_.line(there.warp->instruction(*there.group));
      const Inst& in = here.warp->instruction(*here.group);
      f.title = text("the lanes of ", names_of({here.warp}), " have parted: lane ", lane, " waits for ",
                     name_of(*bar), ", the others for it, at ", others.brief());
      f.line = tell_.line(in);
      f.where = here.warp->where(in, lane);
      Teller::set_place(f, here.warp->cta, here.warp->index);
      f.state = text(name_of(*bar), " is in ", bar->state());
      f.why =
          "An instruction of the whole warp needs all of its lanes, and they have asked for different phases.";
      f.hint =
          "let all lanes of a warp ask for the same mbarrier and parity: does a variable of the question differ between them?";
      f.related.push_back({"the others wait for the lane", others});
      return true;
    }
  return false;
}

// A loop that goes on while a phase is complete, which it stays. False: there is no such loop.
bool StuckRule::tell_asking(const std::vector<StuckGroup>& groups, Finding& f) const {
  for (const StuckGroup& g : groups) {
    if (!polls(*g.group)) continue;
    const auto& code = g.warp->program.code;
    const uint32_t from = g.group->pc > kLoop ? g.group->pc - kLoop : 0;
    const uint32_t to = std::min(static_cast<uint32_t>(code.size()), g.group->pc + kLoop);
    const LatestWait* latest = history_.latest_wait(*g.warp);
    for (uint32_t pc = from; latest && pc < to; ++pc) {
      if (code[pc].action != Action::test_phase || code[pc].source != latest->source) continue;
      f.title = text("a loop goes on while ", name_of(*latest->bar), " answers True");
      f.line = tell_.line(code[pc]);
      f.where = g.warp->where(code[pc], __builtin_ctz(g.group->mask));
      Teller::set_place(f, g.warp->cta, g.warp->index);
      f.state = text(name_of(*latest->bar), " is in ", latest->bar->state());
      f.why = "True means that the phase is complete, and that stays so as long as nobody goes on.";
      f.hint = "go on asking while the answer is False: while (!mbarrier_try_wait...) {}";
      return true;
    }
  }
  return false;
}

void StuckRule::words(const StuckCause& cause, Finding& f) {
  const StuckGroup& g = *cause.group;
  const Mbarrier& bar = *cause.place->bar;
  const Inst& in = g.warp->instruction(*g.group);
  f.id = Id::deadlock;
  f.line = tell_.line(in);
  f.where = g.warp->where(in, __builtin_ctz(g.group->mask));
  Teller::set_place(f, g.warp->cta, g.warp->index);
  f.state = name_of(bar) + " waits for phase " + std::to_string(cause.place->phase) + " (parity " +
            std::to_string(cause.place->phase & 1) + "), is in " + bar.state() + who_waits(*bar.cta->cluster);
  f.why.clear();
  switch (cause.kind) {
    case StuckCause::Kind::count_too_small:
      return tell_too_small(cause, f);
    case StuckCause::Kind::count_too_large:
      return tell_too_large(cause, f);
    case StuckCause::Kind::bytes_missing:
    case StuckCause::Kind::bytes_elsewhere:
      return tell_bytes(cause, f);
    case StuckCause::Kind::each_other:
      return tell_each_other(cause, f);
    case StuckCause::Kind::arrived_elsewhere:
    case StuckCause::Kind::first_wait:
    case StuckCause::Kind::wrong_barrier:
    case StuckCause::Kind::never_copied:
      return tell_untouched(cause, f);
    default:
      return tell_absent(cause, f);
  }
}

// Barriers of other stages on which nobody has ever arrived, where this one may have got what was meant for them: "b[1], b[2]".
std::string StuckRule::passed_over(const Mbarrier& bar) const {
  const std::string initialised = tell_.line(bar.init_source).text();
  std::string names;
  uint64_t stages = 0, arrivals = 0, uses = 0;  // uses: tiles that were read, as far as waits tell of it
  for (const auto& [address, other] : bar.cta->mbarriers) {
    const BarrierLog& log = history_.of(other);
    if (!other.valid) continue;
    if (tell_.line(other.init_source).text() == initialised) {
      ++stages;
      arrivals += sum_of(log.ever.arrivals);
      if (&other != &bar && log.ever.arrivals.empty()) names += (names.empty() ? "" : ", ") + other.name();
    } else if (log.tells_of_copies) {
      uint64_t read = 0;
      for (const PassedWaits& w : log.waits) read = std::max(read, w.complete);
      uses += read;
    }
  }
  const bool too_many_at_once = history_.of(bar).unseen_phases > stages;
  const bool too_many = !history_.of(bar).tells_of_copies && uses > 0 && arrivals > uses * bar.initial;
  return too_many_at_once || too_many ? "" : names;
}

// Barriers of other stages for which nobody has ever waited, and on which nobody has arrived.
std::string StuckRule::never_used(const Mbarrier& bar) const {
  const std::string initialised = tell_.line(bar.init_source).text();
  std::string names;
  for (const auto& [address, other] : bar.cta->mbarriers) {
    const BarrierLog& log = history_.of(other);
    if (other.valid && &other != &bar && log.ever.arrivals.empty() && log.waits.empty() &&
        tell_.line(other.init_source).text() == initialised)
      names += (names.empty() ? "" : ", ") + other.name();
  }
  return names;
}

// Another barrier of its row was handed back more often than its stage was read: there went the arrivals that lack here.
bool StuckRule::tell_surplus(const Mbarrier& bar, Finding& f) const {
  const std::string initialised = tell_.line(bar.init_source).text();
  const auto handed_back = [](const Mbarrier& b) { return b.phase + (b.arrived > 0 ? 1 : 0); };
  for (const auto& [address, other] : bar.cta->mbarriers) {
    const Mbarrier* full = nullptr;
    if (!other.valid || &other == &bar || tell_.line(other.init_source).text() != initialised) continue;
    const uint64_t reads = reads_behind(other, &full);
    if (handed_back(other) <= reads || (!full && handed_back(other) == 0)) continue;
    f.title += text("; ", other.name(), " was handed back ", plural(handed_back(other), "time"), " for ",
                    plural(reads, "read"), " of its stage");
    f.hint = "hand back the stage that was read: which index does not move on, or is that of another stage?";
    return true;
  }
  return false;
}

// Nobody has ever arrived on it: those of its row that have had arrivals, or the lines that would arrive and were never reached.
void StuckRule::tell_arrivals_beside(const Mbarrier& bar, Finding& f) const {
  const std::string initialised = tell_.line(bar.init_source).text();
  std::string names;
  for (const auto& [address, other] : bar.cta->mbarriers) {
    const BarrierLog& log = history_.of(other);
    if (!other.valid || log.ever.arrivals.empty() || tell_.line(other.init_source).text() != initialised)
      continue;
    if (names.empty()) add_arrivals(log.ever.arrivals, f);
    names += (names.empty() ? "" : ", ") + other.name();
  }
  if (!names.empty()) {
    f.title += text(", and arrivals came on ", names);
    f.hint =
        "arrive on the barrier of the stage that was read: is the index one stage ahead, or that of another role?";
    return;
  }
  const std::string lines =
      unreached(Action::arrive, *bar.cta->cluster, "arrives, and has not been reached", f);
  if (!lines.empty())
    f.title += ": the arrival of " + lines + ", which would hand the stage back, has not been reached";
}

// The lines of such instructions that no thread of the cluster has executed go to the finding; the first, "a.cu:68"; "": none.
std::string StuckRule::unreached(Action action, const Cluster& cluster, const char* what, Finding& f) const {
  std::set<std::string> reached, lines;  // a line may be several instructions
  const auto& code = tell_.program().code;
  for (const Inst& in : code)
    if (in.action == action && !history_.never_executed(cluster, in.source))
      reached.insert(tell_.line(in).text());
  std::string first;
  for (const Inst& in : code) {
    const SourceLine line = in.action == action ? tell_.line(in) : SourceLine();
    if (in.action != action || reached.count(line.text()) || !lines.insert(line.text()).second ||
        lines.size() > 2)
      continue;
    if (first.empty()) first = line.brief();
    f.related.push_back({what, line});
  }
  return first;
}

void StuckRule::tell_too_small(const StuckCause& cause, Finding& f) {
  const Mbarrier& bar = *cause.other;
  const BarrierLog& log = history_.of(bar);
  const std::string came = plural(log.unseen_arrivals, "arrival"), others = passed_over(bar);
  if (others.empty()) {
    f.title = text(init_words(bar), ", and ", came, " came between two waits: ", log.unseen_phases,
                   " phases were completed where one was meant");
    f.why =
        "A wait by parity only tells two neighbouring phases apart; when more than one is completed per use of the "
        "stage, waits pass too early or ask for a phase that never comes.";
    f.hint =
        text("initialise ", bar.name(), " for all arrivals of one use: ", with_commas(log.unseen_arrivals));
  } else {
    f.title = text(came, " came on ", bar.name(), " between two waits, and none on ", others);
    f.why = text("They are initialised at the same line, each for ", plural(bar.initial, "arrival"),
                 " per use of its own stage: one gets those of all.");
    f.hint = "arrive on the barrier of the stage that was read: which index does not move on?";
  }
  add_init(bar, f);
  add_arrivals(log.before.arrivals.empty() ? log.ever.arrivals : log.before.arrivals, f);
}

void StuckRule::tell_too_large(const StuckCause& cause, Finding& f) {
  const Mbarrier& bar = *cause.place->bar;
  const BarrierLog& log = history_.of(bar);
  const uint64_t came = sum_of(log.running.arrivals);
  f.title = text(init_words(bar), ", and ", plural(came, "arrival"), " came for phase ", bar.phase);
  // Whoever waits for what the arriving warps wait for, and has not arrived.
  std::set<const Warp*> arrived, readers;
  for (const Arrivals& a : log.running.arrivals) arrived.insert(a.warp);
  history_.each(*bar.cta->cluster, [&](const Mbarrier& other, const BarrierLog& others) {
    std::set<const Warp*> waited;
    for (const PassedWaits& w : others.waits) waited.insert(w.warp);
    const bool same_role =
        std::any_of(arrived.begin(), arrived.end(), [&](const Warp* w) { return waited.count(w) != 0; });
    if (&other != &bar && same_role) readers.insert(waited.begin(), waited.end());
  });
  const bool all_of_them =
      std::all_of(readers.begin(), readers.end(), [&](const Warp* w) { return arrived.count(w) != 0; });
  const bool of_copies = std::any_of(log.running.arrivals.begin(), log.running.arrivals.end(),
                                     [](const Arrivals& a) { return a.later && a.count < kLanes; });
  if (of_copies) {
    f.why = text("cp.async.mbarrier.arrive tells of the copies of its own thread only: ", names_of(arrived),
                 " executed it, and not with all lanes.");
    f.hint = text("let every thread that copies execute it, behind its last copy: ", with_commas(bar.initial),
                  " arrivals, as mbarrier.init says");
  } else if (const Cta* only = only_cta_of(arrived);
             only && !log.tells_of_copies && bar.initial == came * only->cluster->ctas.size()) {
    std::string others;
    for (const auto& cta : only->cluster->ctas)
      if (cta.get() != only) others += (others.empty() ? "" : ", ") + cta->text();
    f.why =
        text("Only warps of ", only->text(), " arrived, and none of ", others,
             ". Whoever copies into all CTAs of the cluster needs the stage back from the readers of each.");
    f.hint = text(
        "let the readers of every CTA arrive on it, in its own CTA and in the others (mapa, "
        "mbarrier.arrive.shared::cluster): ",
        with_commas(bar.initial), " arrivals, as mbarrier.init says");
  } else if (readers.empty() || all_of_them) {
    f.why = text("Nobody is left who would arrive on it: ", names_of(arrived), " did.");
    f.hint = text("initialise it for the arrivals that come per phase (", with_commas(came),
                  "), or let the others arrive too");
  } else {
    std::set<const Warp*> absent;
    for (const Warp* w : readers)
      if (!arrived.count(w)) absent.insert(w);
    f.why =
        text("Of the ", readers.size(), " warps that wait beside it, ", names_of(absent), " never arrived.");
    f.hint = "let every reader arrive after its last read, as often as mbarrier.init counts";
  }
  add_init(bar, f);
  add_arrivals(log.running.arrivals, f);
}

void StuckRule::tell_bytes(const StuckCause& cause, Finding& f) {
  const Mbarrier& bar = *cause.place->bar;
  const BarrierLog& log = history_.of(bar);
  f.title = text(with_commas(bar.announced_bytes), " bytes were announced on ", name_of(bar), ", and ",
                 with_commas(bar.landed_bytes), " came");
  if (bar.expect_source >= 0) f.related.push_back({"announced", tell_.line(bar.expect_source)});
  const bool cluster = bar.cta->cluster->ctas.size() > 1;
  if (log.running.copies.empty()) f.why = "No copy named it in this phase";
  for (const NamingCopies& c : log.running.copies) {
    if (f.related.size() > kMostLines) break;
    f.related.push_back({text(with_commas(c.bytes), " bytes by ", c.count == 1 ? "a copy" : "copies",
                              cluster ? " from " + c.warp->cta.text() : "", " of warp ", c.warp->index),
                         tell_.line(c.source)});
    if (cluster)
      f.why += text(f.why.empty() ? "" : ", ", with_commas(c.bytes), " bytes are from ", c.warp->cta.text());
  }
  if (cause.other) {
    const Mbarrier& other = *cause.other;
    f.why += text(f.why.empty() ? "" : "; ", with_commas(static_cast<uint64_t>(-other.tx_count)),
                  " bytes that nobody announced came to ", name_of(other));
    for (const NamingCopies& c : history_.of(other).running.copies)
      if (f.related.size() <= kMostLines)
        f.related.push_back({"completes on " + name_of(other), tell_.line(c.source)});
    f.hint = text("let the copies name ", bar.name(), ", or announce their bytes on ", other.name());
  } else if (log.running.copies.empty()) {
    f.hint = "issue the announced copies, and let them name this mbarrier";
  } else if (cluster) {
    f.hint =
        "every CTA announces what lands in its own shared memory: its copies, and the shares that the others "
        "multicast to it (their masks name it)";
  } else {
    f.hint =
        bar.landed_bytes < bar.announced_bytes
            ? "make tx_bytes the sum of the boxes copied on it (whole boxes at ragged edges too), or issue the copy that "
              "is missing"
            : "make tx_bytes the sum of the boxes copied on it (whole boxes at ragged edges too)";
  }
}

// Those who could have copied have returned.
void StuckRule::explain_gone(const Mbarrier& bar, Finding& f) const {
  std::set<const Warp*> gone;
  for (const auto& warp : bar.cta->warps)
    if (!warp->live) gone.insert(warp.get());
  const std::string line =
      gone.empty() ? "" : unreached(Action::bulk_fill, *bar.cta->cluster, "copies, and was not reached", f);
  if (line.empty()) return;
  f.title += text(": ", names_of(gone), gone.size() == 1 ? " has" : " have",
                  " returned without coming to the copy of ", line);
  f.hint = "see which thread is to copy: the condition in front of the copy holds for none";
}

// On a barrier that nobody has ever arrived on.
void StuckRule::tell_untouched(const StuckCause& cause, Finding& f) {
  using Kind = StuckCause::Kind;
  const Mbarrier& bar = *cause.place->bar;
  const std::string name = name_of(bar);
  add_init(bar, f);
  switch (cause.kind) {
    case Kind::arrived_elsewhere:
      f.title = text("nobody has arrived on ", name, ": the arrivals of the copies come to ",
                     name_of(*cause.other));
      f.why = text(
          "cp.async.mbarrier.arrive names the mbarrier whose phase is to say that the copies of its thread have "
          "landed; the reader asks ",
          name, ".");
      f.hint = text("let cp.async.mbarrier.arrive name ", name, ", for which the reader waits");
      return add_arrivals(history_.of(*cause.other).ever.arrivals, f);
    case Kind::first_wait:
      f.title = text("the first wait for ", name, " asks for phase 0, and nobody has arrived on it");
      f.why =
          "A fresh mbarrier is in phase 0: a wait for parity 1 (the phase before the first) passes at once, one for "
          "parity 0 passes when phase 0 is complete. At the start every stage is empty, and nobody arrives to say so.";
      f.hint = "ask for parity 1 on the first lap, and flip the parity when the ring closes";
      return;
    case Kind::wrong_barrier:
      f.title =
          text("nobody waits for ", name_of(*cause.other), ", whose copies have landed; ",
               names_of(cause.place->warps), cause.place->warps.size() == 1 ? " waits for " : " wait for ",
               name, ", on which nobody has arrived");
      f.why = text("Phase ", cause.other->phase - 1, " of ", cause.other->name(),
                   " is complete, and no wait has asked for it.");
      f.hint = text("wait for ", cause.other->name(), " before the stage is read");
      if (tell_.line(cause.other->init_source).text() == tell_.line(bar.init_source).text())
        f.hint += text(", or let the copies come to ", bar.name(),
                       ", which they passed over: readers and copies go through the stages in one order");
      for (const NamingCopies& c : history_.of(*cause.other).ever.copies)
        if (f.related.size() < kMostLines)
          f.related.push_back({"completes on " + cause.other->name(), tell_.line(c.source)});
      return;
    default:  // never_copied
      if (const PhaseLog& running = history_.of(bar).running; !running.copies.empty()) {
        uint64_t bytes = 0;
        for (const NamingCopies& c : running.copies) {
          bytes += c.bytes;
          if (f.related.size() < kMostLines)
            f.related.push_back({"completes on " + name, tell_.line(c.source)});
        }
        f.title = text("nobody has arrived on ", name, ": ", plural(bytes, "byte"),
                       " of copies came to it that nobody announced");
        f.why =
            "Bytes alone complete no phase: an arrival must come as well, and the announced bytes must be those that land.";
        f.hint = text("mbarrier.arrive.expect_tx on ", name,
                      ", by a thread of its CTA, for all bytes that land there in a phase");
        return;
      }
      f.title = text("nobody has arrived on ", name, ", and no copy was ever issued for it");
      f.why = text(
          "The wait has nothing to wait for: all who could still issue a copy, or arrive, wait themselves.");
      f.hint =
          "start the copy of this stage before the wait (in front of the loop for the first tiles), with an arrival that "
          "tells of it: mbarrier.arrive.expect_tx, or cp.async.mbarrier.arrive.noinc behind cp.async";
      explain_gone(bar, f);
      return add_boxes(cause, f);
  }
}

void StuckRule::tell_absent(const StuckCause& cause, Finding& f) {
  using Kind = StuckCause::Kind;
  const Mbarrier& bar = *cause.place->bar;
  const BarrierLog& log = history_.of(bar);
  const std::string name = name_of(bar);
  add_init(bar, f);
  switch (cause.kind) {
    case Kind::never_arrived:
      f.title =
          text(log.ever.arrivals.empty() ? "nobody has arrived on " : "nobody arrives any more on ", name);
      f.why = text(uses_of(bar), "The stage is to be filled again, and its readers have not handed it back",
                   bar.phase > 0 ? text(" since phase ", bar.phase - 1) : "", ".");
      f.hint = text("let each reader arrive on ", bar.name(),
                    " after its last read of the stage: ", bar.initial, " arrivals, as mbarrier.init says");
      if (const std::string unused = never_used(bar); !unused.empty()) {
        f.title += text(", and ", unused, ", initialised beside it, was never used");
        f.why += text(
            " A stage is filled again before its readers can have read it where the ring has fewer stages than copies run "
            "ahead.");
        f.hint = text("let the index go through all stages, ", unused, " too: where does it go back to 0?");
      } else if (const Mbarrier* full = nullptr;
                 reads_behind(bar, &full) == 0 && !full && guards_copies(bar)) {
        f.title += ", whose stage no copy has filled";
        f.why =
            "A stage that was never filled is handed back by nobody; the first wait for it passes at once, as on a fresh "
            "barrier, and the next one never does.";
        f.hint =
            "wait once for each stage at the end, and go on from stage to stage: as many waits as stages";
      } else if (log.ever.arrivals.empty()) {
        tell_arrivals_beside(bar, f);
      } else {
        tell_surplus(bar, f);
      }
      return add_arrivals(log.before.arrivals, f);
    case Kind::parity_off: {
      f.title = text("a wait for ", name, " asks for phase ", cause.place->phase,
                     ", and its thread has not waited for phase ", bar.phase - 1, ", which is complete");
      f.why = "The parity is one phase off: the phase before is complete and would have answered.";
      f.hint = text("ask for parity ", (bar.phase - 1) & 1,
                    " here, and flip the parity once per use of the stage");
      return add_arrivals(log.before.arrivals, f);
    }
    case Kind::no_more_copies:
      f.title = text("no copy was issued for phase ", bar.phase, " of ", name,
                     ": the last one was for phase ", bar.phase - 1);
      f.why = "Those who would issue it wait for it themselves, or have gone on to other stages.";
      f.hint = "issue the copy of tile n before the wait for tile n; mind how far the copies run ahead";
      for (const NamingCopies& c : log.ever.copies)
        if (f.related.size() < kMostLines)
          f.related.push_back({"copied " + plural(c.count, "time"), tell_.line(c.source)});
      return add_boxes(cause, f);
    default: {  // left_early
      std::set<const Warp*> gone;
      for (const Arrivals& a : log.before.arrivals)
        if (!a.warp->live) gone.insert(a.warp);
      f.title = text(names_of(gone), gone.size() == 1 ? " has" : " have", " returned, and phase ", bar.phase,
                     " of ", name, " lacks the arrival", gone.size() == 1 ? "" : "s");
      f.why =
          text(uses_of(bar), "In phase ", bar.phase - 1, " ", gone.size() == 1 ? "it" : "they",
               " arrived; the loops of those who arrive and of those who wait must go round equally often.");
      f.hint = "give both roles the same number of tiles";
      tell_surplus(bar, f);
      return add_arrivals(log.before.arrivals, f);
    }
  }
}

void StuckRule::tell_each_other(const StuckCause& cause, Finding& f) {
  const StuckPlace& place = *cause.place;
  const Mbarrier& bar = *place.bar;
  const BarrierLog& log = history_.of(bar);
  f.title = text(names_of(place.warps), " and ", suppliers(place), " wait for each other");
  f.why = text(name_of(bar), " has ", plural(bar.arrived, "arrival"), " of ", bar.expected, " in phase ",
               bar.phase);
  f.why += ". " + uses_of(bar);
  f.hint =
      "let whoever has read a stage hand it back before it waits for the next one, once for every time it was filled";
  add_init(bar, f);
  add_arrivals(log.before.arrivals, f);
}

// The stage is filled again before its last copies have landed: what its thread waited for in between.
void StuckRule::explain_refilled(const Warp& w, const Mbarrier& bar, Finding& f) const {
  const LatestWait* latest = history_.latest_wait(w);
  const std::string name = latest ? latest->bar->name() : "";
  f.title += ": its thread arrives again before the phase is complete";
  f.hint = "wait for the empty barrier of the stage in front of the arrival and the copies";
  if (latest)
    f.related.insert(f.related.begin(), {"the latest wait, for " + name, tell_.line(latest->source)});
  if (latest && latest->bar != &bar)
    for (const PassedWaits& passed : history_.of(*latest->bar).waits)
      if (passed.warp == &w && passed.source == latest->source && passed.again) {
        f.title = text(init_words(bar), ", and its thread arrives again: the wait for ", name,
                       " in front of it has passed twice for the same phase");
        f.why =
            text("By its parity that wait asks for a phase that was complete the last time, too; ", name,
                 " has come to phase ", latest->bar->phase, " since, and nobody had to arrive in between.");
        f.hint = text("flip the parity of the wait for ", name, " once per use of the stage");
        return;
      }
  const std::string initialised = tell_.line(bar.init_source).text();
  std::string idle;  // those of another kind, that nobody waits for
  for (const auto& [address, other] : bar.cta->mbarriers)
    if (other.valid && tell_.line(other.init_source).text() != initialised &&
        history_.of(other).waits.empty() && !history_.of(other).tells_of_copies)
      idle += (idle.empty() ? "" : ", ") + other.name();
  if (latest && latest->complete == 0) {
    f.why += text(". The wait for ", name,
                  " passed at once, as on a fresh barrier: nobody had to hand a stage back.");
    f.hint += ", for parity 1 on the first lap only";
  } else if (!latest) {
    f.why += ". It has waited for no mbarrier.";
  }
  if (!idle.empty() && !(latest && latest->complete == 0)) f.title += ": nobody waits for " + idle;
}

// An arrival that the running phase has no place for. It is the last that the history knows of.
void StuckRule::explain_arrival(const At& at, const Mbarrier& bar, Finding& f) {
  const std::string line = tell_.line(at.inst).text();
  uint64_t own = 0;  // from this line, which an unrolled loop has several times
  uint32_t lanes = 0;
  const Arrivals* other = nullptr;
  for (const Arrivals& a : history_.of(bar).running.arrivals)
    if (a.warp == &at.warp && tell_.line(a.source).text() == line)
      own += a.count, lanes |= a.lanes;
    else
      other = &a;
  add_init(bar, f);
  if (own == 0 || bar.arrived == 0) return;
  f.title = init_words(bar);
  if (other && own == 1) {
    const bool same_warp = other->warp == &at.warp;
    f.title += text(", and ", same_warp ? "a second arrival of one phase comes from another line"
                                        : names_of({other->warp, &at.warp}) + " arrive in one phase");
    f.related.push_back(
        {same_warp ? "the one before" : names_of({other->warp}) + " arrives", tell_.line(other->source)});
    f.hint =
        same_warp
            ? "arrive once per phase, with the bytes of all its copies, or initialise it for all arrivals of a phase"
            : "let one thread of the CTA arrive and copy, or initialise it for all arrivals of a phase";
  } else if ((lanes & (lanes - 1)) != 0) {
    f.title += text(", and several lanes of ", names_of({&at.warp}), " arrive, each for itself");
    f.hint =
        "let one lane of the warp arrive and copy (elect.sync), or initialise it for all arrivals of a phase";
  } else {
    explain_refilled(at.warp, bar, f);
  }
}

}  // namespace emu::check
