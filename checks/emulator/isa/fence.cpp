// Fences: every form is accepted, tells observers its kind, and changes no value.
#include "support.hpp"

using namespace emu_test;

namespace {

struct Seen : emu::Observer {
  std::vector<emu::FenceKind> kinds;
  std::vector<bool> wide;
  void on_fence(emu::Warp&, const emu::Inst&, uint32_t, emu::FenceKind kind, bool cluster_or_wider) override {
    kinds.push_back(kind);
    wide.push_back(cluster_or_wider);
  }
};

}  // namespace

TEST_CASE("fence: each form is of its kind and scope") {
  using emu::FenceKind;
  struct Row {
    const char* text;
    FenceKind kind;
    bool wide;
  };
  const Row rows[] = {
      {"fence.cta;", FenceKind::memory, false},
      {"fence.sc.cta;", FenceKind::memory, false},
      {"fence.acq_rel.cluster;", FenceKind::memory, true},
      {"fence.acquire.gpu;", FenceKind::memory, true},
      {"fence.release.sys;", FenceKind::memory, true},
      {"membar.cta;", FenceKind::memory, false},
      {"membar.gl;", FenceKind::memory, true},
      {"membar.sys;", FenceKind::memory, true},
      {"fence.proxy.async;", FenceKind::proxy_async, true},
      {"fence.proxy.async.global;", FenceKind::proxy_async_global, true},
      {"fence.proxy.async.shared::cta;", FenceKind::proxy_async_shared, true},
      {"fence.proxy.async.shared::cluster;", FenceKind::proxy_async_shared, true},
      {"fence.proxy.alias;", FenceKind::proxy_alias, true},
      {"fence.proxy.tensormap::generic.release.gpu;", FenceKind::tensormap_release, true},
      {"fence.proxy.tensormap::generic.acquire.cta [%out], 128;", FenceKind::tensormap_acquire, false},
      {"fence.mbarrier_init.release.cluster;", FenceKind::mbarrier_init, true},
      {"fence.acquire.sync_restrict::shared::cluster.cluster;", FenceKind::memory, true},
      {"fence.release.sync_restrict::shared::cta.cluster;", FenceKind::memory, true},
      {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
       FenceKind::proxy_async_shared, true},
      {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
       FenceKind::proxy_async_shared, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    Seen seen;
    Options o;
    o.observer = &seen;
    Runner().run(row.text, {}, o);
    CHECK(seen.kinds == std::vector<FenceKind>{row.kind});
    CHECK(seen.wide == std::vector<bool>{row.wide});
  }
}

TEST_CASE("fence: what does not exist is refused") {
  for (const char* text :
       {"fence.relaxed.gpu;", "fence.sc;", "fence.proxy.async.shared;", "fence.proxy.tensormap.gpu;",
        "fence.mbarrier_init.acquire.cluster;", "fence.proxy.tensormap::generic.acquire.gpu [%out], 64;"})
    CHECK(Runner().fault(text).id == "unsupported-instruction");
}

TEST_CASE("griddepcontrol does nothing: launches follow each other") {
  auto out = run_one("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\nst.global.u32 [%out], 5;");
  CHECK(out[0] == 5);
}
