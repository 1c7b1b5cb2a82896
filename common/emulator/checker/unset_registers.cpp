#include "emulator/checker/unset_registers.hpp"

#include <algorithm>

namespace emu::check {

namespace {

Ref place_of(Ref r) {
  return r;
}
Ref place_of(const RegisterSlot& r) {
  return r.at;
}

// Of all that unset_reads() goes by: a module may be unloaded, and another program be where its own was.
uint64_t fingerprint(const Program& program) {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto add = [&](uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ull ^ hash >> 29; };
  const auto add_all = [&](const auto& lists) {
    for (const auto& list : lists) {
      add(list.size());
      for (const auto& r : list) add(place_of(r));
    }
  };
  for (const Inst& in : program.code) {
    add(uint64_t{in.a} << 32 | in.guard);
    add(uint64_t{in.target} << 32 | static_cast<uint32_t>(in.source));
    add(reinterpret_cast<uintptr_t>(in.exec));
    add(uint64_t{in.count} << 8 | static_cast<uint64_t>(in.space));
    if (in.extra)
      for (int64_t number : in.extra->numbers) add(static_cast<uint64_t>(number));
  }
  add_all(program.read);
  add_all(program.written);
  add_all(program.written_predicates);
  return hash;
}

}  // namespace

void UnsetRegisterRule::begin(const Program& program) {
  warps_.clear();
  const uint64_t print = fingerprint(program);
  auto found = known_.find(print);
  if (found == known_.end()) found = known_.emplace(print, unset_reads(program)).first;
  reads_ = &found->second;
}

void UnsetRegisterRule::cta_started(Cta& cta) {
  if (reads_->watched.empty()) return;
  for (const auto& warp : cta.warps) warp->watchers.add(*this);
}

UnsetRegisterRule::Frame& UnsetRegisterRule::frame_of(const Warp& w, uint32_t function) {
  Frame& frame = warps_.of(w)[w.current->frame];
  if (frame.unset.empty()) {
    frame.unset.assign(reads_->registers[function], 0xFFFFFFFFu);
    frame.read_at.assign(reads_->registers[function], -1);
  }
  return frame;
}

void UnsetRegisterRule::on_instruction(Warp& w, const Inst& in) {
  const int32_t index = reads_->at[w.current->pc];
  if (index < 0) return;
  const WatchedInst& watched = reads_->watched[static_cast<size_t>(index)];
  Frame& frame = frame_of(w, watched.function);
  uint32_t lanes = w.current->mask;
  if (watched.begins) {
    for (uint32_t& unset : frame.unset) unset |= lanes;
    for (uint32_t r : reads_->parameters[watched.function]) frame.unset[r] &= ~lanes;
  }
  if (watched.guard >= 0) {
    const auto guard = static_cast<size_t>(watched.guard);
    tell(w, in, frame.unset[guard] & lanes,
         "a predicate that nothing has set decides whether this is executed", frame.read_at[guard]);
  }
  if (in.guard != kNoRef) lanes &= w.predicate(in.guard);
  for (const auto& operand : watched.operands) {
    uint32_t unset = lanes;  // a fragment may have rows that nobody looks at
    for (uint32_t r : operand) unset &= frame.unset[r];
    tell(w, in, unset, "a product takes an operand from registers that nothing has set",
         frame.read_at[operand[0]]);
  }
  if (watched.use == Use::product) {
    multiplied(w, in, watched, frame, lanes);
    return;
  }

  if (watched.use == Use::each) {
    std::vector<uint32_t> unset;
    for (uint32_t r : watched.sources) unset.push_back(r == kHasValue ? 0 : frame.unset[r]);
    for (size_t i = 0; i < unset.size(); ++i) set(frame, watched.results[i], lanes, unset[i], in.source);
    return;
  }
  // Of the sources: lanes in which one has no value, and in which none has.
  uint32_t some = 0, every = watched.other_sources || watched.sources.empty() ? 0 : 0xFFFFFFFFu;
  int32_t read_at = in.source;
  for (uint32_t r : watched.sources) {
    some |= frame.unset[r];
    every &= frame.unset[r];
    if ((frame.unset[r] & lanes) && frame.read_at[r] >= 0) read_at = frame.read_at[r];
  }
  if (watched.use == Use::leaves)
    tell(w, in, some & lanes, "an instruction uses a register that nothing has set", read_at);
  if (watched.use == Use::address) {
    for (uint32_t r : watched.address)
      tell(w, in, frame.unset[r] & lanes, "the address is in a register that nothing has set",
           frame.read_at[r]);
    tell(w, in, every & lanes, "a register that nothing has set is stored", read_at);
  }
  const uint32_t unset = watched.use == Use::any ? some : watched.use == Use::all ? every : 0;
  for (uint32_t r : watched.results) set(frame, r, lanes, unset, read_at);
}

// D = A * B, or D = A * B + D.
void UnsetRegisterRule::multiplied(Warp& w, const Inst& in, const WatchedInst& watched, Frame& frame,
                                   uint32_t lanes) {
  for (uint32_t r : watched.sources)
    tell(w, in, frame.unset[r] & lanes & w.predicate(in.c),
         "a product is added to accumulators that nothing has set", frame.read_at[r],
         "set the accumulators to 0 before the first product, or give that one a scale-d of 0");
  for (uint32_t r : watched.results) set(frame, r, lanes, 0, in.source);
  // What has no value comes from what has none: once all have one, and no function begins, there is nothing left to see.
  const bool done = reads_->only_kernel && std::all_of(frame.unset.begin(), frame.unset.end(),
                                                       [](uint32_t unset) { return unset == 0; });
  if (done) w.watchers.remove(*this);
}

// The register gets a result, in these lanes; `unset`: those of them in which it has no value.
void UnsetRegisterRule::set(Frame& frame, uint32_t r, uint32_t lanes, uint32_t unset, int32_t read_at) {
  frame.unset[r] = (frame.unset[r] & ~lanes) | (unset & lanes);
  if (unset & lanes) frame.read_at[r] = read_at;
}

void UnsetRegisterRule::tell(const Warp& w, const Inst& in, uint32_t lanes, const char* title,
                             int32_t read_at, const char* hint) {
  if (!lanes || !tell_.machine().findings.counting()) return;
  tell_.next_event();
  Finding f(Id::uninitialised_read);
  f.make_milder();
  f.title = title;
  if (read_at >= 0 && read_at != in.source)
    f.why =
        "It comes from " + tell_.line(read_at).text() + ", which reads a register before anything sets it. ";
  f.why += "A register without a value holds what some other code has left in it.";
  f.hint = hint;
  tell_.tell_at(std::move(f), in.source, w.cta, w.index,
                text(w.cta.text(), " warp ", w.index, " lane ", __builtin_ctz(lanes)));
}

}  // namespace emu::check
