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
