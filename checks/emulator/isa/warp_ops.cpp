// shfl, vote, match, redux, elect, activemask.
#include <algorithm>

#include "table.hpp"

using namespace emu_test;

namespace {

// A warp of `threads` lanes; `input` and the result hold one word a lane.
std::vector<uint32_t> warp(const std::string& body, const std::vector<uint32_t>& input = {},
                           unsigned threads = 32) {
  Options o;
  o.threads = threads;
  o.in_words = 1;
  o.out_words = 1;
  return Runner().run("ld.global.u32 %r1, [%in];\n" + body + "\nst.global.u32 [%out], %r10;", input, o);
}
std::vector<uint32_t> numbered() {
  std::vector<uint32_t> v;
  for (uint32_t i = 0; i < 32; ++i) v.push_back(100 + i);
  return v;
}

}  // namespace

TEST_CASE("shfl.sync: up, down, bfly, idx in segments, value and range predicate") {
  for (std::string mode : {"up", "down", "bfly", "idx"})
    for (uint32_t width : {32u, 16u, 8u, 2u})
      for (uint32_t b : {0u, 1u, 3u, 7u, 15u, 31u, 33u}) {
        // The operand c of the CUDA functions: the segment mask, and 0 (up) or 31 as the clamp.
        uint32_t c = (32 - width) << 8 | (mode == "up" ? 0 : 31);
        std::string text = "shfl.sync." + mode + ".b32 %r10|%p1, %r1, " + std::to_string(b) + ", " +
                           std::to_string(c) + ", -1;\n";
        auto value = warp(text, numbered());
        auto range = warp(text + "selp.u32 %r10, 1, 0, %p1;", numbered());
        for (int l = 0; l < 32; ++l) {
          int start = l / static_cast<int>(width) * static_cast<int>(width),
              end = start + static_cast<int>(width) - 1;
          int n = b & 31, j = mode == "up"     ? l - n
                              : mode == "down" ? l + n
                              : mode == "bfly" ? l ^ n
                                               : start + n % static_cast<int>(width);
          bool ok = mode == "up" ? j >= start : j <= end;
          CAPTURE(text);
          CAPTURE(l);
          CHECK(value[l] == 100u + static_cast<uint32_t>(ok ? j : l));
          CHECK(range[l] == (ok ? 1u : 0u));
        }
      }
}

TEST_CASE("shfl.sync: a source that is no member gives poison") {
  auto out = warp(
      "mov.u32 %r10, 0;\nsetp.lt.u32 %p1, %t, 8;\n@!%p1 bra END;\nshfl.sync.idx.b32 %r10, %r1, 20, 31, "
      "0xFF;\nEND:",
      numbered());
  CHECK(out[0] == emu::kPoison32);
  CHECK(out[9] == 0);
}

TEST_CASE("vote.sync: all, any, uni, ballot over the members") {
  for (uint32_t truth : {0u, 0xFFFFFFFFu, 0x00010000u, 0xFFFFFFFEu}) {
    std::vector<uint32_t> in;
    for (int l = 0; l < 32; ++l) in.push_back(truth >> l & 1);
    std::string set = "setp.ne.u32 %p1, %r1, 0;\n";
    auto get = [&](const std::string& op) {
      return warp(set + "vote.sync." + op + ".pred %p2, %p1, -1;\nselp.u32 %r10, 1, 0, %p2;", in)[3];
    };
    CHECK(get("all") == (truth == 0xFFFFFFFF));
    CHECK(get("any") == (truth != 0));
    CHECK(get("uni") == (truth == 0 || truth == 0xFFFFFFFF));
    CHECK(warp(set + "vote.sync.ballot.b32 %r10, %p1, -1;", in)[7] == truth);
    CHECK(warp(set + "vote.sync.ballot.b32 %r10, !%p1, -1;", in)[7] == ~truth);
  }
  // 20 threads: lanes that do not exist give 0 and are not waited for.
  CHECK(warp("setp.ge.u32 %p1, %t, 4;\nvote.sync.ballot.b32 %r10, %p1, -1;", {}, 20)[0] == 0x000FFFF0);
  CHECK(warp("setp.ge.u32 %p1, %t, 0;\nvote.sync.all.pred %p2, %p1, -1;\nselp.u32 %r10, 1, 0, %p2;", {},
             20)[0] == 1);
}

TEST_CASE("match.any.sync, match.all.sync") {
  std::vector<uint32_t> in;
  for (uint32_t l = 0; l < 32; ++l) in.push_back(l % 3);
  auto any = warp("match.any.sync.b32 %r10, %r1, -1;", in);
  auto wide = warp("cvt.u64.u32 %rd1, %r1;\nshl.b64 %rd1, %rd1, 40;\nmatch.any.sync.b64 %r10, %rd1, -1;", in);
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t same = 0;
    for (uint32_t j = 0; j < 32; ++j) same |= uint32_t{j % 3 == l % 3} << j;
    CHECK(any[l] == same);
    CHECK(wide[l] == same);
  }
  CHECK(warp("match.all.sync.b32 %r10|%p1, %r1, -1;", in)[4] == 0);
  CHECK(warp("mov.u32 %r2, 7;\nmatch.all.sync.b32 %r10|%p1, %r2, -1;\n@!%p1 mov.u32 %r10, 1;", in)[4] ==
        0xFFFFFFFF);
  CHECK(warp("match.all.sync.b64 _|%p1, 7, -1;\nselp.u32 %r10, 5, 6, %p1;", in)[4] == 5);
}

TEST_CASE("redux.sync: add wraps, min and max follow the sign") {
  std::vector<uint32_t> in;
  for (uint32_t l = 0; l < 32; ++l) in.push_back(0x80000000u + l * 0x11111111u);
  uint32_t sum = 0, all = ~0u, some = 0, odd = 0;
  for (uint32_t v : in) sum += v, all &= v, some |= v, odd ^= v;
  auto get = [&](const std::string& op) { return warp("redux.sync." + op + " %r10, %r1, -1;", in)[31]; };
  auto below = [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b); };
  CHECK(get("add.u32") == sum);
  CHECK(get("add.s32") == sum);
  CHECK(get("min.u32") == *std::min_element(in.begin(), in.end()));
  CHECK(get("max.u32") == *std::max_element(in.begin(), in.end()));
  CHECK(get("min.s32") == *std::min_element(in.begin(), in.end(), below));
  CHECK(get("max.s32") == *std::max_element(in.begin(), in.end(), below));
  CHECK(get("and.b32") == all);
  CHECK(get("or.b32") == some);
  CHECK(get("xor.b32") == odd);
}

TEST_CASE("elect.sync: one leader, the lowest member, known to all") {
  auto out = warp(
      "mov.u32 %r10, 0;\nsetp.ge.u32 %p1, %t, 5;\n@!%p1 bra END;\nelect.sync %r11|%p2, 0xFFFFFFE0;\n"
      "selp.u32 %r12, 100, 0, %p2;\nadd.u32 %r10, %r11, %r12;\nEND:");
  for (int l = 0; l < 32; ++l) CHECK(out[l] == (l < 5 ? 0u : l == 5 ? 105u : 5u));
  CHECK(warp("elect.sync _|%p2, -1;\nselp.u32 %r10, 1, 0, %p2;")[0] == 1);
}

TEST_CASE("activemask names the lanes of the branch") {
  auto out = warp(
      "setp.lt.u32 %p1, %t, 4;\n@%p1 bra LOW;\nactivemask.b32 %r10;\nbra END;\nLOW:\nactivemask.b32 "
      "%r10;\nEND:");
  CHECK(out[0] == 0xF);
  CHECK(out[31] == 0xFFFFFFF0);
}

TEST_CASE("vote.sync: lanes that come by different branches meet") {
  // Both sides of a divergent branch execute their own instruction with their own mask, then all meet at one.
  auto out = warp(
      "setp.lt.u32 %p1, %t, 16;\nsetp.ne.u32 %p3, %r1, 0;\n@%p1 bra LOW;\n"
      "vote.sync.ballot.b32 %r2, %p3, 0xFFFF0000;\nbra JOIN;\nLOW:\nvote.sync.ballot.b32 %r2, %p3, "
      "0xFFFF;\nJOIN:\n"
      "redux.sync.or.b32 %r10, %r2, -1;",
      numbered());
  for (uint32_t v : out) CHECK(v == 0xFFFFFFFF);
}

TEST_CASE("vote.sync: member masks of one instruction are served apart") {
  auto out = warp(
      "and.b32 %r2, %t, 1;\nsetp.eq.u32 %p1, %r2, 0;\nselp.b32 %r3, 0x55555555, 0xAAAAAAAA, %p1;\n"
      "setp.ge.u32 %p2, %t, 8;\nvote.sync.ballot.b32 %r10, %p2, %r3;");
  for (uint32_t l = 0; l < 32; ++l) CHECK(out[l] == (l % 2 ? 0xAAAAAA00u : 0x55555500u));
}

TEST_CASE("vote.sync: a lane that is here with another member mask has not come yet") {
  // Lanes 0 to 15 vote among themselves first, then at the same instruction with all.
  auto out = warp(
      "setp.lt.u32 %p1, %t, 16;\nselp.b32 %r3, 0xFFFF, 0xFFFFFFFF, %p1;\nsetp.ge.u32 %p2, %t, 8;\n"
      "MEET: vote.sync.ballot.b32 %r10, %p2, %r3;\n"
      "setp.eq.u32 %p3, %r3, 0xFFFFFFFF;\n@%p3 bra END;\nmov.b32 %r3, 0xFFFFFFFF;\nbra MEET;\nEND:");
  for (uint32_t v : out) CHECK(v == 0xFFFFFF00u);
}

TEST_CASE("shfl.sync by a lane outside its member mask is reported") {
  Options o;
  o.threads = 32;
  auto f = Runner().fault("shfl.sync.idx.b32 %r1, %r2, 0, 31, 0xFFFF;", {}, o);
  CHECK(f.id == "warp-sync-mask");
  CHECK(f.where.find("lane 16") != std::string::npos);
}

TEST_CASE("shfl.sync: a tile whose lanes are all here goes on before the other one is complete") {
  // Lanes 24 to 31 reach the instruction only after lane 0 has got its value there.
  Options o;
  o.threads = 32;
  o.out_words = 1;
  o.declarations = ".shared .align 4 .u32 flag;\n";
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"}) {
    o.schedule = schedule;
    const auto out = Runner().run(
        "setp.lt.u32 %p1, %t, 16;\nselp.b32 %r1, 0xffff, 0xffff0000, %p1;\nsetp.eq.u32 %p2, %t, 0;\n"
        "setp.ge.u32 %p3, %t, 24;\n@%p2 st.shared.u32 [flag], 0;\nbar.warp.sync -1;\n@!%p3 bra MEET;\n"
        "LOOP: ld.volatile.shared.u32 %r2, [flag];\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra LOOP;\n"
        "MEET: shfl.sync.bfly.b32 %r3, %t, 15, 31, %r1;\n@%p2 st.volatile.shared.u32 [flag], %r3;\n"
        "st.global.u32 [%out], %r3;",
        {}, o);
    CAPTURE(schedule);
    for (uint32_t l = 0; l < 32; ++l) CHECK(out[l] == (l ^ 15));
  }
}
