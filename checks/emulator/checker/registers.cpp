// The registers of wgmma under the checker: in flight until the wait, behind a wgmma.fence once they were touched. Beside
// each mistake stands a right way to write it, and what the compiler makes of right programs.
#include "checked.hpp"

using namespace checked;

namespace {

const std::string kMmaFence = "wgmma.fence.sync.aligned;\n", kCommit = "wgmma.commit_group.sync.aligned;\n",
                  kWait = "wgmma.wait_group.sync.aligned 0;\n", kEnd = kCommit + kWait;

// A product of the warpgroup, n = 8 or 16: accumulators %f0.. or those from `first` on; A in shared memory or in the
// registers that `a` names.
std::string mma(int n, const std::string& a = "%rd1", int first = 0) {
  std::string d;
  for (int i = 0; i < n / 2; ++i) d += (i ? ", %f" : "%f") + std::to_string(first + i);
  const std::string tail = a[0] == '{' ? ", %rd2, 1, 1, 1, 0;\n" : ", %rd2, 1, 1, 1, 0, 0;\n";
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k16.f32.bf16.bf16 {" + d + "}, " + a +
         tail;
}
const std::string kFragment = "{%r10, %r11, %r12, %r13}";

// Zeros in shared memory and in %f0..%f15 and %r10..%r17; 128 threads execute the body and store %f0.
std::string of(const std::string& body, const std::string& function = "") {
  std::string start =
      "mov.u32 %r1, tile;\nshl.b32 %r2, %t, 5;\nadd.u32 %r2, %r2, %r1;\nmov.u32 %r3, 0;\n"
      "st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};\nst.shared.v4.u32 [%r2+16], {%r3, %r3, %r3, %r3};\n"
      "fence.proxy.async.shared::cta;\nbar.sync 0;\ncvt.u64.u32 %rd1, %r1;\nshr.u64 %rd1, %rd1, 4;\n"
      "or.b64 %rd1, %rd1, " +
      std::to_string(uint64_t{256 / 16} << 32 | uint64_t{128 / 16} << 16) + ";\nadd.u64 %rd2, %rd1, 128;\n";
  for (int i = 0; i < 16; ++i) start += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
  for (int i = 10; i < 18; ++i) start += "mov.b32 %r" + std::to_string(i) + ", 0;\n";
  return reported(start + body + "st.global.f32 [%out], %f0;\n",
                  ".shared .align 1024 .b8 tile[4096];\n" + function, 128);
}

}  // namespace

TEST_CASE("wgmma registers: only wgmmas of one shape hand accumulators on without a fence") {
  CHECK(of(kMmaFence + mma(8) + mma(8) + kEnd) == "nothing");
  CHECK(of(kMmaFence + mma(8) + mma(16) + kEnd) == "missing-wgmma-fence ");
  CHECK(of(kMmaFence + mma(16) + mma(8) + kEnd) == "missing-wgmma-fence ");
  CHECK(of(kMmaFence + mma(8) + kCommit + mma(16) + kEnd) == "missing-wgmma-fence ");
  // a register of the second is one of the first
  CHECK(of(kMmaFence + mma(16) + mma(8, "%rd1", 7) + kEnd) == "missing-wgmma-fence ");
  // others, a fence between, or a wait
  CHECK(of(kMmaFence + mma(16) + mma(8, "%rd1", 8) + kEnd) == "nothing");
  CHECK(of(kMmaFence + mma(8) + kMmaFence + mma(16) + kEnd) == "nothing");
  CHECK(of(kMmaFence + mma(8) + kEnd + mma(16) + kEnd) == "nothing");
  // copied by the compiler between the two
  const std::string copy = "mov.f32 %f20, %f0;\nmov.f32 %f21, %f1;\nmov.f32 %f22, %f2;\nmov.f32 %f23, %f3;\n";
  CHECK(of(kMmaFence + mma(8) + copy + mma(8, "%rd1", 20) + kEnd) == "nothing");
  CHECK(of(kMmaFence + mma(8) + copy + mma(16, "%rd1", 20) + kEnd) ==
        "missing-wgmma-fence advice uninitialised-read ");
}

TEST_CASE("registers: a value that nothing has set is advice where it matters") {
  const auto of = [](const std::string& body, const std::string& function = "") {
    return reported("setp.lt.u32 %p4, %t, 16;\n" + body, kShared + function, 32);
  };
  const std::string store = "st.global.u32 [%out], %r5;\n", advice = "advice uninitialised-read ";
  CHECK(of("mov.u32 %r5, 1;\n" + store) == "nothing");
  CHECK(of(store) == advice);
  CHECK(of("add.u32 %r5, %r7, 1;\n" + store) == advice);
  CHECK(of("mov.u32 %r6, %r7;\nxor.b32 %r5, %r6, 1;\n" + store) == advice);
  CHECK(of("@%p6 bra L;\nL:\n") == advice);
  CHECK(
      of("setp.eq.u32 %p6, %r7, 0;\n@%p6 bra L;\nst.global.u32 [%out], %t;\nL: @!%p6 st.global.u32 [%out], %t;\n") ==
      advice);
  CHECK(of("and.b32 %r6, %r7, 0;\nmov.u32 %r5, tile;\nadd.u32 %r6, %r6, %r5;\nst.shared.u32 [%r6], %t;\n") ==
        advice);

  // What is only copied or computed does not matter.
  CHECK(of("mov.u32 %r6, %r7;\nadd.u32 %r6, %r6, 1;\nsetp.eq.u32 %p6, %r6, 0;\n") == "nothing");
  CHECK(of("xor.b32 %r5, %r7, %r7;\n" + store) == "nothing");
  // Other lanes have a value: those of them that use it.
  CHECK(of("@%p4 mov.u32 %r5, 1;\n@%p4 " + store) == "nothing");
  CHECK(of("@%p4 mov.u32 %r5, 1;\n" + store) == advice);
  CHECK(of("@!%p4 bra L;\nmov.u32 %r5, 1;\nL:\n@!%p4 bra M;\n" + store + "M:\n") == "nothing");
  CHECK(of("@!%p4 bra L;\nmov.u32 %r5, 1;\nL:\n" + store) == advice);
  // The first time round a loop it is handed on, and not used.
  const std::string loop =
      "mov.u32 %r6, 0;\nL:\nsetp.eq.u32 %p5, %r6, 0;\n@%p5 bra M;\n" + store + "M:\nmov.u32 %r5, %r7;\n";
  const std::string again = "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p5, %r6, 3;\n@%p5 bra L;\n";
  CHECK(of(loop + "mov.u32 %r7, %t;\nmov.u32 %r5, %r7;\n" + again) == "nothing");
  CHECK(of(loop + "mov.u32 %r7, %t;\n" + again) == advice);
  // A part has a value; the rest is padding.
  CHECK(of("mov.b32 {%rs1, %rs2}, %t;\nmov.b32 %r5, {%rs1, %rs7};\n" + store) == "nothing");
  const std::string tile = "mov.u32 %r8, tile;\nst.shared.v2.u32 [%r8], ";
  CHECK(of(tile + "{%t, %r7};\n") == "nothing");
  CHECK(of(tile + "{%r6, %r7};\n") == advice);
  CHECK(of("shl.b32 %r6, %r7, 8;\nor.b32 %r5, %r6, %t;\n" + store) == "nothing");
  // The products are added to accumulators; a fragment may have rows that nobody looks at.
  std::string accumulators;
  for (int i = 0; i < 4; ++i) accumulators += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
  const std::string product =
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%t, %r7}, {%t}, {%f0, %f1, %f2, %f3};\n"
      "st.global.f32 [%out], %f2;\n";
  CHECK(of(accumulators + product) == "nothing");
  CHECK(of(product) == advice);
  const std::string no_fragment =
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r6, %r7}, {%t}, {%f0, %f1, %f2, %f3};\n";
  CHECK(of(accumulators + no_fragment) == advice);
  CHECK(of(accumulators + "mov.b32 %r6, 0;\n" + no_fragment) == "nothing");
  // Of other lanes it may be what nobody takes.
  CHECK(of("shfl.sync.idx.b32 %r5, %r7, 0, 31, -1;\n" + store) == "nothing");

  // Each call begins anew.
  const std::string function =
      ".func (.param .b32 result) f(.param .b32 x)\n{\n.reg .b32 %a, %b;\n.reg .pred %p;\nld.param.b32 %a, [x];\n"
      "setp.lt.u32 %p, %a, 16;\n@%p mov.b32 %b, %a;\nst.param.b32 [result], %b;\n";
  const std::string call =
      "{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %t;\ncall (y), f, (x);\nld.param.b32 %r5, [y];\n}\n" +
      store;
  CHECK(of(call, function + "ret;\n}\n") == "nothing");
  CHECK(of(call + call, function + "st.shared.b32 [tile], %b;\nret;\n}\n") == advice);
}

TEST_CASE("wgmma registers: what nothing has set is neither added to nor multiplied") {
  const std::string advice = "advice uninitialised-read ", unset = "{%f16, %f17, %f18, %f19}";
  const auto product = [&](const std::string& scale, const std::string& a = "%rd1") {
    return "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " + unset + ", " + a + ", %rd2, " + scale +
           (a[0] == '{' ? ", 1, 1, 0;\n" : ", 1, 1, 0, 0;\n");
  };
  const std::string store = "st.global.f32 [%out], %f16;\n";
  CHECK(of(kMmaFence + product("1") + kEnd + store) == advice);
  CHECK(of(kMmaFence + product("0") + product("1") + kEnd + store) == "nothing");
  const std::string start = "mov.u32 %r3, 0;\nL:\n" + kMmaFence,
                    again = kEnd + "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 3;\n@%p2 bra L;\n";
  CHECK(of(start + "setp.gt.u32 %p1, %r3, 0;\n" + product("%p1") + again + store) == "nothing");
  CHECK(of(start + "setp.lt.u32 %p1, %r3, 9;\n" + product("%p1") + again + store) == advice);
  const std::string zeros =
      "mov.f32 %f16, %f0;\nmov.f32 %f17, %f0;\nmov.f32 %f18, %f0;\nmov.f32 %f19, %f0;\n";
  CHECK(of(zeros + kMmaFence + product("1") + kEnd + store) == "nothing");
  CHECK(of(kMmaFence + product("0", "{%r20, %r21, %r22, %r23}") + kEnd + store) == advice);
  CHECK(of("mov.b32 %r20, 0;\n" + kMmaFence + product("0", "{%r20, %r21, %r22, %r23}") + kEnd + store) ==
        "nothing");
}

TEST_CASE("wgmma registers: A is not taken from accumulators in flight") {
  const std::string take = "mov.b32 %r10, %f0;\n", product = mma(8, kFragment, 8);
  CHECK(of(kMmaFence + mma(8) + take + product + kEnd) == "accumulator-in-flight ");
  CHECK(of(kMmaFence + mma(8) + take + kMmaFence + product + kEnd) == "accumulator-in-flight ");
  CHECK(of(kMmaFence + mma(8) + kEnd + take + kMmaFence + product + kEnd) == "nothing");
  // the same fragment is read by two
  CHECK(of(kMmaFence + mma(8, kFragment) + product + kEnd) == "nothing");
}

TEST_CASE("wgmma registers: a fragment that is written after the wait needs a fence") {
  const std::string again = mma(8, kFragment) + kEnd;
  for (const char* write :
       {"add.u32 %r10, %t, 1;\n", "ld.shared.u32 %r10, [%r2];\n", "ld.shared.v2.u32 {%r16, %r10}, [%r2];\n",
        "cvt.rn.bf16x2.f32 %r10, %f4, %f5;\n", "mov.b32 %r10, 0x3f803f80;\n",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r2];\n",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r16, %r13}, [%r2];\n",
        "shfl.sync.bfly.b32 %r12, %t, 1, 31, 0xffffffff;\n"}) {
    CAPTURE(write);
    CHECK(of(kMmaFence + again + write + again) == "missing-wgmma-fence ");
    CHECK(of(kMmaFence + again + write + kMmaFence + again) == "nothing");
    // moved by the compiler from before the fence, or from before the fence and the wait
    CHECK(of(kMmaFence + again + kMmaFence + write + again) == "nothing");
    CHECK(of(kMmaFence + mma(8, kFragment) + kCommit + kMmaFence + kWait + write + again) == "nothing");
  }
  // another register, as in an unrolled loop, and a copy of it
  const std::string fresh = "ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r2];\n";
  CHECK(of(kMmaFence + again + fresh + mma(8, "{%r20, %r21, %r22, %r23}") + kEnd) == "missing-wgmma-fence ");
  CHECK(of(kMmaFence + again + fresh + "mov.b32 %r10, %r23;\n" + again) == "missing-wgmma-fence ");
  CHECK(of(kMmaFence + again + fresh + kMmaFence + "mov.b32 %r10, %r23;\n" + again) == "nothing");
  // halves that are packed
  const std::string halves = "ld.shared.u16 %rs1, [%r2];\nld.shared.u16 %rs2, [%r2+2];\n",
                    pack = "mov.b32 %r10, {%rs1, %rs2};\n";
  CHECK(of(kMmaFence + again + halves + pack + again) == "missing-wgmma-fence ");
  CHECK(of(kMmaFence + again + halves + kMmaFence + pack + again) == "nothing");
}

TEST_CASE("wgmma registers: a wait does not make the compiler's copies of accumulators writes") {
  const std::string copy = "mov.f32 %f20, %f0;\nmov.f32 %f21, %f1;\nmov.f32 %f22, %f2;\nmov.f32 %f23, %f3;\n";
  CHECK(of(kMmaFence + mma(8) + kEnd + copy + mma(8, "%rd1", 20) + kEnd) == "nothing");
  CHECK(of(kMmaFence + mma(8) + kEnd + "add.f32 %f0, %f0, %f0;\n" + copy + mma(8, "%rd1", 20) + kEnd) ==
        "missing-wgmma-fence ");
}

TEST_CASE("wgmma registers: a fragment is not written in flight") {
  const std::string product = mma(8, kFragment);
  for (const char* write : {"add.u32 %r10, %t, 1;\n", "ld.shared.u32 %r10, [%r2];\n",
                            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r2];\n"}) {
    CAPTURE(write);
    CHECK(of(kMmaFence + product + kCommit + write + kWait) == "accumulator-in-flight ");
    CHECK(of(kMmaFence + product + kCommit + kWait + write) == "nothing");
  }
  CHECK(of(kMmaFence + product + kCommit + "ld.shared.u32 %r14, [%r2];\n" + kWait) == "nothing");
}

TEST_CASE("wgmma registers: accumulators are read after the wait, in whatever way") {
  for (const char* read :
       {"st.shared.b32 [%r2], %f1;\n", "st.global.v4.f32 [%in], {%f0, %f1, %f2, %f3};\n",
        "cvt.rn.bf16x2.f32 %r20, %f1, %f0;\n", "add.f32 %f20, %f20, %f3;\n",
        "mov.f32 %f21, %f2;\nst.shared.f32 [%r2], %f21;\n",
        "mov.b32 {%rs1, %rs2}, %f0;\nst.shared.u16 [%r2], %rs2;\n",
        "mov.b64 %rd5, {%f0, %f1};\nst.shared.b64 [%r2], %rd5;\n",
        "mov.b64 %rd5, {%f0, %f1};\nmov.b64 {%f22, %f23}, %rd5;\nadd.f32 %f22, %f22, %f23;\n",
        "setp.gt.f32 %p1, %f0, %f20;\n", "selp.f32 %f20, %f0, %f21, %p1;\n",
        "shfl.sync.bfly.b32 %r20, %f0, 1, 31, 0xffffffff;\n", "red.global.add.f32 [%out], %f2;\n"}) {
    CAPTURE(read);
    CHECK(of(kMmaFence + mma(8) + kCommit + read + kWait) == "accumulator-in-flight ");
    CHECK(of(kMmaFence + mma(8) + kCommit + kWait + read) == "nothing");
  }
  // an argument of a call
  const std::string call = "{\n.param .b32 p;\nst.param.f32 [p], %f0;\ncall.uni use, (p);\n}\n";
  const std::string function = ".func use(.param .b32 x) {\n.reg .f32 %v;\nld.param.f32 %v, [x];\nret;\n}\n";
  CHECK(of(kMmaFence + mma(8) + kCommit + call + kWait, function) == "accumulator-in-flight ");
  CHECK(of(kMmaFence + mma(8) + kCommit + kWait + call, function) == "nothing");
}
