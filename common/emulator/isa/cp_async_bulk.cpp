// cp.async.bulk and cp.reduce.async.bulk: runs of bytes moved by the copy engine, without a tensor map
// (PTX ISA 9.7.9.25.4), and the bulk async-groups (9.7.9.27.2).
#include <cstring>

#include "emulator/findings/report.hpp"
#include "emulator/isa/async_groups.hpp"
#include "emulator/isa/bulk_copy.hpp"
#include "emulator/numerics/reduction.hpp"

namespace emu {

std::vector<Form> cp_async_bulk_tensor_forms();

namespace {

constexpr uint32_t kMulticast = 1, kRead = 2;
constexpr const char* kRule16 =
    "addresses and sizes of bulk copies are multiples of 16 bytes (PTX 9.7.9.25.4.1)";

// An operation's reduction, by number, so that Inst can hold it.
struct ReduceKind {
  const char* op;
  Type type;
};
constexpr uint32_t kReduceShift = 8;  // in.flags bits 8-15: index into kReductions + 1; 0: a plain copy
constexpr ReduceKind kReductions[] = {
    {"add", Type::u32}, {"add", Type::s32},  {"add", Type::u64},  {"add", Type::f32},  {"add", Type::f64},
    {"add", Type::f16}, {"add", Type::bf16}, {"min", Type::u32},  {"min", Type::s32},  {"min", Type::u64},
    {"min", Type::s64}, {"min", Type::f16},  {"min", Type::bf16}, {"max", Type::u32},  {"max", Type::s32},
    {"max", Type::u64}, {"max", Type::s64},  {"max", Type::f16},  {"max", Type::bf16}, {"inc", Type::u32},
    {"dec", Type::u32}, {"and", Type::b32},  {"and", Type::b64},  {"or", Type::b32},   {"or", Type::b64},
    {"xor", Type::b32}, {"xor", Type::b64},
};

const ReduceKind* reduce_of(const Inst& in) {
  const uint32_t index = in.flags >> kReduceShift & 0xFF;
  return index ? &kReductions[index - 1] : nullptr;
}

void combine(std::byte* memory, const std::vector<std::byte>& values, const Inst& in) {
  const ReduceKind* kind = reduce_of(in);
  if (kind) {
    reduction(kind->op, kind->type)(memory, values.data(), values.size() / size_of(kind->type));
  } else if (!values.empty()) {
    std::memcpy(memory, values.data(), values.size());
  }
}

// To shared memory, completing on mbarriers.
struct BulkLoad final : AsyncOp {
  MemoryRange from;
  const std::byte* source = nullptr;
  std::vector<CopyTarget> targets;
  std::vector<std::byte> data;

  void sources(std::vector<MemoryRange>& out) const override { out.push_back(from); }
  void destinations(std::vector<MemoryRange>& out) const override {
    for (const CopyTarget& t : targets) out.push_back({Space::shared, t.cta, t.address, from.bytes});
  }
  void read() override { data.assign(source, source + from.bytes); }
  void write() override {
    for (const CopyTarget& t : targets) combine(t.bytes, data, *inst);
  }
  void complete() override { complete_targets(*this, targets, static_cast<uint32_t>(from.bytes)); }
  bool reduces() const override { return reduce_of(*inst) != nullptr; }
  bool touches(const Cta& cta) const override { return &cta == &warp->cta || targets_touch(targets, cta); }
};

// To global memory, completing in the thread's bulk async-group.
struct BulkStore final : AsyncOp {
  MemoryRange from, to;
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
  std::vector<std::byte> data;

  void sources(std::vector<MemoryRange>& out) const override { out.push_back(from); }
  void destinations(std::vector<MemoryRange>& out) const override { out.push_back(to); }
  void read() override { data.assign(source, source + from.bytes); }
  void write() override { combine(destination, data, *inst); }
  void complete() override {}
  bool touches(const Cta& cta) const override { return &cta == &warp->cta; }
};

void start(const At& at, AsyncOp& op, AsyncOp::Kind kind) {
  op.kind = kind;
  op.warp = &at.warp;
  op.inst = &at.inst;
  op.lanes = 1u << at.lane;
  at.warp.machine.engine->issue(op);
}

void check_addresses(const At& at, uint64_t destination, uint64_t source) {
  check_multiple(at, "destination", destination, 16, Id::misaligned_address, kRule16);
  check_multiple(at, "source", source, 16, Id::misaligned_address, kRule16);
}

// The bytes that a copy of this size moves: whole chunks of 16, and nothing stops a size that has more (recorded:
// refusals). That is an error all the same ("copy-size"): it is reported, and the kernel goes on as it does there.
uint32_t copied_bytes(const At& at, uint32_t size) {
  const uint32_t bytes = size / 16 * 16;
  if (bytes != size) {
    Finding f(Id::copy_size);
    f.title = "the size of a bulk copy is " + std::to_string(size) + ", no multiple of 16; " +
              std::to_string(bytes) + " bytes are copied";
    f.why = std::string(kRule16) + "; Hopper drops the rest without a word";
    f.hint = "round the size up to a multiple of 16, or copy the rest with ordinary loads and stores";
    at.report(f);
  }
  return bytes;
}

// A copy of 0 bytes does nothing: it tells its mbarrier nothing (recorded: bulk_copy_empty), and its addresses may be
// aligned to anything, as an H200 has it.
bool moves_nothing(uint32_t size) {
  return size == 0;
}

// Address operands: 0 destination, 1 source, 2 mbarrier; in.b: size; in.c: multicast mask.
// cp.async.bulk.shared::{cta,cluster}.global.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}
//     [dst], [src], size, [mbar]{, ctaMask}{, policy};
// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dst], [src], size, [mbar];
// cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type [dst], [src], size, [mbar];
Flow bulk_load(Warp& w, const Inst& in, uint32_t mask) {
  auto sizes = w.lanes<uint32_t>(in.b);
  for_lanes(mask, [&](int l) {
    if (moves_nothing(sizes[l])) return;
    const Extra& x = *in.extra;
    const uint64_t to = address_operand(w, x, 0, l), from = address_operand(w, x, 1, l);
    check_addresses({w, in, l}, to, from);
    const uint32_t bytes = copied_bytes({w, in, l}, sizes[l]);
    auto& op = w.machine.engine->take<BulkLoad>();
    const bool global = space_operand(x, 1) == Space::global;
    if (global) {
      op.from = {Space::global, nullptr, from, bytes};
      op.source = global_bytes({w, in, l}, from, bytes, false);
    } else {
      const SharedPlace place = shared_place({w, in, l}, Space::shared, from, "source");
      op.from = {Space::shared, place.cta, place.address, bytes};
      op.source = shared_bytes({w, in, l}, place, bytes, "reads");
    }
    const uint32_t cta_mask = in.flags & kMulticast ? w.lanes<uint16_t>(in.c)[l] : 0;
    find_targets({w, in, l}, shared_place({w, in, l}, space_operand(x, 0), to, "destination"), bytes,
                 shared_place({w, in, l}, space_operand(x, 2), address_operand(w, x, 2, l), "mbarrier"),
                 in.flags & kMulticast ? &cta_mask : nullptr, op.targets);
    op.barrier = op.targets[0].bar;
    op.bytes = bytes;
    start({w, in, l}, op, global ? AsyncOp::Kind::bulk_load : AsyncOp::Kind::bulk_shared);
  });
  return Flow::next;
}

// Address operands: 0 destination, 1 source; in.b: size.
// cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint} [dst], [src], size{, policy};
// cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.op{.noftz}.type [dst], [src], size{, policy};
Flow bulk_store(Warp& w, const Inst& in, uint32_t mask) {
  auto sizes = w.lanes<uint32_t>(in.b);
  for_lanes(mask, [&](int l) {
    if (moves_nothing(sizes[l])) return;
    const Extra& x = *in.extra;
    const uint64_t to = address_operand(w, x, 0, l), from = address_operand(w, x, 1, l);
    check_addresses({w, in, l}, to, from);
    const uint32_t bytes = copied_bytes({w, in, l}, sizes[l]);
    auto& op = w.machine.engine->take<BulkStore>();
    const SharedPlace place = shared_place({w, in, l}, Space::shared, from, "source");
    op.from = {Space::shared, place.cta, place.address, bytes};
    op.source = shared_bytes({w, in, l}, place, bytes, "reads");
    op.to = {Space::global, nullptr, to, bytes};
    op.destination = global_bytes({w, in, l}, to, bytes, true);
    op.grouped = true;
    op.group = GroupKind::bulk;
    op.bytes = bytes;
    start({w, in, l}, op, reduce_of(in) ? AsyncOp::Kind::bulk_reduce : AsyncOp::Kind::bulk_store);
  });
  return Flow::next;
}

uint32_t reduce_flag(Decoder& d, const Match& m) {
  const std::string op = m.any_of({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  uint32_t index = 1;
  for (const ReduceKind& kind : kReductions) {
    if (op == kind.op && m.type() == kind.type) return index << kReduceShift;
    ++index;
  }
  d.refuse("there is no bulk reduction ." + op + "." + name_of(m.type()));
}

void decode_bulk(Decoder& d, const Match& m, Inst& in) {
  in.cls = Class::copy;
  const bool to_shared = m.has("mbarrier::complete_tx::bytes"), multicast = m.has("multicast::cluster");
  const size_t fixed = to_shared ? 4 + multicast : 3;
  const bool policy = m.has("L2::cache_hint");
  expect_operands(d, fixed + policy);
  Extra& extra = d.extra(in);
  const Space shared_to = m.has("shared::cluster") ? Space::shared_cluster : Space::shared;
  push_address(extra, d.address_of(d.operand(0), to_shared ? shared_to : Space::global));
  const bool from_global = to_shared && m.has("global");
  push_address(extra, d.address_of(d.operand(1), from_global ? Space::global : Space::shared));
  in.b = d.source(d.operand(2), Type::u32);
  if (to_shared) push_address(extra, d.address_of(d.operand(3), shared_to));
  if (multicast) {
    in.c = d.source(d.operand(4), Type::u16);
    in.flags |= kMulticast;
  }
  if (policy) d.source(d.operand(fixed), Type::b64);
  if (d.text().modifiers.size() > 0 && d.text().modifiers[0] == "reduce") in.flags |= reduce_flag(d, m);
  in.action = to_shared ? Action::bulk_fill : Action::bulk_copy;
  in.exec = to_shared ? bulk_load : bulk_store;
}

// cp.async.bulk.prefetch.L2.global{.L2::cache_hint} [src], size{, policy};   moves nothing that a program can see
Flow prefetch(Warp& w, const Inst& in, uint32_t mask) {
  auto sizes = w.lanes<uint32_t>(in.b);
  for_lanes(mask, [&](int l) {
    if (moves_nothing(sizes[l])) return;
    const uint64_t from = address_operand(w, *in.extra, 0, l);
    check_addresses({w, in, l}, 0, from);
    global_bytes({w, in, l}, from, copied_bytes({w, in, l}, sizes[l]), false);
  });
  return Flow::next;
}

void decode_prefetch(Decoder& d, const Match& m, Inst& in) {
  in.cls = Class::copy;
  const bool policy = m.has("L2::cache_hint");
  expect_operands(d, 2 + policy);
  push_address(d.extra(in), d.address_of(d.operand(0), Space::global));
  in.b = d.source(d.operand(1), Type::u32);
  if (policy) d.source(d.operand(2), Type::b64);
  in.action = Action::bulk_copy;
  in.exec = prefetch;
}

// cp.async.bulk.commit_group;                                                                    9.7.9.27.2.1
Flow commit(Warp& w, const Inst& in, uint32_t mask) {
  commit_group(w, in, mask, GroupKind::bulk);
  return Flow::next;
}

void decode_commit(Decoder& d, const Match&, Inst& in) {
  expect_operands(d, 0);
  in.cls = Class::copy;
  in.exec = commit;
}

// cp.async.bulk.wait_group{.read} N;                                                             9.7.9.27.2.2
Flow wait_n(Warp& w, const Inst& in, uint32_t mask) {
  return wait_group(w, in, mask, GroupKind::bulk, static_cast<uint32_t>(in.imm), in.flags & kRead);
}

void decode_wait(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 1);
  in.cls = Class::copy;
  in.imm = d.immediate(d.operand(0), "the number of groups");
  if (m.has("read")) in.flags |= kRead;
  in.action = Action::wait_group;
  in.exec = wait_n;
}

}  // namespace

std::vector<Form> cp_async_bulk_forms() {
  std::vector<Form> forms = {
      {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.[L2::cache_hint]", decode_bulk},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.[multicast::cluster].[L2::cache_hint]",
       decode_bulk},
      {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", decode_bulk},
      {"cp.async.bulk.global.shared::cta.bulk_group.[L2::cache_hint]", decode_bulk},
      {"cp.async.bulk.prefetch.L2.global.[L2::cache_hint]", decode_prefetch},
      {"cp.async.bulk.commit_group", decode_commit},
      {"cp.async.bulk.wait_group.[read]", decode_wait},

      {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32|s32|u64",
       decode_bulk},
      {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min|max.u32|s32",
       decode_bulk},
      {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc|dec.u32",
       decode_bulk},
      {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and|or|xor.b32",
       decode_bulk},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group.[L2::cache_hint].add.u32|s32|u64|f32|f64",
       decode_bulk},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group.[L2::cache_hint].add.noftz.f16|bf16", decode_bulk},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group.[L2::cache_hint].min|max.u32|s32|u64|s64|f16|bf16",
       decode_bulk},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group.[L2::cache_hint].inc|dec.u32", decode_bulk},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group.[L2::cache_hint].and|or|xor.b32|b64", decode_bulk},
  };
  for (const Form& form : cp_async_bulk_tensor_forms()) forms.push_back(form);
  return forms;
}

}  // namespace emu
