// mbarrier (PTX ISA 9.7.13.15). The object and its operations are in emulator/mbarrier.hpp; here are the forms.
#include "emulator/machine/mbarrier.hpp"

#include "emulator/isa/access.hpp"
#include "emulator/isa/operands.hpp"
#include "emulator/isa/shared_place.hpp"
#include "emulator/machine/async.hpp"

namespace emu {
namespace {

// in.flags of this family
constexpr uint32_t kParity = 1, kExpectTx = 2, kNoComplete = 4, kDrop = 8, kRelaxed = 16, kHasState = 32,
                   kTry = 64;

SharedPlace place(const At& at) {
  return shared_place(at, at.inst.space, lane_address(at), "mbarrier");
}

// The place of an operand that the space .shared::cta keeps to the executing CTA.
SharedPlace own_place(const At& at) {
  SharedPlace p = place(at);
  if (at.inst.space == Space::shared && p.cta != &at.warp.cta)
    at.fault(Id::barrier_elsewhere, "an operand of the space .shared::cta is an address in another CTA",
             "it comes from mapa; .shared::cta takes addresses of the executing CTA only (PTX 9.7.13.15)",
             "use .shared::cluster, in the forms that have it (arrive, expect_tx, complete_tx)");
  return p;
}

Mbarrier& barrier(const At& at) {
  SharedPlace p = own_place(at);
  return mbarrier_at(at, *p.cta, p.address);
}

Space space_of(const Match& m) {
  const std::string s = m.any_of({"shared", "shared::cta", "shared::cluster"});
  return s.empty() ? Space::generic : s == "shared::cluster" ? Space::shared_cluster : Space::shared;
}

// .sem and .scope are given together or not at all.
void check_qualifiers(Decoder& d, const Match& m) {
  const bool sem = !m.any_of({"release", "acquire", "relaxed"}).empty();
  const bool scope = !m.any_of({"cta", "cluster"}).empty();
  if (sem != scope)
    d.refuse("`" + d.text().full_name() + "` has only one of .sem and .scope", "give both or neither");
}

// mbarrier.init{.shared{::cta}}.b64 [addr], count;                                                9.7.13.15.9
Flow init(Warp& w, const Inst& in, uint32_t mask) {
  auto count = w.lanes<uint32_t>(in.b);
  for_lanes(mask, [&](int l) {
    SharedPlace p = place({w, in, l});
    mbarrier_init({w, in, l}, *p.cta, p.address, count[l]);
  });
  return Flow::next;
}

void decode_init(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 2);
  in.cls = Class::barrier;
  d.address(d.operand(0), space_of(m), in);
  in.b = d.source(d.operand(1), Type::u32);
  in.exec = init;
}

// mbarrier.inval{.shared{::cta}}.b64 [addr];                                                     9.7.13.15.10
Flow inval(Warp& w, const Inst& in, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    SharedPlace p = own_place({w, in, l});
    mbarrier_inval({w, in, l}, *p.cta, p.address);
  });
  return Flow::next;
}

void decode_inval(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 1);
  in.cls = Class::barrier;
  d.address(d.operand(0), space_of(m), in);
  in.exec = inval;
}

// mbarrier.expect_tx{.relaxed.scope}{.space}.b64 [addr], txCount;                                9.7.13.15.11
// mbarrier.complete_tx{.relaxed.scope}{.space}.b64 [addr], txCount;                              9.7.13.15.12
Flow expect_tx(Warp& w, const Inst& in, uint32_t mask) {
  auto bytes = w.lanes<uint32_t>(in.b);
  for_lanes(mask, [&](int l) { mbarrier_expect_tx({w, in, l}, barrier({w, in, l}), bytes[l]); });
  return Flow::next;
}

Flow complete_tx(Warp& w, const Inst& in, uint32_t mask) {
  auto bytes = w.lanes<uint32_t>(in.b);
  for_lanes(mask, [&](int l) { mbarrier_complete_tx({w, in, l}, barrier({w, in, l}), bytes[l], false); });
  return Flow::next;
}

void decode_tx(Decoder& d, const Match& m, Inst& in) {
  check_qualifiers(d, m);
  expect_operands(d, 2);
  in.cls = Class::barrier;
  d.address(d.operand(0), space_of(m), in);
  in.b = d.source(d.operand(1), Type::u32);
  in.exec = m.has("expect_tx") ? expect_tx : complete_tx;
}

// mbarrier.arrive{.sem.scope}{.shared{::cta}}.b64 state, [addr]{, count};                        9.7.13.15.13
// mbarrier.arrive{.sem.scope}.shared::cluster.b64 _, [addr]{, count};
// mbarrier.arrive.expect_tx{.sem.scope}{.space}.b64 state | _, [addr], txCount;
// mbarrier.arrive.noComplete{.release.cta}{.shared{::cta}}.b64 state, [addr], count;
// mbarrier.arrive_drop...: the same five forms                                                   9.7.13.15.14
Flow arrive(Warp& w, const Inst& in, uint32_t mask) {
  auto state = w.lanes<uint64_t>(in.d);
  auto amount = w.lanes<uint32_t>(in.b);
  const bool tx = in.flags & kExpectTx, drop = in.flags & kDrop, no_complete = in.flags & kNoComplete;
  for_lanes(mask, [&](int l) {
    Mbarrier& bar = barrier({w, in, l});
    if ((in.flags & kHasState) && bar.cta != &w.cta)
      w.fault(in, l, Id::barrier_state, "an arrive on an mbarrier of another CTA asks for its state",
              "a remote arrive gives no state (PTX 9.7.13.15.13)", "write _ as the destination");
    if (tx) mbarrier_expect_tx({w, in, l}, bar, amount[l]);
    uint64_t token =
        mbarrier_arrive({w, in, l}, bar, tx ? 1 : amount[l], drop, no_complete, !(in.flags & kRelaxed));
    if (in.flags & kHasState) state.set(l, token);
  });
  return Flow::next;
}

void decode_arrive(Decoder& d, const Match& m, Inst& in) {
  check_qualifiers(d, m);
  in.cls = Class::barrier;
  const bool tx = m.has("expect_tx"), no_complete = m.has("noComplete");
  const bool needs_amount = tx || no_complete;
  if (d.operand_count() != 3 && (needs_amount || d.operand_count() != 2)) expect_operands(d, 3);
  const bool sink = d.is_sink(d.operand(0));
  if (!sink && m.has("shared::cluster"))
    d.refuse("an arrive on .shared::cluster gives no state", "write _ as the destination");
  if (sink && no_complete) d.refuse("an arrive with .noComplete must take the state");
  in.d = d.destination(d.operand(0), Type::b64);
  d.address(d.operand(1), space_of(m), in);
  in.b = d.operand_count() == 3 ? d.source(d.operand(2), Type::u32) : d.constant(1, 4);
  in.flags |= (tx ? kExpectTx : 0) | (no_complete ? kNoComplete : 0) | (m.has("arrive_drop") ? kDrop : 0) |
              (m.has("relaxed") ? kRelaxed : 0) | (sink ? 0 : kHasState);
  in.action = Action::arrive;
  in.cluster_scope = m.has("cluster");
  in.exec = arrive;
}

// mbarrier.pending_count.b64 count, state;                                                       9.7.13.15.17
Flow pending_count(Warp& w, const Inst& in, uint32_t mask) {
  auto count = w.lanes<uint32_t>(in.d);
  auto state = w.lanes<uint64_t>(in.a);
  for_lanes(mask, [&](int l) {
    MbarrierState s;
    if (!MbarrierState::unpack(state[l], &s) || !s.no_complete)
      w.fault(in, l, Id::barrier_state,
              "mbarrier.pending_count of a value that no arrive with .noComplete gave",
              "only the states of mbarrier.arrive.noComplete and arrive_drop.noComplete hold the count "
              "(PTX 9.7.13.15.17)",
              "pass the state of such an arrive");
    count.set(l, s.pending);
  });
  return Flow::next;
}

void decode_pending_count(Decoder& d, const Match&, Inst& in) {
  operands(d, in, Class::barrier, Type::u32, {Type::b64});
  in.exec = pending_count;
}

// mbarrier.{test_wait,try_wait}{.sem.scope}{.shared{::cta}}.b64 p, [addr], state{, ns};          9.7.13.15.16
// mbarrier.{test_wait,try_wait}.parity{.sem.scope}{.shared{::cta}}.b64 p, [addr], phaseParity{, ns};
struct Question {
  Mbarrier* bar;
  uint64_t phase;  // the phase asked about; all ones: the one before phase 0
  bool complete;
};

Question question(const At& at) {
  Mbarrier& bar = barrier(at);
  if (bar.cta != &at.warp.cta)
    at.fault(Id::out_of_bounds, "a wait on an mbarrier of another CTA (" + bar.cta->text() + ")",
             "a thread can wait on its own CTA's mbarriers only (PTX 9.7.13.15.8)",
             "wait on a local mbarrier, and let the other CTA arrive on it");
  if (at.inst.flags & kParity) {
    const uint32_t parity = at.warp.lanes<uint32_t>(at.inst.b)[at.lane];
    if (parity > 1)
      at.fault(Id::wrong_parity,
               "a wait on " + bar.name_for(at.warp.cta) + " for parity " + std::to_string(parity),
               "a parity is 0 or 1 (PTX 9.7.13.15.16)", "pass the phase number modulo 2");
    const bool complete = bar.parity_complete(parity);
    return {&bar, complete ? bar.phase - 1 : bar.phase, complete};
  }
  MbarrierState s;
  if (!MbarrierState::unpack(at.warp.lanes<uint64_t>(at.inst.b)[at.lane], &s) || s.address != bar.address)
    at.fault(Id::barrier_state,
             "the state given to a wait on " + bar.name_for(at.warp.cta) + " is not one of its states",
             "it must come from an arrive on the same mbarrier (PTX 9.7.13.15.16)",
             "keep one state variable for each mbarrier");
  if (s.phase == (bar.phase & 0xFFFFF)) return {&bar, bar.phase, false};
  if (s.phase == ((bar.phase - 1) & 0xFFFFF)) return {&bar, bar.phase - 1, true};
  at.fault(
      Id::barrier_state,
      "the state given to a wait on " + bar.name_for(at.warp.cta) + " is more than one phase old",
      "a wait may ask for the current phase or the one before it (PTX 9.7.13.15.16); the state is of phase " +
          std::to_string(s.phase) + ", the current one is " + std::to_string(bar.phase),
      "wait for every phase before arriving for the next one");
}

// All lanes ask about the same barrier and phase, as they nearly always do.
bool same_question(Warp& w, const Inst& in, uint32_t mask) {
  const int first = __builtin_ctz(mask);
  const uint64_t address = lane_address({w, in, first});
  bool same = true;
  for_lanes(mask, [&](int l) { same &= lane_address({w, in, l}) == address; });
  if (in.flags & kParity) {
    auto parity = w.lanes<uint32_t>(in.b);
    for_lanes(mask, [&](int l) { same &= parity[l] == parity[first]; });
  } else {
    auto state = w.lanes<uint64_t>(in.b);
    for_lanes(mask, [&](int l) { same &= state[l] == state[first]; });
  }
  return same;
}

// Writes the answers of the lanes and tells the observer, barrier by barrier.
void answer(Warp& w, const Inst& in, uint32_t mask, bool uniform) {
  uint32_t result = 0;
  for (uint32_t rest = mask; rest;) {
    const Question q = question({w, in, __builtin_ctz(rest)});
    uint32_t same = uniform ? rest : 0;
    if (!uniform)
      for_lanes(rest, [&](int l) {
        const Question other = question({w, in, l});
        if (other.bar == q.bar && other.phase == q.phase) same |= 1u << l;
      });
    if (q.complete) {
      result |= same;
      if (q.bar->seen_phases < q.bar->phase) q.bar->seen_phases = q.bar->phase;
    }
    w.machine.observers.tell(&Observer::on_mbarrier_wait, w, in, same, *q.bar, q.phase, q.complete,
                             !(in.flags & kRelaxed));
    rest &= ~same;
  }
  w.set_predicate(in.d, result, mask);
}

// Waits until one of the lanes has its answer: lanes that wait for different barriers may depend on each other.
// wait.bar, wait.b: barrier and phase of the first lane; wait.c: the lanes, and in bit 32 that all ask the same.
constexpr uint64_t kUniform = 1ull << 32;

bool wait_ready(Warp& w, const Group& g) {
  if (g.wait.c & kUniform) {
    const Mbarrier* bar = g.wait.bar;
    return !bar->valid || bar->complete(g.wait.b);
  }
  for (uint32_t m = static_cast<uint32_t>(g.wait.c); m; m &= m - 1)
    if (question({w, w.instruction(g), __builtin_ctz(m)}).complete) return true;
  return false;
}

void wait_finish(Warp& w, Group& g) {
  answer(w, w.instruction(g), static_cast<uint32_t>(g.wait.c), g.wait.c & kUniform);
}

std::string wait_describe(Warp&, const Group& g) {
  const Mbarrier* bar = g.wait.bar;
  return bar->name() + " waits for phase " + std::to_string(g.wait.b) + " (parity " +
         std::to_string(g.wait.b & 1) + "), is in " + bar->state();
}

std::string wait_explain(Warp& w, const Group& g) {
  const Mbarrier* bar = g.wait.bar;
  return explain_stuck(w.machine, *bar, g.wait.b) + ". " + advise_stuck(*bar, g.wait.b);
}

// Only bytes are missing, and nothing that could bring them is in flight.
bool wait_is_root(Warp&, const Group& g) {
  const Mbarrier* bar = g.wait.bar;
  return bar->pending == 0 && bar->tx_count != 0;
}

Flow wait(Warp& w, const Inst& in, uint32_t mask) {
  const Question first = question({w, in, __builtin_ctz(mask)});
  const bool uniform = same_question(w, in, mask);
  bool any_complete = first.complete;
  if (!uniform) for_lanes(mask, [&](int l) { any_complete |= question({w, in, l}).complete; });
  bool now = any_complete;
  if (!now && w.machine.schedule.kind == Schedule::Kind::random) now = (w.machine.random() & 7) == 0;
  // Where time counts, try_wait waits: the hardware suspends the thread for longer than a wait of a pipeline takes.
  const bool suspends = (in.flags & kTry) && w.machine.schedule.kind == Schedule::Kind::timed;
  if (!now && !suspends) {
    // try_wait may return False at any time: it does so once for each phase, so that a program that takes the first
    // answer for the last is found out. test_wait answers at once, unless nothing at all has happened since the same
    // lanes asked before.
    auto& poll = w.machine.engine->last_poll(w);
    now = poll.inst != &in || poll.mask != mask || poll.bar != first.bar || poll.phase != first.phase ||
          (!(in.flags & kTry) && poll.effects != w.machine.effects);
    poll = {&in, mask, w.machine.effects, first.bar, first.phase};
  }
  if (now) {
    answer(w, in, mask, uniform);
    return any_complete ? Flow::next : Flow::yield;
  }
  Wait wait;
  wait.ready = wait_ready;
  wait.finish = wait_finish;
  wait.describe = wait_describe;
  wait.explain = wait_explain;
  wait.is_root = wait_is_root;
  wait.may_fail = true;
  wait.bar = first.bar;
  wait.b = first.phase;
  wait.c = mask | (uniform ? kUniform : 0);
  return w.block(wait);
}

void decode_wait(Decoder& d, const Match& m, Inst& in) {
  check_qualifiers(d, m);
  const bool tries = m.has("try_wait"), parity = m.has("parity");
  if (d.operand_count() != 3 && !(tries && d.operand_count() == 4)) expect_operands(d, 3);
  in.cls = Class::barrier;
  in.d = d.predicate_destination(d.operand(0));
  d.address(d.operand(1), space_of(m), in);
  in.b = d.source(d.operand(2), parity ? Type::u32 : Type::b64);
  if (d.operand_count() == 4) d.source(d.operand(3), Type::u32);  // suspendTimeHint: how long it may suspend
  in.flags |= (parity ? kParity : 0) | (m.has("relaxed") ? kRelaxed : 0) | (tries ? kTry : 0);
  in.action = Action::test_phase;
  in.exec = wait;
}

}  // namespace

std::vector<Form> mbarrier_forms() {
  return {
      {"mbarrier.init.[shared|shared::cta].b64", decode_init},
      {"mbarrier.inval.[shared|shared::cta].b64", decode_inval},
      {"mbarrier.expect_tx.[relaxed].[cta|cluster].[shared|shared::cta|shared::cluster].b64", decode_tx},
      {"mbarrier.complete_tx.[relaxed].[cta|cluster].[shared|shared::cta|shared::cluster].b64", decode_tx},
      {"mbarrier.arrive.[release|relaxed].[cta|cluster].[shared|shared::cta|shared::cluster].b64",
       decode_arrive},
      {"mbarrier.arrive.expect_tx.[release|relaxed].[cta|cluster].[shared|shared::cta|shared::cluster].b64",
       decode_arrive},
      {"mbarrier.arrive.noComplete.[release|relaxed].[cta|cluster].[shared|shared::cta].b64", decode_arrive},
      {"mbarrier.arrive_drop.[release|relaxed].[cta|cluster].[shared|shared::cta|shared::cluster].b64",
       decode_arrive},
      {"mbarrier.arrive_drop.expect_tx.[release|relaxed].[cta|cluster].[shared|shared::cta|shared::cluster].b64",
       decode_arrive},
      {"mbarrier.arrive_drop.noComplete.[release|relaxed].[cta|cluster].[shared|shared::cta].b64",
       decode_arrive},
      {"mbarrier.pending_count.b64", decode_pending_count},
      {"mbarrier.test_wait.[acquire|relaxed].[cta|cluster].[shared|shared::cta].b64", decode_wait},
      {"mbarrier.test_wait.parity.[acquire|relaxed].[cta|cluster].[shared|shared::cta].b64", decode_wait},
      {"mbarrier.try_wait.[acquire|relaxed].[cta|cluster].[shared|shared::cta].b64", decode_wait},
      {"mbarrier.try_wait.parity.[acquire|relaxed].[cta|cluster].[shared|shared::cta].b64", decode_wait},
  };
}

}  // namespace emu
