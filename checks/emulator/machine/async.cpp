// When operations in flight take their steps: the schedules, and the end of a launch.
#include "support.hpp"

using namespace emu_test;

namespace {

// A word of the destination before and after the wait.
std::vector<uint32_t> before_and_after(const std::string& schedule) {
  Options o;
  o.schedule = schedule;
  o.declarations = ".shared .align 16 .b8 tile[16];\n";
  return Runner().run(
      "st.shared.u32 [tile], 7;\ncp.async.cg.shared.global [tile], [%in], 16;\ncp.async.commit_group;\n"
      "mov.u32 %r1, 0;\nLOOP: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 20000;\n@%p1 bra LOOP;\n"
      "ld.shared.u32 %r2, [tile];\ncp.async.wait_group 0;\nld.shared.u32 %r3, [tile];\n"
      "st.global.v2.u32 [%out], {%r2, %r3};",
      {11, 12, 13, 14}, o);
}

}  // namespace

TEST_CASE("schedules: in-order lands a copy soon, late not before somebody waits, random by its seed") {
  CHECK(before_and_after("in-order")[0] == 11);
  CHECK(before_and_after("late")[0] == 7);
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"})
    CHECK(before_and_after(schedule)[1] == 11);
  CHECK(before_and_after("random:5") == before_and_after("random:5"));
}

TEST_CASE("the end of a launch: an operation that nobody waited for is still carried out") {
  for (const char* schedule : {"in-order", "late", "random:3"}) {
    Options o;
    o.schedule = schedule;
    o.declarations = ".shared .align 16 .b8 tile[16];\n";
    const auto out = Runner().run(
        "st.shared.v4.u32 [tile], {1, 2, 3, 4};\nfence.proxy.async.shared::cta;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 16;\ncp.async.bulk.commit_group;\n"
        "cp.async.bulk.wait_group.read 0;",
        {}, o);
    CHECK(out == std::vector<uint32_t>{1, 2, 3, 4});
  }
}

TEST_CASE("the end of a CTA: its shared memory stays until its own bulk store has read it") {
  for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3"}) {
    Options o;
    o.schedule = schedule;
    o.ctas = 8;
    o.declarations = ".shared .align 16 .b8 tile[16];\n";
    const auto out = Runner().run(
        "mov.u32 %r1, %ctaid.x;\nst.shared.v4.u32 [tile], {%r1, %r1, %r1, %r1};\nfence.proxy.async.shared::cta;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 16;\ncp.async.bulk.commit_group;",
        {}, o);
    CAPTURE(schedule);
    for (unsigned i = 0; i < 32; ++i) CHECK(out[i] == i / 4);
  }
}
