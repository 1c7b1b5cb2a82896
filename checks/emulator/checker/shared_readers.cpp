// Who has read a word of shared memory is kept for whole warps where they all read alike, and is worked out when it matters.
#include <algorithm>
#include <random>

#include "checked.hpp"

using namespace checked;

namespace {

constexpr unsigned kThreads = 128;  // four warps, a word of the tile for each

// The body, in which %r1 is the tile, and every thread has written its own word and met the others since.
std::string kernel(const std::string& body) {
  return "mov.u32 %r1, tile;\nshl.b32 %r4, %t, 2;\nadd.u32 %r5, %r1, %r4;\nst.shared.u32 [%r5], %t;\nbar.sync 0;\n" +
         body;
}

emu_test::Options options(unsigned cluster) {
  emu_test::Options o;
  o.ctas = cluster;
  o.cluster = cluster;
  o.threads = kThreads;
  o.in_words = 1;
  o.out_words = 1;
  o.declarations = ".shared .align 16 .b8 tile[512];\n";
  return o;
}

// "nothing", or id: lines, as PTX; the same under every schedule.
std::string found(const std::string& body) {
  return reported(kernel(body), {}, options(1), [](const emu::Finding& f) {
    std::string lines[] = {f.line.ptx, f.other_line.ptx};
    std::sort(lines, lines + 2);  // which of the threads comes first is the schedule's choice
    return emu::text(emu::name_of(f.id), ": ") + lines[0] + " / " + lines[1] + " ";
  });
}

// All that is said of the first CTA, in order.
std::string found_in_order(const std::string& body, unsigned cluster) {
  const emu_test::QuietReport report;
  emu::check::Checker checker;
  emu_test::Runner runner;
  emu_test::Options o = options(cluster);
  o.observer = &checker;
  std::string said = emu::name_of(runner.fault(kernel(body), {}, o).id);
  for (const emu::Finding& f : report.findings())
    said += emu::text(" ", emu::name_of(f.id), ": ", f.line.ptx, " / ", f.other_line.ptx, " ", f.where, " ",
                      f.why);
  return said;
}

// %r3: the address of the word that the mask lets through of the thread's number, from that word on.
std::string word(const std::string& mask, unsigned first = 0) {
  return "and.b32 %r3, %t, " + mask + ";\nshl.b32 %r3, %r3, 2;\nadd.u32 %r3, %r3, %r1;\nadd.u32 %r3, %r3, " +
         std::to_string(4 * first) + ";\n";
}
const std::string kLoadWord = "ld.shared.u32 %r7, [%r3];\n", kStoreWord = "st.shared.u32 [%r3], %r7;\n";
const std::string kRace = "data-race: ld.shared.u32 %r7, [%r3]; / st.shared.u32 [%r3], %r7; ";

}  // namespace

TEST_CASE("shared readers: all warps have read a row, one of them writes it") {
  const std::string only_first = "setp.ge.u32 %p3, %t, 16;\n@%p3 bra END;\n";
  for (const char* mask : {"15", "0"}) {  // two lanes of each warp read a word, or all of them
    const std::string read = word(mask) + kLoadWord;
    CHECK(found(read + "bar.sync 0;\n" + only_first + word("15") + kStoreWord + "END:\n") == "nothing");
    CHECK(found(read + only_first + word("15") + kStoreWord + "END:\n") == kRace);
    CHECK(found(read + read + read + "bar.sync 0;\n" + only_first + word("15") + kStoreWord + "END:\n") ==
          "nothing");
  }
}

TEST_CASE("shared readers: a warp writes the words that it alone has read") {
  // Warp w reads the words 16 * w to 16 * w + 15, two lanes each.
  const std::string own =
      "shr.u32 %r8, %t, 5;\nshl.b32 %r8, %r8, 6;\n" + word("15") + "add.u32 %r3, %r3, %r8;\n";
  CHECK(found(own + kLoadWord + "bar.warp.sync 0xffffffff;\n" + kStoreWord) == "nothing");
  const std::string next = "xor.b32 %r8, %r8, 64;\n" + word("15") + "add.u32 %r3, %r3, %r8;\n";
  CHECK(found(own + kLoadWord + "bar.warp.sync 0xffffffff;\n" + next + kStoreWord) == kRace);
}

TEST_CASE("shared readers: a word and the other bytes of it") {
  const std::string bytes = "add.u32 %r3, %r1, %t;\nmov.b16 %rs1, 1;\n";
  CHECK(found(word("31") + kLoadWord + "bar.sync 0;\n" + bytes + "st.shared.u8 [%r3], %rs1;\n") == "nothing");
  CHECK(found(word("31") + kLoadWord + bytes + "st.shared.u8 [%r3], %rs1;\n") ==
        "data-race: ld.shared.u32 %r7, [%r3]; / st.shared.u8 [%r3], %rs1; ");
}

namespace {

// In a cluster every access is looked at by itself.
void compare_random_programs(unsigned seed, const std::vector<std::string>& usual) {
  std::mt19937 random(seed);
  const auto one_of = [&](const std::vector<std::string>& all) { return all[random() % all.size()]; };
  for (int program = 0; program < 120; ++program) {
    std::string body;
    for (int step = 0; step < 7; ++step) {
      const std::string end = "L" + std::to_string(step);
      switch (random() % 8) {
        case 0:
        case 1:
          body += "bar.sync 0;\n";
          continue;
        case 2:
          body += "bar.warp.sync 0xffffffff;\n";
          continue;
        default:
          break;
      }
      if (random() % 2)
        body += one_of({"setp.ge.u32 %p3, %t, 32;\n", "setp.lt.u32 %p3, %t, 96;\n",
                        "and.b32 %r6, %t, 1;\nsetp.eq.u32 %p3, %r6, 0;\n"}) +
                "@%p3 bra " + end + ";\n";
      body += one_of({word("127"), word("127"), word("31"), word("15"), word("0", 3), word("63", 64),
                      word("112"), "xor.b32 %r6, %t, 5;\nshl.b32 %r6, %r6, 2;\nadd.u32 %r3, %r6, %r1;\n",
                      "mul.lo.u32 %r6, %t, 20;\nand.b32 %r6, %r6, 508;\nadd.u32 %r3, %r6, %r1;\n"});
      body += random() % 8 ? one_of(usual)
                           : one_of({"ld.shared.u8 %rs1, [%r3+1];\n", "st.shared.u16 [%r3+2], %rs1;\n"});
      body += end + ":\n";
    }
    CAPTURE(body);
    CHECK(found_in_order(body, 1) == found_in_order(body, 2));
  }
}

}  // namespace

TEST_CASE("shared readers: what is found does not depend on how readers are kept") {
  compare_random_programs(1, {kLoadWord, kLoadWord, kLoadWord, kStoreWord});
}

TEST_CASE("shared readers: nor does it where some of them are atomic or volatile") {
  compare_random_programs(
      2, {kLoadWord, kLoadWord, kLoadWord, kStoreWord, "atom.shared.add.u32 %r7, [%r3], 1;\n",
          "ld.volatile.shared.u32 %r7, [%r3];\n", "st.volatile.shared.u32 [%r3], %r7;\n"});
}
