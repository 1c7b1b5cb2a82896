// What has no row, or does not fit its row, is refused before anything runs.
#include "support.hpp"

using namespace emu_test;

TEST_CASE("an instruction without a row is refused when the kernel is decoded, with its PTX line") {
  auto f = Runner().fault("frobnicate.u32 %r1, %r2;");
  CHECK(f.id == "unsupported-instruction");
  CHECK(f.title.find("frobnicate.u32") != std::string::npos);
  CHECK(f.line.ptx_line > 0);
  CHECK(f.where.find("PTX line") != std::string::npos);
}

TEST_CASE("ld of a wrong register width is refused") {
  CHECK(Runner().fault("add.u32 %r1, %rd1, 1;").id == "unsupported-instruction");
}

TEST_CASE("a branch to a label that is not there is refused by name") {
  CHECK(Runner().fault("bra NOWHERE;").title.find("NOWHERE") != std::string::npos);
  CHECK(Runner().fault("bra SOMEWHERE;\nSOMEWHERE:").id == "none");
}

TEST_CASE("an instruction of a known family that has no row is refused when it is executed, not before") {
  for (const std::string text :
       {"wmma.load.a.sync.aligned.row.m8n8k4.shared.f64 {%rd0}, [%r8];",
        "multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1;",
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0, %f1}, {%r0}, {%r1}, {%f2}, %r2, 0x0;",
        "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%r1}];"}) {
    CAPTURE(text);
    const std::string otherwise =
        "setp.ne.u32 %p1, %t, 0;\n@!%p1 bra END;\n" + text + "\nEND: st.global.u32 [%out], 3;";
    CHECK(run_one(otherwise)[0] == 3);
    const auto f = Runner().fault(text);
    CHECK(f.id == "unsupported-instruction");
    CHECK(f.title.find(text.substr(0, text.find(' '))) != std::string::npos);
    CHECK(f.where.find("CTA (0,0,0)") != std::string::npos);
  }
}

namespace {

// What the checker and the timed schedule are told of the instruction that a line of PTX is decoded to.
emu::Action action_of(const std::string& text) {
  struct Look : emu::Observer {
    emu::Action action = emu::Action::other;
    void on_launch(emu::Machine&, const emu::Program& program, const emu::LaunchConfig&) override {
      for (const emu::Inst& in : program.code)
        if (in.action != emu::Action::move && in.action != emu::Action::load)  // so does the kernel's head
          action = in.action != emu::Action::other ? in.action : action;
    }
  } look;
  Options options;
  options.observer = &look;
  CAPTURE(text);
  CHECK(Runner().fault("bra END;\n" + text + "\nEND:", {}, options).id == "none");
  return look.action;
}

}  // namespace

TEST_CASE("a decoded instruction says what it does, so that nobody reads its text again") {
  using emu::Action;
  CHECK(action_of("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];") == Action::arrive);
  CHECK(action_of("mbarrier.arrive_drop.shared.b64 %rd1, [%r1];") == Action::arrive);
  CHECK(action_of("mbarrier.test_wait.parity.shared.b64 %p1, [%r1], %r2;") == Action::test_phase);
  CHECK(action_of("mbarrier.try_wait.shared.b64 %p1, [%r1], %rd2;") == Action::test_phase);
  CHECK(action_of("mbarrier.init.shared.b64 [%r1], 1;") == Action::other);
  CHECK(action_of("cp.async.ca.shared.global [%r1], [%rd1], 4;") == Action::fill);
  CHECK(action_of("cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];") == Action::arrive_later);
  CHECK(action_of("cp.async.wait_group 2;") == Action::wait_group);
  CHECK(action_of("cp.async.bulk.wait_group.read 0;") == Action::wait_group);
  CHECK(action_of("wgmma.wait_group.sync.aligned 1;") == Action::wait_group);
  const std::string bytes = ".mbarrier::complete_tx::bytes";
  CHECK(action_of("cp.async.bulk.shared::cluster.global" + bytes + " [%r1], [%rd1], %r2, [%r3];") ==
        Action::bulk_fill);
  CHECK(action_of("cp.async.bulk.tensor.1d.shared::cluster.global" + bytes +
                  " [%r1], [%rd1, {%r2}], [%r3];") == Action::bulk_fill);
  CHECK(action_of("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;") == Action::bulk_copy);
  CHECK(action_of("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2;") ==
        Action::bulk_copy);
  CHECK(action_of("bar.sync 0;") == Action::barrier);
  CHECK(action_of("barrier.cluster.arrive.aligned;") == Action::cluster_barrier);
  CHECK(action_of("fence.proxy.async;") == Action::fence);
  CHECK(action_of("setmaxnreg.dec.sync.aligned.u32 40;") == Action::set_registers);
  CHECK(action_of("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%r2];") == Action::matrix);
  CHECK(action_of("rem.u32 %r1, %r2, %r3;") == Action::divide);
  CHECK(action_of("div.approx.f32 %f1, %f2, %f3;") == Action::other);
}
