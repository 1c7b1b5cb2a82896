// A warp: 32 lanes that share a decoded program. Lanes with the same pc form a group and execute together; divergent
// groups take turns, so every lane makes progress (PTX ISA 3.1: independent thread scheduling).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/machine/loop_slice.hpp"
#include "emulator/machine/observer.hpp"
#include "emulator/program/program.hpp"

namespace emu {

struct Cta;
class Machine;
struct Group;

// The 32 lanes of one operand. Types up to 32 bits live in 4-byte lanes, 64-bit types in 8-byte lanes.
template <class T>
struct Lanes {
  using Slot = std::conditional_t<(sizeof(T) <= 4), uint32_t, uint64_t>;
  Slot* slots;
  T operator[](int lane) const {
    T value;
    if constexpr (sizeof(T) == sizeof(Slot)) {
      std::memcpy(&value, &slots[lane], sizeof(T));
    } else {
      auto low = static_cast<std::conditional_t<sizeof(T) == 1, uint8_t, uint16_t>>(slots[lane]);
      std::memcpy(&value, &low, sizeof(T));
    }
    return value;
  }
  // Narrow integers are extended to the slot: by sign when signed, else by zeros.
  void set(int lane, T value) const {
    if constexpr (std::is_integral_v<T>) {
      slots[lane] = static_cast<Slot>(value);
    } else if constexpr (sizeof(T) == sizeof(Slot)) {
      std::memcpy(&slots[lane], &value, sizeof(T));
    } else {
      uint16_t low = 0;
      std::memcpy(&low, &value, sizeof(T));
      slots[lane] = low;
    }
  }
};

// Calls f(lane) for every lane of the mask. Lanes are independent.
template <class F>
inline void for_lanes(uint32_t mask, F&& f) {
  if (mask == 0xFFFFFFFFu) {
#pragma GCC ivdep
    for (int lane = 0; lane < 32; ++lane) f(lane);
  } else {
    for (uint32_t m = mask; m; m &= m - 1) f(__builtin_ctz(m));
  }
}

// Why a group waits and how it goes on.
struct Wait {
  // True when the group may go on. Called often; must change nothing.
  bool (*ready)(Warp&, const Group&) = nullptr;
  // Completes the instruction (writes its result) just before the group goes on; may be null.
  void (*finish)(Warp&, Group&) = nullptr;
  // "full_bar[2] phase 3 parity 1: 0 of 1 arrivals pending, 2048 bytes outstanding", for a deadlock report.
  std::string (*describe)(Warp&, const Group&) = nullptr;
  // Why it can never go on, and what to try; for the deadlock report. May be null.
  std::string (*explain)(Warp&, const Group&) = nullptr;
  // True when no waiting thread could end this wait, whatever it did: then it is the root of a deadlock. May be null.
  bool (*is_root)(Warp&, const Group&) = nullptr;
  // A wait that may return False instead (mbarrier.try_wait, test_wait): finish sees forced == true then.
  bool may_fail = false;
  bool forced = false;
  uint64_t alarm = 0;             // emulated time at which it ends by itself; 0: it does not
  const Mbarrier* bar = nullptr;  // on which it waits, of mbarrier.try_wait and test_wait; b: the phase
  uint64_t a = 0, b = 0, c = 0;   // the executor's own data
};

// What a warp did between two turns of others.
struct Turn {
  uint64_t instructions = 0;                  // of the warp
  std::array<uint64_t, kClasses> lanes = {};  // that executed them, by Class
};

struct Group {
  enum class State : uint8_t { ready, blocked, converging };
  uint32_t mask = 0;
  uint32_t pc = 0;
  uint32_t frame = 0;  // offset of its frame of registers
  State state = State::ready;
  uint64_t stamp = 0;  // when it last ran
  Wait wait;
};

// A warp that does nothing another could see, and whose whole state comes back, goes round a loop: it polls. It will do so
// for ever, unless something changes outside of it; then it goes round once, to see whether that is what it waits for.
// The state after a power-of-two number of turns is kept, and compared with every later one. After some turns the state is no
// longer all registers, but those that decide how the loop goes on: it may count its turns.
struct Spin {
  uint64_t idle = 0;  // instructions since it did something that others can see
  uint64_t saved_hash = 0, saved_effects = 0, turns = 0, next_save = 1;
  bool found = false;
  uint64_t since_saved = 0;  // instructions
  uint64_t lap = 0;          // instructions once round, or a few times: the first lap is looked at closely
  bool shortest = false;
  uint64_t lap_done = 0, lap_effects = 0;
  uint64_t seen_effects = 0;  // what it looked at after that was all as before
  std::unique_ptr<LoopSlice> slice;

  // Begins a lap, or goes on with it; so many instructions until the state is to be looked at.
  uint64_t next_look(uint64_t effects);
};

class Warp {
 public:
  Warp(Machine& machine, Cta& cta, const Program& program, int index, uint32_t mask);

  Machine& machine;
  Cta& cta;
  const Program& program;
  const int index;         // in the CTA
  const uint32_t initial;  // lanes that exist
  uint32_t live;           // lanes that have not exited

  // Executes up to `budget` instructions. Returns how many it executed (0: everybody waits).
  int run(int budget);
  // For an observer of its instructions: this one is the last of the turn.
  void end_turn() { budget_ = executed_; }
  bool finished() const { return live == 0; }
  // Every group is blocked (or the warp is known to spin without effect).
  bool stuck();
  // Makes waits that may fail return False. Returns how many.
  int force_failures();
  // When the first of its sleeping groups wakes up, 0 when none sleeps. A warp that is known to spin sleeps in vain.
  uint64_t next_alarm() const;

  // ---- for executors
  template <class T>
  Lanes<T> lanes(Ref r) const {
    return {reinterpret_cast<typename Lanes<T>::Slot*>(place(r))};
  }
  uint32_t predicate(Ref r) const {  // mask of lanes in which it holds
    uint32_t value;
    std::memcpy(&value, place(r), 4);
    return r & kNotBit ? ~value : value;
  }
  void set_predicate(Ref r, uint32_t value, uint32_t mask) {
    if (r == kNoRef) return;
    uint32_t old;
    std::memcpy(&old, base_[0] + r, 4);
    old = (old & ~mask) | (value & mask);
    std::memcpy(base_[0] + r, &old, 4);
  }
  std::byte* frame() const { return base_[0]; }
  std::byte* place(Ref r) const { return base_[r >> 31] + (r & 0x3FFFFFFFu); }
  std::byte* frame_at(uint32_t offset) { return reinterpret_cast<std::byte*>(frames_.data()) + offset; }
  uint32_t frame_offset(Ref r) const {
    return current->frame + r;
  }  // stable name of a register of the current frame

  Group* current = nullptr;  // the group that executes
  uint64_t now() const;      // emulated time: what %clock64 and %globaltimer read, and nanosleep counts in
  const Inst& instruction(const Group& g) const { return program.code[g.pc]; }

  // The group waits; with a mask, only those lanes of it do, and the others go on behind the instruction, but for those of
  // `again`, which execute it next.
  Flow block(const Wait& wait);
  Flow block(const Wait& wait, uint32_t mask, uint32_t again = 0);
  Flow jump(uint32_t target);                    // whole group
  Flow branch(uint32_t taken, uint32_t target);  // lanes `taken` of the group; the rest falls through
  // Each lane of `mask` to its own pc (and frame): ret, indirect calls.
  Flow scatter(uint32_t mask, const uint32_t* pc, const uint32_t* frame);
  Flow call(uint32_t mask, const Inst& inst, uint32_t function);
  Flow return_from(uint32_t mask);
  Flow exit_lanes(uint32_t mask);
  bool all_here(uint32_t member_mask) const {  // every live lane of the member mask is in the current group
    return ((member_mask & live) & ~current->mask) == 0;
  }

  // Local memory of a lane; null when out of bounds.
  std::byte* local(int lane, uint64_t address, uint64_t bytes);
  uint32_t local_bytes() const { return local_bytes_; }

  // [tid.x, tid.y, tid.z] of a lane; linear thread index in the CTA.
  int thread(int lane) const { return index * 32 + lane; }
  void thread_index(int lane, uint32_t* xyz) const;

  // Ends the launch with a finding at this instruction. where/line/ptx are filled in.
  [[noreturn]] void fault(const Inst& inst, int lane, Finding finding) const;
  [[noreturn]] void fault(const Inst& inst, int lane, Id id, const std::string& title,
                          const std::string& why = "", const std::string& hint = "") const;
  // Adds a finding at this instruction that does not end the launch.
  void report(const Inst& inst, int lane, Finding finding) const;
  std::string where(const Inst& inst, int lane) const;  // "file:line  CTA (0,0,0) warp 1 lane 0"

  const std::array<Group, 33>& groups() const { return groups_; }
  int group_count() const { return group_count_; }

  unsigned registers = 0;  // a thread's, as setmaxnreg left them
  Observers watchers;      // of every instruction

  // bar.warp.sync: lanes that have arrived, per member mask
  struct WarpBarrier {
    uint32_t member = 0, arrived = 0;
    uint64_t generation = 0;
  };
  std::vector<WarpBarrier> warp_barriers;
  // barrier.cluster: lanes that have arrived in the running phase; per lane, the phase of its latest arrive
  uint32_t cluster_arrived = 0;
  std::array<uint64_t, 32> cluster_phase;

 private:
  std::byte* base_[2];
  std::vector<uint64_t> frames_;  // the kernel's frame, then those of calls as they were needed
  std::vector<std::vector<uint32_t>> frames_of_;  // by function: the offsets of its frames
  std::vector<std::byte> local_;
  uint32_t local_bytes_ = 0;
  std::array<Group, 33> groups_;  // one a lane, and one that has just lost its last lane
  int group_count_ = 0;
  uint64_t stamp_ = 0;
  int back_branches_ = 0;
  bool take_turns_ = false;
  int executed_ = 0;  // instructions, in this turn,
  int budget_ = 0;    // and how many there may be
  Spin spin_;

  FrameHead& head(uint32_t frame) { return *reinterpret_cast<FrameHead*>(frame_at(frame)); }
  uint32_t take_frame(uint32_t function, uint32_t mask, const Inst& inst);
  void hand_over(const FrameSlot& from, const std::byte* from_frame, const FrameSlot& to, std::byte* to_frame,
                 uint32_t mask) const;
  bool runs_before(const Group& g, const Group& h);
  void wake();
  Group* pick();
  uint32_t next_meeting(const Group& g) const;
  void remove_empty();
  Group& add_group(uint32_t mask, uint32_t pc, uint32_t frame);
  uint64_t state_hash() const;
  bool rests() const;  // it would only go round its loop once more
  void watch_for_spin(int executed, uint64_t effects_before);
};

// A lane of a warp at an instruction.
struct At {
  Warp& warp;
  const Inst& inst;
  int lane;

  template <class... Words>
  [[noreturn]] void fault(Words&&... words) const {
    warp.fault(inst, lane, std::forward<Words>(words)...);
  }
  void report(Finding finding) const { warp.report(inst, lane, std::move(finding)); }
};

}  // namespace emu
