// Asynchronous warpgroup matrix multiply (PTX ISA 9.7.15) and setmaxnreg (9.7.19.5). sm_90a.
#include "emulator/machine/wgmma.hpp"

#include <cstring>
#include <deque>

#include "emulator/findings/text.hpp"
#include "emulator/isa/operands.hpp"
#include "emulator/numerics/matrix_operands.hpp"

namespace emu {
namespace {

// Everything in this file is .sync.aligned: the lanes of a warp meet first.
bool gather_warp(Warp& w, const Inst& in, uint32_t mask) {
  if (!w.all_here(~0u)) return false;
  check_warpgroup(w, in, mask);
  return true;
}

// ---- accumulators
// Register r of lane 4 * g + q holds row g + 8 * (r >> 1 & 1), column 8 * (r >> 2) + 2 * q + (r & 1) of the warp's 16
// rows (PTX ISA 9.7.15.5.1.1). So two registers, or one with two f16, hold 8 rows of 8 neighbouring columns.
// Calls f(which of these squares, pointer to its first element in d); rows are kMmaBlock elements apart.
template <class T, class F>
void for_each_square(int n, T (*d)[kMmaRows][kMmaBlock], F f) {
  for (int c = 0; c < n / 8; ++c)
    for (int h = 0; h < 2; ++h) f(static_cast<size_t>(2 * c + h), &d[c / 2][8 * h][c % 2 * 8]);
}

// f32 and s32: two registers a square, of the even and of the odd columns.
using Four = uint32_t __attribute__((vector_size(16)));

template <class T>
void load_accumulators(Warp& w, const Inst& in, int n, T (*d)[kMmaRows][kMmaBlock]) {
  for_each_square(n, d, [&](size_t square, T* to) {
    const uint32_t* even = w.lanes<uint32_t>(in.extra->refs[2 * square]).slots;
    const uint32_t* odd = w.lanes<uint32_t>(in.extra->refs[2 * square + 1]).slots;
    for (int row = 0; row < 8; ++row) {
      Four e, o;
      std::memcpy(&e, even + 4 * row, sizeof e);
      std::memcpy(&o, odd + 4 * row, sizeof o);
      const Four left = __builtin_shuffle(e, o, Four{0, 4, 1, 5}),
                 right = __builtin_shuffle(e, o, Four{2, 6, 3, 7});
      std::memcpy(to + row * kMmaBlock, &left, sizeof left);
      std::memcpy(to + row * kMmaBlock + 4, &right, sizeof right);
    }
  });
}

template <class T>
void store_accumulators(Warp& w, const Inst& in, int n, T (*d)[kMmaRows][kMmaBlock]) {
  for_each_square(n, d, [&](size_t square, T* from) {
    uint32_t* even = w.lanes<uint32_t>(in.extra->refs[2 * square]).slots;
    uint32_t* odd = w.lanes<uint32_t>(in.extra->refs[2 * square + 1]).slots;
    for (int row = 0; row < 8; ++row) {
      Four left, right;
      std::memcpy(&left, from + row * kMmaBlock, sizeof left);
      std::memcpy(&right, from + row * kMmaBlock + 4, sizeof right);
      const Four e = __builtin_shuffle(left, right, Four{0, 2, 4, 6}),
                 o = __builtin_shuffle(left, right, Four{1, 3, 5, 7});
      std::memcpy(even + 4 * row, &e, sizeof e);
      std::memcpy(odd + 4 * row, &o, sizeof o);
    }
  });
}

void load_f16_accumulators(Warp& w, const Inst& in, int n, MmaAccumulator& d) {
  for_each_square(n, d.value, [&](size_t square, float* to) {
    const uint32_t* slots = w.lanes<uint32_t>(in.extra->refs[square]).slots;
    for (int lane = 0; lane < 32; ++lane)
      for (int half = 0; half < 2; ++half)
        to[lane / 4 * kMmaBlock + lane % 4 * 2 + half] =
            f16_to_f32(static_cast<uint16_t>(slots[lane] >> 16 * half));
  });
}

void store_f16_accumulators(Warp& w, const Inst& in, int n, MmaAccumulator& d) {
  for_each_square(n, d.value, [&](size_t square, float* from) {
    uint32_t* slots = w.lanes<uint32_t>(in.extra->refs[square]).slots;
    for (int lane = 0; lane < 32; ++lane) {
      const float* pair = from + lane / 4 * kMmaBlock + lane % 4 * 2;
      slots[lane] = f16_from_double(static_cast<double>(pair[0])) |
                    static_cast<uint32_t>(f16_from_double(static_cast<double>(pair[1]))) << 16;
    }
  });
}

// ---- A in registers
// The fragment of A: four registers, each with the 4 bytes at byte 4 * q + 16 * (i >> 1) of row g + 8 * (i & 1), for
// every element type (PTX ISA 9.7.15.5.1.1). Fills an image of 16 rows of 32 bytes.
void image_of_registers(Warp& w, const Ref* registers, std::vector<uint8_t>& image) {
  image.resize(16 * kOperandRowBytes);
  for (int i = 0; i < 4; ++i) {
    auto slots = w.lanes<uint32_t>(registers[i]).slots;
    for (int lane = 0; lane < 32; ++lane)
      std::memcpy(&image[static_cast<size_t>((lane / 4 + 8 * (i & 1)) * kOperandRowBytes + 4 * (lane % 4) +
                                             16 * (i >> 1))],
                  &slots[lane], 4);
  }
}

// A descriptor is the same in all lanes.
uint64_t uniform(Warp& w, const Inst& in, Ref ref, const char* name) {
  auto lanes = w.lanes<uint64_t>(ref);
  for (int l = 1; l < 32; ++l)
    if (lanes[l] != lanes[0])
      w.fault(
          in, l, Id::wgmma_descriptor_differs,
          std::string("the lanes of a warp pass different matrix descriptors of ") + name + " to one wgmma",
          "lane 0: " + MatrixDescriptor::from(lanes[0]).text() + "; lane " + std::to_string(l) + ": " +
              MatrixDescriptor::from(lanes[l]).text(),
          "compute descriptors from the warpgroup's number, not from the thread's");
  return lanes[0];
}

bool accumulates(Warp& w, const Inst& in) {
  const uint32_t on = w.predicate(in.c);
  if (on != 0 && on != ~0u)
    w.fault(in, __builtin_ctz(on), Id::wgmma_descriptor_differs,
            "scale-d is not the same in all lanes of a warp", "",
            "compute scale-d from values that are equal in all threads of the warpgroup");
  return on != 0;
}

void multiply_floats(Warp& w, const Inst& in, const WgmmaOp& op, bool accumulate) {
  static thread_local MmaRows rows;
  static thread_local MmaAccumulator d;
  const WgmmaShape& s = op.shape;
  if (!accumulate || s.n % kMmaBlock)  // an odd half block computes with zeros beside it
    std::memset(d.value, 0, sizeof(d.value[0]) * static_cast<size_t>((s.n + kMmaBlock - 1) / kMmaBlock));
  if (accumulate && s.d == Type::f16) load_f16_accumulators(w, in, s.n, d);
  if (accumulate && s.d == Type::f32) load_accumulators(w, in, s.n, d.value);
  unpack_rows(s.a, s.a_mn_major, s.negate, op.a_image, rows);
  mma_multiply(mma_format(s.a, s.b, s.d), rows, unpacked_columns(s.b, s.b_mn_major, s.n, op.b_image), s.n, d);
  s.d == Type::f16 ? store_f16_accumulators(w, in, s.n, d) : store_accumulators(w, in, s.n, d.value);
}

void multiply_integers(Warp& w, const Inst& in, const WgmmaOp& op, bool accumulate) {
  static thread_local MmaIntegers d;
  const WgmmaShape& s = op.shape;
  if (!accumulate) std::memset(d, 0, sizeof d);
  if (accumulate) load_accumulators(w, in, s.n, d);
  auto a = reinterpret_cast<const uint8_t(*)[32]>(op.a_image.data());
  auto b = reinterpret_cast<const uint8_t(*)[32]>(op.b_image.data());
  if (s.a == Type::b8)
    multiply_bits(a, b, s.n, d);
  else
    multiply_bytes(s.a, s.b, s.saturate, a, b, s.n, d);
  store_accumulators(w, in, s.n, d);
}

// extra->refs: D registers, then A registers when A is not in shared memory.
// extra->numbers: the shape, as decode_mma_async leaves it.
enum Number { kN, kK, kTypeA, kTypeB, kTypeD, kAInRegisters, kTransA, kTransB, kNegate, kSaturate };

WgmmaShape shape_of(const Inst& in) {
  const auto& x = in.extra->numbers;
  WgmmaShape s;
  s.n = static_cast<int>(x[kN]);
  s.k = static_cast<int>(x[kK]);
  s.a = static_cast<Type>(x[kTypeA]);
  s.b = static_cast<Type>(x[kTypeB]);
  s.d = static_cast<Type>(x[kTypeD]);
  s.a_in_registers = x[kAInRegisters];
  s.a_mn_major = x[kTransA];
  s.b_mn_major = x[kTransB];
  s.negate = x[kNegate];
  s.saturate = x[kSaturate];
  return s;
}

// D = A * B + (scale-d ? D : 0).
Flow mma_async(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  const WgmmaShape s = shape_of(in);
  const uint64_t a_bits = s.a_in_registers ? 0 : uniform(w, in, in.a, "A");
  const uint64_t b_bits = uniform(w, in, in.b, "B");
  const bool accumulate = accumulates(w, in);
  WgmmaOp& op = enter_wgmma(w, in, a_bits, b_bits, s);
  if (s.a_in_registers)
    image_of_registers(w, in.extra->refs.data() + in.extra->refs.size() - 4, op.a_image);
  else
    read_operand(w, in, op.a, s.a_mn_major, 16 * op.quarter, 16, "A", op.a_image);
  read_operand(w, in, op.b, s.b_mn_major, 0, s.n, "B", op.b_image);
  if (is_integer(s.d))
    multiply_integers(w, in, op, accumulate);
  else
    multiply_floats(w, in, op, accumulate);
  w.machine.engine->issue(op);
  ++w.machine.effects;
  return Flow::next;
}

// The number after `n` and before `k`, and after `k`, in "m64n128k16".
void parse_shape(const std::string& text, int64_t* n, int64_t* k) {
  *n = std::stoi(text.substr(text.find('n') + 1));
  *k = std::stoi(text.substr(text.find('k') + 1));
}

int64_t one_of(Decoder& d, size_t operand, const char* what, int64_t first, int64_t second) {
  const int64_t value = d.immediate(d.operand(operand), what);
  if (value != first && value != second)
    d.refuse(std::string(what) + " must be " + std::to_string(first) + " or " + std::to_string(second) +
             ", not " + std::to_string(value));
  return value;
}

// wgmma.mma_async.sync.aligned.shape.dtype.f16.f16    d, a-desc, b-desc, scale-d, imm-scale-a, imm-scale-b,
//                                                     imm-trans-a, imm-trans-b;
// wgmma.mma_async.sync.aligned.shape.dtype.f16.f16    d, a, b-desc, scale-d, imm-scale-a, imm-scale-b, imm-trans-b;
// wgmma.mma_async.sync.aligned.shape.f32.bf16.bf16    the same
// wgmma.mma_async.sync.aligned.shape.f32.tf32.tf32    d, a | a-desc, b-desc, scale-d, imm-scale-a, imm-scale-b;
// wgmma.mma_async.sync.aligned.shape.dtype.e4m3|e5m2.e4m3|e5m2    the same
// wgmma.mma_async.sync.aligned.shape{.satfinite}.s32.s8|u8.s8|u8  d, a | a-desc, b-desc, scale-d;
// wgmma.mma_async.sync.aligned.shape.s32.b1.b1.and.popc           the same
//                                                     PTX ISA 9.7.15.5.2
void decode_mma_async(Decoder& d, const Match& m, Inst& in) {
  in.action = Action::wgmma;
  in.exec = mma_async;
  in.cls = Class::math;
  Extra& x = d.extra(in);
  x.numbers.assign(kSaturate + 1, 0);
  parse_shape(m.slots[2 + 1], &x.numbers[kN], &x.numbers[kK]);
  const bool bits = m.has("b1");
  const Type type_d = m.type(0), type_a = bits ? Type::b8 : m.type(1), type_b = bits ? Type::b8 : m.type(2);
  x.numbers[kTypeA] = static_cast<int64_t>(type_a);
  x.numbers[kTypeB] = static_cast<int64_t>(type_b);
  x.numbers[kTypeD] = static_cast<int64_t>(type_d);
  x.numbers[kSaturate] = m.has("satfinite");

  const Operand& result = d.operand(0);
  const size_t registers = static_cast<size_t>(x.numbers[kN]) / (type_d == Type::f16 ? 4 : 2);
  if (result.kind != Operand::Kind::vec || result.items.size() != registers)
    d.refuse("the accumulator d must be a vector of " + std::to_string(registers) + " registers");
  const Type slot_type = type_d == Type::f16 ? Type::b32 : type_d;
  for (const Operand& o : result.items) x.refs.push_back(d.destination(o, slot_type));

  const Operand& a = d.operand(1);
  const bool in_registers = a.kind == Operand::Kind::vec;
  x.numbers[kAInRegisters] = in_registers;
  if (in_registers) {
    if (a.items.size() != 4) d.refuse("the fragment a must be a vector of 4 registers");
    for (const Operand& o : a.items) x.refs.push_back(d.source(o, Type::b32));
  } else {
    in.a = d.source(a, Type::b64);
  }
  in.b = d.source(d.operand(2), Type::b64);
  in.c = d.predicate(d.operand(3));

  const bool is_16_bit = size_of(type_a) == 2;
  size_t operands = 4;
  if (!is_integer(type_d)) {
    const bool negate_a = one_of(d, 4, "imm-scale-a", 1, -1) < 0,
               negate_b = one_of(d, 5, "imm-scale-b", 1, -1) < 0;
    x.numbers[kNegate] = negate_a != negate_b;  // -a * b and a * -b are the same product
    operands = 6;
  }
  if (is_16_bit) {
    if (!in_registers) x.numbers[kTransA] = one_of(d, operands++, "imm-trans-a", 0, 1);
    x.numbers[kTransB] = one_of(d, operands++, "imm-trans-b", 0, 1);
  }
  expect_operands(d, operands);
}

// ---- ordering (PTX ISA 9.7.15.7)

// wgmma.fence.sync.aligned;
// Accumulators and A fragments are written at issue here, in program order; the observer keeps the rule.
Flow fence(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  w.machine.observers.tell(&Observer::on_fence, w, in, mask, FenceKind::wgmma, false);
  return Flow::next;
}

// wgmma.commit_group.sync.aligned;
Flow commit_group(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  commit_wgmma_group(w);
  w.machine.observers.tell(&Observer::on_commit, w, in, mask, GroupKind::wgmma);
  return Flow::next;
}

void report_wait(Warp& w, const Inst& in, uint32_t mask) {
  w.machine.observers.tell(&Observer::on_group_wait, w, in, mask, GroupKind::wgmma,
                           static_cast<uint32_t>(in.imm), false);
}

// wgmma.wait_group.sync.aligned N;
Flow wait_group(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  const uint64_t target = wgmma_to_wait_for(w, static_cast<uint32_t>(in.imm));
  if (wgmma_finished(w, target)) {
    report_wait(w, in, mask);
    return Flow::next;
  }
  Wait wait;
  wait.a = target;
  wait.ready = [](Warp& warp, const Group& g) { return wgmma_finished(warp, g.wait.a); };
  wait.finish = [](Warp& warp, Group& g) { report_wait(warp, warp.instruction(g), g.mask); };
  wait.describe = [](Warp& warp, const Group& g) { return describe_wgmma_wait(warp, g.wait.a); };
  return w.block(wait);
}

template <Flow (*execute)(Warp&, const Inst&, uint32_t)>
void decode_plain(Decoder& d, const Match&, Inst& in) {
  expect_operands(d, 0);
  in.cls = Class::barrier;
  in.exec = execute;
}

void decode_wait_group(Decoder& d, const Match&, Inst& in) {
  expect_operands(d, 1);
  in.cls = Class::barrier;
  in.imm = d.immediate(d.operand(0), "the number of groups");
  if (in.imm < 0 || in.imm > 63) d.refuse("wgmma.wait_group takes a number of groups from 0 to 63");
  in.action = Action::wait_group;
  in.exec = wait_group;
}

// setmaxnreg.inc|dec.sync.aligned.u32 imm-reg-count;                                   PTX ISA 9.7.19.5
// .dec gives registers back to the CTA's pool, .inc waits until the pool holds enough. The pool is what the launch
// bounds let a CTA have: without bounds ptxas ignores the instruction, and so does this.
// A multiprocessor has four register files, and warp i uses that of number i % 4: what one warp gives back, only the warps
// of the same file can take. A warp that has ended gives back all it has. (Measured: bugs 07_registers/taken_too_much.)
constexpr size_t kRegisterFiles = 4;
struct RegisterFile {
  unsigned pool = 0;    // of all its warps of the CTA, at launch
  unsigned others = 0;  // what the others hold
};
RegisterFile register_file(const Warp& w) {
  RegisterFile file;
  for (size_t i = static_cast<size_t>(w.index) % kRegisterFiles; i < w.cta.warps.size();
       i += kRegisterFiles) {
    const Warp& other = *w.cta.warps[i];
    file.pool += w.program.launch_registers;
    if (&other != &w && other.live) file.others += other.registers;
  }
  return file;
}
bool pool_holds(const Warp& w, unsigned want) {
  const RegisterFile file = register_file(w);
  return file.others + want <= file.pool;
}
bool registers_ready(Warp& w, const Group& g) {
  return pool_holds(w, static_cast<unsigned>(w.instruction(g).imm));
}
void set_registers(Warp& w, const Inst& in) {
  const unsigned before = w.registers;
  w.registers = static_cast<unsigned>(in.imm);
  w.machine.observers.tell(&Observer::on_registers, w, in, w.registers, before);
}
void registers_taken(Warp& w, Group& g) {
  set_registers(w, w.instruction(g));
}
std::string registers_wanted(Warp& w, const Group& g) {
  const RegisterFile file = register_file(w);
  return text("setmaxnreg.inc wants ", w.instruction(g).imm, " registers per thread; of the ", file.pool * 32,
              " that the warps ", w.index % 4, ", ", w.index % 4 + 4, ", ", w.index % 4 + 8,
              " ... of the CTA were launched with, the others hold ", file.others * 32);
}
std::string registers_missing(Warp&, const Group&) {
  return "no warp gives enough registers back (setmaxnreg.dec): one warp of every warpgroup shares a register file, so the "
         "counts of all warpgroups together must not exceed what they were launched with";
}

Flow setmaxnreg(Warp& w, const Inst& in, uint32_t mask) {
  if (!gather_warp(w, in, mask)) return Flow::converge;
  if (w.program.launch_registers == 0) return Flow::next;
  if (in.flags == 0) {  // .dec
    set_registers(w, in);
    ++w.machine.effects;
    return Flow::next;
  }
  Wait wait;
  wait.ready = registers_ready;
  wait.is_root = [](Warp&, const Group&) { return true; };
  wait.finish = registers_taken;
  wait.describe = registers_wanted;
  wait.explain = registers_missing;
  return w.block(wait);
}

void decode_setmaxnreg(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 1);
  in.cls = Class::other;
  in.flags = m.has("inc");
  in.imm = d.immediate(d.operand(0), "the register count");
  if (in.imm < 24 || in.imm > 256 || in.imm % 8)
    d.refuse("setmaxnreg takes a register count from 24 to 256 that is a multiple of 8, not " +
             std::to_string(in.imm));
  in.action = Action::set_registers;
  in.exec = setmaxnreg;
}

// "m64n8k16|m64n16k16|...": every N from 8 to 256, or those that integer types have.
std::string shapes(int k, bool integer) {
  std::string out;
  for (int n = 8; n <= 256; n += integer && n >= 32 ? 16 : 8)
    out += (out.empty() ? "m64n" : "|m64n") + std::to_string(n) + "k" + std::to_string(k);
  return out;
}

}  // namespace

std::vector<Form> wgmma_forms() {
  static const std::deque<std::string> patterns = [] {
    const std::string mma = "wgmma.mma_async.sync.aligned.";
    return std::deque<std::string>{
        mma + shapes(16, false) + ".f16|f32.f16.f16",
        mma + shapes(16, false) + ".f32.bf16.bf16",
        mma + shapes(8, false) + ".f32.tf32.tf32",
        mma + shapes(32, false) + ".f16|f32.e4m3|e5m2.e4m3|e5m2",
        mma + shapes(32, true) + ".[satfinite].s32.s8|u8.s8|u8",
        mma + shapes(256, true) + ".s32.b1.b1.and.popc",
    };
  }();
  std::vector<Form> forms;
  for (const std::string& p : patterns) forms.push_back({p.c_str(), decode_mma_async});
  forms.push_back({"wgmma.fence.sync.aligned", decode_plain<fence>});
  forms.push_back({"wgmma.commit_group.sync.aligned", decode_plain<commit_group>});
  forms.push_back({"wgmma.wait_group.sync.aligned", decode_wait_group});
  forms.push_back({"setmaxnreg.inc|dec.sync.aligned.u32", decode_setmaxnreg});
  return forms;
}

}  // namespace emu
