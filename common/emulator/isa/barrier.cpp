// bar, barrier, barrier.cluster, bar.warp.sync (PTX ISA 9.7.13.1 to 9.7.13.3).
#include <algorithm>

#include "emulator/machine/machine.hpp"
#include "emulator/machine/mbarrier.hpp"

namespace emu {

namespace {

constexpr uint32_t kHasCount = 1, kRedAnd = 2, kRedOr = 4, kRedPopc = 8, kAligned = 16, kArriveOnly = 32,
                   kRelaxed = 64;

void begin_anew(NamedBarrier& b) {
  std::fill(b.arrivals.begin(), b.arrivals.end(), 0);
  std::fill(b.lanes.begin(), b.lanes.end(), 0);
  b.expected_threads = 0;
  b.red_and = 1;
  b.red_or = b.red_count = 0;
  b.first_source = -1;
}

// All lanes of a warp that are still there have arrived: that is one arrival.
void gather_lanes(NamedBarrier& b, const Warp& w) {
  uint32_t& lanes = b.lanes[static_cast<size_t>(w.index)];
  if (!lanes || (lanes & w.live) != w.live) return;
  ++b.arrivals[static_cast<size_t>(w.index)];
  lanes = 0;
}

bool has_arrived(const NamedBarrier& b, const Warp& w) {
  return b.arrivals[static_cast<size_t>(w.index)] != 0;
}

void complete_if_all_arrived(Cta& cta, uint32_t id) {
  NamedBarrier& b = cta.barriers[id];
  if (b.first_source < 0) return;
  bool all = true;
  for (auto& w : cta.warps) {
    gather_lanes(b, *w);
    all = all && (has_arrived(b, *w) || w->live == 0);
  }
  if (b.expected_threads ? b.threads() < b.expected_threads : !all) return;
  b.result_and = b.red_and;
  b.result_or = b.red_or;
  b.result_count = b.red_count;
  ++b.generation;
  begin_anew(b);
  ++cta.machine.effects;
}

uint32_t uniform(Warp& w, const Inst& in, Ref r, uint32_t mask, const char* what) {
  auto v = w.lanes<uint32_t>(r);
  uint32_t first = v[__builtin_ctz(mask)];
  for_lanes(mask, [&](int l) {
    if (v[l] != first)
      w.fault(in, l, Id::barrier_operand, std::string("the ") + what + " differs between lanes of one warp",
              "", "give all lanes of a warp the same barrier operands");
  });
  return first;
}

std::string describe_bar(Warp& w, const Group& g) {
  const NamedBarrier& b = w.cta.barriers[g.wait.b];
  std::string missing;
  for (auto& other : w.cta.warps)
    if (other->live && !has_arrived(b, *other)) missing += " " + std::to_string(other->index);
  return "barrier " + std::to_string(g.wait.b) + ": " + std::to_string(b.threads()) + " of " +
         (b.expected_threads ? std::to_string(b.expected_threads) : std::string("all")) +
         " threads have arrived; warps that have not:" + (missing.empty() ? " none" : missing);
}

std::string explain_bar(Warp& w, const Group& g) {
  std::string out;
  for (auto& other : w.cta.warps) {
    if (other->live == 0 || has_arrived(w.cta.barriers[g.wait.b], *other)) continue;
    const Group& at = other->groups()[0];
    out += (out.empty() ? "" : "; ") + std::string("warp ") + std::to_string(other->index) + " is at " +
           w.program.line_of(other->instruction(at)).text();
    if (out.size() > 300) break;
  }
  return out.empty() ? "the threads that were to arrive have exited" : out;
}

// Copies and arrivals that others wait for may come later in the program.
bool stands_before_arrivals(Warp& w, const Group& g) {
  const auto& code = w.program.code;
  return std::any_of(code.begin() + g.pc, code.end(),
                     [](const Inst& later) { return later.action == Action::arrive; });
}

bool bar_ready(Warp& w, const Group& g) {
  return w.cta.barriers[g.wait.b].generation != g.wait.a;
}

void bar_finish(Warp& w, Group& g) {
  const Inst& in = w.instruction(g);
  const NamedBarrier& b = w.cta.barriers[g.wait.b];
  if (in.flags & kRedAnd) w.set_predicate(in.d, b.result_and ? ~0u : 0, g.mask);
  if (in.flags & kRedOr) w.set_predicate(in.d, b.result_or ? ~0u : 0, g.mask);
  if (in.flags & kRedPopc) {
    auto d = w.lanes<uint32_t>(in.d);
    for_lanes(g.mask, [&](int l) { d.set(l, b.result_count); });
  }
  w.machine.observers.tell(&Observer::on_bar_leave, w, in, g.mask, static_cast<uint32_t>(g.wait.b), g.wait.a);
}

uint32_t barrier_number(Warp& w, const Inst& in, uint32_t mask) {
  const uint32_t id = uniform(w, in, in.a, mask, "barrier number");
  if (id > 15)
    w.fault(in, __builtin_ctz(mask), Id::barrier_operand, "there is no barrier " + std::to_string(id), "",
            "a CTA has barriers 0 to 15");
  return id;
}

// 0: all threads of the CTA.
uint32_t thread_count(Warp& w, const Inst& in, uint32_t mask) {
  if (!(in.flags & kHasCount)) return 0;
  const uint32_t count = uniform(w, in, in.b, mask, "thread count");
  if (count == 0 || count % 32)
    w.fault(in, __builtin_ctz(mask), Id::barrier_operand,
            "the thread count " + std::to_string(count) + " is no multiple of 32", "",
            "barriers count whole warps");
  return count;
}

void check_same_count(Warp& w, const Inst& in, uint32_t mask, uint32_t id, uint32_t count) {
  const NamedBarrier& b = w.cta.barriers[id];
  if (b.expected_threads == count) return;
  const auto threads = [](uint32_t n) { return n ? std::to_string(n) : std::string("all"); };
  w.fault(in, __builtin_ctz(mask), Id::barrier_count,
          "barrier " + std::to_string(id) + " is used with " + threads(count) + " threads, while " +
              w.program.line_of(b.first_source).text() + " is using it with " + threads(b.expected_threads),
          "", "give every use of one barrier the same thread count, or use another barrier number");
}

void arrive(Warp& w, const Inst& in, uint32_t mask, uint32_t id, uint32_t count) {
  NamedBarrier& b = w.cta.barriers[id];
  if (b.first_source < 0) {
    begin_anew(b);
    b.expected_threads = count;
    b.first_source = in.source;
  }
  check_same_count(w, in, mask, id, count);
  uint32_t& lanes = b.lanes[static_cast<size_t>(w.index)];
  if (lanes & mask)
    w.fault(in, __builtin_ctz(lanes & mask), Id::barrier_arrived_twice,
            "a thread arrives a second time at barrier " + std::to_string(id) +
                " while others of its warp have not arrived once",
            "the barrier counts warps, and an arrival of this warp is not complete",
            "let all threads of the warp arrive");
  lanes |= mask;
  if (in.flags & (kRedAnd | kRedOr | kRedPopc)) {
    const uint32_t p = w.predicate(in.c) & mask;
    b.red_and &= p == mask;
    b.red_or |= p != 0;
    b.red_count += static_cast<uint32_t>(__builtin_popcount(p));
  }
  ++w.machine.effects;
  w.machine.observers.tell(&Observer::on_bar_arrive, w, in, mask, id, b.generation, true);
}

Flow bar(Warp& w, const Inst& in, uint32_t mask) {
  if ((in.flags & kAligned) && !w.all_here(w.live)) return Flow::converge;
  const uint32_t id = barrier_number(w, in, mask), count = thread_count(w, in, mask);
  Wait wait;
  wait.ready = bar_ready;
  wait.finish = bar_finish;
  wait.describe = describe_bar;
  wait.explain = explain_bar;
  wait.is_root = stands_before_arrivals;
  wait.a = w.cta.barriers[id].generation;
  wait.b = id;
  arrive(w, in, mask, id, count);
  complete_if_all_arrived(w.cta, id);
  return in.flags & kArriveOnly ? Flow::next : w.block(wait, mask);
}

void decode_bar(Decoder& d, const Match& m, Inst& in, bool aligned) {
  in.exec = bar;
  in.cls = Class::barrier;
  in.action = Action::barrier;
  in.flags = aligned ? kAligned : 0;
  bool red = m.has("red"), arrive = m.has("arrive");
  size_t i = 0;
  if (red) {
    if (m.has("popc")) {
      in.flags |= kRedPopc;
      in.d = d.destination(d.operand(i++), Type::u32);
    } else {
      in.flags |= m.has("and") ? kRedAnd : kRedOr;
      in.d = d.predicate_destination(d.operand(i++));
    }
  }
  if (arrive) {
    in.flags |= kArriveOnly;
    in.action = Action::barrier_arrive;
  }
  in.a = d.source(d.operand(i++), Type::u32);
  size_t left = d.operand_count() - i;
  if (left > (red ? 1u : 0u)) {
    in.flags |= kHasCount;
    in.b = d.source(d.operand(i++), Type::u32);
  }
  if (red) in.c = d.predicate(d.operand(i++));
  if (arrive && !(in.flags & kHasCount)) d.refuse("bar.arrive needs a thread count");
}

void decode_bar_aligned(Decoder& d, const Match& m, Inst& in) {
  decode_bar(d, m, in, true);
}
void decode_barrier(Decoder& d, const Match& m, Inst& in) {
  decode_bar(d, m, in, m.has("aligned"));
}

// ---- barrier.cluster

void complete_cluster(Cluster& cluster) {
  for (auto& cta : cluster.ctas)
    for (auto& w : cta->warps)
      if ((w->cluster_arrived & w->live) != w->live) return;
  bool any = false;
  for (auto& cta : cluster.ctas)
    for (auto& w : cta->warps) {
      any = any || w->cluster_arrived;
      w->cluster_arrived = 0;
    }
  if (any) ++cluster.barrier_generation;
}

constexpr uint32_t kClusterBarrier = 16;  // as observers see it: the barrier number after bar's 0..15

Flow cluster_arrive(Warp& w, const Inst& in, uint32_t mask) {
  if ((in.flags & kAligned) && !w.all_here(w.live)) return Flow::converge;
  Cluster& cluster = *w.cta.cluster;
  for_lanes(mask, [&](int l) {
    if (w.cluster_phase[l] == cluster.barrier_generation)
      w.fault(in, l, Id::barrier_arrived_twice, "a thread arrives twice in one phase of the cluster barrier",
              "", "pair every barrier.cluster.arrive with one barrier.cluster.wait");
    w.cluster_phase[l] = cluster.barrier_generation;
  });
  w.cluster_arrived |= mask;
  ++w.machine.effects;
  w.machine.observers.tell(&Observer::on_bar_arrive, w, in, mask, kClusterBarrier, cluster.barrier_generation,
                           !(in.flags & kRelaxed));
  complete_cluster(cluster);
  return Flow::next;
}

bool cluster_ready(Warp& w, const Group& g) {
  bool done = true;
  for_lanes(g.mask, [&](int l) { done = done && w.cluster_phase[l] != w.cta.cluster->barrier_generation; });
  return done;
}

void cluster_finish(Warp& w, Group& g) {
  w.machine.observers.tell(&Observer::on_bar_leave, w, w.instruction(g), g.mask, kClusterBarrier,
                           w.cluster_phase[__builtin_ctz(g.mask)]);
}

std::string describe_cluster(Warp& w, const Group&) {
  uint32_t arrived = 0, live = 0;
  for (auto& cta : w.cta.cluster->ctas)
    for (auto& other : cta->warps) {
      arrived += static_cast<uint32_t>(__builtin_popcount(other->cluster_arrived & other->live));
      live += static_cast<uint32_t>(__builtin_popcount(other->live));
    }
  return "cluster barrier: " + std::to_string(arrived) + " of " + std::to_string(live) +
         " threads have arrived";
}

Flow cluster_wait(Warp& w, const Inst& in, uint32_t mask) {
  if ((in.flags & kAligned) && !w.all_here(w.live)) return Flow::converge;
  for_lanes(mask, [&](int l) {
    if (w.cluster_phase[l] == UINT64_MAX)
      w.fault(in, l, Id::barrier_wait_without_arrive,
              "a thread waits at the cluster barrier without having arrived", "",
              "execute barrier.cluster.arrive first");
  });
  Wait wait;
  wait.ready = cluster_ready;
  wait.finish = cluster_finish;
  wait.describe = describe_cluster;
  wait.is_root = stands_before_arrivals;
  return w.block(wait);
}

template <Exec exec>
void decode_cluster(Decoder&, const Match& m, Inst& in) {
  in.exec = exec;
  in.cls = Class::barrier;
  in.action = Action::cluster_barrier;
  in.flags = (m.has("aligned") ? kAligned : 0) | (m.has("relaxed") ? kRelaxed : 0);
}

// ---- bar.warp.sync membermask: lanes may arrive from different instructions

Warp::WarpBarrier& warp_barrier(Warp& w, uint32_t member) {
  for (auto& b : w.warp_barriers)
    if (b.member == member) return b;
  w.warp_barriers.push_back({member, 0, 0});
  return w.warp_barriers.back();
}

bool warp_ready(Warp& w, const Group& g) {
  auto& b = warp_barrier(w, static_cast<uint32_t>(g.wait.b));
  if (b.generation != g.wait.a) return true;
  return (b.arrived & w.live & b.member) == (w.live & b.member);
}

void warp_finish(Warp& w, Group& g) {
  auto& b = warp_barrier(w, static_cast<uint32_t>(g.wait.b));
  if (b.generation == g.wait.a) {
    ++b.generation;
    b.arrived = 0;
  }
}

std::string describe_warp(Warp& w, const Group& g) {
  auto& b = warp_barrier(w, static_cast<uint32_t>(g.wait.b));
  return "bar.warp.sync " + hex(b.member) + ": lanes " + hex(w.live & b.member & ~b.arrived) +
         " have not arrived";
}

// Lanes of `mask` that name the same member mask as its first lane, which must be one of them.
uint32_t same_members(Warp& w, const Inst& in, uint32_t mask) {
  const auto members = w.lanes<uint32_t>(in.a);
  const int first = __builtin_ctz(mask);
  const uint32_t member = members[first];
  if (!(member >> first & 1))
    w.fault(in, first, Id::warp_sync_mask, "a thread is not in its own member mask " + hex(member), "",
            "name exactly the lanes that execute the instruction");
  uint32_t same = 0;
  for_lanes(mask, [&](int l) { same |= members[l] == member ? 1u << l : 0; });
  if (same & ~member)
    w.fault(in, __builtin_ctz(same & ~member), Id::warp_sync_mask,
            "a thread is not in its own member mask " + hex(member), "",
            "name exactly the lanes that execute the instruction");
  return same;
}

// Lanes may come with different masks; each mask is a barrier of its own. Those that are complete go on at once; of the
// others, one waits, and the rest comes here again.
Flow warp_sync(Warp& w, const Inst& in, uint32_t mask) {
  const auto members = w.lanes<uint32_t>(in.a);
  uint32_t incomplete = 0;
  if (in.a & kConstBit && mask == w.live && !(mask & ~members[0]) && !(members[0] & w.live & ~mask)) {
    w.machine.observers.tell(&Observer::on_warp_sync, w, in,
                             mask);  // the usual: one mask, and all of it is here
    return Flow::next;
  }
  for (uint32_t left = mask; left;) {
    const uint32_t here = same_members(w, in, left);
    if (members[__builtin_ctz(here)] & w.live & ~here)
      incomplete |= here;
    else
      w.machine.observers.tell(&Observer::on_warp_sync, w, in, here);
    left &= ~here;
  }
  if (incomplete == 0) return Flow::next;
  const uint32_t here = same_members(w, in, incomplete), member = members[__builtin_ctz(here)];
  auto& b = warp_barrier(w, member);
  b.arrived |= here;
  w.machine.observers.tell(&Observer::on_warp_sync, w, in, member & b.arrived);
  Wait wait;
  wait.ready = warp_ready;
  wait.finish = warp_finish;
  wait.describe = describe_warp;
  wait.is_root = stands_before_arrivals;
  wait.a = b.generation;
  wait.b = member;
  ++w.machine.effects;
  return w.block(wait, here, incomplete & ~here);
}

void decode_warp_sync(Decoder& d, const Match&, Inst& in) {
  in.exec = warp_sync;
  in.cls = Class::barrier;
  in.action = Action::barrier;
  in.a = d.source(d.operand(0), Type::u32);
}

}  // namespace

// Completes barriers that only waited for lanes that have now exited (PTX ISA 9.7.12.7).
void Cta::lanes_exited(Warp&) {
  for (uint32_t id = 0; id < 16; ++id) complete_if_all_arrived(*this, id);
  if (cluster && !cluster->ctas.empty()) complete_cluster(*cluster);
}

std::vector<Form> barrier_forms() {
  return {
      {"bar.[cta].sync", decode_bar_aligned},
      {"bar.[cta].arrive", decode_bar_aligned},
      {"bar.[cta].red.popc.u32", decode_bar_aligned},
      {"bar.[cta].red.and|or.pred", decode_bar_aligned},
      {"barrier.[cta].sync.[aligned]", decode_barrier},
      {"barrier.[cta].arrive.[aligned]", decode_barrier},
      {"barrier.[cta].red.popc.[aligned].u32", decode_barrier},
      {"barrier.[cta].red.and|or.[aligned].pred", decode_barrier},
      {"bar.warp.sync", decode_warp_sync},
      {"barrier.cluster.arrive.[release|relaxed].[aligned]", decode_cluster<cluster_arrive>},
      {"barrier.cluster.wait.[acquire].[aligned]", decode_cluster<cluster_wait>},
  };
}

}  // namespace emu
