// The checker on small kernels: what it must name. What it must not accuse is in not_flagged.cpp.
#include "checked.hpp"

using namespace checked;

TEST_CASE("checker: a copy that is waited for is not accused") {
  CHECK(reported(kInit + by_thread_0("A", kExpect + kCopy) + wait("W", 0) + kRead) == "nothing");
}

TEST_CASE("checker: a lane that waits for its warp hands over with a warp barrier") {
  const std::string role = "setp.ge.u32 %p5, %t, 32;\n@%p5 bra END;\n";
  const std::string waits = by_thread_0("A", kExpect + kCopy + wait("W", 0));
  CHECK(reported(kInit + role + waits + "bar.warp.sync 0xffffffff;\n" + kRead + "END:\n") == "nothing");
  CHECK(reported(kInit + role + waits + kRead + "END:\n") == "read-before-landed ");
}

TEST_CASE("checker: a tile that is not waited for is read before it landed") {
  CHECK(reported(kInit + by_thread_0("A", kExpect + kCopy) + kRead + wait("W", 0)) == "read-before-landed ");
}

TEST_CASE("checker: a store without the proxy fence") {
  CHECK(reported(kInit + by_thread_0("A", kWrite + kStore + "cp.async.bulk.wait_group.read 0;\n")) ==
        "missing-proxy-fence ");
}

TEST_CASE("checker: a source that is overwritten before the store has read it") {
  CHECK(reported(kInit +
                 by_thread_0("A", kWrite + kFence + kStore +
                                      "st.shared.u32 [%r1], %t;\ncp.async.bulk.wait_group.read 0;\n")) ==
        "source-reused-before-read ");
}

TEST_CASE("checker: two warps that use a word with no barrier between") {
  CHECK(reported("mov.u32 %r1, tile;\nsetp.ne.u32 %p1, %t, 0;\nsetp.ne.u32 %p2, %t, 32;\n@!%p1 st.shared.u32 "
                 "[%r1], %t;\n"
                 "@!%p2 st.shared.u32 [%r1+4], %t;\nbar.sync 0;\n@!%p1 ld.shared.u32 %r3, [%r1];\n@!%p2 "
                 "st.shared.u32 [%r1], %t;\n") == "data-race ");
}

TEST_CASE(
    "checker: reductions of the copy engine need no order among themselves, whoever reads the sum does") {
  const std::string reduce = "@%p3 bra R;\n" + kWrite + kFence +
                             "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;\n"
                             "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nR:\n";
  // lane 0 of either warp adds 16 bytes of its own to the first thread's input
  const std::string start =
      "mov.u32 %r1, tile;\nand.b32 %r4, %t, 31;\nsetp.ne.u32 %p3, %r4, 0;\nadd.u32 %r1, %r1, %t;\n"
      "mul.wide.u32 %rd1, %t, 64;\nsub.u64 %rd1, %in, %rd1;\nsetp.ne.u32 %p1, %t, 0;\n";
  const std::string read = by_thread_0("A", "ld.global.u32 %r3, [%rd1];\nst.global.u32 [%out], %r3;\n");
  CHECK(reported(start + reduce + "bar.sync 0;\n" + read) == "nothing");
  CHECK(reported(start + reduce + read) == "read-before-stored ");
  const std::string store = by_thread_0("S", "st.global.u32 [%rd1], %t;\n");
  CHECK(reported(start + store + reduce) == "data-race ");
}
