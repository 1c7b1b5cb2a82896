// The frame of a record: launches, CTAs, the window, source lines; and what threads do by themselves.
#include "emulator/trace/recorder.hpp"

#include <algorithm>

namespace emu::trace {
namespace {

uint64_t linear(const Dim3& index, const Dim3& grid) {
  return index.x + static_cast<uint64_t>(grid.x) * (index.y + static_cast<uint64_t>(grid.y) * index.z);
}

void put(const Dim3& from, uint32_t (&to)[3]) {
  to[0] = from.x, to[1] = from.y, to[2] = from.z;
}

const char* name_of(FenceKind kind) {
  switch (kind) {
    case FenceKind::proxy_async:
      return "fence.proxy.async";
    case FenceKind::proxy_async_shared:
      return "fence.proxy.async.shared";
    case FenceKind::proxy_async_global:
      return "fence.proxy.async.global";
    case FenceKind::mbarrier_init:
      return "fence.mbarrier_init";
    case FenceKind::tensormap_release:
      return "fence.proxy.tensormap.release";
    case FenceKind::tensormap_acquire:
      return "fence.proxy.tensormap.acquire";
    case FenceKind::proxy_alias:
      return "fence.proxy.alias";
    case FenceKind::wgmma:
      return "wgmma.fence";
    case FenceKind::memory:
      return "fence";
  }
  return "fence";
}

const char* name_of(const AccessEvent& e) {
  const bool shared = e.space == Space::shared;
  switch (e.kind) {
    case AccessKind::read:
      return shared ? "load_shared" : "load_global";
    case AccessKind::write:
      return shared ? "store_shared" : "store_global";
    case AccessKind::atomic:
      return shared ? "atomic_shared" : "atomic_global";
  }
  return "access";
}

}  // namespace

Recorder::Recorder(const Window& window) : window_(window) {}
Recorder::~Recorder() = default;

const Trace* Recorder::trace() const {
  if (!kept_) return current_.get();
  if (current_ && current_->has_error() && !kept_->has_error()) return current_.get();
  return kept_.get();
}

// ---- launches and CTAs

void Recorder::on_launch(Machine& machine, const Program& program, const LaunchConfig& config) {
  ++launches_;
  machine_ = &machine;
  program_ = &program;
  current_ = std::make_unique<Trace>();
  current_->kernel = program.name;
  current_->schedule = machine.schedule.text();
  current_->launch = launches_;
  current_->window = window_;
  put(config.grid, current_->grid);
  put(config.block, current_->block);
  put(config.cluster, current_->cluster);
  lines_.assign(program.sources.size(), -1);
  printed_ = machine.printf_buffer.size();
  turn_instructions_ = latest_ = 0;
  if (machine.schedule.kind == Schedule::Kind::timed) current_->unit = "cycle";
}

// In cycles, a warp may act a little before the one that was told of before it; the record is in order.
uint64_t Recorder::now() {
  if (machine_->schedule.kind != Schedule::Kind::timed) return machine_->clock() + turn_instructions_;
  return latest_ = std::max(latest_, machine_->clock());
}

void Recorder::keep_if_better() {
  current_->end = now();
  const bool wanted = window_.launch == 0 || window_.launch == launches_;
  const bool better = !kept_ || (current_->has_error() && !kept_->has_error()) ||
                      (current_->worth_looking_at() && !kept_->worth_looking_at());
  if (wanted && better) kept_ = std::move(current_);
  if (kept_) kept_->other_launches = launches_ - 1;
  current_.reset();
  ctas_.clear();
  number_of_.clear();
  barriers_.clear();
  counts_bytes_.clear();
  copy_of_.clear();
  commit_of_.clear();
  open_ops_.clear();
  copies_ = products_ = waits_ = 0;
}

void Recorder::on_launch_end(Machine&) {
  keep_if_better();
}

void Recorder::on_fault(Machine&, const Finding& finding) {
  on_finding(finding);
  current_->fault = true;
  keep_if_better();
}

void Recorder::on_finding(const Finding& finding) {
  if (!current_) return;
  current_->findings.push_back(finding);
  Event e;
  e.what = "finding";
  e.time = now();
  const auto started = number_of_.find(static_cast<uint64_t>(finding.cta));
  if (finding.cta >= 0 && started != number_of_.end()) e.cta = started->second;
  e.warp = finding.warp;
  e.line = finding.line.text().empty() ? -1 : line_of(finding.line, "");
  e["finding"] = static_cast<int64_t>(current_->findings.size()) - 1;
  e["other_line"] = finding.other_line.text().empty() ? -1 : line_of(finding.other_line, "");
  current_->events.push_back(std::move(e));
}

void Recorder::on_cta_start(Cta& cta) {
  CtaState& state = ctas_[&cta];
  state = CtaState();
  // Another CTA may have lived at this address.
  barriers_.erase(barriers_.lower_bound({&cta, 0}), barriers_.upper_bound({&cta, UINT32_MAX}));
  state.warps.resize(cta.warps.size());
  const uint64_t number = linear(cta.index, cta.config.grid);
  state.number = static_cast<int64_t>(number);
  number_of_[cta.order] = state.number;
  // A cluster is recorded whole: its CTAs write into each other's shared memory.
  for (const auto& other : cta.cluster->ctas) {
    const uint64_t n = linear(other->index, cta.config.grid);
    state.recorded = state.recorded || (n >= window_.first_cta && n <= window_.last_cta);
  }
  if (!state.recorded) {
    ++current_->other_ctas;
    return;
  }
  RecordedCta recorded;
  recorded.cta = state.number;
  recorded.rank = cta.cluster_rank;
  put(cta.index, recorded.index);
  recorded.warps = static_cast<uint32_t>(cta.warps.size());
  current_->ctas.push_back(recorded);
  for (auto& warp : cta.warps) warp->watchers.add(*this);
  add("cta_begin", cta);
}

void Recorder::on_cta_end(Cta& cta) {
  add("cta_end", cta);
}

// ---- the window

bool Recorder::in_window(const CtaState& cta) const {
  const uint64_t step = cta.products ? cta.products - 1 : cta.phases;
  return step >= window_.first_step && step <= window_.last_step;
}

int64_t Recorder::number_of(const Cta& cta) const {
  const auto found = ctas_.find(&cta);
  return found == ctas_.end() ? -1 : found->second.number;
}

Recorder::CtaState* Recorder::state_of(const Cta& cta) {
  const auto found = ctas_.find(&cta);
  return found != ctas_.end() && found->second.recorded ? &found->second : nullptr;
}

Recorder::WarpState* Recorder::state_of(const Warp& warp) {
  CtaState* cta = state_of(warp.cta);
  return cta ? &cta->warps[static_cast<size_t>(warp.index)] : nullptr;
}

Event* Recorder::add(const char* what, const Cta& cta) {
  CtaState* state = current_ ? state_of(cta) : nullptr;
  if (!state) return nullptr;
  if (!in_window(*state)) {
    ++current_->other_steps;
    return nullptr;
  }
  if (current_->events.size() >= window_.events) {
    ++current_->other_events;
    return nullptr;
  }
  Event& e = current_->events.emplace_back();
  e.what = what;
  e.time = now();
  e.cta = state->number;
  return &e;
}

Event* Recorder::add(const char* what, const Warp& warp, const Inst& inst, uint32_t mask) {
  Event* e = add(what, warp.cta);
  if (!e) return nullptr;
  e->warp = warp.index;
  e->lane = mask ? __builtin_ctz(mask) : -1;
  e->lanes = __builtin_popcount(mask);
  e->line = line_of(inst);
  if (WarpState* state = state_of(warp)) {
    state->latest = static_cast<int64_t>(current_->events.size()) - 1;
    state->copy = -1;
  }
  return e;
}

int64_t Recorder::line_of(const Inst& inst) {
  if (inst.source < 0) return -1;
  int64_t& line = lines_[static_cast<size_t>(inst.source)];
  if (line < 0)
    line = line_of(program_->line_of(inst), program_->sources[static_cast<size_t>(inst.source)]->full_name());
  return line;
}

int64_t Recorder::line_of(const SourceLine& line, const std::string& instruction) {
  auto& lines = current_->lines;
  const auto same = std::find_if(lines.begin(), lines.end(), [&](const RecordedLine& l) {
    return l.instruction == instruction && l.line.text() == line.text() &&
           l.line.called_from == line.called_from;
  });
  if (same != lines.end()) return same - lines.begin();
  lines.push_back({line, instruction});
  return static_cast<int64_t>(lines.size()) - 1;
}

// ---- what threads do

void Recorder::on_exit(Warp& warp, const Inst& inst, uint32_t mask) {
  add("exit", warp, inst, mask);
}

void Recorder::on_instruction(Warp& warp, const Inst&) {
  note_print(warp);
  completing_ = -1;  // what an instruction tells a barrier is no engine's
  ++turn_instructions_;
}

void Recorder::on_turn(Warp& warp, const Turn&) {
  note_print(warp);
  turn_instructions_ = 0;
}

void Recorder::note_print(const Warp& warp) {
  const std::string& buffer = warp.machine.printf_buffer;
  if (buffer.size() == printed_) return;
  const std::string text = buffer.size() > printed_ ? buffer.substr(printed_) : buffer;
  printed_ = buffer.size();
  if (text.empty()) return;
  if (Event* e = add("print", warp.cta)) {
    e->warp = warp.index;
    e->texts.emplace_back("text", text);
  }
}

// A run of accesses of one kind at one line is one event.
void Recorder::on_access(Warp& warp, const Inst& inst, const AccessEvent& access) {
  WarpState* state = state_of(warp);
  if (!state) return;
  const char* what = name_of(access);
  const int64_t line = line_of(inst);
  Event* e = state->latest < 0 ? nullptr : &current_->events[static_cast<size_t>(state->latest)];
  if (!e || e->what != what || e->line != line || !in_window(*state_of(warp.cta))) {
    e = add(what, warp, inst, access.mask);
    if (!e) return;
  }
  e->lanes = std::max<int64_t>(e->lanes, __builtin_popcount(access.mask));
  (*e)["bytes"] += static_cast<int64_t>(access.bytes) * __builtin_popcount(access.mask);
  ++(*e)["instructions"];
  (*e)["until"] = static_cast<int64_t>(now());
  if (access.space != Space::shared) return;
  for_lanes(access.mask, [&](int lane) {
    const Cta& owner = access.owner && access.owner[lane] ? *access.owner[lane] : warp.cta;
    e->join_shared(number_of(owner), static_cast<int64_t>(access.addr[lane]), access.bytes);
  });
}

void Recorder::on_fence(Warp& warp, const Inst& inst, uint32_t mask, FenceKind kind, bool) {
  if (Event* e = add("fence", warp, inst, mask)) e->texts.emplace_back("kind", name_of(kind));
}

void Recorder::on_registers(Warp& warp, const Inst& inst, unsigned registers, unsigned) {
  if (Event* e = add("registers", warp, inst, warp.live)) (*e)["registers"] = registers;
}

void Recorder::on_grid_dependency(Warp& warp, const Inst& inst, uint32_t mask, bool wait) {
  add(wait ? "grid_wait" : "launch_dependents", warp, inst, mask);
}

}  // namespace emu::trace
