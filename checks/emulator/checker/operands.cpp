// Where the bytes of wgmma's operands come from: descriptors that stay in their tile, and those that do not.
#include "checked.hpp"

using namespace checked;

namespace {

const Tensor kTensor{128, 128, 64, 64,
                     3};  // of 128 rows and columns, in boxes of 64 x 64 with the 128-byte swizzle
constexpr int kBox = 8192;

// b lies before a. %r1: b, %r5: a, %rd3: the map.
std::string shared(int b_boxes) {
  return ".shared .align 1024 .b8 b[" + std::to_string(b_boxes * kBox) +
         "];\n.shared .align 1024 .b8 a[8192];\n.shared .align 8 .b64 bar;\n";
}
std::string copy(const std::string& to, int column, int row) {
  return "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [" + to +
         "], [%rd3, {" + std::to_string(column) + ", " + std::to_string(row) + "}], [%r2];\n";
}
std::string load(int bytes, const std::string& copies) {
  return "mov.u32 %r1, b;\nmov.u32 %r5, a;\nmov.u32 %r2, bar;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra INIT;\n"
         "mbarrier.init.shared::cta.b64 [%r2], 1;\nINIT: bar.sync 0;\nmov.u64 %rd3, map;\ncvta.const.u64 %rd3, %rd3;\n" +
         by_thread_0("A", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + std::to_string(bytes) +
                              ";\n" + copies) +
         wait("W", 0);
}
std::string descriptor(const std::string& to, const std::string& tile, int offset, int leading, int stride) {
  return "cvt.u64.u32 " + to + ", " + tile + ";\nadd.u64 " + to + ", " + to + ", " + std::to_string(offset) +
         ";\nshr.u64 " + to + ", " + to + ", 4;\nor.b64 " + to + ", " + to + ", " +
         std::to_string(uint64_t{1} << 62 | static_cast<uint64_t>(stride >> 4) << 32 |
                        static_cast<uint64_t>(leading >> 4) << 16) +
         ";\n";
}
std::string product(int n, bool b_mn_major) {
  std::string d;
  for (int i = 0; i < n / 2; ++i) d += (i ? ", %f" : "%f") + std::to_string(i);
  return "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n" + std::to_string(n) +
         "k16.f32.bf16.bf16 {" + d + "}, %rd1, %rd2, 0, 1, 1, 0, " + (b_mn_major ? "1" : "0") +
         ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nst.global.f32 [%out], %f0;\n";
}

std::string titles(const std::string& body, int b_boxes) {
  emu_test::Options o;
  o.threads = 128;
  o.out_words = 1;
  o.declarations = shared(b_boxes);
  return reported(
      body, {}, o,
      [](const emu::Finding& f) {
        return emu::text(f.severity == emu::Severity::advice ? "advice " : "", emu::name_of(f.id), ": ",
                         f.title);
      },
      &kTensor);
}

// Both K-major: 64 rows and 64 columns of either.
std::string k_major(int n, int a_offset, int b_offset, int b_stride = 1024) {
  return titles(load(2 * kBox, copy("%r5", 0, 0) + copy("%r1", 0, 64)) +
                    descriptor("%rd1", "%r5", a_offset, 16, 1024) +
                    descriptor("%rd2", "%r1", b_offset, 16, b_stride) + product(n, false),
                1);
}
// B has its rows innermost: two panels of 64 of them, 64 columns of K each.
std::string mn_major(int leading, int stride, int a_offset = 0, int b_offset = 0) {
  return titles("add.u32 %r6, b, 8192;\n" +
                    load(3 * kBox, copy("%r5", 0, 0) + copy("%r1", 0, 0) + copy("%r6", 64, 0)) +
                    descriptor("%rd1", "%r5", a_offset, 16, 1024) +
                    descriptor("%rd2", "%r1", b_offset, leading, stride) + product(128, true),
                2);
}

const std::string kAdvice = "advice operand-mismatch: ";

}  // namespace

TEST_CASE("operands: descriptors that stay in their tiles") {
  CHECK(k_major(64, 0, 0) == "nothing");
  CHECK(k_major(64, 96, 96) == "nothing");
  CHECK(k_major(8, 32, 32) == "nothing");
  CHECK(mn_major(8192, 1024) == "nothing");
  CHECK(mn_major(8192, 1024, 32, 2048) == "nothing");
}

TEST_CASE("operands: N is larger than the tile") {
  CHECK(k_major(128, 0, 0) == kAdvice + "wgmma reads B from 'b' and, past its end, from 'a'");
  CHECK(k_major(64, 0, 0, 2048) == kAdvice + "wgmma reads B from 'b' and, past its end, from 'a'");
}

TEST_CASE("operands: an offset that is too small, or too large") {
  CHECK(k_major(64, 0, 0, 512) == kAdvice + "wgmma reads the same bytes for several rows of B");
  CHECK(k_major(32, 0, 0, 2048) ==
        kAdvice + "the rows of B that wgmma reads are not one behind the other in their tile");
}

TEST_CASE("operands: columns of K that do not belong together") {
  CHECK(k_major(64, 32, 0) == kAdvice + "wgmma multiplies K column 16 of A by K column 0 of B");
  CHECK(mn_major(8192, 1024, 32, 0) == kAdvice + "wgmma multiplies K column 16 of A by K column 0 of B");
  CHECK(mn_major(4096, 1024) ==
        kAdvice + "the rows of B that wgmma reads are from different K columns of their tiles");
  CHECK(mn_major(8192, 2048) ==
        kAdvice + "the rows of B that wgmma reads are from different K columns of their tiles");
}

TEST_CASE("operands: what lies behind a tile that is too short is not said to lack a barrier") {
  // The tile of B has 8 rows, and the instruction reads 16: the next 8 are another warp's.
  const std::string body =
      "mov.u32 %r1, tile;\nshl.b32 %r2, %t, 4;\nadd.u32 %r2, %r2, %r1;\nmov.u32 %r3, 0;\n"
      "setp.ge.u32 %p3, %t, 128;\n@%p3 bra FILLED;\nst.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};\n"
      "setp.ge.u32 %p4, %t, 16;\n@%p4 bra FILLED;\nst.shared.v4.u32 [%r2+2048], {%r3, %r3, %r3, %r3};\nFILLED:\n"
      "fence.proxy.async.shared::cta;\nbar.sync 0;\n@!%p3 bra MULTIPLY;\n"
      "and.b32 %r4, %t, 31;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r4, %r1;\nst.shared.u32 [%r4+2304], %t;\nbra END;\nMULTIPLY:\n"
      "cvt.u64.u32 %rd1, %r1;\nshr.u64 %rd1, %rd1, 4;\nor.b64 %rd1, %rd1, " +
      std::to_string(uint64_t{128 >> 4} << 32 | uint64_t{1024 >> 4} << 16) +
      ";\ncvt.u64.u32 %rd2, %r1;\nadd.u64 %rd2, %rd2, 2048;\nshr.u64 %rd2, %rd2, 4;\nor.b64 %rd2, %rd2, " +
      std::to_string(uint64_t{256 >> 4} << 32 | uint64_t{128 >> 4} << 16) + ";\n" +
      "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, "
      "%f7}, %rd1, %rd2, 0, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
      "st.global.f32 [%out], %f0;\nEND:\n";
  emu_test::Options o;
  o.threads = 160;
  o.out_words = 1;
  o.declarations = ".shared .align 1024 .b8 tile[4096];\n";
  const emu_test::QuietReport report;
  emu::check::Checker checker;
  emu_test::Runner runner;
  o.observer = &checker;
  runner.fault(body, {}, o);
  REQUIRE(!report.findings().empty());
  CHECK(report.findings()[0].title == "a wgmma reads B past the end of its tile, into bytes that others use");
}
