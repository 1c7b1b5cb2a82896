#include "emulator/isa/bulk_copy.hpp"

#include <algorithm>

namespace emu {

std::byte* shared_bytes(Warp& w, const Inst& in, int lane, SharedPlace place, uint32_t bytes,
                        const char* verb) {
  if (std::byte* at = place.cta->shared_at(place.address, bytes)) return at;
  w.fault(in, lane, Id::out_of_bounds,
          "the copy engine " + std::string(verb) + " " + std::to_string(bytes) + " bytes at " +
              place.cta->program.shared_name(place.address) + " (shared address " + hex(place.address) + ")",
          "the shared memory of " + place.cta->text() + " ends at " + hex(place.cta->shared.size()),
          "make the buffer as large as the copy, and check the dynamic shared memory size of the launch");
}

std::byte* global_bytes(Warp& w, const Inst& in, int lane, uint64_t address, uint64_t bytes, bool writes) {
  std::byte* at = w.machine.memory.at(address, bytes);
  const std::string what = "the copy engine " + std::string(writes ? "writes " : "reads ") +
                           std::to_string(bytes) + " bytes at " + hex(address);
  if (!at)
    w.fault(in, lane, Id::out_of_bounds, what, "the address is " + w.machine.memory.describe(address),
            "check the pointer and the size, or the sizes and strides in the tensor map");
  if (writes && w.machine.memory.find(address, bytes)->constant)
    w.fault(in, lane, Id::write_to_constant, what, "that is __constant__ memory",
            "store to a __device__ variable");
  return at;
}

void check_multiple(Warp& w, const Inst& in, int lane, const char* what, uint64_t value, uint32_t unit, Id id,
                    const char* rule) {
  if (value % unit == 0) return;
  w.fault(in, lane, id,
          std::string("the ") + what + " of a bulk copy is " + hex(value) + ", no multiple of " +
              std::to_string(unit),
          rule, "align it to " + std::to_string(unit) + " bytes");
}

namespace {

CopyTarget target(Warp& w, const Inst& in, int lane, Cta* cta, uint32_t address, uint32_t covered,
                  uint32_t bar) {
  CopyTarget t;
  t.cta = cta;
  t.address = address;
  t.bytes = shared_bytes(w, in, lane, {cta, address}, covered, "writes");
  t.bar = &mbarrier_at(w, in, lane, *cta, bar);
  return t;
}

}  // namespace

void find_targets(Warp& w, const Inst& in, int lane, SharedPlace data, uint32_t covered, SharedPlace bar,
                  const uint32_t* cta_mask, std::vector<CopyTarget>& out) {
  out.clear();
  if (!cta_mask) {
    if (data.cta != bar.cta)
      w.fault(in, lane, Id::barrier_elsewhere,
              "the copy writes to " + data.cta->text() + " but its mbarrier is in " + bar.cta->text(),
              "the mbarrier must be in the same CTA's shared memory as the destination (PTX 9.7.9.25.4.1)",
              "map both addresses to the same rank");
    out.push_back(target(w, in, lane, data.cta, data.address, covered, bar.address));
    return;
  }
  auto& ctas = w.cta.cluster->ctas;
  if (*cta_mask == 0 || *cta_mask >> ctas.size())
    w.fault(
        in, lane, Id::multicast_mask,
        "the multicast mask " + hex(*cta_mask) + " does not fit a cluster of " + std::to_string(ctas.size()),
        "bit i of the mask names the CTA of rank i in the cluster",
        "set bits below the cluster's size only, and at least one");
  for (size_t rank = 0; rank < ctas.size(); ++rank)
    if (*cta_mask >> rank & 1)
      out.push_back(target(w, in, lane, ctas[rank].get(), data.address, covered, bar.address));
}

void complete_targets(const AsyncOp& op, const std::vector<CopyTarget>& targets, uint32_t bytes) {
  const int lane = __builtin_ctz(op.lanes);
  for (const CopyTarget& t : targets) {
    if (!t.bar->valid) mbarrier_at(*op.warp, *op.inst, lane, *t.cta, t.bar->address);  // faults
    mbarrier_complete_tx(*op.warp, *op.inst, lane, *t.bar, bytes, true);
  }
}

bool targets_touch(const std::vector<CopyTarget>& targets, const Cta& cta) {
  return std::any_of(targets.begin(), targets.end(), [&](const CopyTarget& t) { return t.cta == &cta; });
}

}  // namespace emu
