// st.async and red.async: a thread sends a few bytes to the shared memory of a CTA of its cluster, and an mbarrier there
// counts them (PTX ISA 9.7.9.12, 9.7.13.7). sm_90.
#include <cstring>

#include "emulator/isa/bulk_copy.hpp"
#include "emulator/isa/operands.hpp"
#include "emulator/numerics/reduction.hpp"

namespace emu {
namespace {

struct Send final : AsyncOp {
  std::vector<CopyTarget> target;  // one
  std::byte values[16];            // up to .v4 of 32 bits
  uint32_t count = 0;
  Reduction reduce = nullptr;

  void sources(std::vector<MemoryRange>&) const override {}
  void destinations(std::vector<MemoryRange>& out) const override {
    out.push_back({Space::shared, target[0].cta, target[0].address, bytes});
  }
  void read() override {}
  void write() override {
    if (reduce)
      reduce(target[0].bytes, values, count);
    else
      std::memcpy(target[0].bytes, values, bytes);
  }
  void complete() override { complete_targets(*this, target, static_cast<uint32_t>(bytes)); }
  bool touches(const Cta& cta) const override { return &cta == &warp->cta || &cta == target[0].cta; }
  bool reduces() const override { return reduce != nullptr; }
};

struct Kind {
  const char* op;
  Type type;
};
constexpr Kind kKinds[] = {{"add", Type::u32}, {"add", Type::s32}, {"add", Type::u64}, {"min", Type::u32},
                           {"min", Type::s32}, {"max", Type::u32}, {"max", Type::s32}, {"inc", Type::u32},
                           {"dec", Type::u32}, {"and", Type::b32}, {"or", Type::b32},  {"xor", Type::b32}};

// Address operands: 0 destination, 1 mbarrier; then the values. in.count: values; in.flags bits 0-3: bytes of one; bits
// 8-15: index into kKinds + 1, 0: a store.
Flow send(Warp& w, const Inst& in, uint32_t mask) {
  const Extra& x = *in.extra;
  const uint32_t size = in.flags & 0xF;
  for_lanes(mask, [&](int l) {
    auto& op = w.machine.engine->take<Send>();
    op.bytes = size * in.count;
    op.count = in.count;
    const SharedPlace to =
        shared_place({w, in, l}, Space::shared_cluster, address_operand(w, x, 0, l), "destination");
    check_multiple({w, in, l}, "destination", to.address, size * in.count, Id::misaligned_address,
                   "the address of st.async and red.async is a multiple of what they write");
    find_targets({w, in, l}, to, size * in.count,
                 shared_place({w, in, l}, Space::shared_cluster, address_operand(w, x, 1, l), "mbarrier"),
                 nullptr, op.target);
    for (uint32_t i = 0; i < in.count; ++i) {
      const uint64_t value =
          size == 8 ? w.lanes<uint64_t>(x.refs[2 + i])[l] : w.lanes<uint32_t>(x.refs[2 + i])[l];
      std::memcpy(op.values + size * i, &value, size);
    }
    const uint32_t kind = in.flags >> 8 & 0xFF;
    op.reduce = kind ? reduction(kKinds[kind - 1].op, kKinds[kind - 1].type) : nullptr;
    op.kind = AsyncOp::Kind::st_async;
    op.warp = &w;
    op.inst = &in;
    op.lanes = 1u << l;
    op.barrier = op.target[0].bar;
    w.machine.engine->issue(op);
  });
  return Flow::next;
}

// st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar];
// red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.op.type [a], b, [mbar];
void decode(Decoder& d, const Match& m, Inst& in) {
  in.cls = Class::copy;
  expect_operands(d, 3);
  const Type type = m.type();
  Extra& x = d.extra(in);
  push_address(x, d.address_of(d.operand(0), Space::shared_cluster));
  push_address(x, d.address_of(d.operand(2), Space::shared_cluster));
  const Operand& b = d.operand(1);
  const std::vector<Operand> one = {b};
  const std::vector<Operand>& items = b.kind == Operand::Kind::vec ? b.items : one;
  const size_t count = m.has("v4") ? 4 : m.has("v2") ? 2 : 1;
  if (items.size() != count) d.refuse("a vector of " + std::to_string(count) + " values was expected");
  if (count * size_of(type) > 16) d.refuse("st.async writes at most 16 bytes");
  for (const Operand& item : items) x.refs.push_back(d.source(item, type));
  in.count = static_cast<uint8_t>(count);
  in.flags |= static_cast<uint32_t>(size_of(type));
  for (uint32_t i = 0; i < std::size(kKinds); ++i)
    if (m.has(kKinds[i].op) && type == kKinds[i].type) in.flags |= (i + 1) << 8;
  in.exec = send;
}

}  // namespace

std::vector<Form> st_async_forms() {
  return {
      {"st.async.[weak].shared::cluster.mbarrier::complete_tx::bytes.[v2|v4].b32|u32|s32|f32|b64|u64|s64|f64",
       decode},
      {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32|s32|u64", decode},
      {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min|max.u32|s32", decode},
      {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc|dec.u32", decode},
      {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and|or|xor.b32", decode},
  };
}

}  // namespace emu
