// Events, compared with what is in flight.
#include "emulator/machine/overlap.hpp"

#include <algorithm>

#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/machine/mbarrier.hpp"

namespace emu {

namespace {

bool is_load(const AsyncOp& op) {
  return op.kind == AsyncOp::Kind::cp_async || op.kind == AsyncOp::Kind::bulk_load ||
         op.kind == AsyncOp::Kind::tensor_load;
}
bool is_store(const AsyncOp& op) {
  return op.kind == AsyncOp::Kind::bulk_store || op.kind == AsyncOp::Kind::tensor_store;
}

// With numbers of its own.
struct Beside final : Stats, Overlap {
  Beside() : Overlap(static_cast<Stats&>(*this)) {}
};

void raise(uint64_t& most, uint64_t value) {
  most = std::max(most, value);
}

}  // namespace

std::unique_ptr<Observer> Overlap::beside() {
  return std::make_unique<Beside>();
}

void Overlap::on_launch(Machine&, const Program&, const LaunchConfig&) {
  loads_.clear();
  warps_.clear();
  of_copies_.clear();
}

void Overlap::on_cta_end(Cta& cta) {
  for (const auto& warp : cta.warps) warps_.erase(warp.get());
  for (const auto& [address, bar] : cta.mbarriers) of_copies_.erase(&bar);
}

void Overlap::on_async_issue(AsyncOp& op) {
  OfWarp& warp = warps_[op.warp];
  if (op.barrier) of_copies_.insert(op.barrier);
  if (is_load(op)) loads_[&op.warp->cta] += op.bytes;
  if (op.kind == AsyncOp::Kind::cp_async) warp.cp_async_bytes += op.bytes;
  if (is_store(op)) {
    stats_.stores_behind_product += warp.open || warp.products > 0;
    raise(stats_.store_groups_ahead, warp.stores);
    warp.store_open = true;
  }
  if (op.kind == AsyncOp::Kind::wgmma) {
    raise(stats_.wgmma_groups_ahead, warp.products);
    warp.open = true;
    const uint64_t registers = op.warp->registers;
    if (stats_.wgmma_registers == 0 || registers < stats_.wgmma_registers) stats_.wgmma_registers = registers;
  }
}

void Overlap::on_async_complete(AsyncOp& op) {
  if (is_load(op)) loads_[&op.warp->cta] -= op.bytes;
  if (op.kind == AsyncOp::Kind::cp_async) warps_[op.warp].cp_async_bytes -= op.bytes;
}

void Overlap::on_mbarrier_wait(Warp& w, const Inst&, uint32_t, Mbarrier& bar, uint64_t, bool result, bool) {
  if (result && of_copies_.count(&bar)) raise(stats_.copy_bytes_ahead, loads_[&w.cta]);
}

void Overlap::on_commit(Warp& w, const Inst&, uint32_t, GroupKind kind) {
  OfWarp& warp = warps_[&w];
  if (kind == GroupKind::cp_async) ++stats_.cp_async_groups;
  bool* const open = kind == GroupKind::wgmma  ? &warp.open
                     : kind == GroupKind::bulk ? &warp.store_open
                                               : nullptr;
  if (!open || !*open) return;
  *open = false;
  ++(kind == GroupKind::wgmma ? warp.products : warp.stores);
}

void Overlap::on_group_wait(Warp& w, const Inst&, uint32_t, GroupKind kind, uint32_t n, bool) {
  OfWarp& warp = warps_[&w];
  if (kind == GroupKind::cp_async) raise(stats_.copy_bytes_ahead, warp.cp_async_bytes);
  if (kind == GroupKind::wgmma) warp.products = std::min<uint64_t>(warp.products, n);
  if (kind == GroupKind::bulk) warp.stores = std::min<uint64_t>(warp.stores, n);
}

void Overlap::on_registers(Warp& w, const Inst&, unsigned, unsigned) {
  OfWarp& warp = warps_[&w];
  stats_.setmaxnreg_warps += !warp.moved_registers;
  warp.moved_registers = true;
  uint64_t sum = 0;
  for (const auto& other : w.cta.warps) sum += 32ull * other->registers;
  raise(stats_.setmaxnreg_registers, sum);
}

}  // namespace emu
