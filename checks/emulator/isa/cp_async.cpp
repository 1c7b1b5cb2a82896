// cp.async: sizes, zero fill, groups of each thread, and the arrives that follow copies (PTX ISA 9.7.9.25.3).
#include "support.hpp"

using namespace emu_test;

namespace {

Options with_tile(unsigned threads = 1, const char* schedule = "in-order") {
  Options o;
  o.threads = threads;
  o.schedule = schedule;
  o.declarations = ".shared .align 16 .b8 tile[1024];\n.shared .align 8 .b64 bar;\n";
  return o;
}

const std::vector<uint32_t> kInput = {0x04030201, 0x08070605, 0x0C0B0A09, 0x100F0E0D};
const char* const kOut =
    "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [tile];\nst.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};";
const char* const kClear = "mov.u32 %r9, 0xA5A5A5A5;\nst.shared.v4.u32 [tile], {%r9, %r9, %r9, %r9};\n";

}  // namespace

TEST_CASE("cp.async copies 4, 8 or 16 bytes") {
  const uint32_t u = 0xA5A5A5A5;
  auto run = [&](const std::string& form) {
    return Runner().run(kClear + form + "\ncp.async.wait_all;\n" + kOut, kInput, with_tile());
  };
  CHECK(run("cp.async.ca.shared.global [tile], [%in], 4;") == std::vector<uint32_t>{kInput[0], u, u, u});
  CHECK(run("cp.async.ca.shared::cta.global.L2::128B [tile+8], [%in+8], 8;") ==
        std::vector<uint32_t>{u, u, kInput[2], kInput[3]});
  CHECK(run("cp.async.cg.shared.global [tile], [%in], 16;") == kInput);
  CHECK(run("cp.async.cg.shared.global.L2::cache_hint [tile], [%in], 16, %rd5;") == kInput);
}

TEST_CASE("cp.async with src-size fills the rest with zeros and reads nothing beyond") {
  for (uint32_t taken = 0; taken <= 16; ++taken) {
    std::vector<uint8_t> want(16, 0);
    for (uint32_t i = 0; i < taken; ++i) want[i] = static_cast<uint8_t>(i + 1);
    auto out = Runner().run(kClear + std::string("cp.async.cg.shared.global [tile], [%in], 16, ") +
                                std::to_string(taken) + ";\ncp.async.wait_all;\n" + kOut,
                            kInput, with_tile());
    CHECK(std::memcmp(out.data(), want.data(), 16) == 0);
  }
  // 12 bytes before the end of the input: 16 would be out of bounds, 0 bytes anywhere are not.
  CHECK(Runner().fault("cp.async.cg.shared.global [tile], [%in+16], 16;", kInput, with_tile()).id ==
        "out-of-bounds");
  CHECK(Runner().fault("cp.async.cg.shared.global [tile], [%in+16], 16, 0;", kInput, with_tile()).id ==
        "none");
}

TEST_CASE("cp.async with ignore-src writes zeros where the predicate holds") {
  auto out = Runner().run(
      kClear +
          std::string("setp.eq.u32 %p1, %t, 0;\ncp.async.ca.shared.global [tile], [%in], 8, %p1;\n"
                      "cp.async.ca.shared.global [tile+8], [%in], 8, !%p1;\ncp.async.wait_all;\n") +
          kOut,
      kInput, with_tile());
  CHECK(out == std::vector<uint32_t>{0, 0, kInput[0], kInput[1]});
}

TEST_CASE("cp.async.wait_group waits for all but the newest groups of its own thread") {
  // Two groups; with one pending group allowed, the second word is still unchanged when everything lands late.
  const std::string body =
      kClear + std::string(
                   "cp.async.ca.shared.global [tile], [%in], 4;\ncp.async.commit_group;\n"
                   "cp.async.ca.shared.global [tile+4], [%in+4], 4;\ncp.async.commit_group;\n"
                   "cp.async.wait_group 1;\nld.shared.v2.u32 {%r1, %r2}, [tile];\ncp.async.wait_group 0;\n"
                   "ld.shared.v2.u32 {%r3, %r4}, [tile];\nst.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};");
  auto out = Runner().run(body, kInput, with_tile(1, "late"));
  CHECK(out == std::vector<uint32_t>{kInput[0], 0xA5A5A5A5, kInput[0], kInput[1]});
}

TEST_CASE("cp.async: an empty group counts, an uncommitted copy is not waited for") {
  const std::string empty =
      kClear + std::string(
                   "cp.async.ca.shared.global [tile], [%in], 4;\ncp.async.commit_group;\n"
                   "cp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.u32 %r1, [tile];\n"
                   "cp.async.ca.shared.global [tile+4], [%in+4], 4;\ncp.async.wait_group 0;\n"
                   "ld.shared.u32 %r2, [tile+4];\ncp.async.wait_all;\nld.shared.u32 %r3, [tile+4];\n"
                   "mov.u32 %r4, 0;\nst.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};");
  auto out = Runner().run(empty, kInput, with_tile(1, "late"));
  CHECK(out == std::vector<uint32_t>{kInput[0], 0xA5A5A5A5, kInput[1], 0});
}

TEST_CASE("cp.async: lanes that commit a different number of groups wait for their own") {
  // All lanes copy; odd lanes commit first and wait for 0, even lanes commit twice and wait for 1.
  const std::string body =
      "shl.b32 %r1, %t, 2;\nmov.u32 %r2, tile;\nadd.u32 %r2, %r2, %r1;\nst.shared.u32 [%r2], 0;\n"
      "cp.async.ca.shared.global [%r2], [%in], 4;\nand.b32 %r3, %t, 1;\nsetp.eq.u32 %p1, %r3, 1;\n"
      "@%p1 cp.async.commit_group;\n@%p1 cp.async.wait_group 0;\n"
      "@!%p1 cp.async.commit_group;\n@!%p1 cp.async.commit_group;\n@!%p1 cp.async.wait_group 1;\n"
      "ld.shared.u32 %r4, [%r2];\nst.global.u32 [%out], %r4;";
  for (const char* schedule : {"in-order", "late", "random:1", "random:9"}) {
    Options o = with_tile(32, schedule);
    o.in_words = o.out_words = 1;
    std::vector<uint32_t> input(32);
    for (uint32_t i = 0; i < 32; ++i) input[i] = 100 + i;
    CHECK(Runner().run(body, input, o) == input);
  }
}

TEST_CASE("cp.async.mbarrier.arrive completes a phase after the thread's copies, with and without .noinc") {
  for (const char* form :
       {"cp.async.mbarrier.arrive.shared::cta.b64 [bar];\nmbarrier.arrive.shared::cta.b64 _, [bar];\n",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n"}) {
    for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3"}) {
      CAPTURE(form);
      CAPTURE(schedule);
      const std::string body =
          "setp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared::cta.b64 [bar], 64;\nbar.sync 0;\n"
          "shl.b32 %r1, %t, 2;\nmov.u32 %r2, tile;\nadd.u32 %r2, %r2, %r1;\n"
          "cp.async.ca.shared.global [%r2], [%in], 4;\n" +
          std::string(form) +
          "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra W;\n"
          "xor.b32 %r1, %r1, 252;\nmov.u32 %r2, tile;\nadd.u32 %r2, %r2, %r1;\nld.shared.u32 %r3, [%r2];\n"
          "st.global.u32 [%out], %r3;";
      Options o = with_tile(64, schedule);
      o.in_words = o.out_words = 1;
      std::vector<uint32_t> input(64), want(64);
      for (uint32_t i = 0; i < 64; ++i) {
        input[i] = 100 + i;
        want[i] = 100 + (i ^ 63);
      }
      CHECK(Runner().run(body, input, o) == want);
    }
  }
}

TEST_CASE("cp.async: bad operands are reported") {
  Runner r;
  auto fault = [&](const char* text) { return r.fault(text, kInput, with_tile()).id; };
  CHECK(fault("cp.async.cg.shared.global [tile+8], [%in], 16;") == "misaligned-address");
  CHECK(fault("cp.async.ca.shared.global [tile], [%in+2], 4;") == "misaligned-address");
  CHECK(fault("cp.async.cg.shared.global [tile+4096], [%in], 16;") == "out-of-bounds");
  CHECK(fault("cp.async.cg.shared.global [tile], [%in], 16, 17;") == "copy-size");
  CHECK(fault("cp.async.cg.shared.global [tile], [%in], 8;") == "unsupported-instruction");
  CHECK(fault("cp.async.ca.shared.global [tile], [%in], 12;") == "unsupported-instruction");
  CHECK(fault("cp.async.mbarrier.arrive.shared::cta.b64 [bar];") == "barrier-not-initialised");
}

TEST_CASE("cp.async is counted") {
  Runner r;
  Options o = with_tile(32);
  o.in_words = 4;
  r.run(
      "shl.b32 %r1, %t, 4;\nmov.u32 %r2, tile;\nadd.u32 %r2, %r2, %r1;\ncp.async.cg.shared.global [%r2], "
      "[%in], 16;\n"
      "cp.async.wait_all;",
      std::vector<uint32_t>(128, 1), o);
  CHECK(r.statistics.stats().cp_async_issued == 32);
  CHECK(r.statistics.stats().cp_async_bytes == 512);
}
