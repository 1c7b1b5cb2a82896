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
  for (
      const std::string text :
      {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%r8];",
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
