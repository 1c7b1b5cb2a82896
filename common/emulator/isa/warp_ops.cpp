// Instructions in which the lanes of a warp meet (PTX ISA 9.7.9.6 shfl, 9.7.13 vote, match, activemask, redux, elect).
//
// The members of a mask wait for one another: lanes whose fellows are not all here answer Flow::converge and run again
// when more have arrived. Lanes may come with different masks; each mask is served by itself.
#include <algorithm>
#include <limits>

#include "emulator/isa/operands.hpp"
#include "emulator/machine/machine.hpp"

namespace emu {
namespace {

[[noreturn]] void left_out(const At& at, uint32_t members) {
  at.fault(
      Id::warp_sync_mask,
      "`" + at.warp.program.short_name(at.inst) + ".sync` executed by a lane that its member mask leaves out",
      "lane " + std::to_string(at.lane) + " gives the member mask " + hex(members) +
          "; only the lanes of the mask may execute the instruction (PTX ISA 9.7.13)",
      "make the mask name exactly the lanes that get here, for example with __activemask() before "
      "the branch");
}

// The members of these lanes are not all here: they stay, and the other lanes of the group go on.
Flow stay(Warp& w, uint32_t incomplete) {
  const uint32_t others = w.current->mask & ~incomplete;
  uint32_t pc[32], frame[32];
  for_lanes(others, [&](int l) {
    pc[l] = w.current->pc + 1;
    frame[l] = w.current->frame;
  });
  Group& waiting = *w.current;
  const uint32_t here = waiting.pc;
  w.scatter(others, pc, frame);
  waiting.pc = here;
  waiting.state = Group::State::converging;
  return Flow::jumped;
}

// The member masks of the lanes, at decode time in in.extra->refs[0].
// Calls f(members): `members` are the lanes of `mask` that gave one and the same member mask, all of which are here.
template <class F>
Flow meet(Warp& w, const Inst& in, uint32_t mask, F&& f) {
  const auto members = w.lanes<uint32_t>(in.extra->refs[0]);
  if (in.extra->refs[0] & kConstBit) {  // an immediate: one group
    if (mask & ~members[0]) left_out({w, in, __builtin_ctz(mask & ~members[0])}, members[0]);
    if (!w.all_here(members[0])) return Flow::converge;
    w.machine.observers.tell(&Observer::on_warp_sync, w, in, mask);
    f(mask);
    return Flow::next;
  }
  for (uint32_t m = mask; m; m &= m - 1)
    if (const int l = __builtin_ctz(m); !(members[l] >> l & 1)) left_out({w, in, l}, members[l]);
  uint32_t complete = 0;
  for (uint32_t left = mask; left;) {
    const uint32_t wanted = members[__builtin_ctz(left)];
    const uint32_t group = lanes_where(left, [&](int l) { return members[l] == wanted; });
    left &= ~group;
    // A fellow that is here with another mask has not come yet.
    if (!w.all_here(wanted) || (wanted & mask & ~group)) continue;
    w.machine.observers.tell(&Observer::on_warp_sync, w, in, group);
    f(group);
    complete |= group;
  }
  if (complete == 0) return Flow::converge;
  return complete == mask ? Flow::next : stay(w, mask & ~complete);
}

// shfl.sync.mode.b32 d{|p}, a, b, c, membermask: lane l receives a of lane j; p tells whether j is in range, else
// j = l. c holds a clamp value (bits 0-4) and a segment mask (bits 8-12).
enum class Mode { up, down, bfly, idx };
template <Mode kMode>
Flow shfl(Warp& w, const Inst& in, uint32_t mask) {
  return meet(w, in, mask, [&](uint32_t group) {
    auto a = w.lanes<uint32_t>(in.a), b = w.lanes<uint32_t>(in.b), c = w.lanes<uint32_t>(in.c);
    auto d = w.lanes<uint32_t>(in.d);
    uint32_t value[32], in_range = 0;
    for (uint32_t m = group; m; m &= m - 1) {
      int l = __builtin_ctz(m);
      int bval = b[l] & 31, cval = c[l] & 31, segment = c[l] >> 8 & 31;
      int max_lane = (l & segment) | (cval & ~segment), min_lane = l & segment;
      int j = l;
      bool ok = false;
      switch (kMode) {
        case Mode::up:
          j = l - bval, ok = j >= max_lane;
          break;
        case Mode::down:
          j = l + bval, ok = j <= max_lane;
          break;
        case Mode::bfly:
          j = l ^ bval, ok = j <= max_lane;
          break;
        case Mode::idx:
          j = min_lane | (bval & ~segment), ok = j <= max_lane;
          break;
      }
      if (!ok) j = l;
      // A lane that is not a member gives an undefined value: poison, so that using it shows.
      value[l] = group >> j & 1 ? a[j] : kPoison32;
      in_range |= uint32_t{ok} << l;
    }
    for (uint32_t m = group; m; m &= m - 1) d.set(__builtin_ctz(m), value[__builtin_ctz(m)]);
    w.set_predicate(in.extra->refs[1], in_range, group);
  });
}

// vote.sync.{all,any,uni}.pred p, {!}a, membermask
enum class Vote { all, any, uni };
template <Vote kVote>
Flow vote(Warp& w, const Inst& in, uint32_t mask) {
  uint32_t a = w.predicate(in.a);
  return meet(w, in, mask, [&](uint32_t group) {
    bool all = (a & group) == group, none = (a & group) == 0;
    bool result = kVote == Vote::all ? all : kVote == Vote::any ? !none : all || none;
    w.set_predicate(in.d, result ? ~0u : 0, group);
  });
}
Flow ballot(Warp& w, const Inst& in, uint32_t mask) {
  uint32_t a = w.predicate(in.a);
  auto d = w.lanes<uint32_t>(in.d);
  return meet(w, in, mask, [&](uint32_t group) { for_lanes(group, [&](int l) { d.set(l, a & group); }); });
}

// match.any.sync d, a, membermask: the members with the same value.
template <class T>
Flow match_any(Warp& w, const Inst& in, uint32_t mask) {
  return meet(w, in, mask, [&](uint32_t group) {
    auto a = w.lanes<T>(in.a);
    auto d = w.lanes<uint32_t>(in.d);
    uint32_t same[32];
    for (uint32_t m = group; m; m &= m - 1) {
      int l = __builtin_ctz(m);
      same[l] = 0;
      for (uint32_t n = group; n; n &= n - 1)
        if (a[__builtin_ctz(n)] == a[l]) same[l] |= n & -n;
    }
    for (uint32_t m = group; m; m &= m - 1) d.set(__builtin_ctz(m), same[__builtin_ctz(m)]);
  });
}
// match.all.sync d{|p}, a, membermask: all members when their values agree, else 0.
template <class T>
Flow match_all(Warp& w, const Inst& in, uint32_t mask) {
  return meet(w, in, mask, [&](uint32_t group) {
    auto a = w.lanes<T>(in.a);
    T first = a[__builtin_ctz(group)];
    bool same = true;
    for (uint32_t m = group; m; m &= m - 1) same &= a[__builtin_ctz(m)] == first;
    auto d = w.lanes<uint32_t>(in.d);
    for_lanes(group, [&](int l) { d.set(l, same ? group : 0); });
    w.set_predicate(in.extra->refs[1], same ? ~0u : 0, group);
  });
}

// redux.sync.op.type d, a, membermask
struct Add {
  static constexpr uint32_t start = 0;
  static uint32_t of(uint32_t x, uint32_t y) { return x + y; }
};
struct And {
  static constexpr uint32_t start = ~0u;
  static uint32_t of(uint32_t x, uint32_t y) { return x & y; }
};
struct Or {
  static constexpr uint32_t start = 0;
  static uint32_t of(uint32_t x, uint32_t y) { return x | y; }
};
struct Xor {
  static constexpr uint32_t start = 0;
  static uint32_t of(uint32_t x, uint32_t y) { return x ^ y; }
};
template <class T>
struct Min {
  static constexpr T start = std::numeric_limits<T>::max();
  static T of(T x, T y) { return std::min(x, y); }
};
template <class T>
struct Max {
  static constexpr T start = std::numeric_limits<T>::min();
  static T of(T x, T y) { return std::max(x, y); }
};
template <class Op, class T>
Flow redux(Warp& w, const Inst& in, uint32_t mask) {
  return meet(w, in, mask, [&](uint32_t group) {
    auto a = w.lanes<T>(in.a), d = w.lanes<T>(in.d);
    T result = Op::start;
    for (uint32_t m = group; m; m &= m - 1) result = Op::of(result, a[__builtin_ctz(m)]);
    for_lanes(group, [&](int l) { d.set(l, result); });
  });
}

// elect.sync d|p, membermask: the lowest member that is here leads.
Flow elect(Warp& w, const Inst& in, uint32_t mask) {
  return meet(w, in, mask, [&](uint32_t group) {
    int leader = __builtin_ctz(group);
    auto d = w.lanes<uint32_t>(in.d);
    for_lanes(group, [&](int l) { d.set(l, static_cast<uint32_t>(leader)); });
    w.set_predicate(in.extra->refs[1], 1u << leader, group);
  });
}

// activemask.b32 d: the lanes that execute it together.
Flow activemask(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<uint32_t>(in.d);
  for_lanes(mask, [&](int l) { d.set(l, mask); });
  return Flow::next;
}

// ---- decoding
// extra->refs: the member mask, the second destination (a predicate or kNoRef).
void members(Decoder& d, Inst& in, size_t operand, Ref predicate = kNoRef) {
  in.cls = Class::other;
  d.extra(in).refs = {d.source(d.operand(operand), Type::b32), predicate};
}
// d or d|p
Ref value_and_predicate(Decoder& d, Inst& in) {
  const Operand& o = d.operand(0);
  bool two = o.kind == Operand::Kind::pair;
  in.d = d.destination(two ? o.items[0] : o, Type::b32);
  return two ? d.predicate_destination(o.items[1]) : kNoRef;
}

void shfl_sync(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 5);
  Ref p = value_and_predicate(d, in);
  in.a = d.source(d.operand(1), Type::b32);
  in.b = d.source(d.operand(2), Type::b32);
  in.c = d.source(d.operand(3), Type::b32);
  members(d, in, 4, p);
  in.exec = m.has("up")     ? shfl<Mode::up>
            : m.has("down") ? shfl<Mode::down>
            : m.has("bfly") ? shfl<Mode::bfly>
                            : shfl<Mode::idx>;
}
void vote_sync(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 3);
  in.a = d.predicate(d.operand(1));
  members(d, in, 2);
  if (m.has("ballot")) {
    in.d = d.destination(d.operand(0), Type::b32);
    in.exec = ballot;
    return;
  }
  in.d = d.predicate_destination(d.operand(0));
  in.exec = m.has("all") ? vote<Vote::all> : m.has("any") ? vote<Vote::any> : vote<Vote::uni>;
}
void match_sync(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 3);
  Type t = m.type();
  bool any = m.has("any");
  if (any && d.operand(0).kind == Operand::Kind::pair)
    d.refuse("match.any.sync has no predicate destination");
  Ref p = value_and_predicate(d, in);
  in.a = d.source(d.operand(1), t);
  members(d, in, 2, p);
  in.exec = t == Type::b32 ? (any ? match_any<uint32_t> : match_all<uint32_t>)
                           : (any ? match_any<uint64_t> : match_all<uint64_t>);
}
void redux_sync(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 3);
  in.d = d.destination(d.operand(0), Type::b32);
  in.a = d.source(d.operand(1), Type::b32);
  members(d, in, 2);
  bool is_signed = m.type() == Type::s32;
  if (m.has("add"))
    in.exec = redux<Add, uint32_t>;
  else if (m.has("and"))
    in.exec = redux<And, uint32_t>;
  else if (m.has("or"))
    in.exec = redux<Or, uint32_t>;
  else if (m.has("xor"))
    in.exec = redux<Xor, uint32_t>;
  else if (m.has("min"))
    in.exec = is_signed ? redux<Min<int32_t>, int32_t> : redux<Min<uint32_t>, uint32_t>;
  else
    in.exec = is_signed ? redux<Max<int32_t>, int32_t> : redux<Max<uint32_t>, uint32_t>;
}
void elect_sync(Decoder& d, const Match&, Inst& in) {
  expect_operands(d, 2);
  if (d.operand(0).kind != Operand::Kind::pair)
    d.refuse("elect.sync writes d|p", "write _|p for the predicate alone");
  Ref p = value_and_predicate(d, in);
  members(d, in, 1, p);
  in.exec = elect;
}
void activemask_b32(Decoder& d, const Match&, Inst& in) {
  expect_operands(d, 1);
  in.d = d.destination(d.operand(0), Type::b32);
  in.exec = activemask;
}

}  // namespace

std::vector<Form> warp_forms() {
  return {
      {"shfl.sync.up|down|bfly|idx.b32", shfl_sync},
      {"vote.sync.all|any|uni.pred", vote_sync},
      {"vote.sync.ballot.b32", vote_sync},
      {"match.any|all.sync.b32|b64", match_sync},
      {"redux.sync.add|min|max.u32|s32", redux_sync},
      {"redux.sync.and|or|xor.b32", redux_sync},
      {"elect.sync", elect_sync},
      {"activemask.b32", activemask_b32},
  };
}

}  // namespace emu
