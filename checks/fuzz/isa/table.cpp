#include "table.hpp"

#include <algorithm>
#include <cmath>

namespace fuzz_isa {

namespace {

#define INT_COMPARE "eq|ne|lt|le|gt|ge"
#define UNSIGNED_COMPARE "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"
#define REAL_COMPARE "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"
#define ANY_INT "u8|u16|u32|u64|s8|s16|s32|s64"
#define VIDEO ".u32|s32.u32|s32.u32|s32.[sat|add]"

// Without a rounding, ptxas may fuse a product and a sum: every add, sub and mul of reals names one.
const std::vector<Row> kRows = {
    // integers
    {"add.u16|s16|u32|s32|u64|s64", "0 0 0"},
    {"add.sat.s32", "0 0 0"},
    {"add.u16x2|s16x2", "b32 v32 v32"},
    {"sub.u16|s16|u32|s32|u64|s64", "0 0 0"},
    {"sub.sat.s32", "0 0 0"},
    {"mul.lo|hi.u16|s16|u32|s32|u64|s64", "0 0 0"},
    {"mul.wide.u16|s16|u32|s32", "w 0 0"},
    {"mad.lo|hi.u16|s16|u32|s32|u64|s64", "0 0 0 0"},
    {"mad.hi.sat.s32", "0 0 0 0"},
    {"mad.wide.u16|s16|u32|s32", "w 0 0 w"},
    {"mul24.lo|hi.u32|s32", "0 0 0"},
    {"mad24.lo|hi.u32|s32", "0 0 0 0"},
    {"mad24.hi.sat.s32", "0 0 0 0"},
    {"sad.u16|s16|u32|s32|u64|s64", "0 0 0 0"},
    {"div.u16|s16|u32|s32|u64|s64", "0 0 divisor"},
    {"rem.u16|s16|u32|s32|u64|s64", "0 0 divisor"},
    {"abs.s16|s32|s64", "0 0"},
    {"neg.s16|s32|s64", "0 0"},
    {"min|max.u16|s16|u32|s32|u64|s64", "0 0 0"},
    {"min|max.relu.s32", "0 0 0"},
    {"min|max.u16x2", "b32 v32 v32"},
    {"min|max.[relu].s16x2", "b32 v32 v32"},
    {"dp4a.u32|s32.u32|s32", "b32 b32 b32 b32"},
    {"dp2a.lo|hi.u32|s32.u32|s32", "b32 b32 b32 b32"},
    // bits
    {"and|or|xor.b16|b32|b64", "0 0 0"},
    {"and|or|xor.pred", "pred pred pred"},
    {"not.b16|b32|b64", "0 0"},
    {"not.pred", "pred pred"},
    {"cnot.b16|b32|b64", "0 0"},
    {"shl.b16|b32|b64", "0 0 amount"},
    {"shr.b16|b32|b64|u16|u32|u64|s16|s32|s64", "0 0 amount"},
    {"shf.l|r.clamp|wrap.b32", "b32 b32 b32 amount"},
    {"lop3.b32", "b32 b32 b32 b32 imm8"},
    {"lop3.or|and.b32", "both b32 b32 b32 imm8 pred"},
    {"popc.b32|b64", "u32 0"},
    {"clz.b32|b64", "u32 0"},
    {"bfind.[shiftamt].u32|s32|u64|s64", "u32 0"},
    {"brev.b32|b64", "0 0"},
    {"bfe.u32|s32|u64|s64", "0 0 place place"},
    {"bfi.b32|b64", "0 0 0 place place"},
    {"fns.b32", "b32 b32 lane offset"},
    {"szext.clamp|wrap.u32|s32", "0 0 amount"},
    {"bmsk.clamp|wrap.b32", "b32 amount amount"},
    {"prmt.b32.[f4e|b4e|rc8|ecl|ecr|rc16]", "b32 b32 b32 b32"},
    // f32, f64
    {"add|sub|mul.rn|rz|rm|rp.[ftz].[sat].f32", "0 0 0"},
    {"add|sub|mul.rn|rz|rm|rp.f64", "0 0 0"},
    {"fma.rn|rz|rm|rp.[ftz].[sat].f32", "0 0 0 0"},
    {"fma.rn|rz|rm|rp.f64", "0 0 0 0"},
    {"mad.rn|rz|rm|rp.[ftz].[sat].f32", "0 0 0 0"},
    {"mad.rn|rz|rm|rp.f64", "0 0 0 0"},
    {"div.rn|rz|rm|rp.[ftz].f32", "0 0 0"},
    {"div.rn|rz|rm|rp.f64", "0 0 0"},
    {"rcp|sqrt.rn|rz|rm|rp.[ftz].f32", "0 0"},
    {"rcp|sqrt.rn|rz|rm|rp.f64", "0 0"},
    {"rcp|sqrt|rsqrt|sin|cos|lg2|ex2.approx.[ftz].f32", "f32 exact"},
    {"tanh.approx.f32", "f32 exact"},
    {"rcp|sqrt|rsqrt.approx.[ftz].f32", "f32 power"},
    {"ex2.approx.[ftz].f32", "f32 small"},
    {"div.approx|full.[ftz].f32", "f32 f32 power"},
    {"neg|abs.[ftz].f32", "0 0"},
    {"neg|abs.f64", "0 0"},
    {"min|max.[ftz].[NaN].f32", "0 0 0"},
    {"min|max.[ftz].[NaN].xorsign.abs.f32", "0 0 0"},
    {"min|max.f64", "0 0 0"},
    {"copysign.f32|f64", "0 0 0"},
    {"testp.finite|infinite|number|notanumber|normal|subnormal.f32|f64", "pred 0"},
    // f16, bf16 and pairs of them
    {"add|sub|mul.rn.[ftz].[sat].f16|f16x2", "0 0 0"},
    {"add|sub|mul.rn.bf16|bf16x2", "0 0 0"},
    {"fma.rn.[ftz].[sat|relu].f16|f16x2", "0 0 0 0"},
    {"fma.rn.[relu].bf16|bf16x2", "0 0 0 0"},
    {"neg|abs.[ftz].f16|f16x2", "0 0"},
    {"neg|abs.bf16|bf16x2", "0 0"},
    {"min|max.[ftz].[NaN].f16|f16x2", "0 0 0"},
    {"min|max.[ftz].[NaN].xorsign.abs.f16|f16x2", "0 0 0"},
    {"min|max.[NaN].bf16|bf16x2", "0 0 0"},
    {"min|max.[NaN].xorsign.abs.bf16|bf16x2", "0 0 0"},
    {"ex2.approx.f16|f16x2", "0 exact_f16"},
    {"ex2.approx.ftz.bf16|bf16x2", "0 exact_bf16"},
    {"tanh.approx.f16|f16x2", "0 exact_f16"},
    {"tanh.approx.bf16|bf16x2", "0 exact_bf16"},
    // conversions
    {"cvt.[sat]." ANY_INT "." ANY_INT, "0 1"},
    {"cvt.rni|rzi|rmi|rpi.[ftz].[sat]." ANY_INT ".f32", "0 1"},
    {"cvt.rni|rzi|rmi|rpi.[sat]." ANY_INT ".f16|f64", "0 1"},
    {"cvt.rni|rzi|rmi|rpi.u16|u32|u64|s16|s32|s64.bf16", "0 1"},
    {"cvt.rn|rz|rm|rp.[ftz].[sat].f32." ANY_INT, "0 1"},
    {"cvt.rn|rz|rm|rp.[sat].f16|f64." ANY_INT, "0 1"},
    {"cvt.rn|rz|rm|rp.bf16.u16|u32|u64|s16|s32|s64", "0 1"},
    {"cvt.[ftz].[sat].f32.f16", "0 1"},
    {"cvt.[ftz].f32.bf16", "0 1"},
    {"cvt.[ftz].[sat].f64.f32", "0 1"},
    {"cvt.[sat].f64.f16", "0 1"},
    {"cvt.f64.bf16", "0 1"},
    {"cvt.rn|rz|rm|rp.[ftz].[sat].f32.f64", "0 1"},
    {"cvt.rn|rz|rm|rp.[ftz].[sat].f16.f32", "0 1"},
    {"cvt.rn|rz.relu.[satfinite].f16|bf16.f32", "0 1"},
    {"cvt.rn|rz.satfinite.f16|bf16.f32", "0 1"},
    {"cvt.rn|rz|rm|rp.[sat].f16.f64", "0 1"},
    {"cvt.rn|rz|rm|rp.[ftz].bf16.f32", "0 1"},
    {"cvt.rn|rz|rm|rp.bf16.f64", "0 1"},
    {"cvt.rn|rz|rm|rp.f16.bf16", "0 1"},
    {"cvt.rn|rz|rm|rp.bf16.f16", "0 1"},
    {"cvt.[rni|rzi|rmi|rpi].[ftz].[sat].f32.f32", "0 1"},
    {"cvt.[rni|rzi|rmi|rpi].[sat].f64.f64", "0 1"},
    {"cvt.[rni|rzi|rmi|rpi].[sat].f16.f16", "0 1"},
    {"cvt.[rni|rzi|rmi|rpi].bf16.bf16", "0 1"},
    {"cvt.rn|rz.[relu].[satfinite].f16x2|bf16x2.f32", "0 1 1"},
    {"cvt.rn.satfinite.[relu].e4m3x2|e5m2x2.f32", "b16 f32 f32"},
    {"cvt.rn.satfinite.[relu].e4m3x2|e5m2x2.f16x2", "b16 f16x2"},
    {"cvt.rn.[relu].f16x2.e4m3x2|e5m2x2", "b32 v16"},
    {"cvt.rna.[satfinite].tf32.f32", "b32 f32"},
    {"cvt.rn|rz.[relu].tf32.f32", "b32 f32"},
    {"cvt.pack.sat.u16|s16.s32", "b32 s32 s32"},
    {"cvt.pack.sat.u8|s8|u4|s4|u2|s2.s32.b32", "b32 s32 s32 b32"},
    // comparisons and selections
    {"setp.eq|ne.[and|or|xor].b16|b32|b64", "one 0 0 last"},
    {"setp." INT_COMPARE ".[and|or|xor].s16|s32|s64", "one 0 0 last"},
    {"setp." UNSIGNED_COMPARE ".[and|or|xor].u16|u32|u64", "one 0 0 last"},
    {"setp." REAL_COMPARE ".[and|or|xor].[ftz].f32", "one 0 0 last"},
    {"setp." REAL_COMPARE ".[and|or|xor].f64", "one 0 0 last"},
    {"setp." REAL_COMPARE ".[and|or|xor].[ftz].f16", "pred 0 0 last"},
    {"setp." REAL_COMPARE ".[and|or|xor].bf16", "pred 0 0 last"},
    {"setp." REAL_COMPARE ".[and|or|xor].[ftz].f16x2", "pair 0 0 last"},
    {"setp." REAL_COMPARE ".[and|or|xor].bf16x2", "pair 0 0 last"},
    {"set.eq|ne.[and|or|xor].u32|s32|f32.b16|b32|b64", "0 1 1 last"},
    {"set." INT_COMPARE ".[and|or|xor].u32|s32|f32.s16|s32|s64", "0 1 1 last"},
    {"set." UNSIGNED_COMPARE ".[and|or|xor].u32|s32|f32.u16|u32|u64", "0 1 1 last"},
    {"set." REAL_COMPARE ".[and|or|xor].[ftz].u32|s32|f32.f32", "0 1 1 last"},
    {"set." REAL_COMPARE ".[and|or|xor].u32|s32|f32.f64", "0 1 1 last"},
    {"set." INT_COMPARE ".[and|or|xor].f16|bf16.s16|s32|s64", "0 1 1 last"},
    {"set." REAL_COMPARE ".[and|or|xor].[ftz].f16.f16|f32", "0 1 1 last"},
    {"set." REAL_COMPARE ".[and|or|xor].f16|bf16.f64", "0 1 1 last"},
    {"set." REAL_COMPARE ".[and|or|xor].bf16.bf16", "0 1 1 last"},
    {"set." REAL_COMPARE ".[and|or|xor].[ftz].u16|s16|u32|s32.f16", "0 1 1 last"},
    {"set." REAL_COMPARE ".[and|or|xor].u16|s16|u32|s32.bf16", "0 1 1 last"},
    {"set." REAL_COMPARE ".[and|or|xor].[ftz].f16x2|u32|s32.f16x2", "0 1 1 last"},
    {"set." REAL_COMPARE ".[and|or|xor].bf16x2|u32|s32.bf16x2", "0 1 1 last"},
    {"selp.b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64", "0 0 0 pred"},
    {"slct.b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64.s32", "0 0 0 s32"},
    {"slct.[ftz].b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64.f32", "0 0 0 f32"},
    {"mov.b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64", "0 0"},
    {"mov.pred", "pred pred"},
    // several numbers in a word
    {"vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2" VIDEO, "b32 v32 v32 v32"},
    {"vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4" VIDEO, "b32 v32 v32 v32"},
    {"vshl.u32|s32.u32|s32.u32.clamp|wrap.[add|min|max]", "0 1 amount third"},
    {"vshr.u32|s32.u32|s32.u32.[sat].clamp|wrap.[add|min|max]", "0 1 amount third"},
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// One form for each opcode of the row.
void add_forms(std::vector<Form>& all, const Row& row) {
  std::vector<std::string> words = split(row.pattern, '.');
  Form form;
  double variants = 1;
  for (size_t i = 1; i < words.size(); ++i) {
    const bool optional = words[i][0] == '[';
    std::vector<std::string> choices =
        split(optional ? words[i].substr(1, words[i].size() - 2) : words[i], '|');
    if (optional) choices.insert(choices.begin(), "");
    variants *= static_cast<double>(choices.size());
    form.slots.push_back(choices);
  }
  form.operands = split(row.operands, ' ');
  form.weight = std::clamp(std::sqrt(variants), 2.5, 5.0);
  for (const std::string& opcode : split(words[0], '|')) {
    form.opcode = opcode;
    all.push_back(form);
  }
}

}  // namespace

const std::vector<Row>& rows() {
  return kRows;
}

const std::vector<Form>& forms() {
  static const std::vector<Form> kForms = [] {
    std::vector<Form> all;
    for (const Row& row : kRows) add_forms(all, row);
    return all;
  }();
  return kForms;
}

const Form& any_form(Random& random) {
  static const std::vector<uint64_t> kUpTo = [] {  // whole numbers: the same choice everywhere
    std::vector<uint64_t> sums;
    uint64_t sum = 0;
    for (const Form& form : forms()) sums.push_back(sum += static_cast<uint64_t>(form.weight * 16));
    return sums;
  }();
  const uint64_t at = random.below(kUpTo.back());
  size_t i = 0;
  while (kUpTo[i] <= at) ++i;
  return forms()[i];
}

bool is_type(const std::string& word) {
  return bits_of(word) != 0;
}

unsigned bits_of(const std::string& type) {
  static const std::vector<std::pair<const char*, unsigned>> kBits = {
      {"b8", 8},    {"u8", 8},   {"s8", 8},     {"b16", 16},    {"u16", 16}, {"s16", 16}, {"f16", 16},
      {"bf16", 16}, {"b32", 32}, {"u32", 32},   {"s32", 32},    {"f32", 32}, {"b64", 64}, {"u64", 64},
      {"s64", 64},  {"f64", 64}, {"f16x2", 32}, {"bf16x2", 32}, {"pred", 1}};
  for (const auto& [name, bits] : kBits)
    if (type == name) return bits;
  return 0;
}

}  // namespace fuzz_isa
