// Control flow (PTX ISA 9.7.12): bra, brx.idx, call, ret, exit, trap; nanosleep and markers.
#include <algorithm>

#include "emulator/isa/external.hpp"
#include "emulator/machine/machine.hpp"

namespace emu {

namespace {

// bra{.uni} tgt
Flow bra(Warp& w, const Inst& in, uint32_t mask) {
  return w.branch(mask, in.target);
}

void decode_bra(Decoder& d, const Match&, Inst& in) {
  in.exec = bra;
  in.cls = Class::control;
  d.branch_to(d.operand(0));
}

// brx.idx{.uni} index, tlist
Flow brx(Warp& w, const Inst& in, uint32_t mask) {
  auto index = w.lanes<uint32_t>(in.a);
  const auto& targets = in.extra->numbers;
  uint32_t pc[32], frame[32];
  for_lanes(mask, [&](int l) {
    if (index[l] >= targets.size())
      w.fault(in, l, Id::branch_index,
              "brx.idx has index " + std::to_string(index[l]) + " of a list of " +
                  std::to_string(targets.size()) + " targets");
    pc[l] = static_cast<uint32_t>(targets[index[l]]);
    frame[l] = w.current->frame;
  });
  return w.scatter(mask, pc, frame);
}

void decode_brx(Decoder& d, const Match&, Inst& in) {
  in.exec = brx;
  in.cls = Class::control;
  in.a = d.source(d.operand(0), Type::u32);
  d.branch_list(d.operand(1).name, d.extra(in));
}

// call{.uni} (ret), func, (params);  func is a name, or a register with a .callprototype
Flow call_direct(Warp& w, const Inst& in, uint32_t mask) {
  return w.call(mask, in, static_cast<uint32_t>(in.extra->numbers[0]));
}

bool fits(const std::vector<FrameSlot>& handed, const std::vector<FrameSlot>& declared) {
  return std::equal(handed.begin(), handed.end(), declared.begin(), declared.end(),
                    [](const FrameSlot& a, const FrameSlot& b) { return a.bytes == b.bytes; });
}

Flow call_indirect(Warp& w, const Inst& in, uint32_t mask) {
  auto target = w.lanes<uint64_t>(in.a);
  int first = __builtin_ctz(mask);
  uint32_t same = 0;
  for_lanes(mask, [&](int l) { same |= target[l] == target[first] ? 1u << l : 0; });
  auto it = w.program.function_at.find(target[first]);
  if (it == w.program.function_at.end())
    w.fault(in, first, Id::bad_function_pointer,
            "a thread calls " + hex(target[first]) + ", which is no device function", "",
            "a function pointer must be taken in device code; a host function's address means nothing here");
  const FunctionInfo& callee = w.program.functions[it->second];
  if (!fits(in.extra->arguments, callee.params) || !fits(in.extra->results, callee.returns))
    w.fault(in, first, Id::bad_function_pointer,
            "function " + callee.name + " has other parameters or results than the call hands over", "",
            "call it with the parameters that it is declared with");
  if (same == mask && mask == w.current->mask) return w.call(mask, in, it->second);
  // Lanes with another target, or that skip the call, become a group of their own; they meet after it.
  uint32_t pc[32], frame[32];
  uint32_t rest = w.current->mask & ~same;
  for_lanes(rest, [&](int l) {
    pc[l] = mask >> l & 1 ? w.current->pc : w.current->pc + 1;
    frame[l] = w.current->frame;
  });
  Group* me = w.current;
  uint32_t my_pc = me->pc;
  w.scatter(rest, pc, frame);
  w.current = me;
  me->pc = my_pc;
  return w.call(same, in, it->second);
}

// What an indirect call hands over: its prototype, or the first of its possible targets.
const Function& declaration_of_call(Decoder& d, const std::string& label) {
  const auto prototype = d.function().prototypes.find(label);
  if (prototype != d.function().prototypes.end()) return prototype->second;
  const auto targets = d.function().branch_targets.find(label);
  const Function* f = targets == d.function().branch_targets.end() || targets->second.second.empty()
                          ? nullptr
                          : d.module().find_function(targets->second.second[0]);
  if (!f) d.refuse("an indirect call names its .callprototype or .calltargets; '" + label + "' is neither");
  return *f;
}

void decode_call(Decoder& d, const Match&, Inst& in) {
  in.cls = Class::control;
  const auto& ops = d.text().operands;
  size_t i = 0;
  std::vector<Operand> results, arguments;
  if (i < ops.size() && ops[i].kind == Operand::Kind::list) results = ops[i++].items;
  if (i >= ops.size()) d.refuse("call names no function");
  const Operand& target = ops[i++];
  if (i < ops.size() && ops[i].kind == Operand::Kind::list) arguments = ops[i++].items;
  const bool indirect = d.is_register(target);
  if (ops.size() > i + indirect)
    d.refuse("this call has more operands than results, function and parameters");
  const Function* f = indirect ? &declaration_of_call(d, i < ops.size() ? ops[i].name : "")
                               : d.module().find_function(target.name);
  if (!f || target.kind == Operand::Kind::sum)
    d.refuse("call of '" + target.name + "', which this module does not declare");
  if (f->is_entry) d.refuse("call of " + f->name + ", which is a kernel");
  Extra& x = d.extra(in);
  x.arguments = d.call_slots(arguments, f->params, false);
  x.results = d.call_slots(results, f->returns, true);
  if (indirect) {
    in.exec = call_indirect;
    in.a = d.source(target, Type::u64);
    d.need_all_function_pointers();
  } else if (f->has_body) {
    x.numbers = {d.function_of(target.name)};
    in.exec = call_direct;
  } else {
    in.exec = external_function(*f);
    if (!in.exec)
      d.refuse(
          "call of the external function " + target.name + ", which the emulator does not provide",
          "vprintf, __assertfail, malloc and free are provided; anything else needs a body in this module");
    // The CTAs' text is printed, and memory given out, in the order in which they run.
    d.program().asks_for_order |= target.name != "__assertfail";
  }
}

Flow ret(Warp& w, const Inst&, uint32_t mask) {
  return w.return_from(mask);
}
Flow exit_thread(Warp& w, const Inst&, uint32_t mask) {
  return w.exit_lanes(mask);
}

Flow trap(Warp& w, const Inst& in, uint32_t mask) {
  w.fault(in, __builtin_ctz(mask), Id::trap, "a thread executed trap", "the program asked to be stopped here",
          "see what the code around the trap checks");
}

// nanosleep.u32 t: t nanoseconds of emulated time.
Flow nanosleep(Warp& w, const Inst& in, uint32_t mask) {
  const auto t = w.lanes<uint32_t>(in.a);
  uint32_t longest = 0;
  for_lanes(mask, [&](int l) { longest = std::max(longest, t[l]); });
  if (longest == 0) return Flow::yield;
  Wait wait;
  wait.alarm = w.now() + longest;
  wait.ready = [](Warp& warp, const Group& g) { return warp.now() >= g.wait.alarm; };
  return w.block(wait, mask);
}

void decode_nanosleep(Decoder& d, const Match&, Inst& in) {
  if (d.operand_count() != 1) d.refuse("nanosleep takes the time to sleep");
  in.exec = nanosleep;
  in.cls = Class::control;
  in.a = d.source(d.operand(0), Type::u32);
}

Flow nothing(Warp&, const Inst&, uint32_t) {
  return Flow::next;
}

template <Exec exec>
void decode_plain(Decoder&, const Match&, Inst& in) {
  in.exec = exec;
  in.cls = Class::control;
}

}  // namespace

std::vector<Form> control_forms() {
  return {
      {"bra.[uni]", decode_bra},           {"brx.idx.[uni]", decode_brx},
      {"call.[uni]", decode_call},         {"ret.[uni]", decode_plain<ret>},
      {"exit", decode_plain<exit_thread>}, {"trap", decode_plain<trap>},
      {"brkpt", decode_plain<trap>},       {"nanosleep.u32", decode_nanosleep},
      {"pmevent", decode_plain<nothing>},  {"pmevent.mask", decode_plain<nothing>},
  };
}

}  // namespace emu
