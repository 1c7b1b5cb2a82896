#include "emulator/program/special_registers.hpp"

#include <map>

#include "emulator/machine/machine.hpp"

namespace emu {

namespace {

using Read = uint64_t (*)(Warp&, int lane);

template <Read read, class T>
Flow read_lanes(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<T>(in.d);
  for_lanes(mask, [&](int l) { d.set(l, static_cast<T>(read(w, l))); });
  return Flow::next;
}

uint64_t component(const Dim3& d, int i) {
  return i == 0 ? d.x : i == 1 ? d.y : d.z;
}
Dim3 cluster_dim(Warp& w) {
  return w.cta.config.cluster;
}

template <int i>
uint64_t tid(Warp& w, int lane) {
  uint32_t xyz[3];
  w.thread_index(lane, xyz);
  return xyz[i];
}
template <int i>
uint64_t ntid(Warp& w, int) {
  return component(w.cta.config.block, i);
}
template <int i>
uint64_t ctaid(Warp& w, int) {
  return component(w.cta.index, i);
}
template <int i>
uint64_t nctaid(Warp& w, int) {
  return component(w.cta.config.grid, i);
}
template <int i>
uint64_t clusterid(Warp& w, int) {
  return component(w.cta.index, i) / component(cluster_dim(w), i);
}
template <int i>
uint64_t nclusterid(Warp& w, int) {
  return component(w.cta.config.grid, i) / component(cluster_dim(w), i);
}
template <int i>
uint64_t cluster_ctaid(Warp& w, int) {
  return component(w.cta.index, i) % component(cluster_dim(w), i);
}
template <int i>
uint64_t cluster_nctaid(Warp& w, int) {
  return component(cluster_dim(w), i);
}
uint64_t cluster_ctarank(Warp& w, int) {
  return w.cta.cluster_rank;
}
uint64_t cluster_nctarank(Warp& w, int) {
  return cluster_dim(w).count();
}
uint64_t is_explicit_cluster(Warp& w, int) {
  return cluster_dim(w).count() > 1 || w.program.explicit_cluster ? ~0ull : 0;
}
uint64_t zero(Warp&, int) {
  return 0;
}
uint64_t laneid(Warp&, int lane) {
  return static_cast<uint64_t>(lane);
}
uint64_t warpid(Warp& w, int) {
  return static_cast<uint64_t>(w.index);
}
uint64_t nwarpid(Warp& w, int) {
  return w.cta.warps.size();
}
uint64_t smid(Warp& w, int) {
  return w.cta.order % 132;
}
uint64_t nsmid(Warp&, int) {
  return 132;
}
uint64_t gridid(Warp& w, int) {
  return w.cta.config.grid_id;
}
uint64_t mask_eq(Warp&, int l) {
  return 1ull << l;
}
uint64_t mask_lt(Warp&, int l) {
  return (1ull << l) - 1;
}
uint64_t mask_le(Warp&, int l) {
  return (2ull << l) - 1;
}
uint64_t mask_gt(Warp&, int l) {
  return ~((2ull << l) - 1) & 0xFFFFFFFFull;
}
uint64_t mask_ge(Warp&, int l) {
  return ~((1ull << l) - 1) & 0xFFFFFFFFull;
}
uint64_t clock_low(Warp& w, int) {
  return w.now() & 0xFFFFFFFFull;
}
uint64_t clock_high(Warp& w, int) {
  return w.now() >> 32;
}
uint64_t clock64(Warp& w, int) {
  return w.now();
}
uint64_t timer_low(Warp& w, int) {
  return w.now() & 0xFFFFFFFFull;
}
uint64_t dynamic_smem(Warp& w, int) {
  return w.cta.config.dynamic_shared;
}
uint64_t total_smem(Warp& w, int) {
  return (w.cta.shared.size() - kSharedBase + 127) / 128 * 128;
}
uint64_t aggregate_smem(Warp& w, int) {
  return (w.cta.shared.size() + 127) / 128 * 128;
}
uint64_t reserved_begin(Warp&, int) {
  return 0;
}
uint64_t reserved_1(Warp&, int) {
  return kReservedShared;
}
uint64_t reserved_end(Warp&, int) {
  return kSharedBase;
}
uint64_t workspace_low(Warp& w, int) {
  return w.cta.config.cooperative_workspace & 0xFFFFFFFFull;
}
uint64_t workspace_high(Warp& w, int) {
  return w.cta.config.cooperative_workspace >> 32;
}

struct Row {
  Exec narrow, wide;
};
template <Read read>
constexpr Row row() {
  return {read_lanes<read, uint32_t>, read_lanes<read, uint64_t>};
}

const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> table = {
      {"%tid.x", row<tid<0>>()},
      {"%tid.y", row<tid<1>>()},
      {"%tid.z", row<tid<2>>()},
      {"%tid.w", row<zero>()},
      {"%ntid.x", row<ntid<0>>()},
      {"%ntid.y", row<ntid<1>>()},
      {"%ntid.z", row<ntid<2>>()},
      {"%ntid.w", row<zero>()},
      {"%ctaid.x", row<ctaid<0>>()},
      {"%ctaid.y", row<ctaid<1>>()},
      {"%ctaid.z", row<ctaid<2>>()},
      {"%nctaid.x", row<nctaid<0>>()},
      {"%nctaid.y", row<nctaid<1>>()},
      {"%nctaid.z", row<nctaid<2>>()},
      {"%clusterid.x", row<clusterid<0>>()},
      {"%clusterid.y", row<clusterid<1>>()},
      {"%clusterid.z", row<clusterid<2>>()},
      {"%nclusterid.x", row<nclusterid<0>>()},
      {"%nclusterid.y", row<nclusterid<1>>()},
      {"%nclusterid.z", row<nclusterid<2>>()},
      {"%cluster_ctaid.x", row<cluster_ctaid<0>>()},
      {"%cluster_ctaid.y", row<cluster_ctaid<1>>()},
      {"%cluster_ctaid.z", row<cluster_ctaid<2>>()},
      {"%cluster_nctaid.x", row<cluster_nctaid<0>>()},
      {"%cluster_nctaid.y", row<cluster_nctaid<1>>()},
      {"%cluster_nctaid.z", row<cluster_nctaid<2>>()},
      {"%cluster_ctarank", row<cluster_ctarank>()},
      {"%cluster_nctarank", row<cluster_nctarank>()},
      {"%is_explicit_cluster", row<is_explicit_cluster>()},
      {"%laneid", row<laneid>()},
      {"%warpid", row<warpid>()},
      {"%nwarpid", row<nwarpid>()},
      {"%smid", row<smid>()},
      {"%nsmid", row<nsmid>()},
      {"%gridid", row<gridid>()},
      {"%lanemask_eq", row<mask_eq>()},
      {"%lanemask_lt", row<mask_lt>()},
      {"%lanemask_le", row<mask_le>()},
      {"%lanemask_gt", row<mask_gt>()},
      {"%lanemask_ge", row<mask_ge>()},
      {"%clock", row<clock_low>()},
      {"%clock_hi", row<clock_high>()},
      {"%clock64", row<clock64>()},
      {"%globaltimer", row<clock64>()},
      {"%globaltimer_lo", row<timer_low>()},
      {"%globaltimer_hi", row<clock_high>()},
      {"%dynamic_smem_size", row<dynamic_smem>()},
      {"%total_smem_size", row<total_smem>()},
      {"%aggr_smem_size", row<aggregate_smem>()},
      {"%reserved_smem_offset_begin", row<reserved_begin>()},
      {"%reserved_smem_offset_0", row<reserved_begin>()},
      {"%reserved_smem_offset_1", row<reserved_1>()},
      {"%reserved_smem_offset_end", row<reserved_end>()},
      {"%reserved_smem_offset_cap", row<reserved_end>()},
      {"%envreg1", row<workspace_high>()},
      {"%envreg2", row<workspace_low>()},
      {"%current_graph_exec", row<zero>()},
  };
  return table;
}

template <class T>
Flow read_local_address(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<T>(in.d);
  const uint32_t* base = reinterpret_cast<const FrameHead*>(w.frame())->local;
  for_lanes(mask, [&](int l) { d.set(l, static_cast<T>(base[l] + static_cast<uint64_t>(in.imm))); });
  return Flow::next;
}

template <class T>
Flow read_sum(Warp& w, const Inst& in, uint32_t mask) {
  auto d = w.lanes<T>(in.d), a = w.lanes<T>(in.a);
  for_lanes(mask, [&](int l) { d.set(l, static_cast<T>(a[l] + static_cast<uint64_t>(in.imm))); });
  return Flow::next;
}

}  // namespace

Exec special_register_reader(const std::string& name, unsigned width) {
  auto it = rows().find(name);
  if (it == rows().end()) {
    if (name.rfind("%envreg", 0) == 0 || name.rfind("%pm", 0) == 0)
      return width == 8 ? read_lanes<zero, uint64_t> : read_lanes<zero, uint32_t>;
    return nullptr;
  }
  return width == 8 ? it->second.wide : it->second.narrow;
}

Exec sum_reader(unsigned bytes) {
  return bytes == 8   ? read_sum<uint64_t>
         : bytes == 4 ? read_sum<uint32_t>
         : bytes == 2 ? read_sum<uint16_t>
                      : read_sum<uint8_t>;
}

Exec local_address_reader(unsigned width) {
  return width == 8 ? read_local_address<uint64_t> : read_local_address<uint32_t>;
}

}  // namespace emu
