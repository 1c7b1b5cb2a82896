// Statements of control flow: branches, loops, switches and calls, with lanes that go different ways.
#include "table.hpp"
#include "writer.hpp"

namespace fuzz_isa {

namespace {

// What is known about the lanes, put back at the end of a statement in which they go different ways.
class Apart {
 public:
  explicit Apart(Writer& w) : w_(w), all_(w.all_lanes), mask_(w.mask) { w.all_lanes = false; }
  ~Apart() {
    w_.all_lanes = all_;
    w_.mask = mask_;
  }

 private:
  Writer& w_;
  bool all_;
  std::string mask_;
};

// A predicate in which lanes differ.
void condition(Writer& w, const std::string& q) {
  if (w.random.percent(50)) {
    w.line("and.b32 %t, %me, ", static_cast<uint64_t>(1 + w.random.below(kThreads - 1)));
    w.line("setp.ne.u32 ", q, ", %t, 0");
  } else {
    w.new_instruction();
    const std::string a = w.source("s32", false), b = w.source("s32", false);
    w.line("setp.lt.s32 ", q, ", ", a, ", ", b);
  }
}

std::string mask_or_zero(const Writer& w) {
  return w.mask.empty() ? "0" : w.mask;
}

}  // namespace

// if, with or without else
void write_branch(Writer& w, int depth) {
  const std::string q = w.new_name("%q"), then = w.new_name("%m"), rest = w.new_name("%m");
  const std::string other = w.new_label(), end = w.new_label();
  const bool has_else = w.random.percent(60), keeps_mask = !w.mask.empty() && w.random.percent(60);
  w.open();
  w.line(".reg .pred ", q);
  w.line(".reg .b32 ", then, ", ", rest);
  condition(w, q);
  if (keeps_mask) {
    w.line("vote.sync.ballot.b32 ", then, ", ", q, ", ", w.mask);
    w.line("xor.b32 ", rest, ", ", then, ", ", w.mask);
  }
  w.line("@!", q, " bra ", other);
  {
    const Apart apart(w);
    w.mask = keeps_mask ? then : "";
    write_some(w, 1 + static_cast<int>(w.random.below(3)), depth);
    if (has_else) {
      w.line("bra ", end);
      w.label(other);
      w.mask = keeps_mask ? rest : "";
      write_some(w, 1 + static_cast<int>(w.random.below(3)), depth);
    }
  }
  w.label(has_else ? end : other);
  w.close();
}

// Branches forward that cross: no nesting of blocks describes them.
void write_ladder(Writer& w, int depth) {
  const std::string q = w.new_name("%q"), r = w.new_name("%q");
  const std::string first = w.new_label(), second = w.new_label();
  w.open();
  w.line(".reg .pred ", q, ", ", r);
  condition(w, q);
  condition(w, r);
  {
    const Apart apart(w);
    w.mask = "";
    w.line("@", q, " bra ", first);
    write_some(w, 1, depth);
    w.line("@", r, " bra ", second);
    write_some(w, 1, depth);
    w.label(first);
    write_some(w, 1, depth);
    w.label(second);
  }
  w.close();
}

// Up to seven rounds, a number of its own for each lane; lanes may leave in the middle, or go on to the next round.
void write_loop(Writer& w, int depth) {
  const std::string q = w.new_name("%q"), i = w.new_name("%i"), n = w.new_name("%n"), now = w.new_name("%m"),
                    next = w.new_name("%m");
  const std::string head = w.new_label(), on = w.new_label(), done = w.new_label();
  const bool keeps_mask = !w.mask.empty() && w.random.percent(60), at_end = w.random.percent(40);
  w.open();
  w.line(".reg .pred ", q);
  w.line(".reg .b32 ", i, ", ", n, ", ", now, ", ", next);
  w.new_instruction();
  const std::string from = w.random.percent(60) ? w.source("b32", false) : "%me";
  w.line("and.b32 ", n, ", ", from, ", ", w.random.percent(50) ? 3 : 7);
  w.line("mov.u32 ", i, ", 0");
  w.line("mov.b32 ", now, ", ", mask_or_zero(w));
  const auto test = [&] {
    w.line("setp.lt.u32 ", q, ", ", i, ", ", n);
    if (keeps_mask) {
      w.line("vote.sync.ballot.b32 ", next, ", ", q, ", ", now);
      w.line("mov.b32 ", now, ", ", next);
    }
  };
  {
    const Apart apart(w);
    w.mask = keeps_mask ? now : "";
    if (at_end) test(), w.line("@!", q, " bra ", done);
    w.label(head);
    if (!at_end) test(), w.line("@!", q, " bra ", done);
    w.line("add.u32 ", i, ", ", i, ", 1");
    write_some(w, 1 + static_cast<int>(w.random.below(2)), depth);
    if (!keeps_mask && w.random.percent(40)) {
      const std::string p = w.any(1);
      w.line("@", p, " bra ", w.random.percent(50) ? done : on);
      write_some(w, 1, depth);
    }
    w.label(on);
    if (at_end) test(), w.line("@", q, " bra ", head);
    if (!at_end) w.line("bra ", head);
    w.label(done);
  }
  const std::string d = w.any(32);
  w.line("mov.b32 ", d, ", ", i);
  w.close();
  w.keep(d, 32);
}

// brx.idx with four targets; without a mask, a case may fall through to the next.
void write_switch(Writer& w, int depth) {
  const std::string i = w.new_name("%i"), same = w.new_name("%m"), table = w.new_label(), end = w.new_label();
  const bool keeps_mask = !w.mask.empty() && w.random.percent(60);
  std::vector<std::string> cases;
  for (int k = 0; k < 4; ++k) cases.push_back(w.new_label());
  w.open();
  w.line(".reg .b32 ", i, ", ", same);
  w.new_instruction();
  w.line("and.b32 ", i, ", ", w.random.percent(60) ? w.source("b32", false) : "%me", ", 3");
  if (keeps_mask) w.line("match.any.sync.b32 ", same, ", ", i, ", ", w.mask);
  w.label(table);
  w.line(".branchtargets ", cases[0], ", ", cases[1], ", ", cases[2], ", ", cases[3]);
  w.line(!keeps_mask && w.random.percent(25) ? "@" + w.any(1) + " " : "", "brx.idx ", i, ", ", table);
  {
    const Apart apart(w);
    w.mask = keeps_mask ? same : "";
    for (const std::string& name : cases) {
      w.label(name);
      write_some(w, 1, depth);
      if (keeps_mask || w.random.percent(60)) w.line("bra ", end);
    }
  }
  w.label(end);
  w.close();
}

namespace {

std::string declared(unsigned bits) {
  return ".param .b" + std::to_string(bits);
}

// The call; in some, if they may, not all lanes take part. `target` is a name, or a register and a prototype.
void call(Writer& w, const Callee& f, const std::string& target, const std::string& prototype,
          const std::string& depth, bool may_skip) {
  const std::string id = w.new_name("_");
  std::vector<std::string> names;
  const auto hand_over = [&](unsigned bits, const std::string& value) {
    const std::string name = "give" + std::to_string(names.size()) + id;
    w.line(declared(bits), " ", name);
    w.line("st.param.b", bits, " [", name, "], ", value);
    names.push_back(name);
  };
  w.new_instruction();
  std::vector<std::string> values;
  for (unsigned bits : f.bits) values.push_back(w.source("b" + std::to_string(bits), false));
  const std::string d = w.any(64);
  std::string e = w.any(64);
  while (e == d) e = w.any(64);
  w.open();
  hand_over(64, "%in");
  hand_over(32, mask_or_zero(w));
  hand_over(32, depth);
  for (size_t i = 0; i < values.size(); ++i) hand_over(f.bits[i], values[i]);
  w.line(f.pair ? ".param .align 8 .b8 got" : ".param .b64 got", id, f.pair ? "[16]" : "");
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
  const std::string skips = may_skip && w.random.percent(25) ? w.any(1) : "";  // lanes that do not call
  w.line(skips.empty() ? "" : "@!" + skips + " ", "call (got", id, "), ", target, ", (", list, ")",
         prototype.empty() ? "" : ", " + prototype);
  const auto take = [&](const std::string& to, const char* offset) {
    if (skips.empty()) return w.line("ld.param.b64 ", to, ", [got", id, offset, "]");
    w.line("ld.param.b64 %tt, [got", id, offset, "]");
    w.line("selp.b64 ", to, ", ", to, ", %tt, ", skips);
  };
  take(d, "");
  if (f.pair) take(e, "+8");
  w.close();
  w.keep(d, 64);
  if (f.pair) w.keep(e, 64);
}

std::vector<const Callee*> that_can_be_called(const Writer& w) {
  std::vector<const Callee*> all;
  for (const Callee& f : w.callees)
    if (!f.warp || !w.mask.empty()) all.push_back(&f);
  return all;
}

}  // namespace

void write_call(Writer& w) {
  const auto callees = that_can_be_called(w);
  if (callees.empty()) return write_instruction(w);
  w.new_instruction();
  const std::string depth = w.from_pool(Pool::int32, 32);  // a number of its own for each lane
  w.line("and.b32 ", depth, ", ", depth, ", ", w.random.percent(50) ? 3 : 5);
  w.line("mov.b32 %u, ", depth);
  const Callee& f = *w.random.of(callees);
  call(w, f, f.name, "", "%u", !f.warp);
}

// A function calls itself; %u says how often it may go on.
void write_recursion(Writer& w, const Callee& self) {
  w.line("st.local.b64 [frame+8], %acc");
  call(w, self, self.name, "", "%u", true);
  w.line("ld.local.b64 %tt, [frame+8]");
  w.line("xor.b64 %acc, %acc, %tt");
}

// Through a pointer that differs between lanes, to functions that take the same.
void write_indirect_call(Writer& w) {
  const auto callees = that_can_be_called(w);
  if (callees.empty()) return write_instruction(w);
  const Callee& f = *w.random.of(callees);
  const Callee* g = w.random.of(callees);
  if (g->bits != f.bits || g->pair != f.pair) g = &f;
  const std::string p = w.new_name("%f"), q = w.new_name("%f"), together = w.new_name("%m"),
                    prototype = w.new_label();
  w.open();
  w.line(".reg .b64 ", p, ", ", q);
  w.line(".reg .b32 ", together);
  w.line("mov.u64 ", p, ", ", f.name);
  w.line("mov.u64 ", q, ", ", g->name);
  w.line("selp.b64 ", p, ", ", p, ", ", q, ", ", w.any(1));
  if (!w.mask.empty()) w.line("match.any.sync.b64 ", together, ", ", p, ", ", w.mask);
  std::string list = ".param .b64 _, .param .b32 _, .param .b32 _";
  for (unsigned bits : f.bits) list += ", " + declared(bits) + " _";
  w.label(prototype);
  w.line(".callprototype (", f.pair ? ".param .align 8 .b8 _[16]" : ".param .b64 _", ") _ (", list, ")");
  {
    const Apart apart(w);
    w.mask = w.mask.empty() ? "" : together;
    call(w, f, p, prototype, w.random.percent(50) ? "0" : "2", !f.warp && !g->warp);
  }
  w.close();
}

}  // namespace fuzz_isa
