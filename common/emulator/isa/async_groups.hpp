// commit_group and wait_group of the two kinds of async-group (PTX ISA 9.7.9.25.3.2, 9.7.9.27.2).
#pragma once

#include "emulator/isa/operands.hpp"
#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"

namespace emu {

inline void commit_group(Warp& w, const Inst& in, uint32_t mask, GroupKind kind) {
  w.machine.engine->groups(w, kind).commit(mask);
  w.machine.observers.tell(&Observer::on_commit, w, in, mask, kind);
}

// Waits until at most `newest` groups of each lane are pending; read_only: until they have read their sources.
// wait.a: newest; wait.b: kind and, in bit 8, read_only; wait.c: lanes.
inline Flow wait_group(Warp& w, const Inst& in, uint32_t mask, GroupKind kind, uint32_t newest,
                       bool read_only) {
  if (w.machine.engine->groups(w, kind).done(mask, newest, read_only)) {
    w.machine.observers.tell(&Observer::on_group_wait, w, in, mask, kind, newest, read_only);
    return Flow::next;
  }
  Wait wait;
  wait.a = newest;
  wait.b = static_cast<uint64_t>(kind) | static_cast<uint64_t>(read_only) << 8;
  wait.c = mask;
  wait.ready = [](Warp& warp, const Group& g) {
    return warp.machine.engine->groups(warp, static_cast<GroupKind>(g.wait.b & 0xFF))
        .done(static_cast<uint32_t>(g.wait.c), static_cast<uint32_t>(g.wait.a), g.wait.b >> 8);
  };
  wait.finish = [](Warp& warp, Group& g) {
    warp.machine.observers.tell(&Observer::on_group_wait, warp, warp.instruction(g),
                                static_cast<uint32_t>(g.wait.c), static_cast<GroupKind>(g.wait.b & 0xFF),
                                static_cast<uint32_t>(g.wait.a), g.wait.b >> 8);
  };
  wait.describe = [](Warp& warp, const Group& g) {
    const uint32_t lanes =
        warp.machine.engine->groups(warp, static_cast<GroupKind>(g.wait.b & 0xFF))
            .blocking(static_cast<uint32_t>(g.wait.c), static_cast<uint32_t>(g.wait.a), g.wait.b >> 8);
    return "async-groups of lanes " + hex(lanes) + " are unfinished";
  };
  return w.block(wait);
}

}  // namespace emu
