// cp.async: asynchronous copies of 4, 8 or 16 bytes a thread, through the generic proxy (PTX ISA 9.7.9.25.3), and the
// arrive that follows them (9.7.13.15.15).
#include <cstring>

#include "emulator/isa/access.hpp"
#include "emulator/isa/async_groups.hpp"
#include "emulator/isa/shared_place.hpp"
#include "emulator/machine/mbarrier.hpp"

namespace emu {
namespace {

// in.flags of this family
constexpr uint32_t kHasSize = 1, kIgnore = 2, kNoIncrement = 4;

// The copies of one warp instruction.
struct CpAsync final : AsyncOp {
  uint32_t size = 0;  // destination bytes of a lane
  uint64_t source_address[32];
  uint64_t destination_address[32];
  const std::byte* source[32];  // null when nothing is read
  std::byte* destination[32];
  uint8_t taken[32];  // source bytes; the rest is zeros
  std::byte data[32][16];

  void sources(std::vector<MemoryRange>& out) const override {
    for_lanes(lanes, [&](int l) {  // of no bytes where it only fills
      out.push_back({Space::global, nullptr, source_address[l], taken[l]});
    });
  }
  void destinations(std::vector<MemoryRange>& out) const override {
    for_lanes(lanes, [&](int l) {
      out.push_back({Space::shared, &warp->cta, destination_address[l], size});
    });
  }
  void read() override {
    for_lanes(lanes, [&](int l) {
      std::memset(data[l], 0, 16);
      if (taken[l]) std::memcpy(data[l], source[l], taken[l]);
    });
  }
  void write() override {
    for_lanes(lanes, [&](int l) { std::memcpy(destination[l], data[l], size); });
  }
  void complete() override {}
  bool touches(const Cta& cta) const override { return &cta == &warp->cta; }
};

void check_alignment(const At& at, const char* side, uint64_t address, uint32_t size) {
  if (address % size == 0) return;
  at.fault(Id::misaligned_address,
           std::string("the ") + side + " of a " + std::to_string(size) + "-byte cp.async is " +
               hex(address) + ", no multiple of " + std::to_string(size),
           "both addresses must be aligned to the copy size (PTX 9.7.9.25.3.1)",
           "align the address, or copy in smaller pieces; mind the units: " + std::to_string(size) +
               " bytes are " + std::to_string(size / 2) + " elements of 2 bytes, so an index in pieces of " +
               std::to_string(size) + " bytes, or a number of tiles, is no index in elements");
}

// cp.async.ca.shared{::cta}.global{.L2::cache_hint}{.L2::64B|128B|256B} [dst], [src], 4|8|16
//     {, src-size | , ignore-src}{, cache-policy};
// cp.async.cg.shared...: 16 bytes only
Flow cp_async(Warp& w, const Inst& in, uint32_t mask) {
  Machine& machine = w.machine;
  auto& op = machine.engine->take<CpAsync>();
  op.kind = AsyncOp::Kind::cp_async;
  op.warp = &w;
  op.inst = &in;
  op.lanes = mask;
  op.grouped = true;
  op.group = GroupKind::cp_async;
  op.size = in.bytes;
  const uint32_t ignored = in.flags & kIgnore ? w.predicate(in.c) : 0;
  auto sizes = w.lanes<uint32_t>(in.c);
  for_lanes(mask, [&](int l) {
    const uint64_t to = address_operand(w, *in.extra, 0, l), from = address_operand(w, *in.extra, 1, l);
    check_alignment({w, in, l}, "destination", to, op.size);
    check_alignment({w, in, l}, "source", from, op.size);
    const uint32_t taken = in.flags & kHasSize ? sizes[l] : ignored >> l & 1 ? 0 : op.size;
    if (taken > op.size)
      w.fault(in, l, Id::copy_size,
              "cp.async of " + std::to_string(op.size) + " bytes with a src-size of " + std::to_string(taken),
              "src-size must not exceed cp-size (PTX 9.7.9.25.3.1)", "clamp src-size to 0 .. cp-size");
    op.source_address[l] = from;
    op.destination_address[l] = static_cast<uint32_t>(to);
    op.taken[l] = static_cast<uint8_t>(taken);
    op.source[l] = taken ? machine.memory.at(from, taken) : nullptr;
    op.destination[l] = w.cta.shared_at(static_cast<uint32_t>(to), op.size);
    if (taken && !op.source[l])
      w.fault(in, l, id_of_outside(machine.memory, from),
              "cp.async reads " + std::to_string(taken) + " bytes at " + hex(from),
              "the address is " + machine.memory.describe(from),
              "guard the copy, or pass a src-size of 0 for what lies outside");
    if (!op.destination[l])
      w.fault(in, l, Id::out_of_bounds, "cp.async writes shared address " + hex(static_cast<uint32_t>(to)),
              "the shared memory of " + w.cta.text() + " ends at " + hex(w.cta.shared.size()),
              "check the index, and the dynamic shared memory size of the launch");
  });
  op.bytes = static_cast<uint64_t>(__builtin_popcount(mask)) * op.size;
  machine.engine->issue(op);
  return Flow::next;
}

void decode_cp_async(Decoder& d, const Match& m, Inst& in) {
  in.cls = Class::copy;
  const bool policy = m.has("L2::cache_hint");
  const size_t operands = d.operand_count() - (policy && d.operand_count() > 3 ? 1 : 0);
  if (operands != 3 && operands != 4)
    d.refuse("cp.async takes [dst], [src], cp-size{, src-size | ignore-src}");
  Extra& extra = d.extra(in);
  push_address(extra, d.address_of(d.operand(0), Space::shared));
  push_address(extra, d.address_of(d.operand(1), Space::global));
  const int64_t size = d.immediate(d.operand(2), "cp-size");
  if (m.has("cg") ? size != 16 : size != 4 && size != 8 && size != 16)
    d.refuse("cp-size " + std::to_string(size) + " is not supported",
             m.has("cg") ? "cp.async.cg copies 16 bytes" : "cp.async.ca copies 4, 8 or 16 bytes");
  in.bytes = static_cast<uint8_t>(size);
  if (operands == 4) {
    if (d.register_type(d.operand(3)) == Type::pred) {
      in.c = d.predicate(d.operand(3));
      in.flags |= kIgnore;
    } else {
      in.c = d.source(d.operand(3), Type::u32);
      in.flags |= kHasSize;
    }
  }
  if (in.c == kNoRef) in.c = d.constant(0, 4);
  if (policy) d.source(d.operand(operands), Type::b64);
  in.action = Action::fill;
  in.exec = cp_async;
}

// cp.async.commit_group;                                                                          9.7.9.25.3.2
Flow commit(Warp& w, const Inst& in, uint32_t mask) {
  commit_group(w, in, mask, GroupKind::cp_async);
  return Flow::next;
}

void decode_commit(Decoder& d, const Match&, Inst& in) {
  expect_operands(d, 0);
  in.cls = Class::copy;
  in.exec = commit;
}

// cp.async.wait_group N;                                                                          9.7.9.25.3.3
// cp.async.wait_all;     commits, then waits for every group
Flow wait_n(Warp& w, const Inst& in, uint32_t mask) {
  return wait_group(w, in, mask, GroupKind::cp_async, static_cast<uint32_t>(in.imm), false);
}

Flow wait_all(Warp& w, const Inst& in, uint32_t mask) {
  commit_group(w, in, mask, GroupKind::cp_async);
  return wait_group(w, in, mask, GroupKind::cp_async, 0, false);
}

void decode_wait(Decoder& d, const Match& m, Inst& in) {
  in.cls = Class::copy;
  in.action = Action::wait_group;
  if (m.has("wait_all")) {
    expect_operands(d, 0);
    in.exec = wait_all;
    return;
  }
  expect_operands(d, 1);
  in.imm = d.immediate(d.operand(0), "the number of groups");
  in.exec = wait_n;
}

// The arrives of one cp.async.mbarrier.arrive: after all earlier cp.async of the same threads.
struct DeferredArrive final : AsyncOp {
  Mbarrier* bars[32];

  bool may_start() const override {
    return !warp->machine.engine->groups(*warp, GroupKind::cp_async).unfinished(lanes, number);
  }
  void sources(std::vector<MemoryRange>&) const override {}
  void destinations(std::vector<MemoryRange>&) const override {}
  void read() override {}
  void write() override {}
  void complete() override {
    for_lanes(lanes, [&](int l) {
      if (!bars[l]->valid) mbarrier_at({*warp, *inst, l}, *bars[l]->cta, bars[l]->address);  // faults
      mbarrier_cp_async_arrive({*warp, *inst, l}, *bars[l]);
    });
  }
  bool touches(const Cta& cta) const override { return &cta == &warp->cta; }
};

// cp.async.mbarrier.arrive{.noinc}{.shared{::cta}}.b64 [addr];                                   9.7.13.15.15
Flow mbarrier_arrive_later(Warp& w, const Inst& in, uint32_t mask) {
  auto& op = w.machine.engine->take<DeferredArrive>();
  op.kind = AsyncOp::Kind::cp_async_arrive;
  op.warp = &w;
  op.inst = &in;
  op.lanes = mask;
  for_lanes(mask, [&](int l) {
    const Space space = space_operand(*in.extra, 0);
    SharedPlace p = shared_place({w, in, l}, space, address_operand(w, *in.extra, 0, l), "mbarrier");
    op.bars[l] = &mbarrier_at({w, in, l}, *p.cta, p.address);
    if (!(in.flags & kNoIncrement)) mbarrier_cp_async_increment({w, in, l}, *op.bars[l]);
  });
  op.barrier = op.bars[__builtin_ctz(mask)];
  w.machine.engine->issue(op);
  return Flow::next;
}

void decode_mbarrier_arrive(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 1);
  in.cls = Class::barrier;
  const bool shared = !m.any_of({"shared", "shared::cta"}).empty();
  push_address(d.extra(in), d.address_of(d.operand(0), shared ? Space::shared : Space::generic));
  if (m.has("noinc")) in.flags |= kNoIncrement;
  in.action = Action::arrive_later;
  in.exec = mbarrier_arrive_later;
}

}  // namespace

std::vector<Form> cp_async_forms() {
  return {
      {"cp.async.ca.shared|shared::cta.global.[L2::cache_hint].[L2::64B|L2::128B|L2::256B]", decode_cp_async},
      {"cp.async.cg.shared|shared::cta.global.[L2::cache_hint].[L2::64B|L2::128B|L2::256B]", decode_cp_async},
      {"cp.async.commit_group", decode_commit},
      {"cp.async.wait_group", decode_wait},
      {"cp.async.wait_all", decode_wait},
      {"cp.async.mbarrier.arrive.[noinc].[shared|shared::cta].b64", decode_mbarrier_arrive},
  };
}

}  // namespace emu
