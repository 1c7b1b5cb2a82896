// PTX texts: changed ones of the corpus, single instructions made from the table of forms, and modules linked together.
#include "emulator/findings/report.hpp"
#include "emulator/program/forms.hpp"
#include "emulator/program/program.hpp"
#include "emulator/ptx/link.hpp"
#include "emulator/runtime/device.hpp"
#include "target.hpp"

namespace readers {
namespace {

// Loads the texts as a program's module: read, linked, variables placed, every kernel decoded.
void load(const std::vector<std::string>& texts) {
  static emu::GlobalMemory& memory = *new emu::GlobalMemory;
  try {
    emu::LoadedModule module(memory, texts);
  } catch (const emu::Fault& fault) {
    const emu::Finding& f = fault.finding();
    if (f.title.empty()) throw Broken("a refusal without a sentence: " + f.text());
    require_json(f.json());
  }
}

}  // namespace

void require_corpus() {
  emu::GlobalMemory memory;
  const emu::LoadedModule module(memory, corpus());  // throws where it is not what it should be
  if (module.kernels().size() < corpus().size()) throw Broken("the corpus has texts without a kernel");
}

namespace {

std::string text_of(Random& random) {
  return mutated(random.of(corpus()), random);
}

std::string operand(Random& random, int depth = 0) {
  static const std::vector<std::string> kSimple = {
      "%p1",  "%p2",    "!%p1",   "%rs1",   "%rs2",    "%r1",      "%r2",        "%r3",     "%rd1",
      "%rd2", "%f1",    "%f2",    "%fd1",   "%fd2",    "_",        "x",          "s",       "DONE",
      "list", "helper", "k",      "%tid.x", "%laneid", "%clock64", "1",          "-1",      "0",
      "3.5",  "1U",     "%undef", "tmap",   "proto",   "l",        "0f3f800000", "%r1 + 4", "x + 8"};
  switch (random.below(depth > 2 ? 4 : 8)) {
    case 0:
    case 1:
    case 2:
      return random.of(kSimple);
    case 3:
      return std::to_string(edge(random));
    case 4:
      return "[" + operand(random, depth + 1) +
             (random.one_in(2) ? " + " + std::to_string(random.below(64)) : "") + "]";
    case 5: {
      std::string list = "{";
      for (size_t i = random.below(random.one_in(10) ? 140 : 5); i > 0; --i)
        list += operand(random, depth + 1) + ", ";
      return list + operand(random, depth + 1) + "}";
    }
    case 6:
      return "[" + operand(random, depth + 1) + ", " + operand(random, depth + 1) + "]";
    default:
      return operand(random, depth + 1) + (random.one_in(2) ? "|" : ", ") + operand(random, depth + 1);
  }
}

// One instruction of a form that exists, in its own words, with operands that may or may not fit.
std::string instruction(Random& random) {
  const emu::Pattern pattern = emu::parse_pattern(random.of(emu::all_forms()).pattern);
  std::string text = pattern.opcode;
  for (const emu::Slot& slot : pattern.slots)
    if (!slot.optional || random.one_in(2)) text += "." + random.of(slot.choices);
  const size_t count = random.below(8);
  for (size_t i = 0; i < count; ++i) text += (i ? ", " : " ") + operand(random);
  return (random.one_in(6) ? "@%p1 " : "") + text + ";\n";
}

std::string instructions(Random& random) {
  std::string body;
  for (size_t i = 1 + random.below(3); i > 0; --i) body += instruction(random);
  return ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 8 .b8 x[64];\n.extern .shared .align 16 .b8 s[];\n"
         ".func (.param .b32 r) helper(.param .b32 a, .param .b64 b) { ret; }\n"
         ".visible .entry k(.param .u64 p, .param .align 64 .b8 tmap[128]) {\n.reg .pred %p<4>;\n.reg .b16 %rs<4>;\n"
         ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<4>;\n.reg .f64 %fd<4>;\n.local .align 8 .b8 l[16];\n"
         "list: .branchtargets DONE;\nproto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);\n" +
         body + "DONE: ret;\n}\n";
}

std::vector<std::string> pair(Random& random) {
  return {random.one_in(2) ? random.of(corpus()) : text_of(random),
          random.one_in(2) ? random.of(corpus()) : text_of(random)};
}

}  // namespace

void run_ptx(Random& random) {
  load({text_of(random)});
}
std::string show_ptx(Random& random) {
  return text_of(random);
}
void run_instructions(Random& random) {
  load({instructions(random)});
}
std::string show_instructions(Random& random) {
  return instructions(random);
}
void run_link(Random& random) {
  load(pair(random));
}
std::string show_link(Random& random) {
  const auto texts = pair(random);
  return texts[0] + "\n// ==== the second object\n" + texts[1];
}

}  // namespace readers
