#include "program.hpp"

namespace fuzz_isa {

namespace {

void registers(Writer& w) {
  w.line(".reg .pred %p<", kPredicates, ">");
  w.line(".reg .pred %nan");
  w.line(".reg .b16 %h<", kHalves, ">");
  w.line(".reg .b32 %r<", kWords, ">");
  w.line(".reg .b64 %d<", kDoubles, ">");
  w.line(".reg .b64 %in, %out, %own, %local_generic, %shared_generic, %acc, %tt");
  w.line(".reg .b32 %me, %t, %u, %local, %shared, %mask");
  w.line(".local .align 16 .b8 frame[", kOwnBytes, "]");
}

// Addresses of a thread's own bytes, and something in every register and in all of these bytes.
void begin(Writer& w, bool owns_memory) {
  w.line("mov.u32 %me, %tid.x");
  w.line("mov.u64 %own, scratch");
  w.line("mad.wide.u32 %own, %me, ", kOwnBytes, ", %own");
  w.line("mov.u32 %shared, bytes");
  w.line("mad.lo.u32 %shared, %me, ", kOwnBytes, ", %shared");
  w.line("cvt.u64.u32 %shared_generic, %shared");
  w.line("cvta.shared.u64 %shared_generic, %shared_generic");
  w.line("mov.u32 %local, frame");
  w.line("cvt.u64.u32 %local_generic, %local");
  w.line("cvta.local.u64 %local_generic, %local_generic");
  const auto load = [&](unsigned bits, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      std::string name = (bits == 16 ? "%h" : bits == 32 ? "%r" : "%d") + std::to_string(i);
      const size_t pool = bits == 16 ? 0 : bits == 32 ? 1 : 2;
      w.line("ld.global.b", bits, " ", name, ", [%in+", static_cast<uint64_t>((pool * kPoolValues + i) * 8),
             "]");
    }
  };
  load(16, kHalves);
  load(32, kWords);
  load(64, kDoubles);
  for (unsigned i = 0; i < kPredicates; ++i) w.line("setp.lt.s32 %p", i, ", %r", i, ", %r", i + 1);
  for (unsigned at = 0; at < kOwnBytes; at += 16) {
    w.line("st.local.v2.b64 [frame+", at, "], {%d", at / 16, ", %d", at / 16 + 1, "}");
    if (!owns_memory) continue;
    w.line("st.shared.v2.b64 [%shared+", at, "], {%d", at / 16 + 1, ", %d", at / 16 + 2, "}");
    w.line("st.global.v2.b64 [%own+", at, "], {%d", at / 16 + 2, ", %d", at / 16 + 3, "}");
  }
}

// A function that may call those before it, and itself.
std::string make_function(Random& random, const Callee& f, const std::vector<Callee>& before) {
  Writer w(random, true);
  w.callees = before;
  w.all_lanes = false;
  w.mask = f.warp ? "%mask" : "";
  const std::string result = f.pair ? ".param .align 8 .b8 result[16]" : ".param .b64 result";
  std::string head =
      ".func (" + result + ") " + f.name + "(.param .b64 pools, .param .b32 lanes, .param .b32 depth";
  for (size_t i = 0; i < f.bits.size(); ++i)
    head += ", .param .b" + std::to_string(f.bits[i]) + " value" + std::to_string(i);
  w.text = head + ")\n{\n";
  registers(w);
  w.line(".reg .pred %last");
  w.line("ld.param.b64 %in, [pools]");
  w.line("ld.param.b32 %mask, [lanes]");
  w.line("mov.b64 %acc, 0");
  begin(w, false);
  for (size_t i = 0; i < f.bits.size(); ++i)
    w.line("ld.param.b", f.bits[i], " ", w.any(f.bits[i]), ", [value", static_cast<uint64_t>(i), "]");
  const auto give_back = [&] {
    w.line("st.param.b64 [result], %acc");
    if (f.pair) w.line("st.param.b64 [result+8], ", w.any(64));
    w.line("ret");
  };
  write_some(w, 2 + static_cast<int>(random.below(3)), 1);
  if (!f.warp && random.percent(40)) {  // some lanes return early
    const std::string on = w.new_label();
    w.line("@", w.any(1), " bra ", on);
    give_back();
    w.label(on);
  }
  if (!f.warp && random.percent(60)) {  // it calls itself
    const std::string enough = w.new_label();
    w.line("ld.param.b32 %u, [depth]");
    w.line("setp.eq.u32 %last, %u, 0");
    w.line("@%last bra ", enough);
    w.line("sub.u32 %u, %u, 1");
    write_recursion(w, f);
    w.label(enough);
  }
  write_some(w, 1 + static_cast<int>(random.below(3)), 0);
  give_back();
  return w.text + "}\n";
}

constexpr unsigned kEnough = 34;  // results of a program, or a few more

}  // namespace

void write_some(Writer& w, int count, int depth) {
  using Plain = void (*)(Writer&);
  using Nested = void (*)(Writer&, int);
  for (int i = 0; i < count; ++i) {
    if (w.slots + 8 > kSlots) return;
    const size_t dice = w.random.below(100);
    if (depth > 0 && dice < 14) {
      static const std::vector<Nested> kNested = {write_branch, write_ladder, write_loop, write_switch};
      w.random.of(kNested)(w, depth - 1);
      continue;
    }
    Plain plain = write_instruction;
    if (dice >= 92)
      plain = w.mask.empty() ? write_instruction : write_warp;
    else if (dice >= 86)
      plain = write_own_memory;
    else if (dice >= 83)
      plain = write_atomic;
    else if (dice >= 78)
      plain = write_carries;
    else if (dice >= 75)
      plain = write_pack;
    else if (dice >= 73)
      plain = write_constant_expression;
    else if (dice >= 72)
      plain = write_special_register;
    else if (dice >= 66 && !w.callees.empty())
      plain = dice < 70 ? write_call : write_indirect_call;
    else if (dice >= 64 && w.all_lanes)
      plain = w.random.percent(50) ? write_exchange : write_common;
    plain(w);
  }
}

std::string name_of_program(uint64_t number) {
  return "p" + std::to_string(number);
}

std::string module_header() {
  std::string table;
  for (unsigned i = 0; i < kOwnBytes; ++i) table += (i ? ", " : "") + std::to_string((i * 73 + 129) & 255);
  return ".version 8.6\n.target sm_90a\n.address_size 64\n"
         ".global .align 16 .b8 scratch[" +
         std::to_string(kThreads * kOwnBytes) + "];\n.shared .align 16 .b8 bytes[" +
         std::to_string(kThreads * kOwnBytes) + "];\n.shared .align 16 .b8 common[" +
         std::to_string(kCommonWords * 4) + "];\n.const .align 16 .b8 table[" + std::to_string(kOwnBytes) +
         "] = {" + table + "};\n";
}

Program make_program(uint64_t seed, uint64_t number, const std::set<unsigned>& without) {
  Random choice(seed, number, 0);
  Program program;
  const bool flows = choice.percent(60);
  std::vector<Callee> callees;
  if (flows)
    for (size_t i = 0, count = choice.below(4); i < count; ++i) {
      Callee f;
      f.name = "f" + std::to_string(number) + "_" + std::to_string(i);
      if (i && choice.percent(60)) {  // as the one before, so that a pointer may mean either
        f.bits = callees.back().bits;
        f.pair = callees.back().pair;
      } else {
        static const std::vector<unsigned> kBits = {16, 32, 64};
        for (size_t k = 0, values = choice.below(5); k < values; ++k) f.bits.push_back(choice.of(kBits));
        f.pair = choice.percent(40);
      }
      f.warp = choice.percent(40);
      program.text += make_function(choice, f, callees);
      callees.push_back(f);
    }
  Writer head(choice, false);
  head.text = ".visible .entry " + name_of_program(number) +
              "(.param .u64 in, .param .u64 out, .param .align 8 .b8 extra[32])\n{\n";
  registers(head);
  head.line("ld.param.u64 %in, [in]");
  head.line("ld.param.u64 %out, [out]");
  head.line("mov.u32 %me, %tid.x");
  head.line("mad.wide.u32 %in, %me, 8, %in");
  head.line("mad.wide.u32 %out, %me, 8, %out");
  head.line("mov.b32 %mask, -1");
  begin(head, true);
  program.text += head.text;
  const unsigned leaves = choice.percent(15) ? kEnough - 8 : kSlots;  // from here on some threads have ended
  unsigned slots = 0;
  bool left = false;
  while (slots < kEnough) {
    const unsigned statement = program.statements++;
    Random random(seed, number, 1 + statement);
    Writer w(random, false);
    w.prefix = std::to_string(statement) + "_";
    w.slots = slots;
    w.callees = callees;
    w.mask = left ? "" : "%mask";
    w.all_lanes = !left;
    if (!left && slots >= leaves) {
      left = true;
      const std::string p = w.any(1);
      w.line("@", p, random.percent(50) ? " exit" : " ret");
    } else {
      write_some(w, 1, flows ? 2 : 0);
    }
    slots = w.slots;
    if (!without.count(statement))
      program.text += "// statement " + std::to_string(statement) + "\n" + w.text;
  }
  program.text += "  ret;\n}\n";
  program.slots = slots;
  return program;
}

}  // namespace fuzz_isa
