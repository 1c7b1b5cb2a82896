#include "emulator/isa/bulk_copy.hpp"

#include <algorithm>

#include "emulator/isa/access.hpp"

namespace emu {

std::byte* shared_bytes(const At& at, SharedPlace place, uint32_t bytes, const char* verb) {
  if (std::byte* there = place.cta->shared_at(place.address, bytes)) return there;
  at.fault(Id::out_of_bounds,
           "the copy engine " + std::string(verb) + " " + std::to_string(bytes) + " bytes at " +
               place.cta->program.shared_name(place.address) + " (shared address " + hex(place.address) + ")",
           "the shared memory of " + place.cta->text() + " ends at " + hex(place.cta->shared.size()),
           "make the buffer as large as the copy, and check the dynamic shared memory size of the launch");
}

std::byte* global_bytes(const At& at, uint64_t address, uint64_t bytes, bool writes) {
  std::byte* there = at.warp.machine.memory.at(address, bytes);
  const std::string what = "the copy engine " + std::string(writes ? "writes " : "reads ") +
                           std::to_string(bytes) + " bytes at " + hex(address);
  if (!there) {
    const Id id = id_of_outside(at.warp.machine.memory, address);
    const bool freed = id == Id::use_after_free;
    at.fault(id, what + (freed ? ", of memory that has been freed" : ""),
             "the address is " + at.warp.machine.memory.describe(address),
             freed ? kKeepAllocated
                   : "check the pointer and the size, or the sizes and strides in the tensor map");
  }
  if (writes && at.warp.machine.memory.find(address, bytes)->constant)
    at.fault(Id::write_to_constant, what, "that is __constant__ memory", "store to a __device__ variable");
  if (writes && bytes) about_to_write(there, bytes);
  return there;
}

void check_multiple(const At& at, const char* what, uint64_t value, uint32_t unit, Id id, const char* rule) {
  if (value % unit == 0) return;
  at.fault(id,
           std::string("the ") + what + " of a bulk copy is " + hex(value) + ", no multiple of " +
               std::to_string(unit),
           rule, "align it to " + std::to_string(unit) + " bytes");
}

namespace {

CopyTarget target(const At& at, Cta* cta, uint32_t address, uint32_t covered, uint32_t bar) {
  CopyTarget t;
  t.cta = cta;
  t.address = address;
  t.bytes = shared_bytes(at, {cta, address}, covered, "writes");
  t.bar = &mbarrier_at(at, *cta, bar);
  return t;
}

}  // namespace

void find_targets(const At& at, SharedPlace data, uint32_t covered, SharedPlace bar, const uint32_t* cta_mask,
                  std::vector<CopyTarget>& out) {
  out.clear();
  if (!cta_mask) {
    if (data.cta != bar.cta)
      at.fault(Id::barrier_elsewhere,
               "the copy writes to " + data.cta->text() + " but its mbarrier is in " + bar.cta->text(),
               "the mbarrier must be in the same CTA's shared memory as the destination (PTX 9.7.9.25.4.1)",
               "map both addresses to the same rank");
    out.push_back(target(at, data.cta, data.address, covered, bar.address));
    return;
  }
  auto& ctas = at.warp.cta.cluster->ctas;
  if (*cta_mask == 0 || *cta_mask >> ctas.size())
    at.fault(
        Id::multicast_mask,
        "the multicast mask " + hex(*cta_mask) + " does not fit a cluster of " + std::to_string(ctas.size()),
        "bit i of the mask names the CTA of rank i in the cluster",
        "set bits below the cluster's size only, and at least one");
  for (size_t rank = 0; rank < ctas.size(); ++rank)
    if (*cta_mask >> rank & 1)
      out.push_back(target(at, ctas[rank].get(), data.address, covered, bar.address));
}

void complete_targets(const AsyncOp& op, const std::vector<CopyTarget>& targets, uint32_t bytes) {
  const int lane = __builtin_ctz(op.lanes);
  for (const CopyTarget& t : targets) {
    if (!t.bar->valid) mbarrier_at({*op.warp, *op.inst, lane}, *t.cta, t.bar->address);  // faults
    mbarrier_complete_tx({*op.warp, *op.inst, lane}, *t.bar, bytes, true);
  }
}

bool targets_touch(const std::vector<CopyTarget>& targets, const Cta& cta) {
  return std::any_of(targets.begin(), targets.end(), [&](const CopyTarget& t) { return t.cta == &cta; });
}

}  // namespace emu
