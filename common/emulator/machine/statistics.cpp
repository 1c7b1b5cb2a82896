// Events, counted.
#include "emulator/machine/statistics.hpp"

#include <algorithm>

#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/machine/wgmma.hpp"
#include "json/json.hpp"

namespace emu {

static_assert(sizeof(Stats) == (33 + kClasses) * sizeof(uint64_t), "add() and json() name every counter");

std::string Stats::json() const {
  json::Object o;
  o.add("launches", launches);
  o.add("warp_instructions", warp_instructions);
  o.add("thread_instructions", thread_instructions);
  for (int i = 0; i < kClasses; ++i)
    o.add(std::string("thread_instructions.") + kClassNames[i], thread_instructions_of[i]);
  o.add("cp_async.issued", cp_async_issued);
  o.add("cp_async.bytes", cp_async_bytes);
  o.add("cp_async.groups", cp_async_groups);
  o.add("bulk.load.issued", bulk_load_issued);
  o.add("bulk.load.bytes", bulk_load_bytes);
  o.add("bulk.store.issued", bulk_store_issued);
  o.add("bulk.store.bytes", bulk_store_bytes);
  o.add("tensor.load.issued", tensor_load_issued);
  o.add("tensor.load.bytes", tensor_load_bytes);
  o.add("tensor.store.issued", tensor_store_issued);
  o.add("tensor.store.bytes", tensor_store_bytes);
  o.add("copy.issuing_threads", copy_issuing_threads);
  o.add("mbarrier.init", mbarrier_init);
  o.add("mbarrier.arrivals", mbarrier_arrivals);
  o.add("mbarrier.expect_tx_bytes", mbarrier_expect_tx_bytes);
  o.add("mbarrier.complete_tx_bytes", mbarrier_complete_tx_bytes);
  o.add("mbarrier.phases_completed", mbarrier_phases_completed);
  o.add("wgmma.issued", wgmma_issued);
  o.add("wgmma.flop", wgmma_flop);
  o.add("copy.bytes_ahead", copy_bytes_ahead);
  o.add("wgmma.groups_ahead", wgmma_groups_ahead);
  o.add("stores.behind_product", stores_behind_product);
  o.add("stores.groups_ahead", store_groups_ahead);
  o.add("wgmma.registers", wgmma_registers);
  o.add("setmaxnreg.warps", setmaxnreg_warps);
  o.add("setmaxnreg.registers", setmaxnreg_registers);
  o.add("global.load.bytes", global_load_bytes);
  o.add("global.store.bytes", global_store_bytes);
  o.add("shared.load.bytes", shared_load_bytes);
  o.add("shared.store.bytes", shared_store_bytes);
  return o.text();
}

void Stats::add(const Stats& more) {
  for (uint64_t Stats::*sum : {&Stats::launches,
                               &Stats::warp_instructions,
                               &Stats::thread_instructions,
                               &Stats::cp_async_issued,
                               &Stats::cp_async_bytes,
                               &Stats::cp_async_groups,
                               &Stats::bulk_load_issued,
                               &Stats::bulk_load_bytes,
                               &Stats::bulk_store_issued,
                               &Stats::bulk_store_bytes,
                               &Stats::tensor_load_issued,
                               &Stats::tensor_load_bytes,
                               &Stats::tensor_store_issued,
                               &Stats::tensor_store_bytes,
                               &Stats::mbarrier_init,
                               &Stats::mbarrier_arrivals,
                               &Stats::mbarrier_expect_tx_bytes,
                               &Stats::mbarrier_complete_tx_bytes,
                               &Stats::mbarrier_phases_completed,
                               &Stats::wgmma_issued,
                               &Stats::wgmma_flop,
                               &Stats::stores_behind_product,
                               &Stats::setmaxnreg_warps,
                               &Stats::global_load_bytes,
                               &Stats::global_store_bytes,
                               &Stats::shared_load_bytes,
                               &Stats::shared_store_bytes})
    this->*sum += more.*sum;
  for (size_t i = 0; i < kClasses; ++i) thread_instructions_of[i] += more.thread_instructions_of[i];
  for (uint64_t Stats::*most :
       {&Stats::copy_issuing_threads, &Stats::copy_bytes_ahead, &Stats::wgmma_groups_ahead,
        &Stats::store_groups_ahead, &Stats::setmaxnreg_registers})
    this->*most = std::max(this->*most, more.*most);
  if (more.wgmma_registers && (!wgmma_registers || more.wgmma_registers < wgmma_registers))
    wgmma_registers = more.wgmma_registers;
}

void Statistics::on_launch(Machine&, const Program&, const LaunchConfig&) {
  ++stats_.launches;
  issuers_.clear();
}

void Statistics::on_cta_end(Cta& cta) {
  const auto found = issuers_.find(&cta);
  if (found == issuers_.end()) return;
  const auto threads = static_cast<uint64_t>(std::count(found->second.begin(), found->second.end(), true));
  stats_.copy_issuing_threads = std::max(stats_.copy_issuing_threads, threads);
  issuers_.erase(found);
}

void Statistics::on_turn(Warp&, const Turn& turn) {
  stats_.warp_instructions += turn.instructions;
  for (size_t i = 0; i < kClasses; ++i) {
    stats_.thread_instructions += turn.lanes[i];
    stats_.thread_instructions_of[i] += turn.lanes[i];
  }
}

// Loads and stores: an atomic is neither, and __constant__ memory is not counted as global.
void Statistics::on_access(Warp&, const Inst& in, const AccessEvent& e) {
  if (e.kind == AccessKind::atomic || in.space == Space::constant) return;
  const bool store = e.kind == AccessKind::write;
  const uint64_t bytes =
      uint64_t{e.bytes} * (e.mask == ~0u ? 32u : static_cast<unsigned>(__builtin_popcount(e.mask)));
  if (e.space == Space::shared)
    (store ? stats_.shared_store_bytes : stats_.shared_load_bytes) += bytes;
  else
    (store ? stats_.global_store_bytes : stats_.global_load_bytes) += bytes;
}

void Statistics::on_mbarrier(const At&, Mbarrier&, MbarrierOp op, int64_t amount, bool) {
  const auto more = static_cast<uint64_t>(amount);
  switch (op) {
    case MbarrierOp::init:
      ++stats_.mbarrier_init;
      break;
    case MbarrierOp::arrive:
    case MbarrierOp::arrive_drop:
    case MbarrierOp::cp_async_arrive:
      stats_.mbarrier_arrivals += more;
      break;
    case MbarrierOp::expect_tx:
      stats_.mbarrier_expect_tx_bytes += more;
      break;
    case MbarrierOp::complete_tx:
      stats_.mbarrier_complete_tx_bytes += more;
      break;
    case MbarrierOp::inval:
      break;
  }
}

void Statistics::on_mbarrier_phase(Warp&, const Inst&, Mbarrier&) {
  ++stats_.mbarrier_phases_completed;
}

void Statistics::on_async_issue(AsyncOp& op) {
  using Kind = AsyncOp::Kind;
  const auto count = [&](uint64_t& issued, uint64_t& bytes) {
    issued += static_cast<uint64_t>(__builtin_popcount(op.lanes));
    bytes += op.bytes;
  };
  switch (op.kind) {
    case Kind::cp_async:
      return count(stats_.cp_async_issued, stats_.cp_async_bytes);
    case Kind::cp_async_arrive:
      return;
    case Kind::wgmma: {  // of a warpgroup: its first warp counts
      const auto& product = static_cast<const WgmmaOp&>(op);
      if (product.quarter != 0) return;
      ++stats_.wgmma_issued;
      stats_.wgmma_flop +=
          2ull * 64 * static_cast<uint64_t>(product.shape.n) * static_cast<uint64_t>(product.shape.k);
      return;
    }
    case Kind::bulk_load:
    case Kind::bulk_shared:
      count(stats_.bulk_load_issued, stats_.bulk_load_bytes);
      break;
    case Kind::bulk_store:
    case Kind::bulk_reduce:
      count(stats_.bulk_store_issued, stats_.bulk_store_bytes);
      break;
    case Kind::tensor_load:
      count(stats_.tensor_load_issued, stats_.tensor_load_bytes);
      break;
    case Kind::tensor_store:
    case Kind::tensor_reduce:
      count(stats_.tensor_store_issued, stats_.tensor_store_bytes);
      break;
    case Kind::st_async:
      break;
  }
  std::vector<bool>& issuers = issuers_[&op.warp->cta];
  issuers.resize(op.warp->cta.warps.size() * 32);
  for_lanes(op.lanes, [&](int l) { issuers[static_cast<size_t>(op.warp->thread(l))] = true; });
}

}  // namespace emu
