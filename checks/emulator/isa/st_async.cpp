// st.async and red.async: values, bytes counted on the mbarrier, other CTAs, refusals (PTX ISA 9.7.9.12, 9.7.13.7).
#include "support.hpp"

using namespace emu_test;

namespace {

const std::string kTail = ".shared::cluster.mbarrier::complete_tx::bytes";

// One thread: announces `bytes`, executes the body with %r1 the tile (16 bytes of 5, 5, 5, 5), %r2 the barrier, waits,
// and returns the tile.
Options options() {
  Options o;
  o.declarations = ".shared .align 16 .b8 tile[16];\n.shared .align 8 .b64 bar;\n";
  return o;
}
std::string kernel(int bytes, const std::string& body) {
  return "mov.u32 %r1, tile;\nmov.u32 %r2, bar;\nst.shared.v4.u32 [%r1], {5, 5, 5, 5};\n"
         "mbarrier.init.shared::cta.b64 [%r2], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " +
         std::to_string(bytes) + ";\n" + body +
         "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;\n@!%p1 bra W;\n"
         "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1];\nst.global.v4.u32 [%out], {%r4, %r5, %r6, %r7};\n";
}
using Words = std::vector<uint32_t>;

}  // namespace

TEST_CASE("st.async writes one, two or four values and counts their bytes") {
  for (const char* schedule : {"in-order", "late", "random:3"}) {
    CAPTURE(schedule);
    Options o = options();
    o.schedule = schedule;
    const auto run = [&](int bytes, const std::string& body) {
      return Runner().run(kernel(bytes, body), {}, o);
    };
    CHECK(run(4, "st.async.weak" + kTail + ".u32 [%r1+4], 9, [%r2];\n") == Words{5, 9, 5, 5});
    CHECK(run(4, "st.async" + kTail + ".b32 [%r1], 9, [%r2];\n") == Words{9, 5, 5, 5});
    CHECK(run(8, "mov.u64 %rd1, 0x100000002;\nst.async.weak" + kTail + ".b64 [%r1+8], %rd1, [%r2];\n") ==
          Words{5, 5, 2, 1});
    CHECK(run(8, "mov.u32 %r8, 3;\nst.async.weak" + kTail + ".v2.b32 [%r1], {%r8, %r1}, [%r2];\n")[0] == 3);
    CHECK(run(16, "mov.f32 %f1, 0f3F800000;\nst.async.weak" + kTail +
                      ".v4.f32 [%r1], {%f1, %f1, %f1, %f1}, [%r2];\n") == Words(4, 0x3F800000));
    CHECK(run(8, "st.async.weak" + kTail + ".u32 [%r1], 1, [%r2];\nst.async.weak" + kTail +
                     ".u32 [%r1+12], 2, [%r2];\n") == Words{1, 5, 5, 2});
  }
}

TEST_CASE("red.async combines with what is there") {
  const std::string red = "red.async.relaxed.cluster" + kTail;
  const auto first = [&](const std::string& op, int value) {
    return Runner().run(kernel(4, red + op + " [%r1], " + std::to_string(value) + ", [%r2];\n"), {},
                        options())[0];
  };
  CHECK(first(".add.u32", 3) == 8);
  CHECK(first(".min.s32", -1) == 0xFFFFFFFF);
  CHECK(first(".max.u32", 7) == 7);
  CHECK(first(".inc.u32", 5) == 0);
  CHECK(first(".dec.u32", 9) == 4);
  CHECK(first(".and.b32", 4) == 4);
  CHECK(first(".or.b32", 2) == 7);
  CHECK(first(".xor.b32", 1) == 4);
  CHECK(Runner().run(kernel(8, "mov.u64 %rd1, 0x200000001;\n" + red + ".add.u64 [%r1], %rd1, [%r2];\n"), {},
                     options()) == Words{6, 7, 5, 5});
}

TEST_CASE("st.async to another CTA of the cluster") {
  Options o = options();
  o.ctas = o.cluster = 2;
  // each CTA sends its rank + 10 to the other
  const std::string body =
      "mov.u32 %r1, tile;\nmov.u32 %r2, bar;\nst.shared.v4.u32 [%r1], {5, 5, 5, 5};\n"
      "mbarrier.init.shared::cta.b64 [%r2], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 4;\n"
      "fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
      "mov.u32 %r3, %cluster_ctarank;\nxor.b32 %r4, %r3, 1;\nadd.u32 %r3, %r3, 10;\n"
      "mapa.shared::cluster.u32 %r5, %r1, %r4;\nmapa.shared::cluster.u32 %r6, %r2, %r4;\nst.async.weak" +
      kTail +
      ".u32 [%r5+8], %r3, [%r6];\nW: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;\n@!%p1 bra W;\n"
      "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1];\nst.global.v4.u32 [%out], {%r4, %r5, %r6, %r7};\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  CHECK(Runner().run(body, {}, o) == Words{5, 5, 11, 5, 5, 5, 10, 5});
}

TEST_CASE("st.async: what it cannot do") {
  const auto id = [](const std::string& body) { return Runner().fault(kernel(4, body), {}, options()).id; };
  CHECK(id("st.async.weak" + kTail + ".u32 [%r1+2], 9, [%r2];\n") == "misaligned-address");
  CHECK(id("st.async.weak" + kTail + ".u32 [%r1+2048], 9, [%r2];\n") == "out-of-bounds");
  CHECK(id("st.async.weak" + kTail + ".u32 [%r1], 9, [%r1];\n") == "barrier-not-initialised");
  CHECK(id("st.async.weak" + kTail + ".v4.b64 [%r1], {%rd1, %rd1, %rd1, %rd1}, [%r2];\n") ==
        "unsupported-instruction");
  CHECK(id("st.async.weak" + kTail + ".v2.u32 [%r1], %r3, [%r2];\n") == "unsupported-instruction");
  CHECK(id("red.async.relaxed.cluster" + kTail + ".add.f32 [%r1], %f1, [%r2];\n") ==
        "unsupported-instruction");
  // the bytes that were announced do not all come
  CHECK(Runner().fault(kernel(8, "st.async.weak" + kTail + ".u32 [%r1], 9, [%r2];\n"), {}, options()).id ==
        "deadlock");
}
