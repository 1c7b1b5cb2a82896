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

TEST_CASE("checker: whoever writes a word must be ordered after every lane that has read it") {
  // Thread 0 writes a word; warp 0, or both warps, read it; then a thread of warp 1 writes it again.
  const std::string start =
      kInit + by_thread_0("W", "st.shared.u32 [%r1], 7;\n") + "bar.sync 0;\nsetp.ge.u32 %p3, %t, 32;\n";
  const std::string read = "ld.shared.u32 %r3, [%r1];\n", warp_0_reads = "@!%p3 " + read;
  const std::string arrive = by_thread_0("A", "mbarrier.arrive.shared::cta.b64 _, [%r2];\n");
  const std::string write =
      "setp.ne.u32 %p4, %t, 40;\n@%p4 bra END;\n" + wait("WAIT", 0) + "st.shared.u32 [%r1], 8;\nEND:\n";
  CHECK(reported(start + warp_0_reads + "bar.warp.sync -1;\n" + arrive + write) == "nothing");
  // lane 0 speaks for itself only; the others have read before it all the same
  CHECK(reported(start + warp_0_reads + arrive + write) == "advice data-race ");
  CHECK(reported(start + read + "bar.warp.sync -1;\n" + arrive + write) == "nothing");
  CHECK(reported(start + read + arrive + "bar.warp.sync -1;\n" + write) == "advice data-race ");
  // 40 reads too, and so do others of its warp, which nothing orders before its write
  CHECK(reported(start + read + "bar.sync 0;\n" + arrive + write) == "nothing");
  CHECK(reported(start + read + "bar.warp.sync -1;\n" + arrive + read + write) == "data-race ");
  // all lanes of warp 0 but the last meet, or all but the second
  for (const char* lane : {"31", "1"}) {
    CAPTURE(lane);
    const std::string others = std::string(lane) == "31" ? "2147483647" : "4294967293";
    const std::string meet = "setp.eq.u32 %p5, %t, " + std::string(lane) +
                             ";\nor.pred %p5, %p5, %p3;\n@%p5 bra MET;\nbar.warp.sync " + others +
                             ";\nMET:\n";
    CHECK(reported(start + warp_0_reads + meet + arrive + write) == "advice data-race ");
    CHECK(reported(start + "mov.pred %p6, 0;\nsetp.eq.u32 %p5, %t, " + lane +
                   ";\nor.pred %p6, %p5, %p3;\n@!%p6 " + read + meet + arrive + write) == "nothing");
  }
}

TEST_CASE("checker: what an atomic or a volatile store has written is not uninitialised") {
  const std::string start = "mov.u32 %r1, tile;\nsetp.ne.u32 %p1, %t, 0;\n",
                    word = "ld.shared.u32 %r3, [%r1];\n", next = "ld.shared.u32 %r3, [%r1+4];\n";
  for (const char* write : {"@!%p1 atom.shared.exch.b32 %r2, [%r1], 5;\nbar.sync 0;\n",
                            "@!%p1 st.volatile.shared.u32 [%r1], 5;\nbar.sync 0;\n",
                            "@!%p1 st.release.cta.shared.u32 [%r1], 5;\nbar.sync 0;\n"}) {
    CAPTURE(write);
    CHECK(reported(start + write + word) == "nothing");
    CHECK(reported(start + write + next) == "uninitialised-read ");
  }
  CHECK(reported(start + "ld.volatile.shared.u32 %r2, [%r1];\nbar.sync 0;\n" + word) ==
        "uninitialised-read ");
  // an ordinary store remains what a reader must be ordered after
  const std::string both = "@!%p1 st.shared.u32 [%r1], 5;\n@!%p1 atom.shared.add.u32 %r2, [%r1], 5;\n";
  CHECK(reported(start + both + "bar.sync 0;\n" + word) == "nothing");
  CHECK(reported(start + both + word) == "data-race ");
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

namespace {

// 64 threads bring a word each by cp.async, which completes on a barrier for `count` arrivals, and read another's word.
std::string words_by_cp_async(int count) {
  return "mov.u32 %r1, words;\nmov.u32 %r2, bar;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra INIT;\n"
         "mbarrier.init.shared::cta.b64 [%r2], " +
         std::to_string(count) +
         ";\nINIT: bar.sync 0;\nshl.b32 %r4, %t, 2;\nadd.u32 %r5, %r1, %r4;\n"
         "cp.async.ca.shared.global [%r5], [%in], 4;\ncp.async.mbarrier.arrive.noinc.shared::cta.b64 "
         "[%r2];\n" +
         wait("W", 0) +
         "xor.b32 %r4, %r4, 252;\nadd.u32 %r5, %r1, %r4;\nld.shared.u32 %r3, [%r5];\nst.global.u32 [%out], "
         "%r3;\n";
}

// One warp reads a box of `rows` rows of `row` bytes word after word, from row `first` on, and undoes the 128B pattern.
// The box starts at the pattern's line `line`.
std::string reported_of_rows(unsigned row, unsigned rows = 12, unsigned first = 1, unsigned line = 0) {
  const Tensor tensor{row / 2, rows, row / 2, rows, 3};
  const std::string words = std::to_string(row / 4);
  const std::string copy = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " +
                           std::to_string(rows * row) +
                           ";\nmov.u64 %rd1, map;\ncvta.const.u64 %rd2, %rd1;\n"
                           "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                           "[%r1], [%rd2, {0, 0}], [%r2];\n";
  const std::string read = "add.u32 %r7, %t, " + std::to_string(first * row / 4) +
                           ";\nNEXT: div.u32 %r3, %r7, " + words + ";\nrem.u32 %r4, %r7, " + words +
                           ";\nshl.b32 %r3, %r3, 7;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r3, %r3, %r4;\n"
                           "add.u32 %r3, %r3, %r1;\nshr.u32 %r4, %r3, 3;\nand.b32 %r4, %r4, 112;\n"
                           "xor.b32 %r3, %r3, %r4;\nld.shared.u32 %r5, [%r3];\nadd.u32 %r7, %r7, 32;\n"
                           "setp.lt.u32 %p3, %r7, " +
                           std::to_string(rows * row / 4) + ";\n@%p3 bra NEXT;\n";
  const std::string start = "add.u32 %r1, %r1, " + std::to_string(128 * line) + ";\n";
  return reported(kInit + start + by_thread_0("A", copy) + wait("W", 0) + read,
                  ".shared .align 1024 .b8 tile[2560];\n.shared .align 8 .b64 bar;\n", 32, &tensor);
}

// One warp reads 12 rows of 128 bytes, which the 128B pattern permutes, in elements of `bytes`, and undoes the pattern that
// takes `bits` of the address.
std::string reported_of_elements(unsigned bytes, unsigned bits) {
  const Tensor tensor{64, 12, 64, 12, 3};
  const std::string copy =
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1536;\nmov.u64 %rd1, map;\ncvta.const.u64 %rd2, %rd1;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd2, {0, 0}], [%r2];\n";
  const std::string type = bytes == 1 ? "u8" : "u16";
  const std::string read = "mul.lo.u32 %r7, %t, " + std::to_string(bytes) +
                           ";\nNEXT: add.u32 %r3, %r7, %r1;\nshr.u32 %r4, %r3, 3;\nand.b32 %r4, %r4, " +
                           std::to_string(bits) + ";\nxor.b32 %r3, %r3, %r4;\nld.shared." + type +
                           " %rs5, [%r3];\nadd.u32 %r7, %r7, " + std::to_string(32 * bytes) +
                           ";\nsetp.lt.u32 %p3, %r7, 1536;\n@%p3 bra NEXT;\n";
  return reported(kInit + by_thread_0("A", copy) + wait("W", 0) + read,
                  ".shared .align 1024 .b8 tile[1536];\n.shared .align 8 .b64 bar;\n", 32, &tensor);
}

}  // namespace

TEST_CASE("checker: copies that complete on a barrier for one arrival too few are not waited for") {
  const std::string shared = ".shared .align 16 .b8 words[256];\n.shared .align 8 .b64 bar;\n";
  CHECK(reported(words_by_cp_async(64), shared) == "nothing");
  CHECK(reported(words_by_cp_async(63), shared) == "read-before-landed ");
}

TEST_CASE("checker: a reader of rows shorter than the pattern's span is not accused of another pattern") {
  CHECK(reported_of_rows(128) == "nothing");
  CHECK(reported_of_rows(64) == "nothing");
  CHECK(reported_of_rows(32) == "nothing");
  CHECK(reported_of_rows(64, 2, 0, 7) == "advice misaligned-tile ");
}

TEST_CASE("checker: readers of one and two bytes that undo another pattern than the map's") {
  for (unsigned bytes : {1u, 2u}) {
    CAPTURE(bytes);
    CHECK(reported_of_elements(bytes, 112) == "nothing");           // 128B, as the map
    CHECK(reported_of_elements(bytes, 0) == "nothing");             // the bytes as they lie
    CHECK(reported_of_elements(bytes, 48) == "swizzle-mismatch ");  // 64B
    CHECK(reported_of_elements(bytes, 16) == "swizzle-mismatch ");  // 32B
  }
}

TEST_CASE("checker: the whole warp reads a tensor map that tensormap.cp_fenceproxy copies") {
  // Every lane writes a word of it, and lane 0 another value of the first one.
  const auto kernel = [](const std::string& between) {
    return "mov.u32 %r1, tile;\nmov.u64 %rd1, gmap;\nshl.b32 %r4, %t, 2;\nadd.u32 %r4, %r4, %r1;\nst.shared.u32 [%r4], %t;\n"
           "bar.warp.sync -1;\nsetp.ne.u32 %p1, %t, 0;\n@!%p1 st.shared.u32 [%r1], 5;\n" +
           between +
           "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r1], 128;\n";
  };
  const std::string shared = std::string(kShared) + ".global .align 128 .b8 gmap[128];\n";
  CHECK(reported(kernel("bar.warp.sync -1;\n"), shared, 32) == "nothing");
  CHECK(reported(kernel(""), shared, 32) == "data-race ");
}
