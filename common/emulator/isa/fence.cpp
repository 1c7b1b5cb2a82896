// Memory and proxy fences (PTX ISA 9.7.13.4, membar 9.7.13.5) and griddepcontrol (9.7.13.14).
//
// The emulator's memory is sequentially consistent: a fence changes no values. It is an event for whoever watches.
#include "emulator/isa/operands.hpp"
#include "emulator/machine/machine.hpp"

namespace emu {
namespace {

// in.count: FenceKind; in.flags bit 0: cluster scope or wider
Flow fence(Warp& w, const Inst& in, uint32_t mask) {
  w.machine.observers.tell(&Observer::on_fence, w, in, mask, static_cast<FenceKind>(in.count), in.flags & 1);
  return Flow::next;
}

void fence_of(Inst& in, FenceKind kind, bool wide) {
  in.cls = Class::memory;
  in.action = Action::fence;
  in.count = static_cast<uint8_t>(kind);
  in.flags |= wide;
  in.exec = fence;
}

// fence{.sem}.scope;   membar.level;
void decode_memory(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 0);
  fence_of(in, FenceKind::memory, m.any_of({"cta"}).empty());
}

// fence.proxy.async;   fence.proxy.async.{global,shared::cta,shared::cluster};   fence.proxy.alias;
void decode_proxy(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 0);
  FenceKind kind = FenceKind::proxy_async;
  if (m.has("alias")) kind = FenceKind::proxy_alias;
  if (m.has("global")) kind = FenceKind::proxy_async_global;
  if (m.has("shared::cta") || m.has("shared::cluster")) kind = FenceKind::proxy_async_shared;
  fence_of(in, kind, true);
}

// fence.proxy.tensormap::generic.release.scope;
// fence.proxy.tensormap::generic.acquire.scope [addr], 128;
void decode_tensormap(Decoder& d, const Match& m, Inst& in) {
  const bool acquire = m.has("acquire");
  expect_operands(d, acquire ? 2 : 0);
  if (acquire) {
    d.address(d.operand(0), Space::generic, in);
    if (d.immediate(d.operand(1), "size") != 128) d.refuse("the size of a tensormap fence must be 128");
  }
  fence_of(in, acquire ? FenceKind::tensormap_acquire : FenceKind::tensormap_release,
           m.any_of({"cta"}).empty());
}

// fence.mbarrier_init.release.cluster;
void decode_mbarrier_init(Decoder& d, const Match&, Inst& in) {
  expect_operands(d, 0);
  fence_of(in, FenceKind::mbarrier_init, true);
}

// fence.acquire.sync_restrict::shared::cluster.cluster;   fence.release.sync_restrict::shared::cta.cluster;
// fence.proxy.async::generic.{acquire.sync_restrict::shared::cluster,release.sync_restrict::shared::cta}.cluster;
void decode_restricted(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 0);
  fence_of(in, m.has("async::generic") ? FenceKind::proxy_async_shared : FenceKind::memory, true);
}

// griddepcontrol.{launch_dependents,wait};   launches run one after the other, so there is nothing to wait for
Flow griddepcontrol(Warp& w, const Inst& in, uint32_t mask) {
  w.machine.observers.tell(&Observer::on_grid_dependency, w, in, mask, in.flags & 1);
  return Flow::next;
}

void decode_griddepcontrol(Decoder& d, const Match& m, Inst& in) {
  expect_operands(d, 0);
  in.cls = Class::control;
  in.flags |= m.has("wait");
  in.exec = griddepcontrol;
}

}  // namespace

std::vector<Form> fence_forms() {
  return {
      {"fence.[sc|acq_rel|acquire|release].cta|cluster|gpu|sys", decode_memory},
      {"membar.cta|gl|sys", decode_memory},
      {"fence.proxy.async.[global|shared::cta|shared::cluster]", decode_proxy},
      {"fence.proxy.alias", decode_proxy},
      {"membar.proxy.alias", decode_proxy},
      {"fence.proxy.tensormap::generic.release.cta|cluster|gpu|sys", decode_tensormap},
      {"fence.proxy.tensormap::generic.acquire.cta|cluster|gpu|sys", decode_tensormap},
      {"fence.mbarrier_init.release.cluster", decode_mbarrier_init},
      {"fence.acquire.sync_restrict::shared::cluster.cluster", decode_restricted},
      {"fence.release.sync_restrict::shared::cta.cluster", decode_restricted},
      {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", decode_restricted},
      {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", decode_restricted},
      {"griddepcontrol.launch_dependents|wait", decode_griddepcontrol},
  };
}

}  // namespace emu
