// cp.async.bulk: runs of bytes in and out, reductions, multicast, bulk groups (PTX ISA 9.7.9.25.4).
#include "emulator/numerics/reduction.hpp"
#include "quiet.hpp"
#include "support.hpp"

using namespace emu_test;

namespace {

Options with_tile(const char* schedule = "in-order") {
  Options o;
  o.schedule = schedule;
  o.in_words = o.out_words = 16;
  o.declarations = ".shared .align 16 .b8 tile[64];\n.shared .align 8 .b64 bar;\n";
  return o;
}

std::vector<uint32_t> numbers(size_t n, uint32_t first = 1) {
  std::vector<uint32_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = first + static_cast<uint32_t>(i);
  return v;
}

const char* const kInit = "mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n";
const char* const kExpect64 = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;\n";
const char* const kLoad =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 64, [bar];\n";
const char* const kWait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra W;\n";
const char* const kStore =
    "cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 64;\ncp.async.bulk.commit_group;\n"
    "cp.async.bulk.wait_group 0;\n";

}  // namespace

TEST_CASE("cp.async.bulk in and out moves every byte on every schedule") {
  for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3", "random:4"}) {
    CAPTURE(schedule);
    Runner r;
    auto out =
        r.run(std::string(kInit) + kExpect64 + kLoad + kWait + kStore, numbers(16), with_tile(schedule));
    CHECK(out == numbers(16));
    CHECK(r.statistics.stats().bulk_load_issued == 1);
    CHECK(r.statistics.stats().bulk_load_bytes == 64);
    CHECK(r.statistics.stats().bulk_store_issued == 1);
    CHECK(r.statistics.stats().bulk_store_bytes == 64);
    CHECK(r.statistics.stats().mbarrier_complete_tx_bytes == 64);
    CHECK(r.statistics.stats().copy_issuing_threads == 1);
  }
}

TEST_CASE("cp.async.bulk to .shared::cta, with a register size, and bytes before their expect_tx") {
  auto out = Runner().run(
      std::string(kInit) +
          "mov.u32 %r1, 48;\n"
          "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%in+16], %r1, [bar];\n"
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 48;\n" +
          kWait +
          "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%out], [tile], 32, %rd5;\n"
          "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
      numbers(16), with_tile());
  CHECK(std::vector<uint32_t>(out.begin(), out.begin() + 8) == numbers(8, 5));
  CHECK(out[8] == emu::kPoison32);
}

TEST_CASE("cp.async.bulk.wait_group.read: the source may be reused, the destination is not written yet") {
  const std::string body =
      "mov.u32 %r1, 7;\nst.shared.v4.u32 [tile], {%r1, %r1, %r1, %r1};\nfence.proxy.async.shared::cta;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 16;\ncp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group.read 0;\nmov.u32 %r2, 9;\nst.shared.u32 [tile], %r2;\n"
      "ld.global.u32 %r3, [%out];\ncp.async.bulk.wait_group 0;\nld.global.u32 %r4, [%out];\n"
      "st.global.v2.u32 [%out+16], {%r3, %r4};";
  auto out = Runner().run(body, {}, with_tile("late"));
  CHECK(out[0] == 7);
  CHECK(out[4] == emu::kPoison32);
  CHECK(out[5] == 7);
}

TEST_CASE("cp.reduce.async.bulk combines with what is in global memory") {
  struct Row {
    const char* op;
    std::vector<uint32_t> old, value, want;
  };
  const Row rows[] = {
      {"add.u32", {1, 0xFFFFFFFF, 5, 0}, {2, 1, 6, 0}, {3, 0, 11, 0}},
      {"min.s32", {1, 0xFFFFFFFF, 5, 0}, {2, 1, 0x80000000, 0}, {1, 0xFFFFFFFF, 0x80000000, 0}},
      {"max.u32", {1, 0xFFFFFFFF, 5, 0}, {2, 1, 0x80000000, 0}, {2, 0xFFFFFFFF, 0x80000000, 0}},
      {"inc.u32", {1, 7, 5, 9}, {7, 7, 3, 0xFFFFFFFF}, {2, 0, 0, 10}},
      {"dec.u32", {1, 0, 5, 9}, {7, 7, 3, 0xFFFFFFFF}, {0, 7, 3, 8}},
      {"and.b32", {0xF0F0, 1, 2, 3}, {0xFF00, 1, 1, 2}, {0xF000, 1, 0, 2}},
      {"or.b32", {0xF0F0, 1, 2, 3}, {0xFF00, 1, 1, 2}, {0xFFF0, 1, 3, 3}},
      {"xor.b64", {0xF0F0, 1, 2, 3}, {0xFF00, 1, 1, 2}, {0x0FF0, 0, 3, 1}},
      {"add.u64", {0xFFFFFFFF, 1, 0, 0}, {1, 1, 2, 3}, {0, 3, 2, 3}},
      // 1 + 1; subnormals are kept (recorded: bulk_reduce); -0 + -0; infinity - infinity
      {"add.f32",
       {0x3F800000, 0x00000001, 0x80000000, 0x7F800000},
       {0x3F800000, 0x00000001, 0x80000000, 0xFF800000},
       {0x40000000, 2, 0x80000000, 0x7FFFFFFF}},
      // f16: 1+1, smallest subnormals add; 65504+16 rounds to infinity, NaN
      {"add.noftz.f16",
       {0x00013C00, 0x7E007BFF, 0, 0},
       {0x00013C00, 0x3C004C00, 0, 0},
       {0x00024000, 0x7FFF7C00, 0, 0}},
      {"min.bf16",
       {0x80003F80, 0x7FC03F80, 0, 0},
       {0x00004000, 0x3F807FC0, 0, 0},
       {0x80003F80, 0x3F803F80, 0, 0}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.op);
    std::vector<uint32_t> input = row.value;
    input.insert(input.end(), row.old.begin(), row.old.end());
    input.resize(16);
    const std::string body =
        "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%in];\nst.shared.v4.u32 [tile], {%r1, %r2, %r3, %r4};\n"
        "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%in+16];\nst.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};\n"
        "fence.proxy.async;\ncp.reduce.async.bulk.global.shared::cta.bulk_group." +
        std::string(row.op) +
        " [%out], [tile], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
    auto out = Runner().run(body, input, with_tile());
    CHECK(std::vector<uint32_t>(out.begin(), out.begin() + 4) == row.want);
  }
}

TEST_CASE("cp.reduce.async.bulk: combinations that do not exist have no function") {
  using emu::Type;
  CHECK((emu::reduction("add", Type::s64) == nullptr));
  CHECK((emu::reduction("inc", Type::s32) == nullptr));
  CHECK((emu::reduction("min", Type::f32) == nullptr));
  CHECK((emu::reduction("and", Type::b16) == nullptr));
  CHECK((emu::reduction("mul", Type::u32) == nullptr));
  CHECK(Runner()
            .fault("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%out], [tile], 16;", {},
                   with_tile())
            .id == "unsupported-instruction");
}

TEST_CASE("cp.async.bulk: multicast and shared to shared reach the other CTAs of a cluster") {
  // Rank 0 loads into both CTAs; then each CTA sends its second half to the other's first half.
  const std::string body =
      std::string(kInit) +
      "mbarrier.init.shared::cta.b64 [bar2], 1;\nfence.mbarrier_init.release.cluster;\n"
      "mov.u32 %r1, %cluster_ctarank;\nsetp.eq.u32 %p2, %r1, 0;\nmov.u16 %rs1, 3;\n" +
      kExpect64 +
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar2], 32;\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], "
      "[%in], 64, [bar], %rs1;\n" +
      kWait +
      "xor.b32 %r2, %r1, 1;\nmov.u32 %r3, tile;\nmov.u32 %r4, bar2;\nmapa.shared::cluster.u32 %r5, %r3, "
      "%r2;\n"
      "mapa.shared::cluster.u32 %r6, %r4, %r2;\nadd.u32 %r7, %r3, 32;\nadd.u32 %r8, %r1, 50;\nst.shared.u32 "
      "[tile+32], %r8;\n"
      "fence.proxy.async;\n"
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [%r7], 32, [%r6];\n"
      "V: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar2], 0;\n@!%p1 bra V;\n" +
      kStore + "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"}) {
    CAPTURE(schedule);
    Options o = with_tile(schedule);
    o.ctas = o.cluster = 2;
    o.declarations += ".shared .align 8 .b64 bar2;\n";
    auto out = Runner().run(body, numbers(32), o);
    for (uint32_t cta = 0; cta < 2; ++cta) {
      CHECK(out[cta * 16] == 50 + (cta ^ 1));
      CHECK(out[cta * 16 + 1] == 10);
      CHECK(out[cta * 16 + 8] == 50 + cta);
      CHECK(out[cta * 16 + 15] == 16);
    }
  }
}

TEST_CASE("cp.async.bulk: bad operands are reported") {
  Runner r;
  auto fault = [&](const std::string& text) { return r.fault(kInit + text, numbers(16), with_tile()).id; };
  const std::string load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
  CHECK(fault(load + "[tile+8], [%in], 16, [bar];") == "misaligned-address");
  CHECK(fault(load + "[tile], [%in+4], 16, [bar];") == "misaligned-address");
  CHECK(fault(load + "[tile+48], [%in], 48, [bar];") == "out-of-bounds");
  CHECK(fault(load + "[tile], [%in+48], 32, [bar];") == "out-of-bounds");
  CHECK(fault(load + "[tile], [%in], 16, [tile];") == "barrier-not-initialised");
  CHECK(fault("cp.async.bulk.global.shared::cta.bulk_group [%out+64], [tile], 16;") == "out-of-bounds");
  CHECK(fault("mov.u16 %rs1, "
              "2;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
              "[tile], [%in], 16, [bar], %rs1;") == "multicast-mask");
  CHECK(fault("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], "
              "[%in], 16, [bar], %rs1;") == "unsupported-instruction");
  CHECK(fault("cp.async.bulk.wait_group %r1;") == "unsupported-instruction");
  CHECK(fault("cp.async.bulk.prefetch.L2.global [%in], 64;") == "none");
  CHECK(fault("cp.async.bulk.prefetch.L2.global [%in], 128;") == "out-of-bounds");
}

TEST_CASE(
    "cp.async.bulk: a size that is no multiple of 16 is an error, and the kernel goes on with whole chunks") {
  const QuietReport report;
  Runner r;
  const std::string body =
      std::string(kInit) +
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 40, [bar];\n" +
      kWait + "cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 31;\n" +
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
  const auto out = r.run(body, numbers(16), with_tile());
  CHECK(out[3] == 4);
  CHECK(out[4] == 0x7FFF7FFF);
  REQUIRE(report.findings().size() == 1);
  const emu::Finding& first = report.findings()[0];
  CHECK(first.id == "copy-size");
  CHECK(first.severity == emu::Severity::error);
  CHECK(first.title.find("40, no multiple of 16; 32 bytes are copied") != std::string::npos);
  CHECK(first.line.ptx_line != 0);
  REQUIRE(first.also.size() == 1);
  CHECK(first.also[0].find("copy-size at PTX line ") == 0);
  CHECK(r.statistics.stats().bulk_load_bytes == 32);
}

TEST_CASE("cp.async.bulk of 0 bytes does nothing, whatever its addresses") {
  const auto out = Runner().run(
      std::string(kInit) +
          "mov.u32 %r1, 0;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+8], [%in+4], %r1, [bar];\n"
          "cp.async.bulk.global.shared::cta.bulk_group [%out+4], [tile+8], %r1;\n"
          "cp.async.bulk.prefetch.L2.global [%in+4], %r1;\n"
          "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
          "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\nselp.u32 %r2, 1, 0, %p1;\n"
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 0;\n" +
          kWait + "st.global.u32 [%out], %r2;",
      numbers(16), with_tile());
  CHECK(out[0] == 0);
  CHECK(out[1] == emu::kPoison32);
}

TEST_CASE("cp.async.bulk: too few announced bytes end in a deadlock that says so") {
  auto f = Runner().fault(
      std::string(kInit) + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n" + kLoad + kWait,
      numbers(16), with_tile());
  CHECK(f.id == "deadlock");
  CHECK(f.why.find("expect_tx announced 128 bytes, the 1 copy operation that named it brought 64 bytes") !=
        std::string::npos);
}
