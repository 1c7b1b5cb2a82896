#include "emulator/checker/operations.hpp"

#include <algorithm>

#include "emulator/machine/tensor_map.hpp"

namespace emu::check {

const char* Operation::words() const {
  switch (kind) {
    case AsyncOp::Kind::cp_async:
      return "a cp.async";
    case AsyncOp::Kind::bulk_load:
      return "a bulk copy";
    case AsyncOp::Kind::bulk_shared:
    case AsyncOp::Kind::st_async:
      return "a bulk copy between CTAs";
    case AsyncOp::Kind::bulk_store:
      return "a bulk store";
    case AsyncOp::Kind::bulk_reduce:
      return "a bulk reduction";
    case AsyncOp::Kind::tensor_load:
      return "a tensor copy";
    case AsyncOp::Kind::tensor_store:
      return "a tensor store";
    case AsyncOp::Kind::tensor_reduce:
      return "a tensor reduction";
    case AsyncOp::Kind::wgmma:
      return "a wgmma";
    default:
      return "an operation";
  }
}

void Operations::clear() {
  all_.assign(1, Operation());
  arrives_.clear();
}

Operation Operations::issued(AsyncOp& op, WarpOrder& issuer, Ordering& order, uint64_t event,
                             const std::vector<MemoryRange>& sources,
                             const std::vector<MemoryRange>& destinations) {
  Operation o;
  o.kind = op.kind;
  o.cluster = issuer.cluster->index;
  o.rank = static_cast<uint16_t>(issuer.cta().cluster_rank);
  o.warp = static_cast<uint16_t>(issuer.warp->index);
  o.lane = static_cast<uint8_t>(__builtin_ctz(op.lanes));
  o.source = op.inst->source;
  o.swizzle = op.swizzle;
  o.reduces = op.reduces();
  o.epoch = issuer.epoch[o.lane];
  if (op.map) {
    o.dimensions = static_cast<uint8_t>(op.map->rank);
    std::copy(std::begin(op.start), std::end(op.start), o.start.begin());
    o.tensor = op.map->address;
    o.pitch = op.map->row_pitch();
    o.row_bytes = op.map->row_bytes();
    o.rows = op.map->box_count(1);
    o.element_bytes = static_cast<uint8_t>(element_bytes(op.map->type));
    o.flat = !op.map->interleave && op.map->rows() == o.rows;
  }
  for (auto& d : destinations) o.bytes += d.bytes;
  if (!sources.empty()) o.from = sources[0].address;
  if (!destinations.empty()) o.to = destinations[0].address;
  const Turn before = turn_;
  turn_ = {event, event, issuer.warp, op.inst, o.lane};
  if (before.event + 1 == event && before.warp == issuer.warp && before.inst == op.inst &&
      before.lane < o.lane)
    turn_.first = before.first;  // nothing has happened since the lane before
  o.turn = turn_.first;
  count(op, issuer, order, o);
  return o;
}

// Which step of which component the operation is.
void Operations::count(AsyncOp& op, WarpOrder& issuer, Ordering& order, Operation& o) {
  if (op.kind == AsyncOp::Kind::cp_async) {
    // 32 components in a row, one per lane.
    issuer.copies = true;
    if (!issuer.lanes[0].cp_component)
      for (LaneOrder& lane : issuer.lanes) lane.cp_component = issuer.cluster->components++;
    o.done = issuer.lanes[0].cp_component;
    for_lanes(op.lanes, [&](int l) {
      o.lane_value[static_cast<size_t>(l)] = ++issuer.lanes[static_cast<size_t>(l)].cp_issued;
    });
  } else if (op.kind == AsyncOp::Kind::wgmma) {
    o.read = order.warpgroup(*issuer.warp);
    o.read_value = ++issuer.wgmma_issued;
  } else if (op.grouped) {
    LaneOrder& lane = issuer.lanes[o.lane];
    issuer.copies = true;
    if (!lane.read_component) {
      lane.read_component = issuer.cluster->components++;
      lane.done_component = issuer.cluster->components++;
    }
    o.read = lane.read_component;
    o.done = lane.done_component;
    o.read_value = o.done_value = lane.bulk_groups.committed + 1;
    o.number = ++lane.bulk_issued;
  }
}

void Operations::arrive_issued(AsyncOp& op, const WarpOrder& issuer) {
  std::array<uint32_t, 32> issued{};
  for_lanes(op.lanes,
            [&](int l) { issued[static_cast<size_t>(l)] = issuer.lanes[static_cast<size_t>(l)].cp_issued; });
  arrives_[op.number] = issued;
  op.observer_data = op.number;
}

void Operations::arrive_landed(const AsyncOp& op) {
  landing_ = arrives_[op.observer_data];
  arrives_.erase(op.observer_data);
}

std::vector<uint32_t> Operations::keep(std::vector<uint32_t> needed) {
  uint32_t kept = 1;
  for (size_t i = 1; i < all_.size(); ++i) {
    if (!needed[i]) continue;
    if (all_[i].next_copy) needed[all_[i].next_copy] = 1;  // it comes after this one
    if (kept != i) all_[kept] = all_[i];
    needed[i] = kept++;
  }
  all_.resize(kept);
  for (Operation& o : all_) o.next_copy = needed[o.next_copy];
  return needed;
}

}  // namespace emu::check
