#include "emulator/machine/deadlock.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "emulator/machine/machine.hpp"

namespace emu {
namespace {

constexpr int kShownWaiters = 6;

const Inst& instruction(const StuckGroup& w) {
  return w.warp->instruction(*w.group);
}

std::string words(Warp& warp, const Group& g) {
  if (g.state == Group::State::converging)
    return "lanes " + hex(g.mask) + " wait here for lanes " + hex(warp.live & ~g.mask) + " of their warp";
  if (g.state == Group::State::blocked && g.wait.describe) return g.wait.describe(warp, g);
  return "a loop that nothing can end any more";
}

std::vector<StuckGroup> stuck_groups(const Machine& machine) {
  std::vector<StuckGroup> all;
  for (auto& cluster : machine.resident())
    for (auto& cta : cluster->ctas)
      for (auto& warp : cta->warps)
        for (int i = 0; i < warp->group_count(); ++i) {
          const Group& g = warp->groups()[i];
          all.push_back({warp.get(), &g, words(*warp, g)});
        }
  return all;
}

// Who leads: lanes that wait for the rest of their warp; then a wait that stands before work others wait for; then the
// first waiter that can explain itself.
int rank(const StuckGroup& w) {
  const Group& g = *w.group;
  if (g.state == Group::State::converging) return 0;
  if (polls(g)) return 4;
  if (g.wait.is_root && g.wait.is_root(*w.warp, g)) return 1;
  return g.wait.explain ? 2 : 3;
}

// The same wait of many warps is one line.
std::string others(const Program& program, const std::vector<StuckGroup>& waiters, const StuckGroup& lead) {
  std::map<std::string, int> counts;
  for (const StuckGroup& w : waiters)
    if (&w != &lead) ++counts[program.line_of(instruction(w)).text() + " " + w.what];
  std::string text;
  int shown = 0;
  for (auto& [wait, count] : counts) {
    if (++shown > kShownWaiters) break;
    text += "\n         also waiting: " + (count > 1 ? std::to_string(count) + " x " : std::string()) + wait;
  }
  return text;
}

}  // namespace

bool polls(const Group& g) {
  return g.state == Group::State::ready || (g.state == Group::State::blocked && g.wait.alarm);
}

Finding describe_deadlock(const Machine& machine, const Program& program) {
  const std::vector<StuckGroup> waiters = stuck_groups(machine);
  const StuckGroup& lead =
      *std::min_element(waiters.begin(), waiters.end(),
                        [](const StuckGroup& a, const StuckGroup& b) { return rank(a) < rank(b); });
  const Group& g = *lead.group;
  const bool endless = polls(g);
  Finding f(endless ? Id::endless_loop : Id::deadlock);
  f.title = endless ? "a loop never ends: nothing it reads will change any more"
                    : program.short_name(instruction(lead)) + " never lets the thread go on";
  f.line = program.line_of(instruction(lead));
  f.kernel = program.name;
  f.where = lead.warp->where(instruction(lead), __builtin_ctz(g.mask));
  f.state = lead.what + others(program, waiters, lead);
  if (g.wait.explain) f.why = g.wait.explain(*lead.warp, g);
  f.hint = endless ? "see who was to change the value the loop reads, and whether that thread has returned"
                   : "follow the barrier's counters: who arrives, how often, with how many bytes";
  if (instruction(lead).action == Action::set_registers) {
    f.title = "setmaxnreg.inc waits for registers that nobody gives back";
    f.hint =
        "setmaxnreg.dec in the warpgroup that needs few, or fewer in this one: the counts of all warpgroups, each times 128 "
        "threads, within those that the CTA was launched with";
  }
  machine.observers.tell(&Observer::on_deadlock, waiters, f);
  return f;
}

}  // namespace emu
