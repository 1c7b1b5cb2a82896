// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: boxes of a tensor (tile mode) or columns of pixels (im2col mode) moved
// by the copy engine (PTX ISA 9.7.9.27.1; tensors, modes, fill and swizzle: 5.5).
#include <algorithm>
#include <cstring>

#include "emulator/isa/async_groups.hpp"
#include "emulator/isa/bulk_copy.hpp"
#include "emulator/isa/tensor_box.hpp"

namespace emu {
namespace {

constexpr uint32_t kMulticast = 1;
constexpr uint32_t kIm2col = 2;
constexpr uint32_t kOpShift = 8;  // in.flags bits 8-11: index into kOps + 1; 0: a plain copy
constexpr const char* kOps[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

// Tensor -> the shared memory of one or several CTAs, completing on their mbarriers.
struct TensorLoad final : AsyncOp {
  TensorBox box;
  std::vector<CopyTarget> targets;
  std::vector<std::byte> data;  // the tile, rows dense, not swizzled

  void sources(std::vector<MemoryRange>& out) const override { box.global_ranges(out); }
  void destinations(std::vector<MemoryRange>& out) const override {
    for (const CopyTarget& t : targets) box.shared_ranges(t.cta, t.address, out);
  }
  void read() override { box.gather(data); }
  void write() override {
    for (const CopyTarget& t : targets) box.to_shared(data, t.cta->shared.data(), t.address);
  }
  void complete() override { complete_targets(*this, targets, box.map.tile_bytes()); }
  bool touches(const Cta& cta) const override { return &cta == &warp->cta || targets_touch(targets, cta); }
};

// Shared memory of the executing CTA -> tensor, completing in the thread's bulk async-group.
struct TensorStore final : AsyncOp {
  TensorBox box;
  SharedPlace from;
  Reduction reduce = nullptr;
  std::vector<std::byte> data;

  void sources(std::vector<MemoryRange>& out) const override {
    box.shared_ranges(from.cta, from.address, out);
  }
  void destinations(std::vector<MemoryRange>& out) const override { box.global_ranges(out); }
  void read() override { box.from_shared(data, from.cta->shared.data(), from.address); }
  void write() override { box.scatter(data, reduce); }
  void complete() override {}
  bool touches(const Cta& cta) const override { return &cta == from.cta || &cta == &warp->cta; }
};

void start(const At& at, AsyncOp& op, AsyncOp::Kind kind, const TensorBox& box) {
  op.kind = kind;
  op.warp = &at.warp;
  op.inst = &at.inst;
  op.lanes = 1u << at.lane;
  op.swizzle = box.map.swizzle;
  op.map = &box.map;
  at.warp.machine.engine->issue(op);
}

// The tile's place in shared memory: aligned, and all of it there. Swizzling stays inside lines of the span.
void check_tile(const At& at, SharedPlace tile) {
  if (tile.address % 128 == 0) return;
  at.fault(Id::misaligned_tile,
           "the tile " + tile.cta->program.shared_name(tile.address) + " is at shared address " +
               hex(tile.address) + ", no multiple of 128",
           "tensor copies need shared memory on a 128-byte boundary (PTX 5.5.3.1)",
           "declare the buffer alignas(128), or alignas(1024) for the 128-byte swizzle");
}

// The copy engine has 16 bits for one offset, 8 for each of two and 5 for each of three. Nothing stops an offset that has more:
// the rest is dropped or, of three, is added to the next offset (recorded: im2col_loads). That is an error all the same
// ("im2col-offset"): it is reported, and the kernel goes on as it does there.
void take_offsets(const At& at, const uint16_t (&given)[3], BoxPlace& place) {
  const unsigned bits = place.rank == 3 ? 16 : place.rank == 4 ? 8 : 5, mask = (1u << bits) - 1;
  const unsigned together = given[0] + (unsigned{given[1]} << 5) + (unsigned{given[2]} << 10);
  for (unsigned i = 0; i + 2 < place.rank; ++i) {
    place.offset[i] = static_cast<uint16_t>((place.rank == 5 ? together >> 5 * i : given[i]) & mask);
    if (given[i] <= mask) continue;
    Finding f(Id::im2col_offset);
    f.title = "the offset of dimension " + std::to_string(i + 1) + " is " + std::to_string(given[i]) +
              ", and the copy engine has " + std::to_string(bits) + " bits for it";
    f.why = "at rank " + std::to_string(place.rank) + " an offset is at most " + std::to_string(mask) +
            " (PTX 5.5.4.1); Hopper takes other offsets without a word";
    f.hint =
        "see whether the dilation makes the filter too wide; or move the coordinates, and the map's corners with them";
    at.report(f);
  }
}

// in.extra: addresses, then one reference for each coordinate and each offset. in.count: rank.
void find_box(const At& at, size_t map_operand, size_t addresses, bool writes, TensorBox& box,
              BoxPlace& place) {
  const Extra& x = *at.inst.extra;
  place.rank = at.inst.count;
  place.im2col = at.inst.flags & kIm2col;
  for (unsigned i = 0; i < place.rank; ++i)
    place.start[i] = at.warp.lanes<int32_t>(x.refs[addresses + i])[at.lane];
  const size_t offsets = addresses + place.rank;
  uint16_t given[3] = {};
  for (size_t i = offsets; i < x.refs.size(); ++i)
    given[i - offsets] = at.warp.lanes<uint16_t>(x.refs[i])[at.lane];
  take_offsets(at, given, place);
  box.map =
      tensor_map_at(at, space_operand(x, map_operand), address_operand(at.warp, x, map_operand, at.lane));
  box.place(at, place, writes);
}

// The same, for an operation that tells where its box is.
void find_box(const At& at, size_t map_operand, size_t addresses, bool writes, TensorBox& box, AsyncOp& op) {
  BoxPlace place;
  find_box(at, map_operand, addresses, writes, box, place);
  std::copy_n(place.start, 5, op.start);
  std::copy_n(place.offset, 3, op.offset);
}

// Address operands: 0 destination, 1 map, 2 mbarrier.
// cp.async.bulk.tensor.dim.shared::{cta,cluster}.global{.tile}.mbarrier::complete_tx::bytes{.multicast::cluster}
//     {.L2::cache_hint} [dst], [map, {c0, ..}], [mbar]{, ctaMask}{, policy};
// cp.async.bulk.tensor.dim.shared::{cta,cluster}.global.im2col.mbarrier::complete_tx::bytes{.multicast::cluster}
//     {.L2::cache_hint} [dst], [map, {c0, ..}], [mbar], {offset, ..}{, ctaMask}{, policy};
Flow load(Warp& w, const Inst& in, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    const Extra& x = *in.extra;
    auto& op = w.machine.engine->take<TensorLoad>();
    find_box({w, in, l}, 1, 3, false, op.box, op);
    const SharedPlace tile =
        shared_place({w, in, l}, space_operand(x, 0), address_operand(w, x, 0, l), "destination");
    check_tile({w, in, l}, tile);
    const uint32_t cta_mask = in.flags & kMulticast ? w.lanes<uint16_t>(in.c)[l] : 0;
    find_targets({w, in, l}, tile, op.box.covered_bytes(),
                 shared_place({w, in, l}, space_operand(x, 2), address_operand(w, x, 2, l), "mbarrier"),
                 in.flags & kMulticast ? &cta_mask : nullptr, op.targets);
    op.barrier = op.targets[0].bar;
    op.bytes = op.box.map.tile_bytes();
    start({w, in, l}, op, AsyncOp::Kind::tensor_load, op.box);
  });
  return Flow::next;
}

// Address operands: 0 map, 1 source.
// cp.async.bulk.tensor.dim.global.shared::cta{.tile,.im2col_no_offs}.bulk_group{.L2::cache_hint}
//     [map, {c0, ..}], [src]{, policy};
// cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.tile,.im2col_no_offs}.bulk_group{.L2::cache_hint} the same
Flow store(Warp& w, const Inst& in, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    const Extra& x = *in.extra;
    auto& op = w.machine.engine->take<TensorStore>();
    find_box({w, in, l}, 0, 2, true, op.box, op);
    op.from = shared_place({w, in, l}, Space::shared, address_operand(w, x, 1, l), "source");
    check_tile({w, in, l}, op.from);
    shared_bytes({w, in, l}, op.from, op.box.covered_bytes(), "reads");
    const uint32_t reduce = in.flags >> kOpShift & 0xF;
    op.reduce = reduce ? tensor_reduction(kOps[reduce - 1], op.box.map.type) : nullptr;
    if (reduce && !op.reduce)
      w.fault(in, l, Id::tensor_map_invalid,
              std::string("there is no reduction .") + kOps[reduce - 1] + " for elements of type " +
                  name_of(op.box.map.type),
              "the tensor map's type decides what can be combined (PTX 9.7.9.27.1.3)",
              "encode the map with a type that has the operation");
    op.grouped = true;
    op.group = GroupKind::bulk;
    op.bytes = op.box.map.tile_bytes();
    start({w, in, l}, op, reduce ? AsyncOp::Kind::tensor_reduce : AsyncOp::Kind::tensor_store, op.box);
  });
  return Flow::next;
}

// cp.async.bulk.prefetch.tensor.dim.L2.global{.tile}{.L2::cache_hint} [map, {c0, ..}]{, policy};
// cp.async.bulk.prefetch.tensor.dim.L2.global.im2col{.L2::cache_hint} [map, {c0, ..}], {offset, ..}{, policy};
Flow prefetch(Warp& w, const Inst& in, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    TensorBox box;
    BoxPlace place;
    find_box({w, in, l}, 0, 1, false, box, place);
  });
  return Flow::next;
}

// [map, {c0, ..}]
void decode_map(Decoder& d, const Match& m, const Operand& o, std::vector<Ref>& coordinates, Inst& in) {
  const unsigned rank = static_cast<unsigned>(m.any_of({"1d", "2d", "3d", "4d", "5d"})[0] - '0');
  if (o.kind != Operand::Kind::address || o.items.size() != 2) d.refuse("[map, {coordinates}] was expected");
  const Operand& list = o.items[1];
  const std::vector<Operand> one = {list};
  const std::vector<Operand>& items = list.kind == Operand::Kind::vec ? list.items : one;
  if (items.size() != rank)
    d.refuse("a " + std::to_string(rank) + "-dimensional copy takes " + std::to_string(rank) +
             " coordinates, not " + std::to_string(items.size()));
  for (const Operand& item : items) coordinates.push_back(d.source(item, Type::s32));
  in.count = static_cast<uint8_t>(rank);
  push_address(d.extra(in), d.address_of(o, Space::generic));
}

// {offset, ..}: one for each dimension but the first and the last.
void decode_offsets(Decoder& d, const Operand& list, Inst& in) {
  const std::vector<Operand> one = {list};
  const std::vector<Operand>& items = list.kind == Operand::Kind::vec ? list.items : one;
  if (items.size() != in.count - 2u)
    d.refuse("a " + std::to_string(in.count) + "-dimensional copy in im2col mode takes " +
             std::to_string(in.count - 2) + " offsets, not " + std::to_string(items.size()));
  for (const Operand& item : items) d.extra(in).refs.push_back(d.source(item, Type::u16));
}

void decode_load(Decoder& d, const Match& m, Inst& in) {
  in.cls = Class::copy;
  const bool im2col = m.has("im2col"), multicast = m.has("multicast::cluster"),
             policy = m.has("L2::cache_hint");
  expect_operands(d, 3u + im2col + multicast + policy);
  const Space space = m.has("shared::cluster") ? Space::shared_cluster : Space::shared;
  std::vector<Ref> coordinates;
  Extra& extra = d.extra(in);
  push_address(extra, d.address_of(d.operand(0), space));
  decode_map(d, m, d.operand(1), coordinates, in);
  push_address(extra, d.address_of(d.operand(2), space));
  extra.refs.insert(extra.refs.end(), coordinates.begin(), coordinates.end());
  if (im2col) {
    decode_offsets(d, d.operand(3), in);
    in.flags |= kIm2col;
  }
  if (multicast) {
    in.c = d.source(d.operand(3u + im2col), Type::u16);
    in.flags |= kMulticast;
  }
  if (policy) d.source(d.operand(3u + im2col + multicast), Type::b64);
  in.action = Action::bulk_fill;
  in.exec = load;
}

void decode_store(Decoder& d, const Match& m, Inst& in) {
  in.cls = Class::copy;
  const bool policy = m.has("L2::cache_hint");
  expect_operands(d, 2u + policy);
  std::vector<Ref> coordinates;
  Extra& extra = d.extra(in);
  decode_map(d, m, d.operand(0), coordinates, in);
  push_address(extra, d.address_of(d.operand(1), Space::shared));
  extra.refs.insert(extra.refs.end(), coordinates.begin(), coordinates.end());
  if (policy) d.source(d.operand(2), Type::b64);
  if (m.has("im2col_no_offs")) in.flags |= kIm2col;
  for (uint32_t i = 0; i < std::size(kOps); ++i)
    if (m.has(kOps[i])) in.flags |= (i + 1) << kOpShift;
  in.action = Action::bulk_copy;
  in.exec = store;
}

void decode_prefetch(Decoder& d, const Match& m, Inst& in) {
  in.cls = Class::copy;
  const bool im2col = m.has("im2col"), policy = m.has("L2::cache_hint");
  expect_operands(d, 1u + im2col + policy);
  std::vector<Ref> coordinates;
  Extra& extra = d.extra(in);
  decode_map(d, m, d.operand(0), coordinates, in);
  extra.refs.insert(extra.refs.end(), coordinates.begin(), coordinates.end());
  if (im2col) {
    decode_offsets(d, d.operand(1), in);
    in.flags |= kIm2col;
  }
  if (policy) d.source(d.operand(1u + im2col), Type::b64);
  in.action = Action::bulk_copy;
  in.exec = prefetch;
}

}  // namespace

std::vector<Form> cp_async_bulk_tensor_forms() {
  return {
      {"cp.async.bulk.tensor.1d|2d|3d|4d|5d.shared::cta.global.[tile].mbarrier::complete_tx::bytes."
       "[L2::cache_hint]",
       decode_load},
      {"cp.async.bulk.tensor.1d|2d|3d|4d|5d.shared::cluster.global.[tile].mbarrier::complete_tx::bytes."
       "[multicast::cluster].[L2::cache_hint]",
       decode_load},
      {"cp.async.bulk.tensor.1d|2d|3d|4d|5d.global.shared::cta.[tile].bulk_group.[L2::cache_hint]",
       decode_store},
      {"cp.reduce.async.bulk.tensor.1d|2d|3d|4d|5d.global.shared::cta.add|min|max|inc|dec|and|or|xor.[tile]."
       "bulk_group.[L2::cache_hint]",
       decode_store},
      {"cp.async.bulk.prefetch.tensor.1d|2d|3d|4d|5d.L2.global.[tile].[L2::cache_hint]", decode_prefetch},
      {"cp.async.bulk.tensor.3d|4d|5d.shared::cta.global.im2col.mbarrier::complete_tx::bytes.[L2::cache_hint]",
       decode_load},
      {"cp.async.bulk.tensor.3d|4d|5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes."
       "[multicast::cluster].[L2::cache_hint]",
       decode_load},
      {"cp.async.bulk.tensor.3d|4d|5d.global.shared::cta.im2col_no_offs.bulk_group.[L2::cache_hint]",
       decode_store},
      {"cp.reduce.async.bulk.tensor.3d|4d|5d.global.shared::cta.add|min|max|inc|dec|and|or|xor.im2col_no_offs."
       "bulk_group.[L2::cache_hint]",
       decode_store},
      {"cp.async.bulk.prefetch.tensor.3d|4d|5d.L2.global.im2col.[L2::cache_hint]", decode_prefetch},
  };
}

}  // namespace emu
