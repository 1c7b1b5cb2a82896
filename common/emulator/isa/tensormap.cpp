// tensormap.replace and tensormap.cp_fenceproxy: a kernel changes a tensor map and hands it to the tensormap proxy
// (PTX ISA 9.7.9.28, 9.7.13.4). sm_90a.
#include <cstring>

#include "emulator/isa/access.hpp"
#include "emulator/isa/operands.hpp"
#include "emulator/isa/shared_place.hpp"
#include "emulator/machine/tensor_map.hpp"

namespace emu {
namespace {

struct Field {
  const char* name;
  MapField id;
  bool has_dimension;  // an operand says which
  bool is_immediate;   // of an enumeration
};
constexpr Field kFields[] = {
    {"global_address", MapField::global_address, false, false},
    {"rank", MapField::rank, false, false},
    {"box_dim", MapField::box_dim, true, false},
    {"global_dim", MapField::global_dim, true, false},
    {"global_stride", MapField::global_stride, true, false},
    {"element_stride", MapField::element_stride, true, false},
    {"elemtype", MapField::elemtype, false, true},
    {"interleave_layout", MapField::interleave_layout, false, true},
    {"swizzle_mode", MapField::swizzle_mode, false, true},
    {"fill_mode", MapField::fill_mode, false, true},
};

// The 128 bytes of a map, for an access that the observer is told of.
std::byte* map_bytes(const At& at, Space space, uint64_t address, AccessKind kind) {
  Places places;
  places.set(at.lane, resolve_access(at, space, address, kTensorMapBytes / 2, kind));  // on a multiple of 64
  resolve(at, space, address + kTensorMapBytes / 2, kTensorMapBytes / 2, kind);
  observe_access(at.warp, at.inst, 1u << at.lane, places, kTensorMapBytes, kind, false, false);
  return places.bytes[at.lane];
}

// in.b: the value, 32 or 64 bits (in.flags bit 0); in.count: the dimension; in.flags bits 1-4: index into kFields;
// in.space: where the map is.
Flow replace(Warp& w, const Inst& in, uint32_t mask) {
  const Field& field = kFields[in.flags >> 1 & 0xF];
  for_lanes(mask, [&](int l) {
    const uint64_t address = lane_address({w, in, l});
    const uint64_t value = in.flags & 1 ? w.lanes<uint64_t>(in.b)[l] : w.lanes<uint32_t>(in.b)[l];
    map_bytes({w, in, l}, in.space, address, AccessKind::read);
    std::byte* map = map_bytes({w, in, l}, in.space, address, AccessKind::write);
    std::string why;
    if (replace_tensor_map_field(map, field.id, in.count, value, &why) != kTensorMapSuccess)
      w.fault(in, l, Id::tensor_map_invalid, std::string("a tensor map cannot get this ") + field.name, why,
              "tensormap.replace changes a map that the host has encoded, field by field");
  });
  return Flow::next;
}

// tensormap.replace.tile.field{.ss}.b1024.type [addr], {ord,} new_val;
void decode_replace(Decoder& d, const Match& m, Inst& in) {
  in.cls = Class::memory;
  uint32_t index = 0;
  while (!m.has(kFields[index].name)) ++index;
  const Field& field = kFields[index];
  expect_operands(d, 2u + field.has_dimension);
  const bool shared = m.has("shared::cta"), wide = m.has("b64");
  d.address(d.operand(0), shared ? Space::shared : m.has("global") ? Space::global : Space::generic, in);
  if (field.has_dimension) {
    const int64_t dimension = d.immediate(d.operand(1), "the dimension");
    if (dimension < 0 || dimension > 4) d.refuse("the dimension of a tensor map is 0 .. 4");
    in.count = static_cast<uint8_t>(dimension);
  }
  const Operand& value = d.operand(1u + field.has_dimension);
  if (field.is_immediate) d.immediate(value, "the new value");
  in.b = d.source(value, wide ? Type::b64 : Type::b32);
  in.flags |= index << 1 | wide;
  in.exec = replace;
}

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], 128;
// The warp copies the map together, then releases it to the tensormap proxy.
Flow copy_and_release(Warp& w, const Inst& in, uint32_t mask) {
  if (!w.all_here(~0u)) return Flow::converge;
  const int l = __builtin_ctz(mask);
  // Each of its lanes may read any part of the map.
  const std::byte* from = nullptr;
  for_lanes(mask, [&](int lane) {
    from = map_bytes({w, in, lane}, Space::shared, address_operand(w, *in.extra, 0, lane), AccessKind::read);
  });
  std::byte* to = map_bytes({w, in, l}, Space::global, lane_address({w, in, l}), AccessKind::write);
  std::memcpy(to, from, kTensorMapBytes);
  ++w.machine.effects;
  w.machine.observers.tell(&Observer::on_fence, w, in, mask, FenceKind::tensormap_release, !(in.flags & 1));
  w.machine.observers.tell(&Observer::on_warp_sync, w, in, mask);
  return Flow::next;
}

void decode_copy(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 3);
  in.cls = Class::memory;
  d.address(d.operand(0), Space::global, in);
  push_address(d.extra(in), d.address_of(d.operand(1), Space::shared));
  if (d.immediate(d.operand(2), "size") != 128) d.refuse("the size of tensormap.cp_fenceproxy must be 128");
  in.flags |= m.has("cta");
  in.exec = copy_and_release;
}

}  // namespace

std::vector<Form> tensormap_forms() {
  return {
      {"tensormap.replace.tile.global_address|global_stride.[global|shared::cta].b1024.b64", decode_replace},
      {"tensormap.replace.tile.rank|box_dim|global_dim|element_stride|elemtype|interleave_layout|swizzle_mode|"
       "fill_mode.[global|shared::cta].b1024.b32",
       decode_replace},
      {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.cta|cluster|gpu|sys.sync.aligned",
       decode_copy},
  };
}

}  // namespace emu
