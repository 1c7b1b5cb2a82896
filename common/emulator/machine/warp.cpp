#include "emulator/machine/warp.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "emulator/machine/machine.hpp"

namespace emu {

namespace {
// What the frames of all calls of a warp may take, and a thread's local memory when a kernel calls functions.
constexpr uint32_t kCallFrameBytes = 4u << 20;
constexpr uint32_t kCallLocalBytes = 16u << 10;  // per thread
// A group may take this many backward branches before another group of its warp gets a turn.
constexpr int kBackBranchesPerTurn = 32;
// Instructions of a warp without any effect before its state is watched for a repetition.
constexpr uint64_t kIdleBeforeWatch = 20000;
// Turns after which what does not decide how the loop goes on is left out of its state.
constexpr uint64_t kTurnsBeforeSlice = 500;

// As __builtin_popcount, which is a call where the processor may lack the instruction. Mostly all lanes are there.
inline uint64_t lanes_in(uint32_t mask) {
  if (mask == ~0u) return 32;
  mask -= mask >> 1 & 0x55555555;
  mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
  return ((mask + (mask >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24;
}
}  // namespace

Warp::Warp(Machine& m, Cta& c, const Program& p, int i, uint32_t mask)
    : machine(m), cta(c), program(p), index(i), initial(mask), live(mask) {
  const FunctionInfo& kernel = p.functions[0];
  frames_.resize(kernel.frame_bytes / 8);
  frames_of_.resize(p.has_calls ? p.functions.size() : 0);
  fill_poison(frames_.data(), kernel.frame_bytes);
  local_bytes_ = kernel.local_bytes + (p.has_calls ? kCallLocalBytes : 0);
  local_.resize(static_cast<size_t>(local_bytes_) * 32);
  fill_poison(local_.data(), local_.size());
  std::memset(frame_at(0), 0, kFrameHeader);
  registers = p.launch_registers;
  cluster_phase.fill(UINT64_MAX);
  base_[0] = frame_at(0);
  base_[1] = reinterpret_cast<std::byte*>(const_cast<uint8_t*>(p.constants.data()));
  add_group(mask, kernel.entry, 0);
}

Group& Warp::add_group(uint32_t mask, uint32_t pc, uint32_t frame) {
  Group& g = groups_[group_count_++];
  g = Group();
  g.mask = mask;
  g.pc = pc;
  g.frame = frame;
  g.stamp = ++stamp_;
  return g;
}

void Warp::remove_empty() {
  int kept = 0;
  for (int i = 0; i < group_count_; ++i)
    if (groups_[i].mask) {
      if (kept != i) groups_[kept] = groups_[i];
      ++kept;
    }
  group_count_ = kept;
}

void Warp::wake() {
  for (int i = 0; i < group_count_; ++i) {
    Group& g = groups_[i];
    if (g.state != Group::State::blocked) continue;
    current = &g;
    base_[0] = frame_at(g.frame);
    if (!g.wait.forced && !g.wait.ready(*this, g)) continue;
    if (g.wait.finish) g.wait.finish(*this, g);
    machine.observers.tell(&Observer::on_wait_end, *this, g);
    g.wait = Wait();
    g.state = Group::State::ready;
    ++g.pc;
  }
}

bool Warp::stuck() {
  if (live == 0) return true;
  if (rests()) return true;
  if (spin_.found && spin_.lap_done == 0) return false;
  for (int i = 0; i < group_count_; ++i) {
    Group& g = groups_[i];
    if (g.state == Group::State::ready) return false;
    if (g.state == Group::State::blocked) {
      current = &g;
      base_[0] = frame_at(g.frame);
      if (g.wait.forced || g.wait.ready(*this, g)) return false;
    }
  }
  return true;
}

int Warp::force_failures() {
  int count = 0;
  for (int i = 0; i < group_count_; ++i) {
    Group& g = groups_[i];
    if (g.state == Group::State::blocked && g.wait.may_fail) {
      g.wait.forced = true;
      ++count;
    }
  }
  if (count) spin_ = Spin();
  return count;
}

uint64_t Warp::next_alarm() const {
  uint64_t first = 0;
  if (rests()) return first;
  for (int i = 0; i < group_count_; ++i) {
    const Group& g = groups_[i];
    if (g.state == Group::State::blocked && g.wait.alarm && (!first || g.wait.alarm < first))
      first = g.wait.alarm;
  }
  return first;
}

uint64_t Warp::now() const {
  const bool steps = machine.schedule.kind != Schedule::Kind::timed;  // else the clock goes on within a turn
  return machine.clock() + (steps ? static_cast<uint64_t>(executed_) : 0);
}

// Deepest call first, then lowest pc.
bool Warp::runs_before(const Group& g, const Group& h) {
  if (g.frame == h.frame) return g.pc < h.pc;
  const uint32_t g_depth = head(g.frame).depth, h_depth = head(h.frame).depth;
  return g_depth != h_depth ? g_depth > h_depth : g.pc < h.pc;
}

// Merges groups that stand at the same instruction, then chooses who runs: deepest call first, lowest pc first, so
// that diverged lanes meet again as early as possible; when a loop keeps others waiting, whoever ran longest ago.
Group* Warp::pick() {
  bool removed = false;
  for (int i = 0; i < group_count_; ++i) {
    Group& g = groups_[i];
    if (g.state == Group::State::blocked || !g.mask) continue;
    for (int k = i + 1; k < group_count_; ++k) {
      Group& h = groups_[k];
      if (h.state == Group::State::blocked || h.pc != g.pc || h.frame != g.frame || !h.mask) continue;
      g.mask |= h.mask;
      g.state = Group::State::ready;
      h.mask = 0;
      removed = true;
    }
  }
  if (removed) remove_empty();
  Group* best = nullptr;
  for (int i = 0; i < group_count_; ++i) {
    Group& g = groups_[i];
    if (g.state != Group::State::ready) continue;
    if (!best || (take_turns_ ? g.stamp < best->stamp : runs_before(g, *best))) best = &g;
  }
  take_turns_ = false;
  return best;
}

// The nearest pc at which another group waits to be joined.
uint32_t Warp::next_meeting(const Group& g) const {
  uint32_t stop = UINT32_MAX;
  for (int i = 0; i < group_count_; ++i) {
    const Group& h = groups_[i];
    if (&h != &g && h.state != Group::State::blocked && h.frame == g.frame && h.pc > g.pc)
      stop = std::min(stop, h.pc);
  }
  return stop;
}

int Warp::run(int budget) {
  if (rests()) return 0;
  const uint64_t effects_before = machine.effects;
  if (spin_.found) budget = static_cast<int>(std::min<uint64_t>(budget, spin_.next_look(effects_before)));
  wake();
  executed_ = 0;
  budget_ = budget;
  bool rest = false;  // a lane asked to let other warps run
  Turn turn;
  const Inst* code = program.code.data();
  while (executed_ < budget_) {
    Group* g = pick();
    if (!g) break;
    current = g;
    g->stamp = ++stamp_;
    base_[0] = frame_at(g->frame);
    uint32_t stop = group_count_ > 1 ? next_meeting(*g) : UINT32_MAX;
    while (executed_ < budget_) {
      const Inst& in = code[g->pc];
      ++executed_;
      uint32_t m = g->mask;
      if (in.guard != kNoRef) m &= predicate(in.guard);
      if (m) {
        turn.lanes[static_cast<size_t>(in.cls)] += lanes_in(m);
        if (!watchers.empty()) watchers.tell(&Observer::on_instruction, *this, in);
        Flow flow = in.exec(*this, in, m);
        if (flow == Flow::next) {
          ++g->pc;
        } else if (flow == Flow::jumped) {
          if (group_count_ != 1 || groups_[0].state != Group::State::ready) break;
          g = current = &groups_[0];
          base_[0] = frame_at(g->frame);
          stop = UINT32_MAX;
          continue;
        } else if (flow == Flow::converge) {
          g->state = Group::State::converging;
          turn.lanes[static_cast<size_t>(in.cls)] -= lanes_in(m);
          break;
        } else if (flow == Flow::yield) {
          ++g->pc;
          take_turns_ = rest = true;
          break;
        } else {
          break;  // blocked
        }
      } else {
        ++g->pc;
      }
      if (g->pc == stop) break;
    }
    if (live == 0 || rest) break;
  }
  turn.instructions = static_cast<uint64_t>(executed_);
  machine.instructions += turn.instructions;
  machine.observers.tell(&Observer::on_turn, *this, turn);
  watch_for_spin(executed_, effects_before);
  return std::exchange(executed_, 0);
}

uint64_t Warp::state_hash() const {
  uint64_t h = 1469598103934665603ull;
  auto mix = [&](uint64_t v) { h = (h ^ v) * 1099511628211ull + (h >> 29); };
  for (int i = 0; i < group_count_; ++i) {
    const Group& g = groups_[i];
    mix((static_cast<uint64_t>(g.mask) << 32) | g.pc);
    mix((static_cast<uint64_t>(g.state) << 32) | g.frame);
  }
  if (spin_.slice) {
    for (const RegisterSlot& r : spin_.slice->deciding())
      for (uint32_t i = 0; i < r.bytes; i += 8) mix(frames_[(r.at + i) / 8]);
  } else {
    for (uint64_t word : frames_) mix(word);
  }
  for (size_t i = 0; i + 8 <= local_.size(); i += 8) {
    uint64_t v;
    std::memcpy(&v, &local_[i], 8);
    mix(v);
  }
  return h;
}

// A loop that came back to its state after `lap` instructions has a length that divides it.
uint64_t Spin::next_look(uint64_t effects) {
  if (lap_done == 0) lap_effects = effects;
  if (shortest) return lap - lap_done;
  uint64_t end = lap_done + 1;
  while (lap % end) ++end;
  return end - lap_done;
}

bool Warp::rests() const {
  return spin_.found && spin_.lap_done == 0 && spin_.seen_effects == machine.effects;
}

void Warp::watch_for_spin(int executed, uint64_t effects_before) {
  if (machine.effects != effects_before) {
    spin_ = Spin();
    return;
  }
  if (executed == 0 || live == 0) return;
  const uint64_t count = static_cast<uint64_t>(executed);
  if (spin_.found) {
    spin_.lap_done += count;
    const bool round = spin_.lap_done == spin_.lap;
    if (!round && (spin_.shortest || spin_.lap % spin_.lap_done)) return;
    if (state_hash() == spin_.saved_hash) {
      spin_.lap = spin_.lap_done;
      spin_.shortest = true;
      spin_.lap_done = 0;
      spin_.seen_effects = spin_.lap_effects;
    } else if (round) {
      spin_ = Spin();
    }
    return;
  }
  spin_.idle += count;
  if (spin_.idle < kIdleBeforeWatch) return;
  if (!spin_.slice && spin_.turns == kTurnsBeforeSlice && !program.has_calls) {
    spin_.slice = std::make_unique<LoopSlice>(*this);
    return;
  }
  if (spin_.slice && spin_.slice->has_grown()) {
    spin_.turns = 0;
    spin_.next_save = 1;
  }
  spin_.since_saved += count;
  const uint64_t hash = state_hash();
  if (spin_.turns > 0 && hash == spin_.saved_hash) {
    spin_.found = true;
    spin_.lap = spin_.since_saved;
    spin_.seen_effects = spin_.saved_effects;
  } else if (++spin_.turns == spin_.next_save) {
    spin_.saved_hash = hash;
    spin_.saved_effects = machine.effects;
    spin_.since_saved = 0;
    spin_.next_save *= 2;
  }
}

Flow Warp::block(const Wait& wait) {
  current->wait = wait;
  current->state = Group::State::blocked;
  machine.observers.tell(&Observer::on_wait, *this, *current);
  return Flow::blocked;
}

Flow Warp::block(const Wait& wait, uint32_t mask, uint32_t again) {
  const uint32_t rest = current->mask & ~mask;
  if (rest == 0) return block(wait);
  Group& waiting = *current;
  const uint32_t here = waiting.pc, behind = here + 1;
  waiting.mask = mask;
  block(wait);
  if (rest & again) add_group(rest & again, here, waiting.frame);
  if (rest & ~again) add_group(rest & ~again, behind, waiting.frame);
  return Flow::jumped;
}

Flow Warp::jump(uint32_t target) {
  if (target <= current->pc && group_count_ > 1 && ++back_branches_ >= kBackBranchesPerTurn) {
    back_branches_ = 0;
    take_turns_ = true;
  }
  current->pc = target;
  return Flow::jumped;
}

Flow Warp::branch(uint32_t taken, uint32_t target) {
  if (taken == current->mask) return jump(target);
  current->mask &= ~taken;
  ++current->pc;
  if (target <= current->pc && ++back_branches_ >= kBackBranchesPerTurn) {
    back_branches_ = 0;
    take_turns_ = true;
  }
  add_group(taken, target, current->frame);
  return Flow::jumped;
}

Flow Warp::scatter(uint32_t mask, const uint32_t* pc, const uint32_t* frame) {
  current->mask &= ~mask;
  if (current->mask) ++current->pc;
  uint32_t left = mask;
  while (left) {
    int lane = __builtin_ctz(left);
    uint32_t same = 0;
    for (uint32_t m = left; m; m &= m - 1) {
      int l = __builtin_ctz(m);
      if (pc[l] == pc[lane] && frame[l] == frame[lane]) same |= 1u << l;
    }
    add_group(same, pc[lane], frame[lane]);
    left &= ~same;
  }
  remove_empty();
  return Flow::jumped;
}

// The first frame of the function that none of these lanes is active in: lanes that are in a function at the same time
// share a frame, wherever they called it from, and can meet there. More than one frame is there after recursion only.
uint32_t Warp::take_frame(uint32_t function, uint32_t mask, const Inst& inst) {
  for (uint32_t frame : frames_of_[function])
    if (!(head(frame).lanes & mask)) return frame;
  const uint32_t bytes = program.functions[function].frame_bytes;
  const size_t frame = frames_.size() * 8;
  if (frame + bytes > program.functions[0].frame_bytes + size_t{kCallFrameBytes})
    fault(inst, __builtin_ctz(mask), Id::stack_overflow, "the call stack of this thread is full",
          "the calls that its warp is in need more than " + std::to_string(kCallFrameBytes >> 20) +
              " MiB of register frames",
          "check that the recursion ends");
  frames_.resize((frame + bytes) / 8);
  fill_poison(frame_at(static_cast<uint32_t>(frame)), bytes);
  std::memset(frame_at(static_cast<uint32_t>(frame)), 0, kFrameHeader);
  head(static_cast<uint32_t>(frame)).function = function;
  frames_of_[function].push_back(static_cast<uint32_t>(frame));
  return static_cast<uint32_t>(frame);
}

// A parameter or result, from one frame (or the constant pool) to another.
void Warp::hand_over(const FrameSlot& from, const std::byte* from_frame, const FrameSlot& to,
                     std::byte* to_frame, uint32_t mask) const {
  if (to.at == kNoRef) return;
  const std::byte* source = (from.at & kConstBit ? base_[1] : from_frame) + (from.at & ~kConstBit);
  std::byte* destination = to_frame + to.at;
  if (to.stride == 0) {  // a predicate
    uint32_t value, old;
    std::memcpy(&value, source, 4);
    std::memcpy(&old, destination, 4);
    old = (old & ~mask) | (value & mask);
    std::memcpy(destination, &old, 4);
    return;
  }
  for_lanes(mask,
            [&](int l) { std::memcpy(destination + l * to.stride, source + l * from.stride, to.bytes); });
}

Flow Warp::call(uint32_t mask, const Inst& inst, uint32_t function) {
  const uint32_t pc = current->pc + 1, old = current->frame;
  const uint32_t frame = take_frame(function, mask, inst);
  const FunctionInfo& callee = program.functions[function];
  FrameHead &from = head(old), &to = head(frame);
  const uint32_t from_local = program.functions[from.function].local_bytes;
  to.depth = to.lanes ? std::max(to.depth, from.depth + 1) : from.depth + 1;
  to.lanes |= mask;
  for_lanes(mask, [&](int l) {
    to.return_pc[l] = pc;
    to.caller[l] = old;
    to.local[l] = from.local[l] + from_local;
    if (to.local[l] + callee.local_bytes > local_bytes_)
      fault(inst, l, Id::stack_overflow, "the local memory of this thread is full",
            "nested calls need more than " + std::to_string(local_bytes_) + " bytes of local memory",
            "check that the recursion ends");
  });
  for (size_t i = 0; i < callee.params.size(); ++i)
    hand_over(inst.extra->arguments[i], frame_at(old), callee.params[i], frame_at(frame), mask);
  current->mask &= ~mask;
  if (current->mask) ++current->pc;
  add_group(mask, callee.entry, frame);
  remove_empty();
  return Flow::jumped;
}

Flow Warp::return_from(uint32_t mask) {
  if (current->frame == 0) return exit_lanes(mask);
  uint32_t pc[32], frame[32];
  FrameHead& from = head(current->frame);
  for_lanes(mask, [&](int l) {
    pc[l] = from.return_pc[l];
    frame[l] = from.caller[l];
  });
  from.lanes &= ~mask;
  // Results: from this frame's return slots to the places the call named.
  const FunctionInfo& callee = program.functions[from.function];
  for_lanes(mask, [&](int l) {
    const Extra& x = *program.code[pc[l] - 1].extra;
    for (size_t i = 0; i < callee.returns.size(); ++i)
      hand_over(callee.returns[i], base_[0], x.results[i], frame_at(frame[l]), 1u << l);
  });
  return scatter(mask, pc, frame);
}

Flow Warp::exit_lanes(uint32_t mask) {
  machine.observers.tell(&Observer::on_exit, *this, program.code[current->pc], mask);
  live &= ~mask;
  current->mask &= ~mask;
  if (current->mask)
    ++current->pc;
  else
    remove_empty();
  // Whoever waited for the exited lanes looks again.
  for (int i = 0; i < group_count_; ++i)
    if (groups_[i].state == Group::State::converging) groups_[i].state = Group::State::ready;
  ++machine.effects;
  cta.lanes_exited(*this);
  return Flow::jumped;
}

std::byte* Warp::local(int lane, uint64_t address, uint64_t bytes) {
  if (address > local_bytes_ || bytes > local_bytes_ - address) return nullptr;
  return local_.data() + static_cast<size_t>(lane) * local_bytes_ + address;
}

void Warp::thread_index(int lane, uint32_t* xyz) const {
  uint32_t t = static_cast<uint32_t>(thread(lane));
  const Dim3& block = cta.config.block;
  xyz[0] = t % block.x;
  xyz[1] = t / block.x % block.y;
  xyz[2] = t / (block.x * block.y);
}

std::string Warp::where(const Inst& inst, int lane) const {
  std::string out = program.line_of(inst).text() + "  " + cta.text() + " warp " + std::to_string(index);
  if (lane >= 0) {
    uint32_t t[3];
    thread_index(lane, t);
    out += " lane " + std::to_string(lane) + " thread (" + std::to_string(t[0]) + "," + std::to_string(t[1]) +
           "," + std::to_string(t[2]) + ")";
  }
  return out;
}

void Warp::fault(const Inst& inst, int lane, Finding finding) const {
  finding.line = program.line_of(inst);
  finding.kernel = program.name;
  finding.where = where(inst, lane);
  throw Fault(finding);
}

void Warp::report(const Inst& inst, int lane, Finding finding) const {
  finding.line = program.line_of(inst);
  finding.kernel = program.name;
  finding.where = where(inst, lane);
  finding.cta = static_cast<int64_t>(cta.order);
  finding.warp = index;
  machine.findings.next_event();
  machine.findings.add(finding);
}

void Warp::fault(const Inst& inst, int lane, Id id, const std::string& title, const std::string& why,
                 const std::string& hint) const {
  Finding f(id);
  f.title = title;
  f.why = why;
  f.hint = hint;
  fault(inst, lane, f);
}

}  // namespace emu
