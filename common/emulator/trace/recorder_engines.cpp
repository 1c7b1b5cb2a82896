// What is recorded of the engines: copies from issue over landing to completion, and products.
#include <algorithm>

#include "emulator/machine/mbarrier.hpp"
#include "emulator/machine/tensor_map.hpp"
#include "emulator/machine/wgmma.hpp"
#include "emulator/trace/recorder.hpp"

namespace emu::trace {
namespace {

const char* name_of(AsyncOp::Kind kind) {
  switch (kind) {
    case AsyncOp::Kind::cp_async:
      return "cp_async";
    case AsyncOp::Kind::cp_async_arrive:
      return "cp_async_arrive";
    case AsyncOp::Kind::bulk_load:
      return "bulk_load";
    case AsyncOp::Kind::bulk_shared:
      return "bulk_shared";
    case AsyncOp::Kind::bulk_store:
      return "bulk_store";
    case AsyncOp::Kind::bulk_reduce:
      return "bulk_reduce";
    case AsyncOp::Kind::tensor_load:
      return "tensor_load";
    case AsyncOp::Kind::tensor_store:
      return "tensor_store";
    case AsyncOp::Kind::tensor_reduce:
      return "tensor_reduce";
    case AsyncOp::Kind::wgmma:
      return "wgmma";
    case AsyncOp::Kind::st_async:
      return "st_async";
  }
  return "";
}

// Makes the event's range number `which` hold these, too: an operand is one range, gaps included.
void widen(Event& e, size_t which, int64_t cta, const std::vector<MemoryRange>& ranges) {
  for (const MemoryRange& r : ranges) {
    const auto from = static_cast<int64_t>(r.address), to = from + static_cast<int64_t>(r.bytes);
    if (e.shared.size() == which) e.shared.push_back({cta, from, to - from});
    auto& [owner, at, length] = e.shared[which];
    const int64_t end = std::max(at + length, to);
    at = std::min(at, from);
    length = end - at;
  }
}

bool is_store(AsyncOp::Kind kind) {
  return kind == AsyncOp::Kind::bulk_store || kind == AsyncOp::Kind::bulk_reduce ||
         kind == AsyncOp::Kind::tensor_store || kind == AsyncOp::Kind::tensor_reduce;
}

}  // namespace

int64_t Recorder::map_of(const TensorMap& map) {
  RecordedMap recorded;
  recorded.type = emu::name_of(map.type);
  recorded.swizzle = swizzle_span(map.swizzle);
  recorded.address = static_cast<int64_t>(map.address);
  recorded.rows = map.rows();
  recorded.row_bytes = map.row_bytes();
  recorded.row_pitch = map.row_pitch();
  for (unsigned i = 0; i < map.rank; ++i) recorded.size.push_back(static_cast<int64_t>(map.size[i]));
  if (map.im2col)
    recorded.box = {map.box[0], map.pixels};
  else
    recorded.box.assign(map.box, map.box + map.rank);
  auto& maps = current_->maps;
  const auto same = std::find_if(maps.begin(), maps.end(), [&](const RecordedMap& m) {
    return m.address == recorded.address && m.type == recorded.type && m.swizzle == recorded.swizzle &&
           m.size == recorded.size && m.box == recorded.box;
  });
  if (same != maps.end()) return same - maps.begin();
  maps.push_back(recorded);
  return static_cast<int64_t>(maps.size()) - 1;
}

// ---- copies

// The bytes in shared memory that a copy writes or, of a store, reads.
void Recorder::describe_copy(const AsyncOp& op, Event& e) {
  std::vector<MemoryRange> ranges;
  is_store(op.kind) ? op.sources(ranges) : op.destinations(ranges);
  for (const MemoryRange& r : ranges)
    if (r.space == Space::shared && r.bytes)
      e.join_shared(number_of(*r.owner), static_cast<int64_t>(r.address), static_cast<int64_t>(r.bytes));
  e["bytes"] += static_cast<int64_t>(op.bytes);
  ++e["operations"];
  const auto first = std::find_if(ranges.begin(), ranges.end(),
                                  [](const MemoryRange& r) { return r.space == Space::shared && r.bytes; });
  if (e.get("operations", 0) == 1 && first != ranges.end())
    e.texts.emplace_back("place", program_->shared_name(static_cast<uint32_t>(first->address)));
}

void Recorder::on_async_issue(AsyncOp& op) {
  WarpState* state = state_of(*op.warp);
  if (!state) return;
  if (op.kind == AsyncOp::Kind::wgmma) return issue_product(op);
  if (op.kind == AsyncOp::Kind::cp_async_arrive) {
    if (Event* e = add("arrive_later", *op.warp, *op.inst, op.lanes))
      if (op.barrier) (*e)["barrier"] = barrier_of(*op.barrier, nullptr);
    return;
  }
  // The cp.async of a run of instructions at one line are one copy.
  if (op.kind == AsyncOp::Kind::cp_async && state->copy >= 0) {
    Event& e = current_->events[static_cast<size_t>(state->copy)];
    if (e.line == line_of(*op.inst)) {
      describe_copy(op, e);
      copy_of_[&op] = e.get("copy", -1);
      ++open_ops_[e.get("copy", -1)];
      return;
    }
  }
  Event* e = add("copy", *op.warp, *op.inst, op.lanes);
  if (!e) return;
  const int64_t id = copies_++;
  (*e)["copy"] = id;
  e->texts.emplace_back("kind", name_of(op.kind));
  if (op.map) {
    (*e)["map"] = map_of(*op.map);
    e->start.assign(op.start, op.start + op.map->rank);
    if (op.map->im2col) e->offset.assign(op.offset, op.offset + op.map->rank - 2);
  }
  if (op.barrier) (*e)["barrier"] = barrier_of(*op.barrier, nullptr);
  describe_copy(op, *e);
  copy_of_[&op] = id;
  open_ops_[id] = 1;
  if (op.kind == AsyncOp::Kind::cp_async) state->copy = e - current_->events.data();
}

void Recorder::on_async_read(AsyncOp& op) {
  const auto copy = copy_of_.find(&op);
  if (copy == copy_of_.end() || !is_store(op.kind)) return;
  if (Event* e = add("read", op.warp->cta)) (*e)["copy"] = copy->second;
}

// Pieces that land one after the other are one event.
void Recorder::on_async_write(AsyncOp& op) {
  const auto copy = copy_of_.find(&op);
  if (copy == copy_of_.end()) return;
  if (!current_->events.empty()) {
    Event& last = current_->events.back();
    if (std::string(last.what) == "land" && last.get("copy", -1) == copy->second) {
      last["bytes"] += static_cast<int64_t>(op.bytes);
      return;
    }
  }
  if (Event* e = add("land", op.warp->cta)) {
    (*e)["copy"] = copy->second;
    (*e)["bytes"] = static_cast<int64_t>(op.bytes);
  }
}

void Recorder::on_async_complete(AsyncOp& op) {
  if (op.kind == AsyncOp::Kind::wgmma) return complete_product(op);
  const auto copy = copy_of_.find(&op);
  completing_ = copy == copy_of_.end() ? -1 : copy->second;
  if (copy == copy_of_.end()) return;
  copy_of_.erase(copy);
  if (--open_ops_[completing_] != 0) return;
  open_ops_.erase(completing_);
  if (!op.grouped) return;  // its mbarrier tells that it is complete
  if (Event* e = add("done", op.warp->cta)) (*e)["copy"] = completing_;
}

// ---- products: the wgmma of a warpgroup that one commit closes

void Recorder::issue_product(AsyncOp& op) {
  CtaState* cta = state_of(op.warp->cta);
  if (!cta) return;
  const auto& wgmma = static_cast<const WgmmaOp&>(op);
  const uint64_t commits = cta->warps[static_cast<size_t>(op.warp->index)].commits;
  if (cta->first_warpgroup < 0) cta->first_warpgroup = wgmma.warpgroup;
  commit_of_[&op] = commits;
  Product& product = cta->running[{wgmma.warpgroup, commits}];
  if (product.id < 0) {
    product.id = products_++;
    if (wgmma.warpgroup == cta->first_warpgroup) ++cta->products;
    if (Event* e = add("product", *op.warp, *op.inst, op.lanes)) {
      product.event = e - current_->events.data();
      (*e)["product"] = product.id;
      (*e)["warpgroup"] = wgmma.warpgroup;
      e->texts.emplace_back("shape",
                            "m64n" + std::to_string(wgmma.shape.n) + "k" + std::to_string(wgmma.shape.k));
      (*e)["swizzle"] = swizzle_span(wgmma.b.swizzle);
      if (!wgmma.shape.a_in_registers) e->texts.emplace_back("a", program_->shared_name(wgmma.a.start));
      e->texts.emplace_back("b", program_->shared_name(wgmma.b.start));
    }
  }
  ++product.open;
  if (product.event < 0) return;
  Event& e = current_->events[static_cast<size_t>(product.event)];
  std::vector<MemoryRange> ranges;
  if (wgmma.shape.a_in_registers) {
    e["a_in_registers"] = 1;
  } else {
    operand_ranges(wgmma.a, wgmma.shape.a_mn_major, wgmma.quarter * 16, 16, &op.warp->cta, ranges);
    widen(e, 0, cta->number, ranges);
    ranges.clear();
  }
  operand_ranges(wgmma.b, wgmma.shape.b_mn_major, 0, wgmma.shape.n, &op.warp->cta, ranges);
  widen(e, wgmma.shape.a_in_registers ? 0 : 1, cta->number, ranges);
  if (op.warp->index == e.warp) ++e["count"];
}

void Recorder::complete_product(AsyncOp& op) {
  CtaState* cta = state_of(op.warp->cta);
  const auto commit = commit_of_.find(&op);
  if (!cta || commit == commit_of_.end()) return;
  const uint64_t commits = commit->second;
  commit_of_.erase(commit);
  --cta->running[{op.warp->index / 4, commits}].open;
  finish_product(*cta, *op.warp, commits);
}

void Recorder::on_commit(Warp& warp, const Inst& inst, uint32_t mask, GroupKind kind) {
  CtaState* cta = state_of(warp.cta);
  if (!cta) return;
  if (Event* e = add("commit", warp, inst, mask)) e->texts.emplace_back("group", name_of(kind));
  if (kind != GroupKind::wgmma) return;
  const uint64_t commits = cta->warps[static_cast<size_t>(warp.index)].commits++;
  const auto running = cta->running.find({warp.index / 4, commits});
  if (running == cta->running.end()) return;  // an empty group
  running->second.committed |= 1u << warp.index % 4;
  finish_product(*cta, warp, commits);
}

void Recorder::finish_product(CtaState& cta, const Warp& warp, uint64_t commits) {
  const auto running = cta.running.find({warp.index / 4, commits});
  if (running->second.open != 0 || running->second.committed != 0xF) return;
  const int64_t id = running->second.id;
  cta.running.erase(running);
  if (Event* e = add("product_done", warp.cta)) {
    (*e)["product"] = id;
    (*e)["warpgroup"] = warp.index / 4;
  }
}

}  // namespace emu::trace
