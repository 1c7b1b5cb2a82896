// Twelve right ways to write a pipeline that reviewers and tools have called wrong. The checker says nothing of them.
// Beside each stands the mistake next to it, which must be found: so no case passes with a checker that sleeps.
#include "checked.hpp"

using namespace checked;

TEST_CASE("not flagged: 1 bytes announced after the copy was issued") {
  CHECK(reported(kInit + by_thread_0("A", kCopy + kExpect) + wait("W", 0) + kRead) == "nothing");
  // never announced: an arrival alone completes the phase
  CHECK(reported(kInit + by_thread_0("A", kCopy + "mbarrier.arrive.shared::cta.b64 _, [%r2];\n") +
                 wait("W", 0) + kRead) == "tx-count-mismatch ");
}

TEST_CASE("not flagged: 2 a producer's first wait for parity 1 on a fresh barrier") {
  const auto kernel = [](int parity) {
    return kInit + by_thread_0("A", wait("E", parity) + kExpect + kCopy) + wait("W", 0) + kRead;
  };
  CHECK(reported(kernel(1)) == "nothing");
  CHECK(reported(kernel(0)) == "fault deadlock ");
}

TEST_CASE("not flagged: 3 a barrier that is still valid when the kernel ends") {
  const std::string used = kInit + by_thread_0("A", kExpect + kCopy) + wait("W", 0) + kRead;
  CHECK(reported(used) == "nothing");
  const std::string again = "bar.sync 0;\n" + by_thread_0("B", "mbarrier.init.shared::cta.b64 [%r2], 1;\n");
  CHECK(reported(used + again) == "advice barrier-reinitialised ");
  // with arrivals or bytes outstanding the new start loses them
  CHECK(reported(kInit + by_thread_0("A", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 64;\n") +
                 again) == "barrier-reinitialised ");
}

namespace {

const Tensor kRagged{16, 6, 16, 4, 0};  // 16 columns, 6 rows: the second box of 4 rows hangs over by 2

// Copies the second box, announcing `bytes`; thread i < 32 reads word i of its 32.
std::string clipped(unsigned bytes, const std::string& before_the_read) {
  return kInit + "mov.u64 %rd1, map;\ncvta.const.u64 %rd2, %rd1;\n" +
         by_thread_0("A",
                     "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + std::to_string(bytes) +
                         ";\ncp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[%r1], [%rd2, {0, 4}], [%r2];\n") +
         before_the_read +
         "setp.ge.u32 %p3, %t, 32;\n@%p3 bra END;\nshl.b32 %r4, %t, 2;\nadd.u32 %r4, %r4, %r1;\n"
         "ld.shared.u32 %r3, [%r4];\nst.global.u32 [%out], %r3;\nEND:\n";
}

}  // namespace

TEST_CASE("not flagged: 4 the bytes of the full box announced for a clipped box") {
  CHECK(reported(clipped(128, wait("W", 0)), kShared, 64, &kRagged) == "nothing");
  CHECK(reported(clipped(64, wait("W", 0)), kShared, 64, &kRagged) == "fault deadlock ");
}

TEST_CASE("not flagged: 5 several copies on one barrier whose sum is announced") {
  const auto two = [](int announced) {
    return kInit +
           by_thread_0(
               "A",
               "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + std::to_string(announced) +
                   ";\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 32, "
                   "[%r2];\nadd.u32 %r4, %r1, 32;\ncp.async.bulk.shared::cluster.global.mbarrier::"
                   "complete_tx::bytes [%r4], [%in], 32, [%r2];\n") +
           wait("W", 0) + kRead;
  };
  CHECK(reported(two(64)) == "nothing");
  CHECK(reported(two(96)) == "fault deadlock ");
}

namespace {

// Four warps; a tile of 64 x 64 bf16 that is A and, its first 8 rows, B. %rd1: the descriptor of both.
const Tensor kSquare{64, 64, 64, 64, 3};
const char* kTile = ".shared .align 1024 .b8 tile[8192];\n.shared .align 8 .b64 bar;\n";
constexpr uint64_t kStride = 1024, k128B = 1, k64B = 2;

std::string descriptor(const std::string& to, uint64_t mode) {
  return "cvt.u64.u32 " + to + ", %r1;\nshr.u64 " + to + ", " + to + ", 4;\nor.b64 " + to + ", " + to + ", " +
         std::to_string(kStride >> 4 << 32 | mode << 62) + ";\n";
}
std::string load_square() {
  return kInit + "mov.u64 %rd3, map;\ncvta.const.u64 %rd3, %rd3;\n" +
         by_thread_0(
             "A",
             "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 8192;\n"
             "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd3, "
             "{0, 0}], [%r2];\n") +
         wait("W", 0) + "mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n";
}
std::string product(const std::string& d) {
  return "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, " + d + ", " + d +
         ", 1, 1, 1, 0, 0;\n";
}
const std::string kMmaFence = "wgmma.fence.sync.aligned;\n";
const std::string kMmaEnd =
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nst.global.f32 [%out], %f0;\n";

}  // namespace

TEST_CASE("not flagged: 6 wgmmas of one shape on the same accumulators with no fence between") {
  const std::string start = load_square() + descriptor("%rd1", k128B);
  const auto two = [&](const std::string& between) {
    return reported(start + kMmaFence + product("%rd1") + between + product("%rd1") + kMmaEnd, kTile, 128,
                    &kSquare);
  };
  CHECK(two("") == "nothing");
  const std::string wait = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  CHECK(two("add.f32 %f0, %f0, %f0;\n") == "accumulator-in-flight ");
  CHECK(two(wait + "add.f32 %f0, %f0, %f0;\n") == "missing-wgmma-fence ");
  CHECK(two(wait + "add.f32 %f0, %f0, %f0;\n" + kMmaFence) == "nothing");
  // the compiler may have moved the write past the fence; with no fence since the wait it cannot have
  CHECK(two(wait + kMmaFence + "mov.f32 %f0, 0f00000000;\n") == "nothing");
  CHECK(two(wait + "mov.f32 %f0, 0f00000000;\n") == "missing-wgmma-fence ");
}

TEST_CASE("not flagged: 7 reads of elements outside the tensor, which the copy fills") {
  CHECK(reported(clipped(128, wait("W", 0)), kShared, 64, &kRagged) ==
        "nothing");  // the last 16 lanes read them
  CHECK(reported(clipped(128, ""), kShared, 64, &kRagged) == "read-before-landed ");
  // a copy of 64 bytes leaves the rest of the tile unwritten
  CHECK(reported(kInit + by_thread_0("A", kExpect + kCopy) + wait("W", 0) +
                 "ld.shared.u32 %r3, [%r1+64];\nst.global.u32 [%out], %r3;\n") == "uninitialised-read ");
}

TEST_CASE("not flagged: 8 one proxy fence for all earlier writes of its thread") {
  const std::string writes =
      "st.shared.u32 [%r1], %t;\nst.shared.u32 [%r1+4], %t;\nst.shared.u32 [%r1+8], %t;\n";
  const std::string last = "st.shared.u32 [%r1+12], %t;\n", read = "cp.async.bulk.wait_group.read 0;\n";
  CHECK(reported(kInit + by_thread_0("A", writes + last + kFence + kStore + read)) == "nothing");
  CHECK(reported(kInit + by_thread_0("A", writes + kFence + last + kStore + read)) == "missing-proxy-fence ");
}

TEST_CASE("not flagged: 9 a K step of 32 bytes inside the atom of the 128-byte swizzle") {
  const auto steps = [](uint64_t mode, int step) {
    return reported(load_square() + descriptor("%rd1", mode) + "add.u64 %rd2, %rd1, " +
                        std::to_string(step / 16) + ";\n" + kMmaFence + product("%rd1") + product("%rd2") +
                        kMmaEnd,
                    kTile, 128, &kSquare);
  };
  CHECK(steps(k128B, 32) == "nothing");
  CHECK(steps(k64B, 32) == "swizzle-mismatch ");
  CHECK(steps(k128B, 2048) == "fault out-of-bounds ");
}

TEST_CASE("not flagged: 10 more waits than arrivals, and arrivals that count for several") {
  const char* kEmpty = ".shared .align 1024 .b8 tile[128];\n.shared .align 8 .b64 bar, empty;\n";
  const std::string start =
      "mov.u32 %r1, tile;\nmov.u32 %r2, bar;\nmov.u32 %r5, empty;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra INIT;\n"
      "mbarrier.init.shared::cta.b64 [%r2], 3;\nmbarrier.init.shared::cta.b64 [%r5], 64;\nINIT: bar.sync "
      "0;\n";
  // two arrivals by one thread and one with the bytes; each thread asks three times about the one phase
  const auto kernel = [&](int arrivals) {
    return start +
           by_thread_0("A", kCopy + "mbarrier.arrive.shared::cta.b64 _, [%r2], " + std::to_string(arrivals) +
                                ";\n" + kExpect) +
           wait("W0", 0) + wait("W1", 0) + wait("W2", 0) + kRead +
           "mbarrier.arrive.shared::cta.b64 _, [%r5];\n" +
           by_thread_0("B",
                       "E: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0;\n@!%p2 bra E;\n"
                       "mbarrier.arrive.shared::cta.b64 _, [%r2], 2;\n" +
                           kExpect + kCopy + wait("W3", 1));
  };
  CHECK(reported(kernel(2), kEmpty) == "nothing");
  CHECK(reported(kernel(1), kEmpty) == "fault deadlock ");
}

TEST_CASE("not flagged: 11 a proxy fence in the thread that reads is advice at most") {
  const std::string write =
      "setp.lt.u32 %p3, %t, 32;\nsetp.gt.u32 %p4, %t, 35;\n@%p3 bra B;\n@%p4 bra B;\n"
      "sub.u32 %r5, %t, 32;\nshl.b32 %r5, %r5, 2;\nadd.u32 %r5, %r5, %r1;\nst.shared.u32 [%r5], %t;\nB: "
      "bar.sync 0;\n";
  const std::string read = "cp.async.bulk.wait_group.read 0;\n";
  CHECK(reported(kInit + write + by_thread_0("A", kFence + kStore + read)) ==
        "advice proxy-fence-by-reader ");
  CHECK(reported(kInit + write + by_thread_0("A", kStore + read)) == "missing-proxy-fence ");
}

TEST_CASE(
    "not flagged: 11 a proxy fence by the reader of a cp.async that landed on an mbarrier; by group it is advice") {
  // Thread 0 copies; thread 32 fences and stores.
  const std::string start = kInit + "setp.ne.u32 %p4, %t, 32;\n";
  const std::string one = "setp.ne.u32 %p5, %t, 0;\n@!%p5 cp.async.ca.shared.global [%r1], [%in], 16;\n";
  const std::string store = "@%p4 bra END;\n" + kFence + kStore + "cp.async.bulk.wait_group.read 0;\nEND:\n";
  const std::string group = one + "cp.async.commit_group;\ncp.async.wait_group 0;\n";
  CHECK(reported(start + group + "bar.sync 0;\n" + store) == "advice proxy-fence-by-reader ");
  CHECK(reported(start + group + kFence + "bar.sync 0;\n" + store) == "nothing");
  CHECK(reported(start + one + "@!%p5 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2];\n" +
                 wait("W", 0) + store) == "nothing");
}

TEST_CASE("not flagged: 12 an exit when the source has been read and the writes are on their way") {
  const std::string store = kWrite + kFence + kStore, read = "cp.async.bulk.wait_group.read 0;\n";
  CHECK(reported(kInit + by_thread_0("A", store + read)) == "nothing");
  CHECK(reported(kInit + by_thread_0("A", store)) == "advice exit-before-drain ");
  // somebody in the same grid depends on the writes: then only the full wait will do
  const std::string use = "ld.global.u32 %r3, [%in];\nst.global.u32 [%out], %r3;\n";
  CHECK(reported(kInit + by_thread_0("A", store + read + use)) == "read-before-stored ");
  CHECK(reported(kInit + by_thread_0("A", store + "cp.async.bulk.wait_group 0;\n" + use)) == "nothing");
}

TEST_CASE("not flagged: a store of the copy engine that all lanes of a warp issue together") {
  // every lane of warp 0 stores the same 16 bytes to the first thread's input
  const std::string start =
      kInit + "mul.wide.u32 %rd1, %t, 64;\nsub.u64 %rd1, %in, %rd1;\nsetp.ge.u32 %p3, %t, 32;\n" +
      by_thread_0("W", kWrite + kFence) + "bar.sync 0;\n@%p3 bra END;\n";
  const std::string store = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\n";
  const std::string commit = "cp.async.bulk.commit_group;\n", wait = "cp.async.bulk.wait_group 0;\n";
  const std::string read =
      "END: bar.sync 0;\nsetp.eq.u32 %p4, %t, 40;\n@%p4 ld.global.u32 %r3, [%rd1];\n@%p4 st.global.u32 "
      "[%out], %r3;\n";
  CHECK(reported(start + store + commit + wait + read) == "nothing");
  for (const char* lane : {"0", "31"}) {
    CAPTURE(lane);
    const std::string one_waits =
        start + store + commit + "setp.eq.u32 %p5, %t, " + lane + ";\n@!%p5 " + wait + read;
    CHECK(reported(one_waits).find("read-before-stored ") != std::string::npos);
  }
  // another store to the same place, by the same lanes or from another place in shared memory
  CHECK(reported(start + store + store + commit + wait + read) == "read-before-stored ");
  const std::string elsewhere = "and.b32 %r4, %t, 1;\nshl.b32 %r4, %r4, 4;\nadd.u32 %r1, %r1, %r4;\n";
  CHECK(reported(start + elsewhere + store + commit + wait + read).find("read-before-stored ") !=
        std::string::npos);
}
