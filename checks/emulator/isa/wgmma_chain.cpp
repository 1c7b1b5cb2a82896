// A long chain of wgmma, as a GEMM main loop issues them.
#include "support.hpp"

using emu_test::Options;
using emu_test::Runner;

namespace {

constexpr unsigned kIterations = 50;  // of four k steps of 16

// m64nNk16 on K-major tiles with the 128-byte swizzle. Every word of the tiles is the same pair of elements, so the
// layout does not matter for the result, and D is 64 * kIterations times their product.
std::string loop(int n, const std::string& types, int registers, const std::string& type,
                 const std::string& tail) {
  std::string vector,
      body = ".shared .align 1024 .b8 tile[40960];\n.reg ." + type + " d<" + std::to_string(registers) +
             ">;\n.reg .b32 %at, %i, %value;\n.reg .b64 %a, %b, %a1, %b1;\n"
             "ld.global.u32 %value, [%in];\nmov.u32 %at, tile;\nmad.lo.u32 %at, %t, 320, %at;\n";
  for (int i = 0; i < 80; ++i) body += "st.shared.u32 [%at+" + std::to_string(4 * i) + "], %value;\n";
  body += "fence.proxy.async;\nbar.sync 0;\n";
  for (int i = 0; i < registers; ++i) {
    body += "mov." + type + " d" + std::to_string(i) + ", " + (type == "f32" ? "0f00000000" : "0") + ";\n";
    vector += (i ? ", d" : "d") + std::to_string(i);
  }
  const uint64_t layout = uint64_t{1} << 62 | uint64_t{64} << 32 | uint64_t{1} << 16;
  body += "mov.u64 %a, " + std::to_string(layout | (emu::kSharedBase >> 4)) + ";\nmov.u64 %b, " +
          std::to_string(layout | ((emu::kSharedBase + 8192) >> 4)) +
          ";\nmov.u32 %i, 0;\nLOOP: wgmma.fence.sync.aligned;\n";
  for (int k = 0; k < 4; ++k)
    body += "add.u64 %a1, %a, " + std::to_string(2 * k) + ";\nadd.u64 %b1, %b, " + std::to_string(2 * k) +
            ";\nwgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + types + " {" + vector +
            "}, %a1, %b1, 1" + tail + ";\n";
  body +=
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nadd.u32 %i, %i, 1;\nsetp.lt.u32 "
      "%p1, %i, " +
      std::to_string(kIterations) + ";\n@%p1 bra LOOP;\nst.global." + type + " [%out], d0;\nst.global." +
      type + " [%out+4], d" + std::to_string(registers - 1) + ";\n";
  return body;
}

void check_chain(const char* name, int n, const std::string& types, int registers, const std::string& type,
                 const std::string& tail, uint32_t word, uint32_t want) {
  CAPTURE(name);
  Options o;
  o.threads = 128;
  o.in_words = 1;
  o.out_words = 2;
  const auto out = Runner().run(loop(n, types, registers, type, tail), std::vector<uint32_t>(128, word), o);
  for (uint32_t d : out) REQUIRE(d == want);
}

}  // namespace

TEST_CASE("wgmma: a long chain of products of constant matrices") {
  // 0.5 * 1.5 = 0.75 would need both operands to differ; 0.5 * 0.5 = 0.25, and 1.5 * 1.5 = 2.25: exact sums
  const uint32_t products = 64 * kIterations;  // 3200
  const auto f32 = [](float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return bits;
  };
  const float half = 0.5f * 0.5f * static_cast<float>(products);
  check_chain("m64n128k16 bf16 to f32", 128, "k16.f32.bf16.bf16", 64, "f32", ", 1, 1, 0, 0", 0x3F003F00,
              f32(half));
  check_chain("m64n256k16 bf16 to f32", 256, "k16.f32.bf16.bf16", 128, "f32", ", 1, 1, 0, 0", 0x3F003F00,
              f32(half));
  check_chain("m64n128k16 f16 to f32", 128, "k16.f32.f16.f16", 64, "f32", ", 1, 1, 0, 0", 0x38003800,
              f32(half));
  check_chain("m64n128k16 f16 to f16", 128, "k16.f16.f16.f16", 32, "b32", ", 1, 1, 0, 0", 0x38003800,
              0x62406240);
  check_chain("m64n128k32 s8 to s32", 128, "k32.s32.s8.s8", 64, "b32", "", 0x03030303, 9 * 2 * products);
}
