// The state spaces: where they begin, what is in them, where they end.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "support.hpp"

using namespace emu_test;

TEST_CASE("shared memory starts at 1024 and is poisoned") {
  Options o;
  o.declarations = ".extern .shared .align 16 .b8 dynamic[];\n.shared .align 4 .b8 fixed[20];\n";
  o.dynamic_shared = 64;
  auto out = Runner().run(
      "mov.u32 %r1, fixed;\nmov.u32 %r2, dynamic;\nld.shared.u32 %r3, [fixed];\nst.global.v2.u32 [%out], "
      "{%r1, %r2};\n"
      "st.global.u32 [%out+8], %r3;",
      {}, o);
  CHECK(out[0] == 1024);
  CHECK(out[1] == 1056);
  CHECK(out[2] == emu::kPoison32);
}

TEST_CASE("ld and st out of bounds name the allocation") {
  auto f = Runner().fault("st.global.u32 [%out+16], %t;");
  CHECK(f.id == "out-of-bounds");
  CHECK(f.state.find("0 bytes past the end of 'out' (16 bytes") != std::string::npos);
  CHECK(Runner().fault("mov.u64 %rd1, 0;\nld.global.u32 %r1, [%rd1];").state.find("null") !=
        std::string::npos);
  Options o;
  o.declarations = ".shared .align 4 .b8 tile[64];\n";
  CHECK(Runner().fault("ld.shared.u32 %r1, [tile+64];", {}, o).id == "out-of-bounds");
  CHECK(Runner().fault(".local .align 4 .b8 a[16];\nst.local.u32 [a+16], %t;").id == "out-of-bounds");
}

TEST_CASE("ld and st misaligned") {
  CHECK(Runner().fault("ld.global.u32 %r1, [%in+2];").id == "misaligned-address");
  CHECK(Runner().fault("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%in+4];").id == "misaligned-address");
}

#ifndef __SANITIZE_ADDRESS__  // which has reserved far more itself
TEST_CASE("memory: address space is reserved as far as the limit allows") {
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit tight = before;
  tight.rlim_cur = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + (uint64_t{8} << 30);
  REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
  const uint64_t capacity = emu::GlobalMemory().capacity();
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(capacity == uint64_t{2} << 30);
}
#endif
