// Which CTAs run together, and what ends a launch.
#include "support.hpp"

using namespace emu_test;

TEST_CASE("CTAs that wait for one another all become resident") {
  Runner r;
  Options o;
  o.ctas = 4;
  o.out_words = 1;
  o.declarations = ".global .align 4 .u32 arrived;\n";
  // Every CTA adds 1 and spins until all have.
  auto out = r.run(
      "mov.u64 %rd1, arrived;\natom.global.add.u32 %r1, [%rd1], 1;\nSPIN: ld.volatile.global.u32 %r2, "
      "[%rd1];\n"
      "setp.lt.u32 %p1, %r2, 4;\n@%p1 bra SPIN;\nst.global.u32 [%out], %r2;",
      {}, o);
  for (uint32_t v : out) CHECK(v == 4);
}

TEST_CASE("bra: a loop that counts for ever ends at the time limit") {
  Runner r;
  r.machine.time_limit_s = 0.2;
  CHECK(r.fault("mov.u64 %rd1, 0;\nLOOP: add.u64 %rd1, %rd1, 1;\nbra LOOP;").id == "time-limit");
}
