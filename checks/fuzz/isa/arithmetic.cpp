// Statements of one straight line: an instruction of the table, chains of carries, packed moves, constants.
#include <algorithm>
#include <cstdio>
#include <functional>

#include "table.hpp"
#include "writer.hpp"

namespace fuzz_isa {

namespace {

// What an instruction's text is made of: the modifiers that were chosen, and the types among them.
struct Chosen {
  std::string name;
  std::vector<std::string> types, modifiers;
  bool has(const char* word) const {
    for (const std::string& m : modifiers)
      if (m == word) return true;
    return false;
  }
};

// Whether .sat of a conversion between integers has something to do, else ptxas refuses it.
bool may_leave(const std::string& from, const std::string& to) {
  const bool is_signed = to[0] == 's';
  return from[0] == 's' ? !is_signed || bits_of(from) > bits_of(to) : bits_of(from) + is_signed > bits_of(to);
}

Chosen choose(const Form& form, Random& random) {
  Chosen c;
  c.name = form.opcode;
  for (const auto& slot : form.slots) {
    // Half of the optional modifiers are given, however many there are to choose from.
    const std::string& word = slot[0].empty() && random.percent(50) ? slot[0] : random.of(slot);
    if (word.empty()) continue;
    c.name += "." + word;
    c.modifiers.push_back(word);
    if (is_type(word) && word != "pred") c.types.push_back(word);
  }
  const auto is_integer = [](const std::string& type) { return type[0] == 'u' || type[0] == 's'; };
  if (c.name.rfind("cvt.sat", 0) == 0 && is_integer(c.types[0]) && is_integer(c.types[1]) &&
      !may_leave(c.types[1], c.types[0]))
    c.name.erase(3, 4);
  return c;
}

std::string wide(const std::string& type) {
  return type[0] + std::to_string(2 * bits_of(type));
}

// A divisor that is neither 0 nor -1.
std::string divisor(Writer& w, const std::string& type) {
  const unsigned bits = bits_of(type);
  const std::string d = w.from_pool(Writer::pool_of(type), bits);
  w.line("or.b", bits, " ", d, ", ", d, ", 1");
  if (type[0] == 's') w.line("and.b", bits, " ", d, ", ", d, ", -3");
  return d;
}

std::string operand(Writer& w, const std::string& what, const Chosen& c) {
  if (what == "amount")
    return w.random.percent(30) ? std::to_string(w.random.below(70)) : w.from_pool(Pool::amount, 32);
  if (what == "place")  // bfe, bfi: ptxas 13.0 computes some constants beyond the word wrongly
    return w.random.percent(30) ? std::to_string(w.random.below(32)) : w.from_pool(Pool::amount, 32);
  if (what == "imm8") return std::to_string(w.random.below(256));
  if (what == "divisor") return divisor(w, c.types[0]);
  if (what == "exact") return w.from_pool(c.has("ftz") ? Pool::exact_ftz : Pool::exact, 32);
  if (what == "exact_f16") return w.from_pool(Pool::exact_f16x2, bits_of(c.types[0]));
  if (what == "exact_bf16") return w.from_pool(Pool::exact_bf16x2, bits_of(c.types[0]));
  if (what == "power") return w.from_pool(Pool::power, 32);
  if (what == "small") return w.from_pool(Pool::small, 32);
  if (what == "pred") return w.any(1);
  if (what == "lane") {
    const std::string r = w.from_pool(Pool::int32, 32);
    w.line("and.b32 ", r, ", ", r, ", 31");
    return r;
  }
  if (what == "offset") {
    const std::string r = w.from_pool(Pool::int32, 32);
    w.line("rem.s32 ", r, ", ", r, ", 9");
    return r;
  }
  if (what[0] == 'v') return w.source("b" + what.substr(1), false);
  if (what == "third") return c.has("add") || c.has("min") || c.has("max") ? w.source(c.types[0]) : "";
  if (what == "last") return c.has("and") || c.has("or") || c.has("xor") ? w.predicate_source() : "";
  const std::string type = what == "w"                        ? wide(c.types[0])
                           : what[0] >= '0' && what[0] <= '9' ? c.types[static_cast<size_t>(what[0] - '0')]
                                                              : what;
  return w.source(type);
}

// Whether it depends on the order of its sources, or on whether the instruction stays one, which NaN comes out: the compiler
// changes that.
bool chooses_nan(const std::string& opcode, const Chosen& c) {
  static const std::vector<std::string> kTwo = {"add", "sub", "mul", "fma", "mad", "div", "min", "max"};
  static const std::vector<std::string> kOne = {"neg", "abs"};
  if (c.types.empty()) return false;
  const std::string& type = c.types[0];
  const auto in = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), opcode) != names.end();
  };
  if (opcode == "cvt")
    return c.types.size() == 2 && (type == "f64" || type == "f32") && c.types[1][0] != 'u' &&
           c.types[1][0] != 's';
  return (type == "f64" && in(kTwo)) || ((type == "f64" || type == "f32") && in(kOne)) ||
         (type == "f32" && (opcode == "min" || opcode == "max"));
}

std::string other_predicate(Writer& w, const std::string& p) {
  std::string q = w.any(1);
  while (q == p) q = w.any(1);
  return q;
}

}  // namespace

void write_instruction(Writer& w) {
  const Form& form = any_form(w.random);
  const Chosen c = choose(form, w.random);
  w.new_instruction();
  std::vector<std::string> sources;
  for (size_t i = 1; i < form.operands.size(); ++i) {
    const std::string text = operand(w, form.operands[i], c);
    if (!text.empty()) sources.push_back(text);
  }
  const std::string& to = form.operands[0];
  std::string destination, second;
  unsigned bits = 1;
  if (to == "pred" || to == "one" || to == "pair") {
    destination = w.any(1);
    if (to == "pair" || (to == "one" && w.random.percent(50))) second = other_predicate(w, destination);
  } else if (to == "both") {
    bits = 32;
    destination = w.any(32);
    second = w.any(1);
  } else {
    const std::string type = to == "w"                      ? wide(c.types[0])
                             : to[0] >= '0' && to[0] <= '9' ? c.types[static_cast<size_t>(to[0] - '0')]
                                                            : to;
    bits = bits_of(type);
    // A result of 8 bits, or an integer of a conversion, may go to a wider register.
    if (bits == 8) bits = w.random.percent(50) ? 32 : w.random.percent(50) ? 16 : 64;
    destination = w.any(bits);
  }
  // Not set and testp: ptxas 13.0 expands a guarded one to instructions of which some have no guard.
  std::string guard;
  if (w.random.percent(12) && form.opcode != "set" && form.opcode != "testp")
    guard = "@" + w.predicate_source() + " ";
  if (c.name == "vadd4.u32.u32.u32.add" || c.name == "vsub4.u32.u32.u32.add") guard = "";  // the same
  std::string text = guard + c.name + " " + destination + (second.empty() ? "" : "|" + second);
  for (const std::string& s : sources) text += ", " + s;
  w.line(text);
  if (chooses_nan(form.opcode, c)) w.one_nan(destination, bits);
  w.keep(destination, bits);
  if (!second.empty()) w.keep(second, 1);
}

// add.cc, addc.cc, addc; sub.cc ...; mad.lo.cc, madc.hi: two to five in a row.
void write_carries(Writer& w) {
  w.new_instruction();
  Random& random = w.random;
  const std::vector<std::string> types = {"u32", "s32", "u64", "s64"};
  const bool mixed = random.percent(30);
  const std::string kind = random.of<std::string>({"add", "sub", "mad"}), common = random.of(types);
  const size_t count = 2 + random.below(4);
  for (size_t i = 0; i < count; ++i) {
    const std::string type = mixed ? random.of(types) : common;
    const unsigned bits = bits_of(type);
    w.new_instruction();
    const std::string a = w.source(type), b = w.source(type), d = w.any(bits);
    const bool last = i + 1 == count;
    // A chain of sums may change between add and mad; borrows stay with themselves.
    const bool multiply = kind == "mad" || (kind == "add" && random.percent(20));
    std::string name = multiply ? "mad" : kind == "mad" ? "add" : kind;
    name += i ? "c" : "";
    if (multiply) name += random.percent(50) ? ".lo" : ".hi";
    if (!last) name += ".cc";
    w.line(name, ".", type, " ", d, ", ", a, ", ", b, multiply ? ", " + w.any(bits) : "");
    w.keep(d, bits);
  }
}

// mov of several registers into a wider one, and back.
void write_pack(Writer& w) {
  w.new_instruction();
  Random& random = w.random;
  const auto list = [&](unsigned bits, size_t count, bool sources) {
    std::vector<std::string> names;
    while (names.size() < count) {
      const std::string name = sources ? w.source("b" + std::to_string(bits), false) : w.any(bits);
      bool again = false;
      for (const std::string& n : names) again = again || (!sources && n == name);
      if (!again) names.push_back(name);
    }
    return names;
  };
  const auto braces = [](const std::vector<std::string>& names) {
    std::string text = "{";
    for (const std::string& n : names) text += (text.size() > 1 ? ", " : "") + n;
    return text + "}";
  };
  const size_t shape = random.below(3);  // b32 of 2 x 16, b64 of 4 x 16, b64 of 2 x 32
  const unsigned whole = shape ? 64 : 32, part = shape == 2 ? 32 : 16;
  const size_t count = whole / part;
  if (random.percent(50)) {
    const auto parts = list(part, count, true);
    const std::string d = w.any(whole);
    w.line("mov.b", whole, " ", d, ", ", braces(parts));
    w.keep(d, whole);
  } else {
    const std::string a = w.source("b" + std::to_string(whole), false);
    const auto parts = list(part, count, false);
    w.line("mov.b", whole, " ", braces(parts), ", ", a);
    for (const std::string& p : parts) w.keep(p, part);
  }
}

// An expression that the assembler computes.
void write_constant_expression(Writer& w) {
  Random& random = w.random;
  const std::function<std::string(int)> expression = [&](int depth) -> std::string {
    if (depth == 0 || random.percent(15)) {
      const uint64_t value = value_of(Pool::int64, random) >> random.below(40);
      const std::string sign = random.percent(20)   ? "-"
                               : random.percent(10) ? "~"
                               : random.percent(5)  ? "!"
                                                    : "";
      char text[40];
      std::snprintf(text, sizeof text, random.percent(40) ? "0x%llX" : "%llu",
                    static_cast<unsigned long long>(value & INT64_MAX));
      return sign + text + (random.percent(30) ? "U" : "");
    }
    // One choice after another: the order in which operands are evaluated is the compiler's.
    static const std::vector<std::string> kOperators = {" + ",  " - ",  " * ", " & ",  " | ", " ^ ",  " == ",
                                                        " != ", " <= ", " < ", " >= ", " > ", " && ", " || "};
    const size_t dice = random.below(20);
    const std::string a = expression(depth - 1);
    if (dice == 1) return (random.percent(50) ? "((.s64)(" : "((.u64)(") + a + "))";
    if (dice >= 2 && dice < 8) {  // never by 0, never further than 63
      const bool divides = dice < 5, first = random.percent(50);
      const std::string op = divides ? (first ? " / " : " % ") : first ? " << " : " >> ";
      return "(" + a + op + std::to_string(divides ? 1 + random.below(1000) : random.below(64)) + ")";
    }
    const std::string op = random.of(kOperators), b = expression(depth - 1);
    if (dice == 0) return "(" + a + " ? " + b + " : " + expression(depth - 1) + ")";
    return random.percent(80) ? "(" + a + op + b + ")" : a + op + b;
  };
  w.new_instruction();
  const bool wide = random.percent(70);
  const std::string d = w.any(wide ? 64 : 32);
  w.line(wide ? "mov.b64 " : "mov.b32 ", d, ", ",
         wide ? expression(3) : "(" + expression(3) + ") & 0x7FFFFFFF");
  w.keep(d, wide ? 64 : 32);
}

// What the machine says of a thread, and of an address.
void write_special_register(Writer& w) {
  static const std::vector<std::string> kNames = {
      "%tid.x",    "%tid.y",           "%ntid.x",           "%ntid.y",      "%ctaid.x",      "%nctaid.x",
      "%laneid",   "%lanemask_eq",     "%lanemask_lt",      "%lanemask_le", "%lanemask_gt",  "%lanemask_ge",
      "%nctaid.y", "%cluster_ctarank", "%cluster_nctarank", "%clusterid.x", "%nclusterid.x", "WARP_SZ"};
  w.new_instruction();
  if (w.random.percent(30)) {
    static const std::vector<std::string> kSpaces = {"const",  "global",      "local",
                                                     "shared", "shared::cta", "shared::cluster"};
    static const std::vector<std::string> kAddresses = {"%own", "%local_generic", "%shared_generic", "%in"};
    const std::string p = w.any(1), space = w.random.of(kSpaces);
    w.line("isspacep.", space, " ", p, ", ", w.random.of(kAddresses));
    w.keep(p, 1);
    return;
  }
  const std::string d = w.any(32);
  w.line("mov.u32 ", d, ", ", w.random.of(kNames));
  w.keep(d, 32);
}

}  // namespace fuzz_isa
